"""The other end of the ping-pong of the A/A test: a process that repeats each byte it is sent.

``python -m roundtrip.host.echo DESCRIPTOR PROCESSOR``: the shared memory, and where to run.
"""

from __future__ import annotations

import mmap
import os
import sys

#: Offsets of the request and of the reply, one byte each, in a cache line of its own.
REQUEST, REPLY, SIZE = 0, 128, 256
STOP = 255
_PATIENCE = 1_000_000


def serve(memory: mmap.mmap, parent: int) -> None:
    """Answer every byte until it is `STOP`, or until the process `parent` has died."""
    seen = waited = 0
    while True:
        request = memory[REQUEST]
        if request != seen:
            seen, waited = request, 0
            memory[REPLY] = request
            if request == STOP:
                return
        else:
            waited += 1
            if waited % _PATIENCE == 0 and os.getppid() != parent:
                return


if __name__ == "__main__":
    os.sched_setaffinity(0, {int(sys.argv[2])})
    serve(mmap.mmap(int(sys.argv[1]), SIZE), os.getppid())

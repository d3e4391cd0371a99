"""The other end of the A/A test's ping-pong: a process that answers each byte it is shown.

``python -m roundtrip.host.echo DESCRIPTOR PROCESSOR``: the shared memory, and where to sit.
"""

from __future__ import annotations

import mmap
import os
import sys

#: A cache line each: what is asked, what is answered.
ASKED, ANSWERED, SIZE = 0, 128, 256
STOP = 255
_PATIENCE = 1_000_000


def serve(memory: mmap.mmap, parent: int) -> None:
    """Answer until `STOP` is asked, or nobody asks because the other end has died."""
    seen = waited = 0
    while True:
        asked = memory[ASKED]
        if asked != seen:
            seen, waited = asked, 0
            memory[ANSWERED] = asked
            if asked == STOP:
                return
        else:
            waited += 1
            if waited % _PATIENCE == 0 and os.getppid() != parent:
                return


if __name__ == "__main__":
    os.sched_setaffinity(0, {int(sys.argv[2])})
    serve(mmap.mmap(int(sys.argv[1]), SIZE), os.getppid())

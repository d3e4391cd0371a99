"""Checks that numpy and polars can start the threads that they start when they are loaded, and
reserve the address space that they reserve.

A number of threads that polars would refuse later, while it reads a file, is refused here.

They start one or two for each processor.  Where a limit forbids it they abort, or print pages,
before any exception can be caught.
"""

from __future__ import annotations

import os
import re
import resource
import threading

from roundtrip.errors import UserError

#: Processes besides the two threads for each processor: the programs that a command runs.
_MORE = 8
#: Address space that a report of a small bundle reserves, bytes, and more for each processor.  It
#: uses an eighth of that as memory.
_SPACE, _SPACE_PER_PROCESSOR = 1600 << 20, 16 << 20


def require() -> None:
    """UserError if this user may not start the threads, or reserve the space, of a command."""
    told = os.environ.get("POLARS_MAX_THREADS", "1")
    if not re.fullmatch("0*[1-9][0-9]{0,4}", told):
        raise UserError(f"POLARS_MAX_THREADS={told!r}: right is a number from 1, or to unset it")
    processors = len(os.sched_getaffinity(0))
    space = _SPACE + processors * _SPACE_PER_PROCESSOR
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < space:
        raise UserError(
            f"the address space is limited to {limit >> 10} kB: right is `ulimit -v unlimited`, "
            f"or {space >> 10} at least"
        )
    wanted = 2 * processors + _MORE
    release = threading.Event()
    threads = [threading.Thread(target=release.wait, daemon=True) for _ in range(wanted)]
    started = 0
    try:
        for thread in threads:
            thread.start()
            started += 1
    except RuntimeError:
        raise UserError(
            f"no room for {wanted} threads, only for {started}: "
            "raise this user's limit of processes (`ulimit -u`, or the container's pids limit)"
        ) from None
    finally:
        release.set()
        for thread in threads[:started]:
            thread.join()

"""Checks that numpy and polars can start the threads that they start when they are loaded.

They start one or two for each processor.  Where a limit of processes forbids it they abort, or
print pages, before any exception can be caught.
"""

from __future__ import annotations

import os
import threading

from roundtrip.errors import UserError

#: Processes besides the two threads for each processor: the programs that a command runs.
_MORE = 8


def require() -> None:
    """UserError if this user may not start as many threads as a command needs."""
    wanted = 2 * len(os.sched_getaffinity(0)) + _MORE
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

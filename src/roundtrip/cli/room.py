"""Is there room for the threads that numpy and polars start as they load?

They start one or two a processor, and where a limit of processes forbids it they abort, or print
pages, before an exception could be caught.
"""

from __future__ import annotations

import os
import threading

from roundtrip.errors import UserError

#: Beside two a processor: the programs that a command runs.
_MORE = 8


def require() -> None:
    """UserError if this user may not have the threads that a command needs."""
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

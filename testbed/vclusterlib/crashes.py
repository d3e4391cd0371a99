"""Runs on a node and crashes a share of the processes of one program: ``crashes NAME SHARE``.

It emulates bad memory: it crashes a process at most once, up to half a second after it first sees
it.  With a share of 0 it only watches the processes.  It ends with its parent.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import time
from pathlib import Path

#: Polling interval, and maximum delay of a crash, s.
_POLL_INTERVAL_S, _MAX_DELAY_S = 0.05, 0.5


def crash_forever(program: str, share: float) -> None:
    """Send SEGV to a `share` of the processes named `program`, for ever."""
    old_pids: set[int] = set()
    due_times: dict[int, float] = {}
    while True:
        now = time.monotonic()
        pids = {pid for pid in _all_pids() if _process_name(pid) == program[:15]}
        for pid in pids - old_pids:
            if random.random() < share:  # noqa: S311  nothing secret
                due_times[pid] = now + random.uniform(0, _MAX_DELAY_S)  # noqa: S311
        old_pids = pids
        for pid in [pid for pid, due_time in due_times.items() if due_time <= now]:
            del due_times[pid]
            if pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSEGV)
        time.sleep(_POLL_INTERVAL_S)


def _all_pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def _process_name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().rstrip("\n")
    except OSError:
        return ""


if __name__ == "__main__":
    crash_forever(sys.argv[1], float(sys.argv[2]))

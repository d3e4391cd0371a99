"""The children of a first process: starts them with a log, reaps them, waits for them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vclusterlib.errors import VclusterError


class Daemons:
    """The daemons of one first process, by name.  It also reaps every orphan of its namespace."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._pids: dict[str, int] = {}
        self._exit_codes: dict[str, int] = {}
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, name: str, command: list[str], **options: Any) -> None:
        """Start `command` with its output in ``<log>/<name>.out``."""
        with (self._log / f"{name}.out").open("ab") as output:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, **options
            )
        # Popen must not be collected, or it would wait for a pid that `reap` has seen already
        self._processes.append(process)
        self.adopt(name, process.pid)

    def adopt(self, name: str, pid: int) -> None:
        self._pids[name] = pid
        self._exit_codes.pop(name, None)

    def reap(self) -> None:
        """Record the exit codes of all children that ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._note(pid, status)

    def _note(self, pid: int, status: int) -> None:
        for name, daemon_pid in self._pids.items():
            if daemon_pid == pid:
                self._exit_codes[name] = os.waitstatus_to_exitcode(status)

    def exit_code(self, name: str) -> int | None:
        """Exit code (negative: signal) of a daemon that ended, else None."""
        self.reap()
        return self._exit_codes.get(name)

    def stop(self, name: str, patience: float, signal_number: int = signal.SIGTERM) -> None:
        """End a daemon, by force after `patience` seconds."""
        if name not in self._pids or self.exit_code(name) is not None:
            return
        os.kill(self._pids[name], signal_number)
        if not poll(lambda: self.exit_code(name) is not None, patience):
            os.kill(self._pids[name], signal.SIGKILL)
            poll(lambda: self.exit_code(name) is not None, 5)

    def await_ready(
        self, name: str, is_ready: Callable[[], bool], patience: float, log: str = ""
    ) -> None:
        """Wait until `is_ready`; VclusterError if the daemon ends or `patience` seconds pass."""

        def settled() -> bool:
            return self.exit_code(name) is not None or is_ready()

        log_file = self._log / (log or f"{name}.out")
        if not poll(settled, patience):
            raise VclusterError(f"{name} is not ready after {patience:g} s, see {log_file}")
        if self.exit_code(name) is not None and not is_ready():
            raise VclusterError(f"{name} ended with status {self.exit_code(name)}, see {log_file}")


def poll(condition: Callable[[], bool], patience: float, pause: float = 0.01) -> bool:
    """Poll until `condition` is true or `patience` seconds have passed; return whether it is."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True

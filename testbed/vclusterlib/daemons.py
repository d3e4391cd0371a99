"""The daemons of the head or a node: starts, stops and awaits them, and finds running ones."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from vclusterlib import VclusterError


class Daemons:
    """The daemons that the first process of a namespace has started, by name; it also reaps every
    orphan of the namespace."""

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
            self._record_exit(pid, status)

    def _record_exit(self, pid: int, status: int) -> None:
        for name, daemon_pid in self._pids.items():
            if daemon_pid == pid:
                self._exit_codes[name] = os.waitstatus_to_exitcode(status)

    def exit_code(self, name: str) -> int | None:
        """Exit code (negative: signal) of a daemon that ended, else None."""
        self.reap()
        return self._exit_codes.get(name)

    def stop(self, name: str, timeout_s: float, signal_number: int = signal.SIGTERM) -> None:
        """End a daemon, by force after `timeout_s` seconds."""
        if name not in self._pids or self.exit_code(name) is not None:
            return
        os.kill(self._pids[name], signal_number)
        if not await_condition(lambda: self.exit_code(name) is not None, timeout_s):
            os.kill(self._pids[name], signal.SIGKILL)
            await_condition(lambda: self.exit_code(name) is not None, 5)

    def await_ready(
        self, name: str, is_ready: Callable[[], bool], timeout_s: float, log: str = ""
    ) -> None:
        """Wait until `is_ready`; VclusterError if the daemon ends or `timeout_s` seconds pass."""

        def settled() -> bool:
            return self.exit_code(name) is not None or is_ready()

        log_file = self._log / (log or f"{name}.out")
        if not await_condition(settled, timeout_s):
            raise VclusterError(f"{name} is not ready after {timeout_s:g} s, see {log_file}")
        if self.exit_code(name) is not None and not is_ready():
            raise VclusterError(f"{name} ended with status {self.exit_code(name)}, see {log_file}")


def await_condition(condition: Callable[[], bool], timeout_s: float, pause_s: float = 0.01) -> bool:
    """Poll until `condition` is true or `timeout_s` seconds have passed; return whether it is."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause_s)
    return True


def _pid_namespace(pid: str) -> str:
    """The PID namespace of a process, or ``""`` if it has just ended."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")  # noqa: PTH115  a name, not a path
    except OSError:
        return ""


def _process_name(pid: str) -> str:
    """The process's short name; a zombie has none."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    name, _, rest = status.partition("(")[2].rpartition(")")
    return "" if rest.split()[0] in "ZX" else name


def namespace_pids(pid: int) -> list[int]:
    """All processes in the PID namespace of process `pid`, including itself."""
    namespace = _pid_namespace(str(pid))
    pids = [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    return [int(name) for name in pids if namespace and _pid_namespace(name) == namespace]


def _running_processes(names: Iterable[str]) -> set[tuple[str, str]]:
    name_set = set(names)
    processes = [(pid, _process_name(pid)) for pid in os.listdir("/proc") if pid.isdigit()]  # noqa: PTH208
    return {(_pid_namespace(pid), name) for pid, name in processes if name in name_set}


def daemons_alive(daemons: Iterable[str]) -> dict[str, bool]:
    """For each name, whether such a process runs in our PID namespace."""
    # the kernel keeps 15 characters of a process's name
    names = {name: name[:15] for name in daemons}
    namespace = _pid_namespace("self")
    processes = _running_processes(names.values())
    return {name: (namespace, short_name) in processes for name, short_name in names.items()}


def slurmd_alive(pids: dict[str, int]) -> dict[str, bool]:
    """For each node, by the pid of its first process, whether its slurmd runs."""
    processes = _running_processes(["slurmd"])
    return {node: (_pid_namespace(str(pid)), "slurmd") in processes for node, pid in pids.items()}

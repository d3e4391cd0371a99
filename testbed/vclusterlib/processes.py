"""Finds the daemons that run, whether the world or somebody else started them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def _namespace(pid: str) -> str:
    """The PID namespace of a process, or ``""`` if it has just ended."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")  # noqa: PTH115  a name, not a path
    except OSError:
        return ""


def _name(pid: str) -> str:
    """The process's short name; a zombie has none."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    name, _, rest = status.partition("(")[2].rpartition(")")
    return "" if rest.split()[0] in "ZX" else name


def namespace_pids(pid: int) -> list[int]:
    """All processes in the PID namespace of process `pid`, including itself."""
    namespace = _namespace(str(pid))
    pids = [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    return [int(name) for name in pids if namespace and _namespace(name) == namespace]


def _running_processes(names: Iterable[str]) -> set[tuple[str, str]]:
    name_set = set(names)
    processes = [(pid, _name(pid)) for pid in os.listdir("/proc") if pid.isdigit()]  # noqa: PTH208
    return {(_namespace(pid), name) for pid, name in processes if name in name_set}


def daemons_alive(daemons: Iterable[str]) -> dict[str, bool]:
    """For each name, whether such a process runs in our PID namespace."""
    # the kernel keeps 15 characters of a process's name
    names = {name: name[:15] for name in daemons}
    namespace = _namespace("self")
    processes = _running_processes(names.values())
    return {name: (namespace, short_name) in processes for name, short_name in names.items()}


def slurmd_alive(first_processes: dict[str, int]) -> dict[str, bool]:
    """For each node, by the pid of its first process, whether its slurmd runs."""
    processes = _running_processes(["slurmd"])
    return {
        node: (_namespace(str(pid)), "slurmd") in processes for node, pid in first_processes.items()
    }

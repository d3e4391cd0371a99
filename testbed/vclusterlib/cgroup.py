"""A CPU weight for a whole cluster, against others on the same machine: cgroup v1 or v2.

nice(1) does not do it: with autogroup scheduling it only counts within one session.
"""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

from vclusterlib.errors import UserError, VclusterError
from vclusterlib.state import State

_ROOT = Path("/sys/fs/cgroup")


def folder(state: State) -> Path | None:
    """This cluster's group, made or not; None where the machine has no CPU controller for us."""
    name = f"roundtrip-vcluster-{hashlib.sha256(str(state.path).encode()).hexdigest()[:12]}"
    if (_ROOT / "cpu" / "cpu.shares").exists():
        return _ROOT / "cpu" / name
    controllers = _ROOT / "cgroup.subtree_control"
    if controllers.exists() and "cpu" in controllers.read_text().split():
        return _ROOT / name
    return None


def make(state: State, weight: int) -> str:
    """Make the group with `weight` (100 is everybody's); returns its folder, ``""`` for none."""
    if not weight:
        return ""
    group = folder(state)
    if group is None:
        raise UserError("--cpu-weight: no CPU controller in /sys/fs/cgroup (v1 or v2) to use")
    try:
        group.mkdir(exist_ok=True)
        if (group / "cpu.shares").exists():
            (group / "cpu.shares").write_text(str(max(2, weight * 1024 // 100)))
        else:
            (group / "cpu.weight").write_text(str(weight))
    except OSError as error:
        raise UserError(f"--cpu-weight: {group}: {error.strerror}") from error
    return str(group)


def join(group: str) -> None:
    if group:
        Path(group, "cgroup.procs").write_text("0")


def join_cluster(state: State) -> None:
    """Put this process, and what it will start, where the cluster's processes are."""
    group = folder(state) if state.spec().cpu_weight else None
    try:
        join(str(group or ""))
    except OSError as error:
        raise VclusterError(f"{group}: {error.strerror}") from error


def remove(state: State) -> None:
    """Remove the group, if any; the kernel needs a moment to see that it is empty."""
    group = folder(state)
    for _ in range(100):
        if group is None or not group.is_dir():
            return
        try:
            group.rmdir()
        except OSError:
            time.sleep(0.02)

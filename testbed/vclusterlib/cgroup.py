"""A CPU weight for a whole cluster, against others on the same machine: cgroup v1 or v2.

nice(1) does not do it: with autogroup scheduling it only counts within one session.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Iterable
from pathlib import Path

from vclusterlib.errors import UserError, VclusterError
from vclusterlib.state import State

_ROOT = Path("/sys/fs/cgroup")
#: A node with a quota stands still for a part of each period; the quota is 1 ms at least.
_PERIOD_US, _QUOTA_US = 4000, 1000


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


def limit(state: State, node: str, pids: Iterable[int], share: float) -> None:
    """Give the processes of a node `share` of one processor together; 0: as much as there is.

    What they start later has it too.  UserError where the machine cannot.

    Without a quota they go back to where the others are: between two groups sched_yield(2) does
    not yield, so that a rank that polls would hold up one of a group of its own.
    """
    cluster = folder(state)
    if cluster is None:
        if share:
            raise UserError("--cpu: no CPU controller in /sys/fs/cgroup (v1 or v2) to use")
        return
    group = cluster.with_name(f"{cluster.name}-{node}")
    if not share and not group.is_dir():
        return
    quota = f"{max(_QUOTA_US, round(share * _PERIOD_US))}" if share else None
    try:
        group.mkdir(exist_ok=True)
        for name in ("cpu.shares", "cpu.weight"):  # a quota takes no precedence from the node
            if (cluster / name).exists():
                (group / name).write_text((cluster / name).read_text())
        if (group / "cpu.cfs_quota_us").exists():
            (group / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(quota or "-1")
        else:
            (group / "cpu.max").write_text(f"{quota or 'max'} {_PERIOD_US}")
        common_group = cluster if cluster.is_dir() else cluster.parent
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                ((group if share else common_group) / "cgroup.procs").write_text(str(pid))
    except OSError as error:
        raise UserError(f"--cpu: {group}: {error.strerror}") from error


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
    """Remove the groups, if any; the kernel needs a moment to see that they are empty."""
    group = folder(state)
    for path in group.parent.glob(f"{group.name}*") if group else ():
        for _ in range(100):
            if not path.is_dir():
                break
            try:
                path.rmdir()
            except OSError:
                time.sleep(0.02)

"""CPU weight of a whole cluster against the rest of the machine, quota of a node: cgroup v1 or v2.

nice(1) is not enough: with autogroup scheduling it only counts within one session.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Iterable
from pathlib import Path

from vclusterlib import UserError, VclusterError
from vclusterlib.state import State

_CGROUP_ROOT = Path("/sys/fs/cgroup")
#: A node with a quota stands still for a part of each period; the quota is 1 ms at least.
_PERIOD_US, _MIN_QUOTA_US = 4000, 1000


def cluster_group(state: State) -> Path | None:
    """The folder of this cluster's cgroup, which need not exist; None without a CPU controller."""
    name = f"roundtrip-vcluster-{hashlib.sha256(str(state.path).encode()).hexdigest()[:12]}"
    if (_CGROUP_ROOT / "cpu" / "cpu.shares").exists():
        return _CGROUP_ROOT / "cpu" / name
    controllers = _CGROUP_ROOT / "cgroup.subtree_control"
    if controllers.exists() and "cpu" in controllers.read_text().split():
        return _CGROUP_ROOT / name
    return None


def make_cluster_group(state: State, weight: int) -> str:
    """Make the cluster's cgroup with `weight`, where others have 100; return its folder, or ""
    without one for 0.  UserError if the machine cannot do it."""
    if not weight:
        return ""
    group = cluster_group(state)
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


def limit_node(state: State, node: str, pids: Iterable[int], share: float) -> None:
    """Limit the processes of a node to `share` of one processor in total; 0 removes the limit.

    It includes their later children.  UserError if the machine cannot do it.

    Without a quota they return to the common group: sched_yield(2) does not yield to other groups,
    so that a polling rank would delay a rank in a group of its own.
    """
    cluster = cluster_group(state)
    if cluster is None:
        if share:
            raise UserError("--cpu: no CPU controller in /sys/fs/cgroup (v1 or v2) to use")
        return
    group = _node_group(cluster, node)
    if not share and not group.is_dir():
        return
    quota = f"{max(_MIN_QUOTA_US, round(share * _PERIOD_US))}" if share else None
    try:
        group.mkdir(exist_ok=True)
        for name in ("cpu.shares", "cpu.weight"):  # the node keeps its weight under a quota
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


def join_node(state: State, node: str) -> bool:
    """Move this process to the group of a node, if that has a quota; return whether it has."""
    cluster = cluster_group(state)
    if cluster is None or not _has_quota(group := _node_group(cluster, node)):
        return False
    _try_join(group)
    return True


def _node_group(cluster: Path, node: str) -> Path:
    return cluster.with_name(f"{cluster.name}-{node}")


def _has_quota(group: Path) -> bool:
    """Whether the group exists and has a quota: it stays without one after the fault is cleared."""
    for name, unlimited in (("cpu.cfs_quota_us", "-1"), ("cpu.max", "max")):
        if (group / name).exists():
            return (group / name).read_text().split()[0] != unlimited
    return False


def join_group(group: str) -> None:
    if group:
        Path(group, "cgroup.procs").write_text("0")


def join_cluster(state: State) -> None:
    """Move this process, and so its future children, to the group of the cluster's processes."""
    group = cluster_group(state) if state.spec().cpu_weight else None
    if group:
        _try_join(group)


def _try_join(group: Path) -> None:
    try:
        join_group(str(group))
    except OSError as error:
        raise VclusterError(f"{group}: {error.strerror}") from error


def remove_groups(state: State) -> None:
    """Remove the cgroups of the cluster and its nodes; wait up to 2 s for each to be empty."""
    group = cluster_group(state)
    for path in group.parent.glob(f"{group.name}*") if group else ():
        for _ in range(100):
            if not path.is_dir():
                break
            try:
                path.rmdir()
            except OSError:
                time.sleep(0.02)

"""What is wrong with a trial, by what its ranks saw and what the site says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roundtrip.sites.live.told import Told

_RDMA = ("infiniband", "roce")


def started(told: Told | None, nodes: int) -> str | None:
    """Why these are not two ranks of one program on `nodes` nodes; None if they are."""
    if told is None:
        return "does not start"
    if {rank.ranks for rank in told.ranks} == {1}:
        return f"starts {len(told.ranks)} programs of one rank: they do not speak the PMI offered"
    if len(told.ranks) != 2:
        return f"{len(told.ranks)} of 2 ranks spoke"
    if len(told.hosts) != nodes:
        return f"both ranks are on {told.hosts[0]}, not on {nodes} nodes"
    return None


def unbound(told: Told, extras: Mapping[str, Any]) -> str | None:
    """Why ranks are not bound as the partition says."""
    if extras.get("binding") != "core":
        return None
    loose = [rank for rank in told.ranks if not rank.bound]
    if loose:
        rank = loose[0]
        return f"rank {rank.number} is not bound: it may run on {rank.cpus} of {rank.online}"
    first, second = told.ranks
    if first.host == second.host and first.cpus == second.cpus:
        return f"both ranks are bound to {first.cpus}"
    return None


def faults(told: Told, extras: Mapping[str, Any]) -> list[str]:
    """What of the partition's description is not so on its nodes."""
    return [
        f"{rank.host} lets a rank pin {rank.memlock} bytes: RDMA needs `unlimited` "
        "(/etc/security/limits.conf, and slurmd's own limit)"
        for rank in told.ranks
        if extras.get("fabric") in _RDMA and rank.memlock != "unlimited"
    ]


def described(told: Told) -> str:
    """The facts of a trial in one line."""
    first = told.ranks[0]
    bound = ", ".join(f"{rank.cpus} of {rank.online}" for rank in told.ranks)
    transport = ", ".join(told.transports) or "not told by the MPI"
    return (
        f"{len(told.ranks)} ranks on {', '.join(told.hosts)}; may run on processors {bound}; "
        f"transport {transport}; {first.process_manager}; pinned memory {first.memlock}; "
        f"{first.mpi}"
    )

"""How many ranks a launch has, on which nodes and sockets, and by which launcher they start.

The extras of a partition give its number of ``nodes``, and the ``cores`` and ``sockets`` of each;
`size_features` derives its features: ``nodes_4`` for at least four nodes, ``cores_4`` for at least
four cores a node.  ReFrame selects tests by features, because it cannot select them by numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from roundtrip.sites.schedulers.interface import LauncherOptions, Scheduler

_NODES_BY_SCALE = {f"nodes_{count}": count for count in (2, 4, 8, 16)}
#: `pair`: two ranks; `node`: one node; `nodes_2` to `nodes_16`: 2 to 16 nodes; `all`: all nodes.
SCALES = ("pair", "node", *_NODES_BY_SCALE, "all")
#: Placements of two ranks in a node: on one of its sockets, or on two.
SOCKET_PLACEMENTS = ("one-socket", "two-sockets")
#: Placements: a rank on every core, or one on every node.
ALL_CORES, ONE_PER_NODE = "all-cores", "one-per-node"
#: The feature of an environment whose times come from a model.
SIMULATED_FEATURE = "simulated"


def size_features(nodes: int | None, cores: int | None, sockets: int | None = None) -> list[str]:
    """Return the features of `nodes` nodes with `cores` and `sockets` each; None: unknown."""
    counts = [2**power for power in range(1, 31)]
    return [
        f"{quantity}_{count}"
        for quantity, limit in (("nodes", nodes), ("cores", cores), ("sockets", sockets))
        for count in counts
        if count <= (limit or 0)
    ]


def features_for_ranks(ranks: int, per_node: int) -> list[str]:
    """Return the features that `ranks` ranks, `per_node` on each node, require of a partition."""
    nodes = -(-ranks // per_node)
    return [
        f"{quantity}_{1 << (count - 1).bit_length()}"  # the next power of two
        for quantity, count in (("nodes", nodes), ("cores", per_node))
        if count > 2
    ]


def features_for_scale(
    scale: str, placement: str, multi_node_feature: str = ONE_PER_NODE
) -> list[str]:
    """Features that a scale requires; `multi_node_feature` if it takes several nodes."""
    if scale == "pair":
        return [ONE_PER_NODE if placement == ONE_PER_NODE else "shared-memory"]
    cores = ["cores_2"] if placement == ALL_CORES else []
    if scale == "node":
        return ["shared-memory", *cores]
    return [multi_node_feature, "nodes_2" if scale == "all" else scale, *cores]


def nodes_and_ranks_per_node(
    scale: str, placement: str, extras: Mapping[str, Any]
) -> tuple[int, int]:
    """Return the nodes of a scale, and the ranks on each, on a partition with these `extras`."""
    ranks_per_node = 1 if placement == ONE_PER_NODE else int(extras.get("cores", 2))
    if scale == "pair":
        return (2, 1) if placement == ONE_PER_NODE else (1, 2)
    if scale == "all":
        return int(extras["nodes"]), ranks_per_node
    return _NODES_BY_SCALE.get(scale, 1), ranks_per_node


def describe_shortage(feature: str, extras: Mapping[str, Any]) -> str | None:
    """Return why a partition with these `extras` lacks `feature`; None if it is no size feature."""
    match = re.fullmatch(r"(nodes|cores|sockets)_\d+", feature)
    if match is None:
        return None
    count = extras.get(match[1])
    return f"it has {count}" if count else f"it does not say how many {match[1]} it has"


#: Options for more ranks than processors: no binding, and Open MPI's mpirun must allow it.  The
#: launcher of a scheduler needs none: it binds in the allocation, which has a processor for each.
_OVERSUBSCRIPTION_BY_LAUNCHER = {
    "mpirun": ["--bind-to", "none", "--map-by", ":OVERSUBSCRIBE"],
    "mpiexec": ["-bind-to", "none"],
}
#: The MPIs' own launchers.
OPTIONS_BY_MPI_LAUNCHER = {
    "mpirun": LauncherOptions(("--bind-to", "core"), ("--map-by", "core"), ("--map-by", "socket")),
    "mpiexec": LauncherOptions(("-bind-to", "core"), ("-map-by", "core"), ("-map-by", "socket")),
}
#: PMIs that an MPI can be built for, the one of the bases first.
PMIS_BY_MPI = {
    "openmpi": ("pmix",),
    "mpich": ("pmi2", "pmix"),
    "mvapich": ("pmi2", "pmix"),
    "mvapich2": ("pmi2", "pmix"),
}


def launcher_of_mpi(mpi: str) -> str:
    """Return the program by which an MPI starts its ranks itself: ``mpirun`` or ``mpiexec``."""
    return "mpirun" if mpi == "openmpi" else "mpiexec"


def rank_start_key(extras: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the extras that determine how ranks start: MPI, version and transport, not Boost."""
    return tuple(str(extras.get(key, "")) for key in ("mpi", "mpi_version", "transport"))


def replace_socket_options(
    launcher: LauncherOptions | None, placement: str, options: Sequence[str]
) -> list[str]:
    """Return `options` changed to place ranks by `placement` (`SOCKET_PLACEMENTS`), those that bind
    kept or added; an unknown launcher's (None) stay."""
    if launcher is None:
        return list(options)
    placement_options = (
        launcher.one_socket if placement == SOCKET_PLACEMENTS[0] else launcher.two_sockets
    )
    names = [option.partition("=")[0] for option in options]
    # An option has its value in the same word, or in the next one.
    removals = {
        position + step
        for position, name in enumerate(names)
        if name == placement_options[0].partition("=")[0]
        for step in range(len(placement_options))
    }
    remainder = [option for number, option in enumerate(options) if number not in removals]
    binds = launcher.bind[0].partition("=")[0] in names
    return [*remainder, *(() if binds else launcher.bind), *placement_options]


def launcher_extras(launcher: str | None, options: Sequence[str]) -> dict[str, object]:
    """The extras of an environment whose ranks `launcher` (None: the partition's) starts."""
    extras: dict[str, object] = {"launcher_options": list(options)}
    if launcher:
        extras["launcher"] = launcher
    if overcommit_options := _OVERSUBSCRIPTION_BY_LAUNCHER.get(launcher or ""):
        extras["launcher_options_oversubscribed"] = list(overcommit_options)
    return extras


def launcher_commands(mpi: str, scheduler: Scheduler, pmis: Sequence[str]) -> list[tuple[str, ...]]:
    """Return each launcher that may start ranks of `mpi`, with its options: that of the
    `scheduler` by each of its `pmis`, then the MPI's own program."""
    options, launcher = scheduler.launcher_options, launcher_of_mpi(mpi)
    names = [name for name in PMIS_BY_MPI.get(mpi, ()) if name in pmis]
    commands = (
        [(scheduler.launcher, f"{options.pmi_prefix}{name}") for name in names] if options else []
    )
    return [*commands, (launcher, *OPTIONS_BY_MPI_LAUNCHER[launcher].bind)]

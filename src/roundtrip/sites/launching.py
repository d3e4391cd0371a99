"""How many ranks a launch has, on which nodes and sockets, and by which launcher they start.

The extras of a partition give its number of ``nodes``, and the ``cores`` and ``sockets`` of each;
`features` derives its features: ``nodes_4`` for at least four nodes, ``cores_4`` for at least four
cores a node.  ReFrame selects tests by features, because it cannot select them by numbers.

A new site starts an MPI by the launcher of its scheduler if that has a PMI for it and binds tasks,
else by the MPI's own program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from roundtrip.sites import schedulers
from roundtrip.sites.schedulers.interface import LauncherOptions, Scheduler

if TYPE_CHECKING:
    from roundtrip.sites.probe import Facts

_NODE_COUNTS = {f"nodes_{count}": count for count in (2, 4, 8, 16)}
#: `pair`: two ranks; `node`: one node; `nodes_2` to `nodes_16`: 2 to 16 nodes; `all`: all nodes.
SCALES = ("pair", "node", *_NODE_COUNTS, "all")
#: Two ranks in a node, on one of its sockets or on two.
ON_SOCKETS = ("one-socket", "two-sockets")
#: A rank on every core, or one on every node.
ALL_CORES, ONE_PER_NODE = "all-cores", "one-per-node"
#: The feature of an environment whose times come from a model.
SIMULATED = "simulated"


def features(nodes: int | None, cores: int | None, sockets: int | None = None) -> list[str]:
    """Return features of `nodes` nodes with `cores` cores and `sockets` sockets; None: unknown."""
    counts = [2**power for power in range(1, 31)]
    return [
        f"{quantity}_{count}"
        for quantity, limit in (("nodes", nodes), ("cores", cores), ("sockets", sockets))
        for count in counts
        if count <= (limit or 0)
    ]


def features_for_ranks(ranks: int, per_node: int) -> list[str]:
    """Return the features that `ranks` ranks, `per_node` on each node, require of a partition.

    Every partition has two cores a node, and two nodes if it offers several.
    """
    nodes = -(-ranks // per_node)
    requirements = (("nodes", nodes), ("cores", per_node))
    return [
        f"{quantity}_{_next_power_of_two(count)}" for quantity, count in requirements if count > 2
    ]


def features_for_scale(
    scale: str, placement: str, multi_node_feature: str = ONE_PER_NODE
) -> list[str]:
    """Return the features that a scale requires; several nodes require `multi_node_feature`."""
    if scale == "pair":
        return [ONE_PER_NODE if placement == ONE_PER_NODE else "shared-memory"]
    cores = ["cores_2"] if placement == ALL_CORES else []
    if scale == "node":
        return ["shared-memory", *cores]
    return [multi_node_feature, "nodes_2" if scale == "all" else scale, *cores]


def size(scale: str, placement: str, extras: Mapping[str, Any]) -> tuple[int, int]:
    """Return (nodes, ranks a node) of a scale on a partition with these `extras`."""
    ranks_per_node = 1 if placement == ONE_PER_NODE else int(extras.get("cores", 2))
    if scale == "pair":
        return (2, 1) if placement == ONE_PER_NODE else (1, 2)
    if scale == "all":
        return int(extras["nodes"]), ranks_per_node
    return _NODE_COUNTS.get(scale, 1), ranks_per_node


def shortage(feature: str, extras: Mapping[str, Any]) -> str | None:
    """Return why a partition with these `extras` lacks `feature`; None if it is no size."""
    match = re.fullmatch(r"(nodes|cores|sockets)_\d+", feature)
    if match is None:
        return None
    count = extras.get(match[1])
    return f"it has {count}" if count else f"it does not say how many {match[1]} it has"


def _next_power_of_two(count: int) -> int:
    """Return the smallest power of two that is at least `count`."""
    return 1 << (count - 1).bit_length()


#: Options for more ranks than processors: no binding, and Open MPI's mpirun must allow it.  The
#: launcher of a scheduler needs none: it binds in the allocation, which has a processor for each.
_OVERSUBSCRIPTION_VARIABLES = {
    "mpirun": ["--bind-to", "none", "--map-by", ":OVERSUBSCRIBE"],
    "mpiexec": ["-bind-to", "none"],
}
#: The MPIs' own launchers; and those of schedulers.
_LAUNCHERS: Mapping[str, LauncherOptions] = {
    "mpirun": LauncherOptions(("--bind-to", "core"), ("--map-by", "core"), ("--map-by", "socket")),
    "mpiexec": LauncherOptions(("-bind-to", "core"), ("-map-by", "core"), ("-map-by", "socket")),
    **{
        name: item.launcher_options
        for item in schedulers.ALL
        if item.launcher_options
        for name in (item.launcher, *item.step_launchers)
    },
}


def of_scheduler(launcher: str) -> LauncherOptions | None:
    """Return the options of `launcher` if it is that of a scheduler; None if it is another."""
    names = {name for item in schedulers.ALL for name in (item.launcher, *item.step_launchers)}
    return _LAUNCHERS.get(launcher) if launcher in names else None


def start_key(extras: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the extras that determine how ranks start: MPI, version and transport, not Boost."""
    return tuple(str(extras.get(key, "")) for key in ("mpi", "mpi_version", "transport"))


def fail_fast_options(launcher: str) -> list[str]:
    """Return options by which `launcher` ends a launch as soon as a rank fails.

    Otherwise its partner waits until the time limit.  mpirun and mpiexec need no option.
    """
    return list(_LAUNCHERS[launcher].fail_fast) if launcher in _LAUNCHERS else []


def socket_options(launcher: str, placement: str, options: Sequence[str]) -> list[str]:
    """Return the launcher's options that place ranks on one socket or on two, by `placement`.

    `placement` is one of `ON_SOCKETS`.  Placement options among the usual `options` are
    replaced; a binding option is kept, or added.  An unknown launcher keeps its `options`.
    """
    if launcher not in _LAUNCHERS:
        return list(options)
    known = _LAUNCHERS[launcher]
    place = known.one_socket if placement == ON_SOCKETS[0] else known.two_sockets
    bind = known.bind
    remainder = _options_without(options, place)
    binds = any(_option_name(option) == _option_name(bind[0]) for option in remainder)
    return [*remainder, *(() if binds else bind), *place]


def _options_without(options: Sequence[str], setting: Sequence[str]) -> list[str]:
    """Remove each option named as in `setting`, with its value in the same word or the next."""
    positions = [
        index
        for index, option in enumerate(options)
        if _option_name(option) == _option_name(setting[0])
    ]
    removals = {number + step for number in positions for step in range(len(setting))}
    return [option for number, option in enumerate(options) if number not in removals]


def _option_name(option: str) -> str:
    return option.partition("=")[0]


def launcher_extras(launcher: str | None, options: Sequence[str]) -> dict[str, object]:
    """The extras of an environment whose ranks `launcher` starts with `options`.

    Without a `launcher`, the partition's launcher starts the ranks, with these options.
    """
    extras: dict[str, object] = {"launcher_options": list(options)}
    if launcher:
        extras["launcher"] = launcher
    if overcommit_options := _OVERSUBSCRIPTION_VARIABLES.get(launcher or ""):
        extras["launcher_options_oversubscribed"] = list(overcommit_options)
    return extras


#: PMIs that an MPI can be built for, the one of the bases first.
_PMI_BY_FAMILY = {
    "openmpi": ("pmix",),
    "mpich": ("pmi2", "pmix"),
    "mvapich": ("pmi2", "pmix"),
    "mvapich2": ("pmi2", "pmix"),
}


def pmi(mpi: str, facts: Facts) -> str | None:
    """The PMI by which the scheduler's launcher starts ranks of `mpi`; None if it cannot."""
    if _srun_obstacle(mpi, facts):
        return None
    offered = facts.cluster.pmi
    return next((name for name in _PMI_BY_FAMILY[mpi] if name in offered), _PMI_BY_FAMILY[mpi][0])


def start_options(mpi: str, scheduler: Scheduler, pmis: Sequence[str]) -> list[tuple[str, ...]]:
    """Return each launcher with options for `mpi`: that of the `scheduler`, which offers `pmis`,
    and the MPI's own program."""
    options, launcher = scheduler.launcher_options, _own(mpi)
    names = [name for name in _PMI_BY_FAMILY.get(mpi, ()) if name in pmis]
    words = [(scheduler.launcher, f"{options.pmi}{name}") for name in names] if options else []
    return [*words, (launcher, *_LAUNCHERS[launcher].bind)]


def launch_tables(facts: Facts) -> str:
    """The ``[launch]`` tables of a site.toml that differ from those of its base."""
    text = ""
    for mpi, (default_pmi, *_) in _PMI_BY_FAMILY.items():
        launcher = _own(mpi)
        if obstacle := _srun_obstacle(mpi, facts):
            text += f'\n[launch.{mpi}]\nlauncher = "{launcher}" # {obstacle}\n'
            text += f"options = {json.dumps(_LAUNCHERS[launcher].bind)}\n"
        elif (name := pmi(mpi, facts)) != default_pmi:
            lack = f"{facts.scheduler.launcher} has no {default_pmi}"
            text += f'\n[launch.{mpi}]\npmi = "{name}" # {lack}\n'
    return text


def start_lines(facts: Facts) -> list[str]:
    """Return one line for people: how each MPI starts its ranks."""
    starts, options = [], facts.scheduler.launcher_options
    for mpi in _PMI_BY_FAMILY:
        if obstacle := _srun_obstacle(mpi, facts):
            starts.append(f"{mpi}: {_own(mpi)}, {obstacle}")
        elif options:
            command = f"{facts.scheduler.launcher} {options.pmi}{pmi(mpi, facts)}"
            starts.append(f"{mpi}: {command}")
    return [f"how ranks start: {'; '.join(starts)}"]


def unknown_starts(facts: Facts) -> list[str]:
    """Return the facts about launches that the user has to look up."""
    scheduler, unknowns = facts.scheduler, []
    if not scheduler.launcher:
        return []
    if not facts.cluster.pmi:
        unknowns.append("`pmi` of each `[launch]`, and of each MPI in `spack/packages.yaml`")
    if facts.cluster.binds_tasks is None:
        unknowns.append(f"whether {scheduler.launcher} binds tasks ({scheduler.binding_hint})")
    return unknowns


def _own(mpi: str) -> str:
    """The program by which an MPI starts its ranks itself."""
    return "mpirun" if mpi == "openmpi" else "mpiexec"


def _srun_obstacle(mpi: str, facts: Facts) -> str | None:
    """Return why the scheduler's launcher cannot start ranks of `mpi`; None if it can."""
    scheduler, cluster = facts.scheduler, facts.cluster
    if not scheduler.launcher:
        return f"{scheduler.title} has no launcher"
    if cluster.binds_tasks is False:
        return f"{scheduler.launcher} binds no task here: {scheduler.unbound}"
    library = facts.library(scheduler.spack_package)
    if mpi == "mvapich2" and library and library.missing_file:  # its PMI is in these libraries
        return f"{scheduler.title}'s PMI library is not installed here"
    if cluster.pmi and not set(_PMI_BY_FAMILY[mpi]) & set(cluster.pmi):
        return f"{scheduler.launcher} offers {', '.join(cluster.pmi)} only"
    return None

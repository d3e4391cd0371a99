"""Writes the folder of a new site: a data file that extends a base by the facts of a probe."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from roundtrip.errors import UserError
from roundtrip.sites import data, launching, slurm, spackpart
from roundtrip.sites.probe import Facts
from roundtrip.sites.slurm import NIGHT_S, Partition


def nights_environment(facts: Facts, partitions: Sequence[Partition]) -> str:
    """Return the site's file ``environment``: partition and time limit of nightly.sbatch.

    The nightly job should occupy no node of its launches: a partition without these nodes is
    preferred.  "" without Slurm.
    """
    if not partitions:
        return ""
    hosts = frozenset().union(*(partition.hosts for partition in partitions))
    candidates = [p for p in facts.usable_partitions if p.hosts and not p.hosts & hosts]
    if candidates:
        night_partition = max(candidates, key=lambda p: _longest(facts, p))
        reason = "none of its nodes is measured"
    else:
        night_partition = partitions[0]
        reason = "its nodes are measured as well: the job of a night takes one core of them"
    minutes = min(NIGHT_S, _longest(facts, night_partition)) // 60
    text = (
        "# Sourced by `activate`: options of `sbatch campaigns/nightly.sbatch`.\n"
        f"export SBATCH_PARTITION={night_partition.name} # {reason}\n"
        f"export SBATCH_TIMELIMIT={minutes} # minutes\n"
    )
    for variable, partition in (
        ("SBATCH_ACCOUNT", night_partition),
        ("ROUNDTRIP_ACCOUNT", partitions[0]),
    ):
        allowlist = facts.cluster.limit(partition.name).accounts
        accounts = [name for name in facts.cluster.accounts if not allowlist or name in allowlist]
        if len(facts.cluster.accounts) > 1 and accounts:
            text += f"export {variable}={accounts[0]} # of: {', '.join(accounts)}\n"
    return text


def cluster_lines(facts: Facts, partitions: Sequence[Partition]) -> list[str]:
    """A line for each fact of the cluster, for people."""
    cluster = facts.cluster
    lines = []
    for partition in partitions:
        kinds = cluster.kinds.get(partition.name, ())
        if len(kinds) > 1 or any(kind.gres for kind in kinds):
            lines.append(f"nodes of `{partition.name}`: {'; '.join(map(str, kinds))}")
    for name, limits in cluster.limits.items():
        parts = [] if limits.up else ["does not start jobs, so left out"]
        parts += [f"for QOS {', '.join(limits.qos)} only"] if limits.qos else []
        parts += [f"for accounts {', '.join(limits.accounts)} only"] if limits.accounts else []
        if parts:
            lines.append(f"partition `{name}`: {'; '.join(parts)}")
    if cluster.qos:
        names = ", ".join(f"{name} ({_hours(limit_s)})" for name, limit_s in cluster.qos.items())
        lines.append(f"QOS: {names}; your accounts: {', '.join(cluster.accounts) or 'none'}")
    if cluster.switches:
        names = ", ".join(
            f"{name} ({len(nodes)} nodes)" for name, nodes in cluster.switches.items()
        )
        lines.append(f"leaf switches: {names}")
    if cluster.crontab:
        lines.append("scrontab is enabled: it starts the nights")
    if cluster.preempts:
        lines.append("Slurm preempts jobs here: such a launch is repeated")
    return lines


def unknown_limits(facts: Facts, partitions: Sequence[Partition]) -> list[str]:
    """Return the settings of partitions that the user has to decide."""
    unknowns = []
    for partition in partitions:
        kinds = facts.cluster.kinds.get(partition.name, ())
        if len({(kind.cores, kind.gres) for kind in kinds}) > 1:
            unknowns.append(
                f"nodes of partition `{partition.name}` differ, and a launch takes any: to measure "
                'one kind, add `"--constraint=FEATURE"` to its `access`, and say its `nodes`'
            )
        limits = facts.cluster.limit(partition.name)
        if limits.qos and not set(limits.qos) & {"normal"}:
            unknowns.append(
                f"`access` of partition `{partition.name}`: `--qos=` one of {limits.qos}"
            )
    return unknowns


def _longest(facts: Facts, partition: Partition) -> int:
    limit_s = facts.cluster.limit(partition.name).longest_s
    return NIGHT_S if limit_s is None else limit_s


def _hours(longest_s: int | None) -> str:
    return "no limit" if longest_s is None else f"{longest_s / 3600:g} h"


#: The site's ``reframe.py``; its data are in ``site.toml``.
_REFRAME = '''"""Site `{name}` as ReFrame takes it: `site.toml` says what it is."""

from roundtrip.sites.render import configuration

site_configuration = configuration(__file__)
'''
_VALUES = {
    "hca": ("mlx5_0", "`ibv_devinfo -l`; of several, the one nearest to the ranks (`lstopo`)"),
    "port": (1, ""),
    "interface": ("eth0", "`ip -br link`: the network interface of the nodes"),
    "gid_index": (3, "`show_gids`: the line of the IPv4 address that says v2"),
    "traffic_class": (106, "the class that the switches treat as lossless: ask who runs them"),
}


class _Base(NamedTuple):
    """A base of a site, the shipped site whose Spack part it copies, and the values it needs."""

    title: str
    spack_part: str
    values: tuple[str, ...] = ()


_RDMA = ("hca", "port", "interface")
_BASES = {
    "infiniband": _Base("Slurm, InfiniBand", "infiniband", _RDMA),
    "roce": _Base(
        "Slurm, RDMA over Converged Ethernet", "roce", (*_RDMA, "gid_index", "traffic_class")
    ),
    "ethernet": _Base("Slurm, Ethernet, UCX", "infiniband", ("interface",)),
    "tcp": _Base("Slurm, Ethernet, each MPI's own TCP", "infiniband", ("interface",)),
    "machine": _Base("This machine, no scheduler, software by Spack", "spack"),
}


def write_site(
    name: str,
    facts: Facts,
    checkout: Path,
    partitions: Sequence[str] = (),
    software: str = "spack",
) -> Path:
    """Write the folder ``site-configs/<name>``.

    `partitions` are the Slurm partitions to measure on, by default the distinct ones; `software`
    makes the toolchains: ``spack``, or ``toolchains`` (`roundtrip toolchains`).
    UserError if the folder exists, for an illegal name, or for a partition that Slurm lacks.
    """
    sites = checkout / "site-configs"
    if not re.fullmatch(r"[A-Za-z][\w-]*", name):
        raise UserError(f"'{name}' is no name for a site: letters, digits, - and _ only")
    folder = sites / name
    if folder.exists():
        raise UserError("there is one already; remove it, or choose another name", folder)
    slurm_partitions = _chosen(facts, partitions)
    base = choose_base(facts)
    folder.mkdir()
    text, unknowns = site_toml(name, base, facts, slurm_partitions, software)
    (folder / data.FILE).write_text(text)
    (folder / "reframe.py").write_text(_REFRAME.format(name=name))
    if software == "spack":
        source = sites / _BASES[base].spack_part / "spack"
        unknowns += spackpart.write_spack_part(source, folder, facts, base)
    unknowns += unknown_limits(facts, slurm_partitions)
    starts = launching.start_lines(facts) if slurm_partitions else []
    lines = [*facts.lines(), *starts, *cluster_lines(facts, slurm_partitions)]
    (folder / "README.md").write_text(readme(name, base, lines, unknowns))
    if text := nights_environment(facts, slurm_partitions):
        (folder / "environment").write_text(text)
    return folder


def choose_base(facts: Facts) -> str:
    """Return ``machine`` without Slurm; else choose by the port's link layer, or by UCX."""
    if facts.partition is None:
        return "machine"
    if facts.port is None:
        return "ethernet" if facts.library("ucx") else "tcp"
    return "roce" if facts.port.link_layer == "Ethernet" else "infiniband"


def _chosen(facts: Facts, names: Sequence[str]) -> list[Partition]:
    partitions = {partition.name: partition for partition in facts.partitions}
    if missing_names := [name for name in names if name not in partitions]:
        choices = ", ".join(sorted(partitions)) or "none, or no sinfo"
        raise UserError(f"Slurm has no partition '{missing_names[0]}'; there are: {choices}")
    return [partitions[name] for name in names] or facts.distinct_partitions


def site_toml(
    name: str, base: str, facts: Facts, partitions: Sequence[Partition], software: str
) -> tuple[str, list[str]]:
    """Return the text of ``site.toml``, and the keys for which the probe found no value."""
    text = (
        f"# Site `{name}`: README.md beside it says what was found. It is laid over\n"
        f"# site-configs/base/{base}.toml: whatever stands there may be replaced here.\n"
        f'base = "{base}"\ndescription = "{_BASES[base].title}"\n'
    )
    if software != "spack" or base == "machine":
        text += f'software = "{software}"\n'
    if base == "machine":
        return text, []
    text += f"hostnames = ['^{name}-login\\d*$'] # chosen by RFM_SYSTEM all the same\n"
    unknowns = []
    if series := slurm.pmix_series(facts.pmi):
        text += f'pmix = "{series}" # as `srun --mpi=list` says\n'
    else:
        unknowns.append(f"`pmix` in `{data.FILE}`: the series that Slurm was built with")
    values: dict[str, str | int | None] = {
        "hca": facts.port.device if facts.port else None,
        "port": facts.port.number if facts.port else None,
        "interface": facts.interface(infiniband=base == "infiniband"),
    }
    text += "\n[values]\n"
    for key in _BASES[base].values:
        default, hint = _VALUES[key]
        value = values.get(key)
        if value is None:
            unknowns.append(f"`{key}` in `{data.FILE}`" + (f": {hint}" if hint else ""))
        literal = json.dumps(default if value is None else value)
        text += f"{key} = {literal}{f' # {hint}' if hint else ''}\n"
    if facts.accounting is False:  # ReFrame's `slurm` fails without sacct
        text += "\n[every_partition]\n"
        text += 'scheduler = "squeue" # no accounting here: `sacct` answers nothing\n'
    sizes, size_unknowns = _sizes(partitions)
    text += sizes + launching.launch_tables(facts)
    return text, unknowns + size_unknowns + launching.unknown_starts(facts)


def _sizes(partitions: Sequence[Partition]) -> tuple[str, list[str]]:
    """Return a table of nodes, cores and sockets for each partition, and the unknown ones."""
    text, unknowns = "", []
    for partition in partitions:
        text += f'\n[slurm_partition."{partition.name}"]\n'
        for key in ("nodes", "cores", "sockets"):
            if value := getattr(partition, key):
                text += f"{key} = {value}\n"
            else:
                unknowns.append(
                    f"`{key}` of partition `{partition.name}`: what fits follows from it"
                )
    return text, unknowns


def readme(name: str, base: str, lines: list[str], unknowns: list[str]) -> str:
    """Return the README of the site: its facts (`lines`), and the `unknowns` left to set."""
    facts = "\n".join(f"- {line}" for line in lines)
    unknowns = unknowns or ["nothing, but read every value once"]
    unknown_list = "\n".join(f"- {item}" for item in unknowns)
    return (
        f"# Site `{name}`\n\nWritten by `roundtrip site new`, over `site-configs/base/{base}.toml`."
        f"\n\nFound:\n\n{facts}\n\nNot found, so the usual value stands; set it:\n\n{unknown_list}"
        f"\n\nThen `roundtrip site check {name}`.\n"
    )

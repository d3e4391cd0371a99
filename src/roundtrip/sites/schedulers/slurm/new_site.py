"""What of a new site follows from Slurm: its partitions, launchers, limits, and nightly job."""

from __future__ import annotations

from collections.abc import Sequence

from roundtrip.sites import data, launching
from roundtrip.sites.probe import Facts
from roundtrip.sites.schedulers.interface import Partition, SitePart
from roundtrip.sites.schedulers.slurm import facts as slurm
from roundtrip.sites.schedulers.slurm.facts import NIGHT_S


def site_part(facts: Facts, partitions: Sequence[Partition]) -> SitePart:
    """Return what follows for a site that measures on `partitions`."""
    tables, unknown_keys = _tables(facts, partitions)
    starts = launching.start_lines(facts) if partitions else []
    series = slurm.pmix_series(facts.cluster.pmi)
    unknown_series = f"`pmix` in `{data.FILE}`: the series that Slurm was built with"
    return SitePart(
        keys=f'pmix = "{series}" # as `srun --mpi=list` says\n' if series else "",
        unknown_keys=() if series else (unknown_series,),
        tables=tables,
        unknown_values=(*unknown_keys, *launching.unknown_starts(facts)),
        decisions=unknown_limits(facts, partitions),
        lines=(*starts, *cluster_lines(facts, partitions)),
        environment=nights_environment(facts, partitions),
    )


def _tables(facts: Facts, partitions: Sequence[Partition]) -> tuple[str, list[str]]:
    """Return the tables of site.toml that differ from those of its base, and unknown keys."""
    text, unknowns = "", []
    if facts.cluster.accounting is False:  # ReFrame's `slurm` fails without sacct
        text += "\n[every_partition]\n"
        text += 'scheduler = "squeue" # no accounting here: `sacct` answers nothing\n'
    for partition in partitions:
        text += f'\n[slurm_partition."{partition.name}"]\n'
        for key in ("nodes", "cores", "sockets"):
            if value := getattr(partition, key):
                text += f"{key} = {value}\n"
            else:
                unknowns.append(
                    f"`{key}` of partition `{partition.name}`: what fits follows from it"
                )
    return text + launching.launch_tables(facts), unknowns


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
    if "enable" in slurm.setting(cluster.config, "ScronParameters"):
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


def fit_packages(packages: str, facts: Facts) -> str:
    """The text of a ``packages.yaml`` with each MPI built for the program that starts it."""
    mpich = launching.pmi("mpich", facts)
    if mpich is None:
        packages = packages.replace("+slurm pmi=pmi2", "+hydra ~slurm")
    else:
        packages = packages.replace(" pmi=pmi2", f" pmi={mpich}")
    for mpi, fabric in (("mvapich", "netmod=ucx"), ("mvapich2", "fabrics=mrail")):
        pmi = launching.pmi(mpi, facts)
        manager = f"slurm pmi_version={pmi}" if pmi else "hydra"
        packages = packages.replace(
            f"{fabric} process_managers=slurm pmi_version=pmi2",
            f"{fabric} process_managers={manager}",
        )
    library = facts.library("slurm")
    if library and library.missing_file:  # MPICH looks for Slurm's libraries, Open MPI for srun
        packages = packages.replace("+slurm pmi=", "~slurm pmi=")
    return packages

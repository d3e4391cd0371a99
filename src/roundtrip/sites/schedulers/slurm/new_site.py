"""What of a new site follows from Slurm: its partitions, launchers, limits, and nightly job.

srun starts an MPI if it has a PMI for it and binds tasks, else the MPI's own program does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from roundtrip.sites import data, launching
from roundtrip.sites.schedulers.interface import Cluster, Partition, SitePart
from roundtrip.sites.schedulers.slurm import facts
from roundtrip.sites.schedulers.slurm.facts import NIGHT_S


def site_part(cluster: Cluster, partitions: Sequence[Partition], has_library: bool) -> SitePart:
    """Return what follows for a site that measures on `partitions`, none without Slurm."""
    tables, unknown_sizes = _partition_tables(cluster, partitions)
    unknowns = [*unknown_sizes]
    if not cluster.pmi:
        unknowns.append("`pmi` of each `[launch]`, and of each MPI in `spack/packages.yaml`")
    if cluster.binds_tasks is None:
        hint = "`scontrol show config`: TaskPlugin, task/affinity"
        unknowns.append(f"whether srun binds tasks ({hint})")
    starts = []
    for mpi, (default_pmi, *_) in launching.PMIS.items():
        pmi, obstacle = _pmi_or_obstacle(mpi, cluster, has_library)
        launcher = launching.own_launcher(mpi)
        if obstacle:
            tables += f'\n[launch.{mpi}]\nlauncher = "{launcher}" # {obstacle}\n'
            tables += f"options = {json.dumps(launching.MPI_LAUNCHERS[launcher].bind)}\n"
        elif pmi != default_pmi:
            tables += f'\n[launch.{mpi}]\npmi = "{pmi}" # srun has no {default_pmi}\n'
        starts.append(f"{mpi}: {f'{launcher}, {obstacle}' if obstacle else f'srun --mpi={pmi}'}")
    lines = [f"how ranks start: {'; '.join(starts)}"] if partitions else []
    series = facts.pmix_series(cluster.pmi)
    unknown_series = f"`pmix` in `{data.FILE}`: the series that Slurm was built with"
    return SitePart(
        keys=f'pmix = "{series}" # as `srun --mpi=list` says\n' if series else "",
        unknown_keys=() if series else (unknown_series,),
        tables=tables,
        unknown_values=unknowns,
        decisions=_decisions(cluster, partitions),
        lines=(*lines, *_cluster_lines(cluster, partitions)),
        environment=_nights_environment(cluster, partitions) if partitions else "",
    )


def _pmi_or_obstacle(mpi: str, cluster: Cluster, has_library: bool) -> tuple[str, str]:
    """Return the PMI by which srun starts ranks of `mpi`, and why it cannot; one of both is ""."""
    if cluster.binds_tasks is False:
        return "", "srun binds no task here: TaskPlugin lacks task/affinity"
    if mpi == "mvapich2" and not has_library:  # its PMI is in these libraries
        return "", "Slurm's PMI library is not installed here"
    pmis = launching.PMIS[mpi]
    usable = [name for name in pmis if name in cluster.pmi or not cluster.pmi]
    return (usable[0], "") if usable else ("", f"srun offers {', '.join(cluster.pmi)} only")


def _partition_tables(cluster: Cluster, partitions: Sequence[Partition]) -> tuple[str, list[str]]:
    """Return the tables of site.toml that differ from those of its base, and unknown keys."""
    text, unknowns = "", []
    if cluster.accounting is False:  # ReFrame's `slurm` fails without sacct
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
    return text, unknowns


def _nights_environment(cluster: Cluster, partitions: Sequence[Partition]) -> str:
    """Return the site's file ``environment``: partition and time limit of nightly.sbatch.

    The nightly job should occupy no node of its launches: a partition without these nodes is
    preferred.
    """

    def longest_s(partition: Partition) -> int:
        limit_s = cluster.limit(partition.name).longest_s
        return NIGHT_S if limit_s is None else limit_s

    hosts = frozenset().union(*(partition.hosts for partition in partitions))
    usable = [p for p in cluster.partitions if cluster.limit(p.name).up]
    candidates = [p for p in usable if p.hosts and not p.hosts & hosts]
    if candidates:
        night_partition = max(candidates, key=longest_s)
        reason = "none of its nodes is measured"
    else:
        night_partition = partitions[0]
        reason = "its nodes are measured as well: the job of a night takes one core of them"
    minutes = min(NIGHT_S, longest_s(night_partition)) // 60
    text = (
        "# Sourced by `activate`: options of `sbatch campaigns/nightly.sbatch`.\n"
        f"export SBATCH_PARTITION={night_partition.name} # {reason}\n"
        f"export SBATCH_TIMELIMIT={minutes} # minutes\n"
    )
    for variable, partition in (
        ("SBATCH_ACCOUNT", night_partition),
        ("ROUNDTRIP_ACCOUNT", partitions[0]),
    ):
        allowlist = cluster.limit(partition.name).accounts
        accounts = [name for name in cluster.accounts if not allowlist or name in allowlist]
        if len(cluster.accounts) > 1 and accounts:
            text += f"export {variable}={accounts[0]} # of: {', '.join(accounts)}\n"
    return text


def _cluster_lines(cluster: Cluster, partitions: Sequence[Partition]) -> list[str]:
    """A line for each fact of the cluster, for people."""
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
        names = ", ".join(
            f"{name} ({'no limit' if limit_s is None else f'{limit_s / 3600:g} h'})"
            for name, limit_s in cluster.qos.items()
        )
        lines.append(f"QOS: {names}; your accounts: {', '.join(cluster.accounts) or 'none'}")
    if cluster.switches:
        names = ", ".join(
            f"{name} ({len(nodes)} nodes)" for name, nodes in cluster.switches.items()
        )
        lines.append(f"leaf switches: {names}")
    if "enable" in facts.setting(cluster.config, "ScronParameters"):
        lines.append("scrontab is enabled: it starts the nights")
    if facts.setting(cluster.config, "PreemptType") not in ("", "preempt/none"):
        lines.append("Slurm preempts jobs here: such a launch is repeated")
    return lines


def _decisions(cluster: Cluster, partitions: Sequence[Partition]) -> list[str]:
    """Return the settings of partitions that the user has to decide."""
    decisions = []
    for partition in partitions:
        kinds = cluster.kinds.get(partition.name, ())
        if len({(kind.cores, kind.gres) for kind in kinds}) > 1:
            decisions.append(
                f"nodes of partition `{partition.name}` differ, and a launch takes any: to measure "
                'one kind, add `"--constraint=FEATURE"` to its `access`, and say its `nodes`'
            )
        qos = cluster.limit(partition.name).qos
        if qos and "normal" not in qos:
            decisions.append(f"`access` of partition `{partition.name}`: `--qos=` one of {qos}")
    return decisions


def fit_packages(text: str, cluster: Cluster, has_library: bool) -> str:
    """The text of a ``packages.yaml`` with each MPI built for the program that starts it."""
    mpich, _ = _pmi_or_obstacle("mpich", cluster, has_library)
    if mpich:
        text = text.replace(" pmi=pmi2", f" pmi={mpich}")
    else:
        text = text.replace("+slurm pmi=pmi2", "+hydra ~slurm")
    for mpi, fabric in (("mvapich", "netmod=ucx"), ("mvapich2", "fabrics=mrail")):
        pmi, _ = _pmi_or_obstacle(mpi, cluster, has_library)
        manager = f"slurm pmi_version={pmi}" if pmi else "hydra"
        text = text.replace(
            f"{fabric} process_managers=slurm pmi_version=pmi2",
            f"{fabric} process_managers={manager}",
        )
    if not has_library:  # MPICH looks for Slurm's libraries, Open MPI for srun
        text = text.replace("+slurm pmi=", "~slurm pmi=")
    return text

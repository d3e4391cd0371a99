"""What a site asks of Slurm: whether Slurm offers it, and what of a new site follows from Slurm.

srun starts an MPI if it has a PMI for it and binds tasks, else the MPI's own program does.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from roundtrip.sites import data, launching
from roundtrip.sites.data import SiteData
from roundtrip.sites.schedulers.interface import (
    SPACK_VARIANTS_BY_MPI,
    Cluster,
    NewSiteTexts,
    SchedulerPartition,
    command_output,
)
from roundtrip.sites.schedulers.slurm import facts
from roundtrip.sites.schedulers.slurm.facts import NIGHT_TIME_LIMIT_S
from roundtrip.sites.site import Finding, Site, findings_of_faults, last_line

#: ReFrame's launchers that are srun.
_SRUN_LAUNCHERS = ("srun", "srunalloc")
_TIME_OPTION_PATTERN = re.compile(r"^#SBATCH --time=(\S+)$", re.MULTILINE)


def check_limits(site: Site, cluster: Cluster) -> list[Finding]:
    """Check features, limits, accounting, binding and nightly job; unknown facts are no fault."""
    faults: list[str] = []
    for name, partition in site.partitions.items():
        access = facts.parse_access_options(partition.get("access", []))
        if "partition" in access:
            faults += [f"partition '{name}': {fault}" for fault in _access_faults(access, cluster)]
    unaccounted = [
        f"partition '{name}': scheduler 'slurm' asks sacct, which answers nothing here: "
        'ReFrame would end without a result; `scheduler = "squeue"`'
        for name, partition in site.partitions.items()
        if partition["scheduler"] == "slurm" and cluster.accounting is False
    ]
    plugin = facts.config_setting(cluster.config_text, "TaskPlugin")
    extras_by_name = {name: item.get("extras", {}) for name, item in site.toolchains.items()}
    unbound = [
        f"toolchain '{name}' is bound by srun, and TaskPlugin is {plugin}, without task/affinity"
        for name, extras in extras_by_name.items()
        if plugin
        and "task/affinity" not in plugin
        and extras.get("launcher") == "srun"
        and any(option.startswith("--cpu-bind") for option in extras.get("launcher_options", []))
    ]
    return [
        *findings_of_faults(
            "features, QOS and accounts", faults, "all that the site asks, Slurm has"
        ),
        *findings_of_faults("accounting", unaccounted, "as the scheduler needs"),
        *findings_of_faults("task binding", unbound, "as asked"),
        *findings_of_faults(
            "nightly job", _nightly_option_faults(site.environment, cluster), "Slurm would take it"
        ),
    ]


def _access_faults(access: Mapping[str, str], cluster: Cluster) -> list[str]:
    """Return a line for each request of a partition's access that Slurm lacks or would refuse."""
    name = access["partition"]
    kinds, limits = cluster.node_groups_by_partition.get(name, ()), cluster.limits_of(name)
    faults = [] if limits.is_up else [f"Slurm's '{name}' is not up: it starts no job"]
    features = {feature for kind in kinds for feature in kind.features}
    for feature in re.findall(r"[A-Za-z_][\w.-]*", access.get("constraint", "") if kinds else ""):
        if feature not in features:
            choices = ", ".join(sorted(features)) or "none"
            faults.append(f"no node of '{name}' has the feature '{feature}'; there are: {choices}")
    gres = access.get("gres", "").split(":")[0]
    if gres and kinds and not any(kind.gres.split(":")[0] == gres for kind in kinds):
        faults.append(f"no node of '{name}' has '{gres}'")
    for title, value, names, allowlist in (
        ("QOS", access.get("qos"), tuple(cluster.max_job_s_by_qos), limits.allowed_qos),
        ("account", access.get("account"), cluster.user_accounts, limits.allowed_accounts),
    ):
        if value and names and value not in names:
            faults.append(f"there is no {title} '{value}' for you; there are: {', '.join(names)}")
        elif value and allowlist and value not in allowlist:
            faults.append(f"'{name}' takes no {title} '{value}', only {', '.join(allowlist)}")
    return faults


def _nightly_option_faults(environment: Mapping[str, str], cluster: Cluster) -> list[str]:
    """Return a line for each option of nightly.sbatch in `environment` that Slurm would refuse."""
    partition = environment.get("SBATCH_PARTITION")
    if not partition or not cluster.limits_by_partition:
        return []
    if partition not in cluster.limits_by_partition:
        choices = ", ".join(sorted(cluster.limits_by_partition))
        return [f"SBATCH_PARTITION: there is no partition '{partition}'; there are: {choices}"]
    names = {"partition": "SBATCH_PARTITION", "qos": "SBATCH_QOS", "account": "SBATCH_ACCOUNT"}
    access = {key: environment[name] for key, name in names.items() if environment.get(name)}
    faults = _access_faults(access, cluster)
    limit_s = cluster.limits_by_partition[partition].max_job_s
    time_limit = environment.get("SBATCH_TIMELIMIT")
    request_s = facts.parse_time_limit_s(time_limit) if time_limit else NIGHT_TIME_LIMIT_S
    if limit_s is not None and request_s is not None and request_s > limit_s:
        faults.append(
            f"SBATCH_TIMELIMIT: {request_s // 60} minutes, and '{partition}' allows {limit_s // 60}"
        )
    return faults


def check_site(site: Site, cluster: Cluster) -> list[Finding]:
    """Compare the partitions, sizes, PMI and limits of `site` with those of Slurm."""
    options = {
        key: facts.parse_access_options(p.get("access", [])) for key, p in site.partitions.items()
    }
    slurm_names = {
        name: access["partition"] for name, access in options.items() if "partition" in access
    }
    subject = "Slurm partitions"
    if not slurm_names:
        return [Finding("not checked", subject, "the site names none")]
    names = ", ".join(sorted(set(slurm_names.values())))
    if not shutil.which("sinfo"):
        return [Finding("not checked", subject, f"no sinfo on this machine ({names})")]
    process = subprocess.run(
        ["sinfo", "-h", "-o", facts.PARTITION_FORMAT], capture_output=True, text=True
    )
    if process.returncode:
        return [Finding("not checked", subject, f"sinfo failed: {last_line(process.stderr)}")]
    slurm_partitions = {item.name: item for item in facts.parse_partitions(process.stdout)}
    faults = [
        f"there is no partition '{name}'; there are: {', '.join(sorted(slurm_partitions))}"
        for name in sorted(set(slurm_names.values()) - set(slurm_partitions))
    ]
    sizes = [
        line
        for name, slurm_name in slurm_names.items()
        if slurm_name in slurm_partitions
        for line in _size_faults(
            name, site.partitions[name].get("extras", {}), slurm_partitions[slurm_name]
        )
    ]
    return [
        *findings_of_faults(subject, faults, names),
        *findings_of_faults("nodes, cores and sockets", sizes, "as sinfo has them, or fewer"),
        *_check_pmi(site),
        *check_limits(site, cluster),
    ]


def _size_faults(name: str, extras: Mapping[str, Any], partition: SchedulerPartition) -> list[str]:
    """Return a line for each size that is missing or exceeds Slurm's; smaller sizes are legal."""
    lines, subject = [], f"partition '{name}'"
    for quantity in ("nodes", "cores", "sockets"):
        count, site_count = getattr(partition, quantity), extras.get(quantity)
        if site_count is None and (count or quantity != "sockets"):
            lines.append(f"{subject} does not say how many {quantity}: sinfo has {count}")
        elif site_count is not None and count and site_count > count:
            suffix = "" if quantity == "nodes" else " a node"
            lines.append(f"{subject}: {site_count} {quantity}{suffix}, and sinfo has {count}")
    return lines


def _check_pmi(site: Site) -> list[Finding]:
    """Check that srun offers every ``--mpi=`` of the toolchains."""
    subject = "PMI"
    starts = {
        (item["extras"].get("mpi") or item["name"], option.removeprefix("--mpi="))
        for item in site.toolchains.values()
        for option in item.get("extras", {}).get("launcher_options", [])
        if option.startswith("--mpi=")
    }
    if not starts:
        return [Finding("not checked", subject, "no toolchain is started by srun with a PMI")]
    if not shutil.which("srun"):
        return [Finding("not checked", subject, "no srun on this machine")]
    plugins = facts.parse_pmi_plugins(command_output("srun", "--mpi=list") or "")
    if not plugins:
        return [Finding("not checked", subject, "`srun --mpi=list` names none")]
    faults = [
        f"{mpi} is started with --mpi={pmi}, and srun has {', '.join(plugins)}"
        for mpi, pmi in sorted(starts)
        if pmi not in plugins
    ]
    faults += pmix_faults(site.site_data, plugins) if site.site_data else []
    return findings_of_faults(subject, faults, ", ".join(sorted({pmi for _, pmi in starts})))


def pmix_faults(site: SiteData, plugins: Iterable[str]) -> list[str]:
    """Return a line if the series of Slurm's newest PMIx differs from the site's."""
    series = facts.pmix_series(plugins)
    if not site.uses_pmix(_SRUN_LAUNCHERS) or series is None or series == site.pmix:
        return []
    return [f'srun has PMIx of series {series}: `pmix = "{series}"` in site.toml']


def time_limit_fault(script: str, partition: Mapping[str, Any], cluster: Cluster) -> str:
    """A sentence if the job `script` asks more time than the Slurm partition allows, or ""."""
    access = facts.parse_access_options(partition.get("access", []))
    limit_s = cluster.limits_of(access.get("partition", "")).max_job_s
    match = _TIME_OPTION_PATTERN.search(script)
    request_s = facts.parse_time_limit_s(match[1]) if match else None
    if limit_s is None or request_s is None or request_s <= limit_s:
        return ""
    return (
        f"asks for {request_s // 60} minutes of partition '{access['partition']}', "
        f"which allows {limit_s // 60}"
    )


def check_job_results(site: Site) -> tuple[str, str]:
    """Check that sacct answers: ReFrame's scheduler `slurm` needs it, its `squeue` does not."""
    uses_sacct = any(partition["scheduler"] == "slurm" for partition in site.partitions.values())
    sacct_works = command_output("sacct", "--noheader", "--allocations") is not None
    if uses_sacct and not sacct_works:
        fault = "sacct answers nothing: there is no accounting, and ReFrame's `slurm` would give up"
        return fault, "squeue"
    return "sacct answers" if sacct_works else "none, and the scheduler is `squeue`", ""


def new_site_texts(
    cluster: Cluster, partitions: Sequence[SchedulerPartition], has_library: bool
) -> NewSiteTexts:
    """Return the texts of a new site on `partitions`, which are empty without Slurm."""
    tables, unknowns = "", []
    if cluster.accounting is False:  # ReFrame's `slurm` fails without sacct
        tables += "\n[every_partition]\n"
        tables += 'scheduler = "squeue" # no accounting here: `sacct` answers nothing\n'
    if not cluster.offered_pmis:
        unknowns.append(
            f"`pmi` of each `[launch.MPI]` in `{data.SITE_FILE}`, and, with Spack, of each MPI in "
            "`spack/packages.yaml`"
        )
    if cluster.binds_tasks is None:
        hint = "`scontrol show config`: TaskPlugin, task/affinity"
        unknowns.append(f"whether srun binds tasks ({hint})")
    mpis_by_start = defaultdict[str, list[str]](list)
    for mpi, (default_pmi, *_) in launching.PMIS_BY_MPI.items():
        pmi, obstacle = _pmi_or_obstacle(mpi, cluster, has_library)
        launcher = launching.launcher_of_mpi(mpi)
        if obstacle:
            tables += f'\n[launch.{mpi}]\nlauncher = "{launcher}" # {obstacle}\n'
            tables += f"options = {json.dumps(launching.OPTIONS_BY_MPI_LAUNCHER[launcher].bind)}\n"
        elif pmi != default_pmi:
            tables += f'\n[launch.{mpi}]\npmi = "{pmi}" # srun has no {default_pmi}\n'
        start = f"{launcher}, because {obstacle}" if obstacle else f"srun --mpi={pmi}"
        mpis_by_start[start].append(mpi)
    starts = "; ".join(f"{', '.join(mpis)}: {start}" for start, mpis in mpis_by_start.items())
    is_known = cluster.offered_pmis or cluster.binds_tasks is False
    lines = [f"how ranks start{'' if is_known else ' (assumed)'}: {starts}"] if partitions else []
    series = facts.pmix_series(cluster.offered_pmis)
    unknown_series = f"`pmix` in `{data.SITE_FILE}`: the series that Slurm was built with"
    return NewSiteTexts(
        keys_text=f'pmix = "{series}" # as `srun --mpi=list` says\n' if series else "",
        unknown_keys=() if series else (unknown_series,),
        tables_text=tables,
        unknown_values=unknowns,
        decisions=_user_decisions(cluster, partitions),
        fact_lines=(*lines, *_describe_cluster(cluster, partitions)),
        environment_text=_nightly_environment_text(cluster, partitions) if partitions else "",
    )


def _pmi_or_obstacle(mpi: str, cluster: Cluster, has_library: bool) -> tuple[str, str]:
    """Return the PMI by which srun starts ranks of `mpi`, or why it cannot; the other is ""."""
    if cluster.binds_tasks is False:
        return "", "srun binds no task here: TaskPlugin lacks task/affinity"
    if mpi == "mvapich2" and not has_library:  # its PMI is in these libraries
        return "", "Slurm's PMI library is not installed here"
    pmis = launching.PMIS_BY_MPI[mpi]
    usable = [name for name in pmis if name in cluster.offered_pmis or not cluster.offered_pmis]
    return (
        (usable[0], "") if usable else ("", f"srun offers {', '.join(cluster.offered_pmis)} only")
    )


def _nightly_environment_text(cluster: Cluster, partitions: Sequence[SchedulerPartition]) -> str:
    """Return the site's file ``environment``: time limit and partition of nightly.sbatch, one whose
    nodes are not those of its launches, if there is one."""

    def longest_s(partition: SchedulerPartition) -> int:
        limit_s = cluster.limits_of(partition.name).max_job_s
        return NIGHT_TIME_LIMIT_S if limit_s is None else limit_s

    hosts = frozenset().union(*(partition.hosts for partition in partitions))
    usable = [p for p in cluster.partitions if cluster.limits_of(p.name).is_up]
    candidates = [p for p in usable if p.hosts and not p.hosts & hosts]
    if candidates:
        night_partition = max(candidates, key=longest_s)
        reason = "none of its nodes is measured"
    else:
        night_partition = partitions[0]
        reason = "its nodes are measured as well: the job of a night takes one core of them"
    minutes = min(NIGHT_TIME_LIMIT_S, longest_s(night_partition)) // 60
    text = (
        "# Sourced by `activate`: options of `sbatch campaigns/nightly.sbatch`.\n"
        f"export SBATCH_PARTITION={night_partition.name} # {reason}\n"
        f"export SBATCH_TIMELIMIT={minutes} # minutes\n"
    )
    for variable, partition in (
        ("SBATCH_ACCOUNT", night_partition),
        ("ROUNDTRIP_ACCOUNT", partitions[0]),
    ):
        allowlist = cluster.limits_of(partition.name).allowed_accounts
        accounts = [name for name in cluster.user_accounts if not allowlist or name in allowlist]
        if len(cluster.user_accounts) > 1 and accounts:
            text += f"export {variable}={accounts[0]} # of your accounts {', '.join(accounts)}\n"
    return text


def _describe_cluster(cluster: Cluster, partitions: Sequence[SchedulerPartition]) -> list[str]:
    """Return a line for each fact of the cluster, for people."""
    lines = []
    for partition in partitions:
        kinds = cluster.node_groups_by_partition.get(partition.name, ())
        if len(kinds) > 1 or any(kind.gres for kind in kinds):
            lines.append(f"nodes of `{partition.name}`: {'; '.join(map(str, kinds))}")
    for name, limits in cluster.limits_by_partition.items():
        parts = [] if limits.is_up else ["does not start jobs, so left out"]
        parts += [f"for QOS {', '.join(limits.allowed_qos)} only"] if limits.allowed_qos else []
        if limits.allowed_accounts:
            parts.append(f"for accounts {', '.join(limits.allowed_accounts)} only")
        if parts:
            lines.append(f"partition `{name}`: {'; '.join(parts)}")
    if cluster.max_job_s_by_qos:
        names = ", ".join(
            f"{name} ({'no limit' if limit_s is None else f'{limit_s / 3600:g} h'})"
            for name, limit_s in cluster.max_job_s_by_qos.items()
        )
        lines.append(f"QOS: {names}; your accounts: {', '.join(cluster.user_accounts) or 'none'}")
    if cluster.nodes_by_switch:
        names = ", ".join(
            f"{name} ({len(nodes)} nodes)" for name, nodes in cluster.nodes_by_switch.items()
        )
        lines.append(f"leaf switches: {names}")
    if "enable" in facts.config_setting(cluster.config_text, "ScronParameters"):
        lines.append("scrontab is enabled: it starts the nights")
    if facts.config_setting(cluster.config_text, "PreemptType") not in ("", "preempt/none"):
        lines.append("Slurm preempts jobs here: such a launch is repeated")
    return lines


def _user_decisions(cluster: Cluster, partitions: Sequence[SchedulerPartition]) -> list[str]:
    """Return the settings of partitions that the user has to decide."""
    decisions = []
    for partition in partitions:
        kinds = cluster.node_groups_by_partition.get(partition.name, ())
        if len({(kind.cores, kind.gres) for kind in kinds}) > 1:
            decisions.append(
                f"nodes of partition `{partition.name}` differ, and a launch takes any: to "
                'measure one kind, write `access = ["...", "--constraint=FEATURE"]` in '
                f"`[every_partition]`, and their number as `nodes` of the partition"
            )
        qos = cluster.limits_of(partition.name).allowed_qos
        if qos and "normal" not in qos:
            decisions.append(
                f'`access = ["...", "--qos=NAME"]` for partition `{partition.name}`: '
                f"one of {', '.join(qos)}"
            )
    return decisions


def spack_variants(cluster: Cluster, has_library: bool) -> dict[str, str]:
    """As `Scheduler.spack_variants`: Open MPI looks for srun, MPICH for Slurm's libraries."""
    pmi_by_mpi = {
        mpi: _pmi_or_obstacle(mpi, cluster, has_library)[0] for mpi in launching.PMIS_BY_MPI
    }
    variants = SPACK_VARIANTS_BY_MPI | {"openmpi": "schedulers=slurm"}
    if pmi := pmi_by_mpi["mpich"]:
        variants["mpich"] = f"{'+' if has_library else '~'}slurm pmi={pmi}"
    for mpi in ("mvapich", "mvapich2"):
        if pmi := pmi_by_mpi[mpi]:
            variants[mpi] = f"process_managers=slurm pmi_version={pmi}"
    return variants

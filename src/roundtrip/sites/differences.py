"""Compares a site with the Slurm at hand: what it asks for, what Slurm allows, and the PMIx.

Spack would take the newest PMIx.  A client of another series than the server starts by luck only,
and fails on the nodes with messages that do not name the cause.
"""

from __future__ import annotations

import getpass
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from roundtrip.sites import data, slurm, yamlfile
from roundtrip.sites.data import SiteData
from roundtrip.sites.lock import Lock
from roundtrip.sites.site import Finding, Site, last_line, summarise
from roundtrip.sites.slurm import SlurmFacts

_OPTION = re.compile(r"(?:--(partition|constraint|gres|qos|account)=|-p ?)(\S.*)")


def check_pmix_package(site: SiteData, packages: Path) -> list[Finding]:
    """Whether ``packages.yaml`` requires the series that the site names."""
    if site.pmix is None or not _uses_pmix(site):
        return []
    versions = _versions((yamlfile.load(packages) or {}).get("packages", {}).get("pmix", {}))
    needs = f"packages.yaml: pmix needs `require: ['@{site.pmix}']`, or it is the newest"
    faults = [] if versions else [needs]
    faults += [
        f"packages.yaml: pmix is {version}, and site.toml says that Slurm has {site.pmix}"
        for version in versions
        if version.split(".")[0] != site.pmix
    ]
    return summarise("PMIx", faults, f"series {site.pmix}, as Slurm's")


def check_pmix_lock(site: SiteData, held: Lock) -> list[Finding]:
    """Whether every PMIx in the lock file is of the series that the site names."""
    if site.pmix is None or not _uses_pmix(site):
        return []
    built = sorted({spec.version for spec in held.specs.values() if spec.name == "pmix"})
    faults = [
        f"the lock file has pmix {version}, and Slurm has series {site.pmix}: "
        f"`require: ['@{site.pmix}']` in packages.yaml, then `spack concretize -f`"
        for version in built
        if version.split(".")[0] != site.pmix
    ]
    return summarise("PMIx in the lock file", faults, ", ".join(built) or "none")


def pmix_mismatch(site: SiteData, plugins: Iterable[str]) -> list[str]:
    """A line if Slurm's newest PMIx is of another series than the site says."""
    there = slurm.pmix_series(plugins)
    if not _uses_pmix(site) or there is None or there == site.pmix:
        return []
    return [f'srun has PMIx of series {there}: `pmix = "{there}"` in site.toml']


def _uses_pmix(site: SiteData) -> bool:
    return any(
        launch.pmi and launch.pmi.startswith("pmix") and launch.launcher in (None, "srun")
        for launch in site.launch.values()
    )


def _versions(entry: dict[str, Any]) -> list[str]:
    """Versions that an entry of ``packages.yaml`` requires, or has as externals."""
    required = entry.get("require", [])
    texts = [required] if isinstance(required, str) else list(required)
    texts += [item["spec"] for item in entry.get("externals", [])]
    matches = [re.search(r"@=?([\d.]+)", text) for text in texts if isinstance(text, str)]
    return [match[1] for match in matches if match]


def ask_slurm(run: slurm.Runner = slurm.ask) -> tuple[SlurmFacts, str]:
    """What the Slurm at hand says, and its configuration; "" without a Slurm."""
    config = run("scontrol", "show", "config") or ""
    return slurm.look_at_slurm(run, config, getpass.getuser()), config


def compare_limits(site: Site, cluster: SlurmFacts, config: str) -> list[Finding]:
    """Findings on features, accelerators, QOS and accounts; accounting; binding; the nightly job.

    What Slurm does not say is no fault.
    """
    faults: list[str] = []
    for name, partition in site.partitions.items():
        access = access_options(partition.get("access", []))
        if "partition" in access:
            faults += [f"partition '{name}': {fault}" for fault in _refused(access, cluster)]
    findings = summarise("features, QOS and accounts", faults, "all that the site asks, Slurm has")
    return [
        *findings,
        *summarise("accounting", _unaccounted(site.partitions, config), "as the scheduler needs"),
        *summarise(
            "task binding", _unbound_toolchains(site.toolchains.values(), config), "as asked"
        ),
        *summarise("nightly job", _nightly(site.environment, cluster), "Slurm would take it"),
    ]


def access_options(options: Sequence[str]) -> dict[str, str]:
    """What the `access` of a partition asks of Slurm, by the long name of each option."""
    matches = [match for option in options if (match := _OPTION.fullmatch(option))]
    return {match[1] or "partition": match[2] for match in matches}


def _refused(access: Mapping[str, str], cluster: SlurmFacts) -> list[str]:
    """What the access of a partition asks and Slurm has not, or does not give to the user."""
    slurms = access["partition"]
    kinds, limits = cluster.kinds.get(slurms, ()), cluster.limit(slurms)
    faults = [] if limits.up else [f"Slurm's '{slurms}' is not up: it starts no job"]
    features = {feature for kind in kinds for feature in kind.features}
    for feature in re.findall(r"[A-Za-z_][\w.-]*", access.get("constraint", "") if kinds else ""):
        if feature not in features:
            there = ", ".join(sorted(features)) or "none"
            faults.append(f"no node of '{slurms}' has the feature '{feature}'; there are: {there}")
    gres = access.get("gres", "").split(":")[0]
    if gres and kinds and not any(kind.gres.split(":")[0] == gres for kind in kinds):
        faults.append(f"no node of '{slurms}' has '{gres}'")
    for what, wanted, known, allowed in (
        ("QOS", access.get("qos"), tuple(cluster.qos), limits.qos),
        ("account", access.get("account"), cluster.accounts, limits.accounts),
    ):
        if wanted and known and wanted not in known:
            faults.append(f"there is no {what} '{wanted}' for you; there are: {', '.join(known)}")
        elif wanted and allowed and wanted not in allowed:
            faults.append(f"'{slurms}' takes no {what} '{wanted}', only {', '.join(allowed)}")
    return faults


def _unaccounted(partitions: Mapping[str, Mapping[str, Any]], config: str) -> list[str]:
    if not config or "accounting_storage/slurmdbd" in config:
        return []
    return [
        f"partition '{name}': scheduler 'slurm' asks sacct, which answers nothing here: "
        'ReFrame would end without a result; `scheduler = "squeue"`'
        for name, partition in partitions.items()
        if partition["scheduler"] == "slurm"
    ]


def _unbound_toolchains(toolchains: Iterable[Mapping[str, Any]], config: str) -> list[str]:
    plugin = slurm.setting(config, "TaskPlugin")
    if not plugin or "task/affinity" in plugin:
        return []
    extras = {item["name"]: item.get("extras", {}) for item in toolchains}
    return [
        f"toolchain '{name}' is bound by srun, and TaskPlugin is {plugin}, without task/affinity"
        for name, own in extras.items()
        if own.get("launcher") == "srun"
        and any(option.startswith("--cpu-bind") for option in own.get("launcher_options", []))
    ]


def _nightly(environment: Mapping[str, str], cluster: SlurmFacts) -> list[str]:
    """Options of nightly.sbatch, by the site's `environment`, that Slurm would refuse."""
    partition = environment.get("SBATCH_PARTITION")
    if not partition or not cluster.limits:
        return []
    if partition not in cluster.limits:
        there = ", ".join(sorted(cluster.limits))
        return [f"SBATCH_PARTITION: there is no partition '{partition}'; there are: {there}"]
    names = {"partition": "SBATCH_PARTITION", "qos": "SBATCH_QOS", "account": "SBATCH_ACCOUNT"}
    access = {key: environment[name] for key, name in names.items() if environment.get(name)}
    faults = _refused(access, cluster)
    longest = cluster.limits[partition].longest_s
    wanted = slurm.seconds(environment.get("SBATCH_TIMELIMIT", "06:00:00"))
    if longest is not None and wanted is not None and wanted > longest:
        faults.append(
            f"SBATCH_TIMELIMIT: {wanted // 60} minutes, and '{partition}' allows {longest // 60}"
        )
    return faults


def compare(site: Site) -> list[Finding]:
    """Findings on partitions, their sizes, PMI and limits; or why they were not checked."""
    options = {name: access_options(p.get("access", [])) for name, p in site.partitions.items()}
    wanted = {name: own["partition"] for name, own in options.items() if "partition" in own}
    subject = "Slurm partitions"
    if not wanted:
        return [Finding("not checked", subject, "the site names none")]
    names = ", ".join(sorted(set(wanted.values())))
    if not shutil.which("sinfo"):
        return [Finding("not checked", subject, f"no sinfo on this machine ({names})")]
    done = subprocess.run(["sinfo", "-h", "-o", slurm.SINFO], capture_output=True, text=True)
    if done.returncode:
        return [Finding("not checked", subject, f"sinfo failed: {last_line(done.stderr)}")]
    there = {each.name: each for each in slurm.parse_sinfo(done.stdout)}
    faults = [
        f"there is no partition '{name}'; there are: {', '.join(sorted(there))}"
        for name in sorted(set(wanted.values()) - set(there))
    ]
    sizes = [
        line
        for name, slurms in wanted.items()
        if slurms in there
        for line in _compare_size(name, site.partitions[name].get("extras", {}), there[slurms])
    ]
    return [
        *summarise(subject, faults, names),
        *summarise("nodes, cores and sockets", sizes, "as sinfo has them, or fewer"),
        *_compare_pmi(site),
        *compare_limits(site, *ask_slurm()),
    ]


def _compare_size(name: str, extras: Mapping[str, Any], there: slurm.Partition) -> list[str]:
    """What is more than Slurm has; a site may well offer less than there is."""
    lines = []
    for what in ("nodes", "cores", "sockets"):
        count, declared = getattr(there, what), extras.get(what)
        if declared is None and (count or what != "sockets"):
            lines.append(f"partition '{name}' does not say how many {what}: sinfo has {count}")
        elif declared is not None and count and declared > count:
            each = "" if what == "nodes" else " a node"
            lines.append(f"partition '{name}': {declared} {what}{each}, and sinfo has {count}")
    return lines


def _compare_pmi(site: Site) -> list[Finding]:
    """Every ``--mpi=`` of a toolchain is one that srun has."""
    subject = "PMI"
    wanted = {
        (item["extras"].get("mpi") or item["name"], option.removeprefix("--mpi="))
        for item in site.toolchains.values()
        for option in item.get("extras", {}).get("launcher_options", [])
        if option.startswith("--mpi=")
    }
    if not wanted:
        return [Finding("not checked", subject, "no toolchain is started by srun with a PMI")]
    if not shutil.which("srun"):
        return [Finding("not checked", subject, "no srun on this machine")]
    done = subprocess.run(["srun", "--mpi=list"], capture_output=True, text=True)
    known = slurm.parse_pmi(done.stdout + done.stderr)  # some versions list on standard error
    if not known:
        return [Finding("not checked", subject, "`srun --mpi=list` names none")]
    faults = [
        f"{mpi} is started with --mpi={pmi}, and srun has {', '.join(known)}"
        for mpi, pmi in sorted(wanted)
        if pmi not in known
    ]
    declared = data.from_folder(site.folder, site.checkout)
    faults += pmix_mismatch(declared, known) if declared else []
    return summarise(subject, faults, ", ".join(sorted({pmi for _, pmi in wanted})))

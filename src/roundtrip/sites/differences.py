"""What a site asks of Slurm, held against what Slurm says that it has and allows."""

from __future__ import annotations

import getpass
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from roundtrip.campaign.site import Site
from roundtrip.sites import probe, slurmsays
from roundtrip.sites.findings import Finding, summarise
from roundtrip.sites.scripts import Script
from roundtrip.sites.slurmsays import Limits, Says

_OPTION = re.compile(r"--(partition|constraint|gres|qos|account)=(.+)")
_TIME = re.compile(r"^#SBATCH --time=(\S+)$", re.MULTILINE)


def says(run: probe.Runner = probe.ask) -> tuple[Says, str]:
    """What the Slurm at hand says, and its configuration; "" without a Slurm."""
    config = run("scontrol", "show", "config") or ""
    return slurmsays.look(run, config, getpass.getuser()), config


def compare(site: Site, found: Says, config: str) -> list[Finding]:
    """Findings on features, accelerators, QOS and accounts; accounting; binding; the nightly job.

    What Slurm does not tell is no fault.
    """
    faults: list[str] = []
    for name, partition in site.partitions.items():
        asked = _asked(partition.get("access", []))
        if "partition" in asked:
            faults += [f"partition '{name}': {fault}" for fault in _refused(asked, found)]
    findings = summarise("features, QOS and accounts", faults, "all that the site asks, Slurm has")
    return [
        *findings,
        *summarise("accounting", _unaccounted(site.partitions, config), "as the scheduler needs"),
        *summarise("task binding", _unbound(site.toolchains.values(), config), "as asked"),
        *summarise("nightly job", _nightly(site.environment, found), "Slurm would take it"),
    ]


def too_long(rendered: Iterable[Script], site: Site, found: Says) -> list[str]:
    """Job scripts that ask for more time than their partition allows."""
    faults = set()
    for script in rendered:
        asked = _asked(site.partitions[script.case.partition].get("access", []))
        longest = found.limits.get(asked.get("partition", ""), Limits()).longest_s
        match = _TIME.search(script.text)
        wanted = slurmsays.seconds(match[1]) if match else None
        if longest is not None and wanted is not None and wanted > longest:
            faults.add(
                f"{script.case.check} asks for {wanted // 60} minutes of partition "
                f"'{asked['partition']}', which allows {longest // 60}"
            )
    return sorted(faults)


def _asked(options: Sequence[str]) -> dict[str, str]:
    return {match[1]: match[2] for option in options if (match := _OPTION.fullmatch(option))}


def _refused(asked: Mapping[str, str], found: Says) -> list[str]:
    """What Slurm has not, or does not let the user have, of what a partition's access asks."""
    slurms = asked["partition"]
    kinds, limits = found.kinds.get(slurms, ()), found.limits.get(slurms, Limits())
    faults = [] if limits.up else [f"Slurm's '{slurms}' is not up: it starts no job"]
    features = {feature for kind in kinds for feature in kind.features}
    for feature in re.findall(r"[A-Za-z_][\w.-]*", asked.get("constraint", "") if kinds else ""):
        if feature not in features:
            there = ", ".join(sorted(features)) or "none"
            faults.append(f"no node of '{slurms}' has the feature '{feature}'; there are: {there}")
    gres = asked.get("gres", "").split(":")[0]
    if gres and kinds and not any(kind.gres.split(":")[0] == gres for kind in kinds):
        faults.append(f"no node of '{slurms}' has '{gres}'")
    for what, wanted, known, allowed in (
        ("QOS", asked.get("qos"), tuple(found.qos), limits.qos),
        ("account", asked.get("account"), found.accounts, limits.accounts),
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
        f"partition '{name}': scheduler 'slurm' asks sacct, which tells nothing here: "
        'ReFrame would end without a result; `scheduler = "squeue"`'
        for name, partition in partitions.items()
        if partition["scheduler"] == "slurm"
    ]


def _unbound(toolchains: Iterable[Mapping[str, Any]], config: str) -> list[str]:
    plugin = re.search(r"^TaskPlugin\s*=\s*(.*)$", config, re.MULTILINE)
    if plugin is None or "task/affinity" in plugin[1]:
        return []
    told = f"is bound by srun, and TaskPlugin is {plugin[1].strip()}, without task/affinity"
    return [
        f"toolchain '{item['name']}' {told}"
        for item in toolchains
        if item.get("extras", {}).get("launcher") == "srun"
        and any(
            option.startswith("--cpu-bind") for option in item["extras"].get("launcher_options", [])
        )
    ]


def _nightly(environment: Mapping[str, str], found: Says) -> list[str]:
    """What of the options of nightly.sbatch, by the site's `environment`, Slurm would refuse."""
    partition = environment.get("SBATCH_PARTITION")
    if not partition or not found.limits:
        return []
    if partition not in found.limits:
        there = ", ".join(sorted(found.limits))
        return [f"SBATCH_PARTITION: there is no partition '{partition}'; there are: {there}"]
    asked = {"partition": partition}
    for key, name in (("qos", "SBATCH_QOS"), ("account", "SBATCH_ACCOUNT")):
        if value := environment.get(name):
            asked[key] = value
    faults = _refused(asked, found)
    longest = found.limits[partition].longest_s
    wanted = slurmsays.seconds(environment.get("SBATCH_TIMELIMIT", "06:00:00"))
    if longest is not None and wanted is not None and wanted > longest:
        faults.append(
            f"SBATCH_TIMELIMIT: {wanted // 60} minutes, and '{partition}' allows {longest // 60}"
        )
    return faults

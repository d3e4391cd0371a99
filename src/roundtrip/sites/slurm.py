"""Compares a site with the Slurm at hand: partitions, their sizes, PMI, and `differences`."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

from roundtrip.campaign.site import Site
from roundtrip.sites import data, differences, pmix, probe
from roundtrip.sites.findings import Finding, summarise


def compare(site: Site) -> list[Finding]:
    """A finding on partitions, one on their sizes, one on PMI, and those of `differences`; or why
    they were not checked."""
    asked = {
        name: match[1]
        for name, partition in site.partitions.items()
        for option in partition.get("access", [])
        if (match := re.fullmatch(r"(?:--partition=|-p ?)(\S+)", option))
    }
    subject = "Slurm partitions"
    if not asked:
        return [Finding("not checked", subject, "the site names none")]
    wanted = ", ".join(sorted(set(asked.values())))
    if not shutil.which("sinfo"):
        return [Finding("not checked", subject, f"no sinfo on this machine ({wanted})")]
    done = subprocess.run(["sinfo", "-h", "-o", probe.SINFO], capture_output=True, text=True)
    if done.returncode:
        return [Finding("not checked", subject, f"sinfo failed: {_last_line(done.stderr)}")]
    there = {found.name: found for found in probe.parse_sinfo(done.stdout)}
    faults = [
        f"there is no partition '{name}'; there are: {', '.join(sorted(there))}"
        for name in sorted(set(asked.values()) - set(there))
    ]
    sizes = [
        line
        for name, slurms in asked.items()
        if slurms in there
        for line in _size(name, site.partitions[name].get("extras", {}), there[slurms])
    ]
    return [
        *summarise(subject, faults, wanted),
        *summarise("nodes, cores and sockets", sizes, "as sinfo has them, or fewer"),
        *_pmi(site),
        *differences.compare(site, *differences.says()),
    ]


def _size(name: str, extras: Mapping[str, Any], there: probe.Partition) -> list[str]:
    """What is more than Slurm has; a site may well offer less than there is."""
    lines = []
    for what, count in (
        *(("nodes", there.nodes), ("cores", there.cores), ("sockets", there.sockets)),
    ):
        said = extras.get(what)
        if said is None and (count or what != "sockets"):
            lines.append(f"partition '{name}' does not say how many {what}: sinfo has {count}")
        elif said is not None and count and said > count:
            each = "" if what == "nodes" else " a node"
            lines.append(f"partition '{name}': {said} {what}{each}, and sinfo has {count}")
    return lines


def _pmi(site: Site) -> list[Finding]:
    """Every ``--mpi=`` of a toolchain is one that srun has."""
    subject = "PMI"
    asked = {
        (item["extras"].get("mpi") or item["name"], option.removeprefix("--mpi="))
        for item in site.toolchains.values()
        for option in item.get("extras", {}).get("launcher_options", [])
        if option.startswith("--mpi=")
    }
    if not asked:
        return [Finding("not checked", subject, "no toolchain is started by srun with a PMI")]
    if not shutil.which("srun"):
        return [Finding("not checked", subject, "no srun on this machine")]
    done = subprocess.run(["srun", "--mpi=list"], capture_output=True, text=True)
    known = probe.parse_pmi(done.stdout + done.stderr)  # some versions list on standard error
    if not known:
        return [Finding("not checked", subject, "`srun --mpi=list` names none")]
    faults = [
        f"{mpi} is started with --mpi={pmi}, and srun has {', '.join(known)}"
        for mpi, pmi in sorted(asked)
        if pmi not in known
    ]
    declared = data.from_folder(site.folder, site.checkout)
    faults += pmix.slurm(declared, known) if declared else []
    return summarise(subject, faults, ", ".join(sorted({pmi for _, pmi in asked})))


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no output"])[-1]

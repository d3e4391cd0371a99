"""Tries every MPI of a site on its nodes; tells what is wrong and the lines that would mend it."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass, field
from typing import Any

from roundtrip.campaign.site import Site
from roundtrip.sites import data, launchers, slurm
from roundtrip.sites.findings import Finding
from roundtrip.sites.live import judge, mend, session
from roundtrip.sites.live.mend import Line
from roundtrip.sites.live.session import Place, Say, Start, Trial


@dataclass
class Result:
    """What was found, and the lines of site.toml that would mend it."""

    findings: list[Finding] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    def fault(self, subject: str, detail: str, lines: list[Line] | None = None) -> None:
        """Note a fault, with the `lines` that mend it."""
        cure = f"; in {data.FILE}: {', '.join(map(str, lines))}" if lines else ""
        self.findings.append(Finding("fault", subject, detail + cure))
        self.lines += [line for line in lines or [] if line not in self.lines]


def check(site: Site, say: Say) -> Result:
    """Two ranks of each MPI by the site's launcher; where they fail, by the others there are.

    `say` is told of jobs before they are submitted.
    """
    result = Result()
    if not _schedulers(site, result):
        return result
    places = session.places(site)
    if not places:
        result.findings.append(Finding("not checked", "live", "no toolchain is installed"))
        return result
    if not _nodes_are_as_said(site, places, result, say):
        return result
    trials = session.run(site, [(place, [()]) for place in places], say)
    failed = [trial for trial in trials if _wrong(site, trial)]
    others = {trial.place: _others(site, trial.place) for trial in failed}
    again = [(place, starts) for place, starts in others.items() if starts]
    second = session.run(site, again, say)
    for trial in trials:
        _tell(site, trial, [one for one in second if one.place == trial.place], result)
    return result


def _schedulers(site: Site, result: Result) -> bool:
    """Whether ReFrame can learn how jobs end: its `slurm` asks sacct."""
    asks = any(partition["scheduler"] == "slurm" for partition in site.partitions.values())
    if not asks and not any(p["scheduler"] == "squeue" for p in site.partitions.values()):
        return True
    works = (
        bool(shutil.which("sacct"))
        and not subprocess.run(
            ["sacct", "--noheader", "--allocations"], capture_output=True
        ).returncode
    )
    if asks and not works:
        told = "sacct tells nothing: there is no accounting, and ReFrame's `slurm` would give up"
        result.fault("accounting", told, [Line("every_partition", "scheduler", "squeue")])
        return False
    detail = "sacct answers" if works else "none, and the scheduler is `squeue`"
    result.findings.append(Finding("ok", "accounting", detail))
    return True


def _nodes_are_as_said(site: Site, places: list[Place], result: Result, say: Say) -> bool:
    """Whether the nodes have the interface that the site names: without, no MPI would start."""
    fine = True
    for place in {place.partition: place for place in places}.values():
        interface = _extras(site, place).get("interface")
        there = session.survey(site, place, say)
        lacking = [host for host, names in there.items() if interface and interface not in names]
        if not lacking:
            continue
        fine = False
        common = set.intersection(*there.values())
        names = ", ".join(sorted(there[lacking[0]])) or "none"
        told = f"there is no interface '{interface}' on {lacking[0]}: {names}"
        lines = [Line("values", "interface", common.pop())] if len(common) == 1 else []
        result.fault(f"nodes of {place.partition}", told, lines)
    return fine


def _nodes(site: Site, place: Place) -> int:
    return 2 if _extras(site, place).get("nodes", 1) > 1 else 1


def _extras(site: Site, place: Place) -> dict[str, Any]:
    extras: dict[str, Any] = site.partitions[place.partition].get("extras", {})
    return extras


def _wrong(site: Site, trial: Trial) -> str | None:
    if why := judge.started(trial.told, _nodes(site, trial.place)):
        return f"{why}: {trial.why}" if trial.why else why
    return judge.unbound(trial.told, _extras(site, trial.place)) if trial.told else None


def _others(site: Site, place: Place) -> list[Start]:
    """Every other way to start the ranks of this MPI here."""
    extras = site.toolchains[place.environ].get("extras", {})
    offered = slurm.plugins() if shutil.which("srun") else ()
    said = (extras.get("launcher") or "srun", *extras.get("launcher_options", []))
    return [
        start
        for start in launchers.start_options(str(extras.get("mpi")), offered)
        if not set(start) <= set(said)
    ]


def _best(site: Site, trial: Trial, others: list[Trial]) -> Trial | None:
    """The first that starts and binds; for one that does not start, the first that does."""
    nodes = _nodes(site, trial.place)
    best = [one for one in others if not _wrong(site, one)]
    if judge.started(trial.told, nodes):
        best += [one for one in others if not judge.started(one.told, nodes)]
    return best[0] if best else None


def _tell(site: Site, trial: Trial, others: list[Trial], result: Result) -> None:
    place, extras = trial.place, _extras(site, trial.place)
    subject = f"{place.environ} on {place.partition}"
    if wrong := _wrong(site, trial):
        works = _best(site, trial, others)
        family = str(site.toolchains[place.environ].get("extras", {}).get("mpi"))
        lines = mend.start(family, works.start) if works else []
        tried = ", ".join(" ".join(one.start) for one in others)
        also = "" if works or not others else f"; nor does it by {tried}"
        result.fault(subject, wrong + also, lines)
    if trial.told is None:
        return
    for told in judge.faults(trial.told, extras):
        result.fault(subject, told)
    if not wrong:
        result.findings.append(Finding("ok", subject, judge.described(trial.told)))

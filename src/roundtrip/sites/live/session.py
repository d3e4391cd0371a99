"""Runs the trials by ReFrame, so that scheduler, launcher and variables are the site's own."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.campaign.scheduler import NO_REQUEUE, is_slurm
from roundtrip.campaign.site import Site
from roundtrip.errors import UserError
from roundtrip.sites.live.told import Told, nodes, read

#: Below the checkout.
CHECK = Path("reframe", "live", "start.py")
#: A launcher of ReFrame and its options; empty: as the site says.
Start = tuple[str, ...]
#: Is told what is submitted before it is: on a busy cluster it may wait for hours.
Say = Callable[[str], None]
#: Files of a case, by their keys in ReFrame's report; their texts are put in place of the names.
_STREAMS = ("build_stdout", "build_stderr", "job_stdout", "job_stderr")
#: A line of MPICH's error stack, of which the last is the cause: `MPI_Init(70)...: it failed`.
_STACK = re.compile(r"^\w+\(\d+\)\.*: +(\S.*)$", re.MULTILINE)
_CHATTER = re.compile(r"UCX +(DIAG|INFO|DEBUG|TRACE)")


@dataclass(frozen=True)
class Place:
    """A toolchain, and the partition that it is tried on."""

    partition: str
    environ: str


@dataclass(frozen=True)
class Trial:
    """What came of one job; `why` is what went wrong if it did not start."""

    place: Place
    start: Start
    told: Told | None
    why: str = ""


def places(site: Site) -> list[Place]:
    """One for each MPI and transport of the site that is installed, on the first partition that has
    it: Boost changes nothing about how ranks start."""
    found: dict[tuple[str, ...], Place] = {}
    for name, partition in site.partitions.items():
        for environ in partition["environs"]:
            extras = site.toolchains.get(environ, {}).get("extras", {})
            kind = [str(extras.get(key, "")) for key in ("mpi", "mpi_version", "transport")]
            found.setdefault(tuple(kind), Place(name, environ))
    return list(found.values())


def survey(site: Site, place: Place, say: Say) -> dict[str, set[str]]:
    """Nodes of a partition with their network interfaces; UserError if no job runs there."""
    say(f"a job to {place.partition}: which network interfaces its nodes have")
    (case,) = _cases(site, place.partition, [place.environ], "Nodes", [()])
    found = nodes(case["job_stdout"])
    if not found:
        raise UserError(f"no job runs on partition '{place.partition}': {_why(case)}")
    return found


def run(site: Site, tried: Iterable[tuple[Place, Sequence[Start]]], say: Say) -> list[Trial]:
    """Try each place with each of its starts, one job after another; UserError if ReFrame fails."""
    groups: dict[tuple[str, tuple[Start, ...]], list[str]] = defaultdict(list)
    for place, starts in tried:
        groups[place.partition, tuple(starts)].append(place.environ)
    found = []
    for (partition, starts), environs in groups.items():
        how = " and ".join(" ".join(start) for start in starts if start)
        by = f", each by {how}" if how else ""
        say(f"jobs to {partition}, one after another: {', '.join(environs)}{by}")
        cases = _cases(site, partition, environs, "Start", starts)
        builds = {case["environ"]: case for case in cases if _is_build(case)}
        found += [
            _trial(case, builds.get(case["environ"]), partition, starts)
            for case in cases
            if not _is_build(case)
        ]
    return found


def _cases(
    site: Site, partition: str, environs: Sequence[str], check: str, starts: Sequence[Start]
) -> list[dict[str, Any]]:
    """The cases of one session of ReFrame as its report has them, with the texts of their files."""
    # Below the folder of runs: compute nodes see it, and no /tmp of the login node.
    runs = Path(site.environment["RFM_PREFIX"]).parent
    with tempfile.TemporaryDirectory(prefix="live-", dir=runs) as name:
        folder = Path(name)
        report = folder / "report.json"
        done = subprocess.run(
            [
                "reframe",
                f"--checkpath={site.checkout / CHECK}",
                "--run",
                f"--name=^{check}",
                "--exec-policy=serial",
                "--keep-stage-files",
                f"--prefix={folder}",
                f"--perflogdir={folder / 'perflogs'}",
                f"--report-file={report}",
                f"--system={site.name}:{partition}",
                f"--prgenv=^({'|'.join(environs)})$",
                *([NO_REQUEUE] if is_slurm(site.partitions[partition]["scheduler"]) else []),
            ],
            cwd=site.checkout,
            env={
                **site.environment,
                "ROUNDTRIP_STARTS": json.dumps(starts),
                "RFM_SQLITE_DB_FILE": str(folder / "results.db"),
            },
            capture_output=True,
            text=True,
        )
        if not report.is_file():
            lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
            raise UserError(f"ReFrame tried nothing: {lines[-1] if lines else 'no output'}")
        found: list[dict[str, Any]] = files.read_json(report)["runs"][-1]["testcases"]
        return [{**case, **{key: _text(case, key) for key in _STREAMS}} for case in found]


def _is_build(case: dict[str, Any]) -> bool:
    return str(case["display_name"]).startswith("build_rank")


def _trial(
    case: dict[str, Any], build: dict[str, Any] | None, partition: str, starts: Sequence[Start]
) -> Trial:
    shown = {"-".join(start) or "site": start for start in starts}
    start = shown.get(str(case["display_name"]).rpartition("start=")[2], ())
    place = Place(partition, case["environ"])
    if build and build["result"] == "fail":
        return Trial(place, start, None, f"it does not compile: {_why(build)}")
    told = read(case["job_stdout"], case["job_stderr"])
    return Trial(place, start, told if told.ranks else None, "" if told.ranks else _why(case))


def _why(case: dict[str, Any]) -> str:
    """The line of the job that names an error, or what ReFrame says."""
    text = "\n".join(case[key] for key in _STREAMS)
    if stack := _STACK.findall(text):
        return str(stack[-1])
    lines = [line.strip() for line in text.splitlines() if not _CHATTER.search(line)]
    telling = [line for line in lines if re.search(r"rror\b|annot|nable to|not found|efused", line)]
    reason = (case.get("fail_reason") or "it wrote nothing").strip().splitlines()[0]
    return telling[0] if telling else reason


def _text(case: dict[str, Any], key: str) -> str:
    file = Path(case.get("stagedir") or "/nonexistent", case.get(key) or "nothing")
    return file.read_text(errors="replace") if file.is_file() else ""

"""The one scanner of a run tree: every launch that came back, and every one that failed, with why.

A launch passed if its folder below ``rounds/*/output`` holds a valid case.json, a complete
run.json and exactly the samples that run.json counts.  All others failed: what they left is below
``rounds/*/stage``, and what ReFrame says of them is in ``rounds/*/report.json``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from roundtrip.collect import analysis, disturbance, hosts, records, rounds, samples
from roundtrip.collect.session_report import SessionReport, TestCase
from roundtrip.errors import UserError

Status = Literal["passed", "failed", "skipped"]
_FILES = ("case.json", "run.json", "samples.csv")


@dataclass(frozen=True)
class Launch:
    """One job.  `id` is ``<round>/<environ>/<folder name>``; `folder` None if it left none.

    `case` and `run` are the contents of case.json and run.json, empty if not readable.
    `disturbed` says why its timings are doubtful; a disturbed launch is kept.
    `digest` is the sha256 of samples.csv, "" if the launch failed.  `round` is the folder of its
    session, `campaign_round` the round that this belonged to, None where nobody wrote it down.
    """

    id: str
    case_id: str
    status: Status
    reason: str
    round: str
    environ: str
    folder: Path | None = None
    case: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)
    disturbed: tuple[str, ...] = ()
    digest: str = ""
    campaign_round: int | None = None


def scan(run_dir: Path, limits: analysis.Analysis | None = None) -> list[Launch]:
    """All launches of a run tree, in the order of rounds; empty if there are none."""
    limits = limits or analysis.default()
    cores = hosts.cores(run_dir / "env" / "host.json")
    found: list[Launch] = []
    for folder in sorted((run_dir / "rounds").glob("*")):
        if folder.is_dir():
            number = rounds.read(folder)
            launched = _round(folder, limits.disturbance, cores)
            found += [replace(launch, campaign_round=number) for launch in launched]
    return list(_without_copies(found))


def _without_copies(launches: list[Launch]) -> Iterator[Launch]:
    """A launch with the very samples of an earlier one is its copy, and counts as failed."""
    first: dict[str, str] = {}
    for launch in launches:
        original = first.setdefault(launch.digest, launch.id) if launch.digest else launch.id
        if original == launch.id:
            yield launch
        else:
            reason = f"samples.csv: the very samples of launch {original}: a copy"
            yield replace(launch, status="failed", reason=reason, disturbed=(), digest="")


def _round(folder: Path, limits: analysis.Disturbance, cores: int | None) -> Iterator[Launch]:
    report = SessionReport.read(folder / "report.json")
    seen: set[tuple[str, str]] = set()
    for part in ("output", "stage"):
        for file in sorted((folder / part).rglob("case.json")):
            key = (file.parent.parent.name, file.parent.name)
            if key not in seen:
                seen.add(key)
                came_back = part == "output"
                yield _launch(file.parent, folder.name, report, came_back, limits, cores)
    for test in report.tests:
        if not test.is_fixture and (test.environ, test.folder) not in seen:
            yield _without_folder(test, folder.name, report)


def _launch(
    folder: Path,
    round_: str,
    report: SessionReport,
    came_back: bool,
    limits: analysis.Disturbance,
    cores: int | None,
) -> Launch:
    environ = folder.parent.name
    case, run, fault = _contents(folder, _stamp(folder))
    test = report.find(environ, folder.name)
    if case:
        case_id = records.case_id(case)
    else:
        case_id = test.case_id if test else f"unknown/{folder.name}@unknown:unknown+{environ}"
    identity = (f"{round_}/{environ}/{folder.name}", case_id)
    if came_back and not fault and (test is None or test.result == "pass"):
        disturbed = disturbance.reasons(run, limits, cores)
        digest = _digest(folder, _stamp(folder))
        return Launch(
            *identity, "passed", "", round_, environ, folder, case, run, disturbed, digest
        )
    reason = test.reason(report) if test else ""
    if not reason and not report.whole:
        reason = "interrupted: the ReFrame session was killed before this launch ended"
    parts = [reason or fault or "left unfinished", _last_words(folder)]
    told = "; ".join(part for part in parts if part)
    return Launch(*identity, "failed", told, round_, environ, folder, case, run)


def _without_folder(test: TestCase, round_: str, report: SessionReport) -> Launch:
    reason = test.reason(report) or "ReFrame says it passed, but its files are gone"
    status: Status = "skipped" if test.result == "skip" else "failed"
    name = test.folder or test.hash or "unknown"
    launch = f"{round_}/{test.environ}/{name}"
    return Launch(launch, test.case_id, status, reason, round_, test.environ)


def _stamp(folder: Path) -> tuple[tuple[int, int], ...]:
    """Changes when one of the launch's files does."""
    stamps = []
    for name in _FILES:
        try:
            stat = (folder / name).stat()
            stamps.append((stat.st_mtime_ns, stat.st_size))
        except OSError:
            stamps.append((0, 0))
    return tuple(stamps)


@cache
def _contents(
    folder: Path, stamp: tuple[tuple[int, int], ...]
) -> tuple[dict[str, Any], dict[str, Any], str]:
    """case.json, run.json (empty if bad), and the first fault of the launch, "" if it is whole.

    A resumed campaign scans again after each round: what has been read is remembered.
    """
    case: dict[str, Any] = {}
    run: dict[str, Any] = {}
    try:
        case = records.read(folder / "case.json")
        run = records.read(folder / "run.json")
    except UserError as error:
        return case, run, _relative(str(error), folder)
    return case, run, _relative(_fault(folder, case, run), folder)


@cache
def _digest(folder: Path, stamp: tuple[tuple[int, int], ...]) -> str:
    with (folder / "samples.csv").open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _fault(folder: Path, case: dict[str, Any], run: dict[str, Any]) -> str:
    if not run["complete"]:
        return "run.json: the workload did not complete"
    if run["ranks"] != case.get("num_tasks", run["ranks"]):
        return f"ran with {run['ranks']} ranks instead of {case['num_tasks']}"
    try:
        read = samples.read(folder / "samples.csv")
    except OSError as error:
        return f"samples.csv: {error.strerror}"
    if read.problems:
        more = len(read.problems) - 1
        return str(read.problems[0]) + (f" (and {more} more)" if more else "")
    if read.frame.height != run["samples"]["rows"]:
        return f"samples.csv has {read.frame.height} rows, run.json says {run['samples']['rows']}"
    studies = read.frame["study"].unique().to_list()
    if studies != [case["study"]]:
        return f"samples.csv is of study {', '.join(sorted(studies))}, not {case['study']}"
    return ""


def _relative(text: str, folder: Path) -> str:
    return text.replace(f"{folder}/", "")


def _last_words(folder: Path) -> str:
    """The last line on standard error of the job, if it wrote any."""
    try:
        with (folder / "rfm_job.err").open("rb") as stream:
            stream.seek(0, 2)
            stream.seek(max(0, stream.tell() - 4096))
            text = stream.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
    lines = [line.strip() for line in text.splitlines() if line.strip(" -\t")]
    return f"last words: {_printable(lines[-1])[:160]}" if lines else ""


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)

"""Scans a run tree for all launches that completed, and the reasons why others failed.

A launch passed if its folder below ``rounds/*/output`` holds a valid case.json, a complete run.json
and exactly the samples of its seal; it is partial if it measured too few of its sizes.  All others
failed, or the scheduler displaced them: their files are below ``rounds/*/stage``, and ReFrame's
reasons in ``rounds/*/report.json``.

Bad files of a launch fail only this launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip import files
from roundtrip.errors import UserError, printable
from roundtrip.measure import (
    analysis,
    completion,
    disturbance,
    identity,
    launch,
    records,
    scheduler_log,
)
from roundtrip.measure.completion import SessionReport, TestCase
from roundtrip.measure.launch import Launch, Status
from roundtrip.sites.schedulers.interface import Scheduler

#: The file of a session during which a pinned file changed; its text says which.
CHANGE_FILE = "change.txt"
#: ReFrame's folders: <system>/<partition>/<toolchain>/<launch>.
_FOLDER_LEVELS = 4
#: Bytes that are read of standard error: a trace of each rank follows the first failure.
_MAX_ERROR_BYTES = 1 << 16
#: Constant facts of a run by subject and name: the value, and where or when it was recorded.
_KnownFacts = dict[tuple[str, str], tuple[Any, str]]
#: A panic of polars is not an Exception.
_ANY_ERROR = (Exception, pl.exceptions.PanicException)


def scan(run_dir: Path, limits: analysis.Analysis | None = None) -> list[Launch]:
    """Return all launches of a run tree, in the order of its sessions.

    `limits`, by default the run's, define disturbed launches.  UserError if the run's are damaged.
    """
    limits = limits or analysis.for_run(run_dir)
    machine = files.read_object_in_tree(run_dir / "env" / "host.json", run_dir)
    launches: list[Launch] = []
    lost_jobs, down_nodes = scheduler_log.unknown_jobs(run_dir), scheduler_log.nodes_down(run_dir)
    scheduler = scheduler_log.writer(scheduler_log.read(run_dir))
    sessions = files.folders_in_tree(run_dir / "rounds", 1)
    for folder, refusal in sorted(sessions, key=lambda session: _session_order(session[0].name)):
        if refusal:
            launches.append(_unknown_launch(folder, folder.name, refusal))
            continue
        number = records.read_round(folder, run_dir)
        report = SessionReport.read(folder / "report.json", run_dir)
        rules = (report, limits.disturbance, machine)
        losses = (scheduler, lost_jobs, down_nodes)
        session = _SessionFolder(folder, run_dir, *rules, *losses)
        launches += [replace(item, campaign_round=number) for item in session.launches()]
    predecessors = _Predecessors(_pinned_programs(run_dir))
    return [predecessors.check_against_earlier(item) for item in launches]


def _session_order(session: str) -> tuple[bool, int, str]:
    """Sort key: by number, 999 before 1000; other names last."""
    is_number = session.isdecimal()
    return not is_number, int(session) if is_number else 0, session


@dataclass
class _Predecessors:
    """Earlier launches, with which a launch must agree; `facts` are constant within a run."""

    facts: _KnownFacts
    digests: dict[str, str] = field(default_factory=dict)
    simulated: dict[str, Launch] = field(default_factory=dict)

    def check_against_earlier(self, item: Launch) -> Launch:
        """Return the launch, failed if it copies or contradicts earlier ones."""
        if not (reason := self._fault(item)):
            return item
        return replace(item, status="failed", reason=reason, disturbances=(), digest="")

    def _fault(self, item: Launch) -> str:
        original = self.digests.setdefault(item.digest, item.id) if item.digest else item.id
        if original != item.id:
            return f"samples.csv: the very samples of launch {original}: a copy"
        if item.status != "passed":
            return ""
        if item.case["simulated"]:
            first = self.simulated.setdefault(item.case_id, item)
            if item.rows_digest != first.rows_digest:
                return f"simulated, and its samples are not those of launch {first.id}"
        for subject, now in dict(identity.facts(item.case, item.run)).items():
            before, since = self.facts.setdefault(subject, (now, f"in launch {item.id}"))
            if now != before:
                return identity.change(subject, before, since, now)
        return ""


def _pinned_programs(run_dir: Path) -> _KnownFacts:
    """Return the programs with which the run began; {} if state.json does not record them."""
    try:
        pins = records.read_record(run_dir / "state.json").get("pins", [])
    except UserError:
        return {}
    programs = {pin["file"]: pin["sha256"] for pin in pins if pin["what"] == "program"}
    return {
        (f"program {identity.describe_file(file)}", "sha256"): (digest, "when the run began")
        for file, digest in programs.items()
    }


def _unknown_launch(
    folder: Path, session: str, reason: str, test: TestCase | None = None
) -> Launch:
    """Return a failed launch with a known folder only, and ReFrame's entry `test`, if any."""
    environ, name, round_ = map(printable, (folder.parent.name, folder.name, session))
    case_id = test.case_id if test else _unknown_case_id(name, environ)
    return Launch(f"{round_}/{environ}/{name}", case_id, "failed", reason, round_, environ)


def _unknown_case_id(name: str, environ: str) -> str:
    return f"unknown/{name}@unknown:unknown+{environ}"


@dataclass(frozen=True)
class _SessionFolder:
    """One folder of ``rounds/``: ReFrame's launches in it, and its report."""

    folder: Path
    root: Path
    report: SessionReport
    limits: analysis.Disturbance
    #: host.json
    machine: Mapping[str, Any]
    scheduler: Scheduler
    #: Folders below `root` of jobs that it lost; nodes that went down, by folder.
    lost_jobs: frozenset[str]
    down_nodes: Mapping[str, tuple[str, ...]]

    def launches(self) -> Iterator[Launch]:
        """The launches; all failed if a pinned file changed while they ran."""
        change = self._pin_change()
        for item in self._launches():
            if change and item.status in ("passed", "partial"):
                yield replace(item, status="failed", reason=change, disturbances=(), digest="")
            else:
                yield item

    def _pin_change(self) -> str:
        """The change of a pinned file during this session; "" without one."""
        file = self.folder / CHANGE_FILE
        if not file.is_symlink() and not file.exists():
            return ""
        try:
            return printable(files.read_text_in_tree(file, self.root)) or CHANGE_FILE
        except UserError as error:
            return printable(error.message)

    def _launches(self) -> Iterator[Launch]:
        seen: set[tuple[str, str]] = set()
        for part in ("output", "stage"):
            for folder, refusal in files.folders_in_tree(self.folder / part, _FOLDER_LEVELS):
                key = (folder.parent.name, folder.name)
                if refusal:
                    seen.add(key)
                    yield self._refused_launch(folder, refusal)
                elif key not in seen and files.stamp(folder / "case.json"):
                    seen.add(key)
                    yield self._read_safely(folder, is_output=part == "output")
        for test in self.report.tests:
            if not test.is_fixture and (test.environ, test.folder) not in seen:
                yield self._launch_without_folder(test)

    def _read_safely(self, folder: Path, is_output: bool) -> Launch:
        """Return the launch of a folder; a failed launch if reading it raises anything."""
        try:
            item = self._launch(folder, is_output)
            launch.require_fits(item)
        except _ANY_ERROR as error:
            why = printable((str(error).splitlines() or [""])[0])[:160]
            return self._refused_launch(folder, f"cannot be used: {type(error).__name__}: {why}")
        return item

    def _refused_launch(self, folder: Path, reason: str) -> Launch:
        test = self.report.find(folder.parent.name, folder.name)
        return _unknown_launch(folder, self.folder.name, reason, test)

    def _launch(self, folder: Path, is_output: bool) -> Launch:
        environ, round_ = folder.parent.name, self.folder.name
        contents = launch.contents(self.root, folder)
        test = self.report.find(environ, folder.name)
        case, run, nodes = contents.case, contents.run, contents.nodes
        if case:
            case_id = records.case_id(case)
        else:
            case_id = test.case_id if test else _unknown_case_id(folder.name, environ)
        launch_id = f"{round_}/{environ}/{folder.name}"
        item = Launch(launch_id, case_id, "failed", "", round_, environ, folder, case, run, nodes)
        if is_output and not contents.fault and (test is None or test.result == "pass"):
            return self._completed_launch(item, contents)
        reason = test.reason(self.report) if test else ""
        if not reason and not self.report.is_complete and not is_output:
            reason = "interrupted: the ReFrame session was killed before this launch ended"
        error = launch.error_tail(folder, self.root, _MAX_ERROR_BYTES)
        is_lost = str(folder.relative_to(self.root)) in self.lost_jobs
        forgotten_by = self.scheduler if is_lost else None
        if not is_output and (why := completion.displacement(reason, error, forgotten_by)):
            return replace(item, status="displaced", reason=why)
        down_nodes = () if is_output else self._nodes_down(folder, error, contents)
        first_failure = completion.first_failure(error)
        if down_nodes:  # the surviving ranks blame each other
            names = ", node ".join(down_nodes)
            who = self.scheduler.title
            first_failure = f"node {names} failed ({who}: down, or its step gone)"
        parts = (reason or contents.fault or "left unfinished", first_failure)
        return replace(item, reason="; ".join(filter(None, parts)), nodes_down=down_nodes)

    def _nodes_down(self, folder: Path, error: str, contents: launch.Contents) -> tuple[str, ...]:
        """Return the launch's nodes that failed according to the scheduler's queue or launcher."""
        nodes = contents.nodes or contents.case.get("hosts", ())
        down_nodes = {*self.down_nodes.get(str(folder.relative_to(self.root)), ())} & {*nodes}
        return tuple(sorted(down_nodes | completion.nodes_down(error, nodes)))

    def _completed_launch(self, item: Launch, contents: launch.Contents) -> Launch:
        """Return the launch as passed or partial, with its disturbances."""
        case, run = contents.case, contents.run
        digest, rows_digest = contents.digest, contents.rows_digest
        passed = replace(item, status="passed", digest=digest, rows_digest=rows_digest)
        if case["simulated"]:  # nothing disturbs it, and a repetition measures no more
            return passed
        one_machine = bool((case["emulated"] or {}).get("nodes"))
        cores = disturbance.processors(run, self.machine)
        reasons = disturbance.reasons(run, self.limits, cores, one_machine)
        all_reasons = (contents.other_jobs, identity.preload_reason(case, run), *reasons)
        disturbances = tuple(filter(None, all_reasons))
        if lack := disturbance.partial_reason(run, self.limits):
            return replace(item, status="partial", reason="; ".join((lack, *disturbances)))
        return replace(passed, disturbances=disturbances)

    def _launch_without_folder(self, test: TestCase) -> Launch:
        reason = test.reason(self.report) or "ReFrame says it passed, but its files are gone"
        status: Status = "skipped" if test.result == "skip" else "failed"
        if why := completion.displacement(reason):
            status, reason = "displaced", why
        name, round_ = test.folder or test.hash or "unknown", printable(self.folder.name)
        launch_id = f"{round_}/{test.environ}/{name}"
        return Launch(launch_id, test.case_id, status, reason, round_, test.environ)

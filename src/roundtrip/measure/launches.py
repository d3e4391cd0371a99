"""Scans a run tree for all its launches: which completed, and why others did not.

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
    scheduler,
)
from roundtrip.measure.bundle_rows import Status
from roundtrip.measure.completion import ReportedTest, SessionReport
from roundtrip.measure.launch import Launch
from roundtrip.sites import schedulers

#: The file of a session during which a pinned file changed; its text says which.
CHANGE_FILE = "change.txt"
#: Constant facts of a run by subject and name: the value, and where or when it was recorded.
_KnownFacts = dict[tuple[str, str], tuple[Any, str]]


def scan_launches(run_dir: Path, limits: analysis.AnalysisSettings | None = None) -> list[Launch]:
    """Read all launches of a run tree, in the order of its sessions, whatever came of them.

    `limits`, by default the run's own analysis.toml, say which launches are disturbed; UserError
    if that file is invalid.
    """
    limits = limits or analysis.load_run_settings(run_dir)
    host_record = files.read_object_in_tree(run_dir / "env" / "host.json", run_dir)
    launches: list[Launch] = []
    losses = (
        scheduler.folders_of_unknown_jobs(run_dir),
        scheduler.nodes_down_by_folder(run_dir),
    )
    sessions = files.folders_in_tree(run_dir / "rounds", 1)
    for folder, refusal in sorted(sessions, key=lambda session: _session_order(session[0].name)):
        if refusal:
            launches.append(_unreadable_launch(folder, folder.name, refusal))
            continue
        number = records.read_round_number(folder, run_dir)
        report = SessionReport.read(folder / "report.json", run_dir)
        session = _SessionFolder(folder, run_dir, report, limits.disturbance, host_record, *losses)
        launches += [replace(item, campaign_round=number) for item in session.launches()]
    predecessors = _EarlierLaunches(_pinned_programs(run_dir))
    return [_apply_failure(item, predecessors.failure_reason(item)) for item in launches]


def _apply_failure(item: Launch, reason: str) -> Launch:
    """Return the launch as failed for `reason`, or unchanged if that is ""."""
    if not reason:
        return item
    return replace(item, status="failed", reason=reason, disturbance_reasons=(), samples_sha256="")


def _session_order(session: str) -> tuple[bool, int, str]:
    """Return the sort key of a session's folder name: by number, other names last."""
    is_number = session.isdecimal()
    return not is_number, int(session) if is_number else 0, session


@dataclass
class _EarlierLaunches:
    """Earlier launches of the run, with which a launch must agree."""

    facts: _KnownFacts
    launch_by_digest: dict[str, str] = field(default_factory=dict)
    simulated_by_case: dict[str, Launch] = field(default_factory=dict)

    def failure_reason(self, item: Launch) -> str:
        """Return how the launch copies or contradicts earlier ones, else "", and remember it."""
        original = (
            self.launch_by_digest.setdefault(item.samples_sha256, item.id)
            if item.samples_sha256
            else item.id
        )
        if original != item.id:
            return f"samples.csv: the very samples of launch {original}: a copy"
        if item.status != "passed":
            return ""
        if item.case_record["simulated"]:
            first = self.simulated_by_case.setdefault(item.case_id, item)
            if item.rows_sha256 != first.rows_sha256:
                return f"simulated, and its samples are not those of launch {first.id}"
        for subject, now in dict(
            identity.constant_facts(item.case_record, item.run_record)
        ).items():
            before, since = self.facts.setdefault(subject, (now, f"in launch {item.id}"))
            if now != before:
                return identity.fact_change_reason(subject, before, since, now)
        return ""


def _pinned_programs(run_dir: Path) -> _KnownFacts:
    """Return the programs in `pins` of state.json, as facts; {} without them."""
    try:
        pins = records.read_record(run_dir / "state.json").get("pins", [])
    except UserError:
        return {}
    programs = {pin["file"]: pin["sha256"] for pin in pins if pin["what"] == "program"}
    return {
        (f"program {identity.describe_file(file)}", "sha256"): (digest, "when the run began")
        for file, digest in programs.items()
    }


def _unreadable_launch(
    folder: Path, session: str, reason: str, test: ReportedTest | None = None
) -> Launch:
    """Return a failed launch of which only `folder`, and ReFrame's `test`, if any, are known."""
    environ, name, round_ = map(printable, (folder.parent.name, folder.name, session))
    case_id = test.case_id if test else _unknown_case_id(name, environ)
    return Launch(f"{round_}/{environ}/{name}", case_id, "failed", reason, round_, environ)


def _unknown_case_id(name: str, environ: str) -> str:
    return f"unknown/{name}@unknown:unknown+{environ}"


@dataclass(frozen=True)
class _SessionFolder:
    """The folder of a session in ``rounds/``, with ReFrame's report."""

    folder: Path
    root: Path
    report: SessionReport
    limits: analysis.DisturbanceLimits
    #: env/host.json.
    host_record: Mapping[str, Any]
    #: Folders, relative to `root`, of jobs that the scheduler lost; nodes that went down, by
    #: folder.
    lost_job_folders: frozenset[str]
    down_nodes_by_folder: Mapping[str, tuple[str, ...]]

    def launches(self) -> Iterator[Launch]:
        """Yield the launches of the session; all failed if a pinned file changed while they ran."""
        file, change = self.folder / CHANGE_FILE, ""
        if files.change_stamp(file):
            try:
                change = printable(files.read_text_in_tree(file, self.root)) or CHANGE_FILE
            except UserError as error:
                change = printable(error.message)
        for item in self._scan_folders():
            yield _apply_failure(item, change if item.status in ("passed", "partial") else "")

    def _scan_folders(self) -> Iterator[Launch]:
        seen: set[tuple[str, str]] = set()
        for subfolder in ("output", "stage"):
            # Below it are ReFrame's folders: <system>/<partition>/<toolchain>/<launch>.
            for folder, refusal in files.folders_in_tree(self.folder / subfolder, 4):
                key = (folder.parent.name, folder.name)
                if refusal:
                    seen.add(key)
                    yield self._refused_launch(folder, refusal)
                elif key not in seen and files.change_stamp(folder / "case.json"):
                    seen.add(key)
                    try:
                        item = self._read_launch(folder, is_in_output=subfolder == "output")
                        launch.require_column_types(item)
                    except (Exception, pl.exceptions.PanicException) as error:
                        why = printable((str(error).splitlines() or [""])[0])[:160]
                        reason = f"cannot be used: {type(error).__name__}: {why}"
                        item = self._refused_launch(folder, reason)
                    yield item
        for test in self.report.tests:
            if not test.is_fixture and (test.environ, test.folder_name) not in seen:
                yield self._launch_without_folder(test)

    def _refused_launch(self, folder: Path, reason: str) -> Launch:
        test = self.report.find_test(folder.parent.name, folder.name)
        return _unreadable_launch(folder, self.folder.name, reason, test)

    def _read_launch(self, folder: Path, is_in_output: bool) -> Launch:
        item = launch.read_launch(self.root, folder, self.folder.name)
        test = self.report.find_test(item.environ, folder.name)
        if not item.case_id:
            case_id = test.case_id if test else _unknown_case_id(folder.name, item.environ)
            item = replace(item, case_id=case_id)
        # ReFrame copies to output what passed; the session may be stopped, or killed, after that.
        has_passed = is_in_output and (test is None or test.result in ("pass", "abort"))
        if has_passed and item.status == "passed":
            return self._completed_launch(item)
        reason = test.failure_reason(self.report) if test else ""
        if not reason and not self.report.is_readable and not is_in_output:
            reason = "interrupted: the ReFrame session was killed before this launch ended"
        # Much, because a trace of each rank follows the first failure.
        error = launch.error_tail(folder, self.root, 1 << 16)
        is_lost = str(folder.relative_to(self.root)) in self.lost_job_folders
        manager = schedulers.scheduler_of_key(item.case_record.get("scheduler"))
        forgotten_by = manager if is_lost else None
        if not is_in_output and (
            why := completion.displacement_reason(reason, error, forgotten_by)
        ):
            return replace(_apply_failure(item, why), status="displaced")
        first_failure, down_nodes = completion.describe_first_failure(error), set[str]()
        if not is_in_output:
            job_nodes = item.nodes or item.case_record.get("hosts", ())
            listed_nodes = self.down_nodes_by_folder.get(str(folder.relative_to(self.root)), ())
            down_nodes = {*listed_nodes} & {*job_nodes} | completion.failed_nodes(error, job_nodes)
        if down_nodes:  # the surviving ranks blame each other
            names = ", node ".join(sorted(down_nodes))
            first_failure = f"node {names} failed ({manager.title}: down, or its step gone)"
        parts = (reason or item.reason or "left unfinished", first_failure)
        failure = _apply_failure(item, "; ".join(filter(None, parts)))
        return replace(failure, nodes_down=tuple(sorted(down_nodes)))

    def _completed_launch(self, item: Launch) -> Launch:
        """Return the launch as passed or partial, with the reasons why it is disturbed."""
        case, run = item.case_record, item.run_record
        if case["simulated"]:  # nothing disturbs it, and a repetition measures no more
            return item
        one_machine = bool((case["emulated"] or {}).get("nodes"))
        cores = disturbance.processor_count(run, self.host_record)
        reasons = disturbance.disturbance_reasons(run, self.limits, cores, one_machine)
        preload = filter(None, [identity.preload_reason(case, run)])
        disturbances = (*item.disturbance_reasons, *preload, *reasons)
        if lack := disturbance.partial_reason(run, self.limits):
            reason = "; ".join((lack, *disturbances))
            return replace(_apply_failure(item, reason), status="partial")
        return replace(item, disturbance_reasons=disturbances)

    def _launch_without_folder(self, test: ReportedTest) -> Launch:
        reason = (
            test.failure_reason(self.report) or "ReFrame says it passed, but its files are gone"
        )
        status: Status = "skipped" if test.result == "skip" else "failed"
        if why := completion.displacement_reason(reason):
            status, reason = "displaced", why
        name, round_ = test.folder_name or test.hash or "unknown", printable(self.folder.name)
        launch_id = f"{round_}/{test.environ}/{name}"
        return Launch(launch_id, test.case_id, status, reason, round_, test.environ)

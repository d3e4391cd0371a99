"""Counts completed launches, and finds why launches or builds did not complete.

The reasons come from ReFrame's run report and from the launcher's standard error.  A failing rank
ends silently or writes why.  Its healthy partner then reports a lost connection and is killed, so
the partner's messages come last.
"""

from __future__ import annotations

import contextlib
import glob
import json
import re
import signal
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from roundtrip import files
from roundtrip.errors import UserError, printable
from roundtrip.measure import records
from roundtrip.sites import schedulers
from roundtrip.sites.schedulers.interface import JOB_FORGOTTEN, PHRASE_BY_DISPLACEMENT, Scheduler
from roundtrip.units import plural

#: Errors of compilers, linkers and CMake.
_BUILD_ERROR_PATTERN = re.compile(
    r"^.*\berror: .*$|^.*undefined reference to .*$|^CMake Error.*$", re.MULTILINE
)


def _first_line(text: str) -> str:
    """Return the first line of a text, made printable, because it may come from a job's output.

    If it is ReFrame's message of a failed command, append the last line of the command's output.
    """
    first, *rest = text.strip().splitlines() or [""]
    words = [
        line
        for line in rest
        if line.strip() and not _STREAM_SEPARATOR_PATTERN.fullmatch(line.strip())
    ]
    if rest and _COMMAND_FAILURE_PATTERN.search(first):
        first = f"{first} {words[-1].strip() if words else 'it said nothing'}"
    return printable(first)[:500]


#: Beginning and separators of ReFrame's message of a failed command.
_COMMAND_FAILURE_PATTERN = re.compile(r"command '.*' failed with exit code \d+:$")
_STREAM_SEPARATOR_PATTERN = re.compile(r"--- std(out|err) ---")


@dataclass(frozen=True)
class ReportedTest:
    """A test as ReFrame reports it; `folder_name`: of its stage folder, "" before set-up."""

    name: str
    case_id: str
    environ: str
    folder_name: str
    hash: str
    result: str
    is_fixture: bool
    fail_phase: str
    fail_reason: str
    exit_code: int | None
    duration_s: float = 0.0

    @staticmethod
    def parse_entry(entry: dict[str, Any]) -> ReportedTest:
        """Parse an entry of ``testcases`` in report.json; a missing text is "" or "unknown"."""

        def text(key: str, default: str = "") -> str:
            return _first_line(str(entry.get(key) or default))

        name = text("display_name") or text("name", "unknown")
        target = [text(key, "unknown") for key in ("system", "partition", "environ")]
        exit_code, seconds = entry.get("job_exitcode"), entry.get("time_total")
        return ReportedTest(
            name=name,
            case_id=records.case_id_of_test(name, *target),
            environ=target[2],
            folder_name=PurePosixPath(text("stagedir")).name,
            hash=text("hashcode"),
            result=text("result"),
            is_fixture=bool(entry.get("fixture")),
            fail_phase=text("fail_phase"),
            fail_reason=text("fail_reason") or text("skip_reason"),
            exit_code=exit_code if isinstance(exit_code, int) else None,
            duration_s=seconds if isinstance(seconds, float) else 0.0,
        )

    def failure_reason(self, report: SessionReport) -> str:
        """Return why the test did not pass, in one line; "" if it passed."""
        if self.result == "pass":
            return ""
        if self.result == "fail_deps":
            for test in report.tests:
                if test.is_fixture and test.environ == self.environ and test.result == "fail":
                    return f"{test.name.split(' ')[0]} failed: {test.failure_reason(report)}"
            return "a test it depends on failed"
        if self.result == "abort":
            return "interrupted: the ReFrame session had to stop"
        why = self.fail_reason or f"ReFrame: {self.result} in phase {self.fail_phase or '?'}"
        if self.exit_code in (None, 0, 1):
            return why
        number = self.exit_code - 128 if self.exit_code > 128 else -self.exit_code
        try:
            return f"{why}; killed by signal {number} ({signal.Signals(number).name})"
        except ValueError:
            return f"{why}; exit status {self.exit_code}"


@dataclass(frozen=True)
class SessionReport:
    """ReFrame's report of a session; empty and not readable if the session was killed."""

    tests: tuple[ReportedTest, ...]
    is_readable: bool

    @staticmethod
    def read(file: Path, root: Path | None = None) -> SessionReport:
        """Read a report.json in the run tree `root`; it never raises."""
        try:
            # Not `files.parse_json`: it refuses lone surrogates, which ReFrame's texts may contain.
            data = json.loads(files.read_in_tree(file, root, files.MAX_REPORT_BYTES))
            entries = [entry for run in data["runs"] for entry in run["testcases"]]
            tests = map(ReportedTest.parse_entry, entries)
            return SessionReport(
                tuple(_test_with_build_error(t, file.parent, root) for t in tests), True
            )
        except (UserError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return SessionReport((), False)

    @property
    def build_s(self) -> float:
        """Total duration of the builds, s."""
        return sum(test.duration_s for test in self.tests if test.is_fixture)

    def find_test(self, environ: str, folder_name: str) -> ReportedTest | None:
        """Return the last test with this toolchain and stage folder; None without one."""
        matches = (
            t for t in reversed(self.tests) if (t.environ, t.folder_name) == (environ, folder_name)
        )
        return next(matches, None)


def _test_with_build_error(test: ReportedTest, folder: Path, root: Path | None) -> ReportedTest:
    """Return `test`, with the first error of its output if it is a failed build."""
    # ReFrame starts a build in phase `compile`, and finds that it failed in `compile_wait`.
    if not (test.is_fixture and test.fail_phase.startswith("compile") and test.result == "fail"):
        return test
    for stage_folder in sorted(folder.glob(f"stage/*/*/*/{glob.escape(test.folder_name)}")):
        if error := first_build_error(stage_folder, root):
            return replace(test, fail_reason=f"{test.fail_reason}: {error}")
    return test


def first_build_error(stage_folder: Path, root: Path | None = None) -> str:
    """Return the first error that the build in `stage_folder` printed, in one line; "" if none."""
    for name in ("rfm_build.err", "rfm_build.out"):
        with contextlib.suppress(UserError):
            text = files.read_in_tree(stage_folder / name, root, 1 << 22).decode(errors="replace")
            if match := _BUILD_ERROR_PATTERN.search(text):
                return _first_line(match[0])
    return ""


#: Messages about the failed rank: Open MPI's mpirun (before and since 5), MPICH; launchers of
#: schedulers.
_MPI_FAILURE_PATTERN = re.compile(
    r"^(?:[^\n]*noticed that process rank (?P<ranks2>\d+) with PID \d+ on node (?P<host2>\S+)"
    r" exited on (?P<how2>[^\n.]+)"
    r"|[^\n]*The first process to do so was:\s+Process name: \[\S+,(?P<ranks3>\d+)\]"
    r"\s+Exit code:\s+(?P<code3>\d+)"
    r"|MPI_ABORT was invoked on rank (?P<ranks4>\d+)"
    r"|Abort\((?P<code5>\d+)\) on node \d+ \(rank (?P<ranks5>\d+) in comm \d+\))",
    re.MULTILINE,
)
_FAILED_RANK_PATTERNS = (
    *(item.failed_rank_pattern for item in schedulers.SCHEDULERS if item.failed_rank_pattern),
    _MPI_FAILURE_PATTERN,
)
#: Lines of stack traces and of the launcher, which are no message of the failed rank.
_NOISE_LINE_PATTERN = re.compile(
    r"\*\*\* |\[[^\]]+\] \[ *\d+\] |^ *\d+ +/|==== backtrace|Failing at address|Signal code"
    + "".join(f"|{item.noise_pattern}" for item in schedulers.SCHEDULERS if item.noise_pattern)
)
#: Lines, and blocks between rules, with messages of a partner or the launcher.
_PARTNER_MESSAGE_PATTERN = re.compile(
    r"connection|peer|broken pipe|unreachable|endpoint|Primary job +terminated"
    r"|detected that one or more processes exited",
    re.IGNORECASE,
)
#: Beginning of the line that our wrapper of each rank prints first; it is no error message.
_RANK_WRAPPER_PREFIX = "ROUNDTRIP RANK ON "
_SEPARATOR_LINE_PATTERN = re.compile(r"^[-=]{20,}$", re.MULTILINE)
_MAX_MESSAGE_LENGTH = 160


def describe_first_failure(error: str) -> str:
    """Describe which rank failed first, by a launcher's standard error: ``rank 1 on n7 failed
    first: Segmentation fault; last words: ...``; its last line if it names none; "" if empty."""
    matches = (pattern.search(error) for pattern in _FAILED_RANK_PATTERNS)
    match = min(filter(None, matches), key=lambda match: match.start(), default=None)
    if match is None:
        return _describe_last_line(
            [line.strip() for line in error.splitlines() if line.strip(" -\t")]
        )
    groups = {key.rstrip("2345"): text for key, text in match.groupdict().items() if text}
    location = f" on {groups['host']}" if "host" in groups else ""
    how = groups.get("how") or (f"exit code {groups['code']}" if "code" in groups else "MPI_Abort")
    noun = "ranks" if re.search(r"\D", groups["ranks"]) else "rank"
    first = f"{noun} {groups['ranks']}{location} failed first: {how.strip()}"
    lines = []  # those that the failed rank may have written itself
    for number, block in enumerate(_SEPARATOR_LINE_PATTERN.split(error[: match.start()])):
        if number % 2 == 0 or not _PARTNER_MESSAGE_PATTERN.search(
            block
        ):  # two rules enclose one message
            lines += [line.strip() for line in block.splitlines() if line.strip()]
    patterns = (_NOISE_LINE_PATTERN, _PARTNER_MESSAGE_PATTERN)
    lines = [line for line in lines if not any(pattern.search(line) for pattern in patterns)]
    last_words = _describe_last_line(lines)
    return "; ".join(filter(None, (printable(first)[:_MAX_MESSAGE_LENGTH], last_words)))


def failed_nodes(error: str, nodes: Sequence[str]) -> set[str]:
    """Return which of a launch's `nodes`, in order, failed by a scheduler's messages."""
    return set[str]().union(*(item.nodes_down(error, nodes) for item in schedulers.SCHEDULERS))


def _describe_last_line(lines: list[str]) -> str:
    rank_lines = [line for line in lines if not line.startswith(_RANK_WRAPPER_PREFIX)]
    return f"last words: {printable(rank_lines[-1])[:_MAX_MESSAGE_LENGTH]}" if rank_lines else ""


def displacement_reason(
    reframe_reason: str, error: str = "", forgotten_by: Scheduler | None = None
) -> str:
    """Return why a launch that did not complete was displaced; "" if it failed.

    `reframe_reason` is ReFrame's, `error` the end of the job's standard error; `forgotten_by` is
    the scheduler whose controller no longer knew the job.
    """
    if forgotten_by:
        return f"{forgotten_by.title}{JOB_FORGOTTEN}"
    for item in schedulers.SCHEDULERS:
        if cause := item.displacement_reason(reframe_reason, error):
            return f"{item.title}{cause}"
    return ""


def describe_displacements(reasons: Iterable[str]) -> str:
    """Describe how many launches were displaced, by their `reasons`; "" if there are none."""
    all_reasons = list(reasons)
    if not all_reasons:
        return ""
    parts = [
        f"{count} {words}"
        for cause, words in PHRASE_BY_DISPLACEMENT.items()
        if (count := sum(cause in reason for reason in all_reasons))
    ]
    by_reason = f" ({', '.join(parts)})" if parts else ""
    titles = (item.title for item in schedulers.SCHEDULERS)
    named = [title for title in titles if any(title in reason for reason in all_reasons)]
    who = " and ".join(named) or "The scheduler"
    launches = plural(len(all_reasons), "launch")
    return f"{who} displaced {launches}{by_reason}: repeated, and counted against no case"


@dataclass(frozen=True)
class LaunchCounts:
    """Numbers of launches that a campaign wanted and got.  A case may pass more often than its
    target: disturbed launches are repeated."""

    target_by_case: Mapping[str, int]
    passed_by_case: Mapping[str, int]
    disturbed_count: int = 0
    #: Launches that measured only a part of their sizes, which did not pass.
    partial_count: int = 0

    @property
    def target_count(self) -> int:
        """Number of wanted launches of all cases."""
        return sum(self.target_by_case.values())

    @property
    def completed_count(self) -> int:
        """Number of wanted launches that passed: of each case, at most its target."""
        return sum(
            min(self.passed_by_case.get(case, 0), count)
            for case, count in self.target_by_case.items()
        )

    @property
    def surplus_count(self) -> int:
        """Number of passed launches beyond the targets of their cases."""
        return sum(self.passed_by_case.values()) - self.completed_count

    @property
    def missing_by_case(self) -> dict[str, int]:
        """Number of launches that a case lacks, for each case that lacks any."""
        lacks = {
            case: count - self.passed_by_case.get(case, 0)
            for case, count in self.target_by_case.items()
        }
        return {case: count for case, count in lacks.items() if count > 0}

    def describe(self) -> str:
        """Describe the counts: ``16 of 16 launches completed; 5 of 18 disturbed, 2 made again``."""
        total = sum(self.passed_by_case.values())
        disturbed = f"; {self.disturbed_count} of {total} disturbed" if self.disturbed_count else ""
        again = (
            f"{',' if disturbed else ';'} {self.surplus_count} made again"
            if self.surplus_count
            else ""
        )
        partial = f"; {self.partial_count} more only partial" if self.partial_count else ""
        return (
            f"{self.completed_count} of {self.target_count} launches "
            f"completed{disturbed}{again}{partial}"
        )


def count_launches(rows: Iterable[tuple[str, str, int | None, bool | None]]) -> LaunchCounts:
    """Count rows of cases.parquet: (case id, status, target of the case, is disturbed).  A target
    None, in older bundles, is the number of passed and missing launches."""
    launch_counts: dict[str, int] = {}
    cases: defaultdict[str, Counter[str]] = defaultdict(Counter)
    disturbed = 0
    for case, status, launch_count, is_disturbed in rows:
        disturbed += bool(is_disturbed)
        if launch_count is not None:
            launch_counts[case] = launch_count
        cases[status][case] += 1
    passed, missing = cases["passed"], cases["missing"]
    for case in passed | missing:
        launch_counts.setdefault(case, passed[case] + missing[case])
    return LaunchCounts(launch_counts, passed, disturbed, cases["partial"].total())

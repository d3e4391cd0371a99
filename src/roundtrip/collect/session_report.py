"""What ReFrame's run report says about each test case of a session."""

from __future__ import annotations

import json
import re
import signal
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from roundtrip import files
from roundtrip.collect import records
from roundtrip.errors import UserError, printable

#: The largest report that is read, bytes; ReFrame writes megabytes about every test and fixture.
_MOST = 3 << 23


def _line(text: str) -> str:
    """The first line of a text, made printable, because it may come from a job's output.

    Of a command that failed, ReFrame tells its words below: then also the last of them.
    """
    first, *more = text.strip().splitlines() or [""]
    words = [line for line in more if line.strip() and not _MARK.fullmatch(line.strip())]
    if more and _FAILED.search(first):
        first = f"{first} {words[-1].strip() if words else 'it said nothing'}"
    return printable(first)[:500]


#: How ReFrame begins, and divides, what it tells of a command that failed.
_FAILED = re.compile(r"command '.*' failed with exit code \d+:$")
_MARK = re.compile(r"--- std(out|err) ---")


@dataclass(frozen=True)
class TestCase:
    """One entry of a run report; `folder` is the name of its stage folder, "" before set-up."""

    name: str
    case_id: str
    environ: str
    folder: str
    hash: str
    result: str
    is_fixture: bool
    fail_phase: str
    fail_reason: str
    exit_code: int | None

    @staticmethod
    def of(entry: dict[str, Any]) -> TestCase:
        """From an entry of ``testcases`` in ReFrame's report; a missing text is "" or "unknown"."""

        def text(key: str, default: str = "") -> str:
            return _line(str(entry.get(key) or default))

        name = text("display_name") or text("name", "unknown")
        place = [text(key, "unknown") for key in ("system", "partition", "environ")]
        exit_code = entry.get("job_exitcode")
        return TestCase(
            name=name,
            case_id=records.named_case_id(name, *place),
            environ=place[2],
            folder=PurePosixPath(text("stagedir")).name,
            hash=text("hashcode"),
            result=text("result"),
            is_fixture=bool(entry.get("fixture")),
            fail_phase=text("fail_phase"),
            fail_reason=text("fail_reason"),
            exit_code=exit_code if isinstance(exit_code, int) else None,
        )

    def reason(self, report: SessionReport) -> str:
        """Why the test did not pass, in one line; "" if it passed."""
        if self.result == "pass":
            return ""
        if self.result == "fail_deps":
            return report.broken_fixture(self.environ)
        if self.result == "abort":
            return "interrupted: the ReFrame session was told to stop"
        told = self.fail_reason or f"ReFrame: {self.result} in phase {self.fail_phase or '?'}"
        return told + self._signal()

    def _signal(self) -> str:
        if self.exit_code is None or self.exit_code in (0, 1):
            return ""
        number = self.exit_code - 128 if self.exit_code > 128 else -self.exit_code
        try:
            return f"; killed by signal {number} ({signal.Signals(number).name})"
        except ValueError:
            return f"; exit status {self.exit_code}"


@dataclass(frozen=True)
class SessionReport:
    """A run report; `whole` is False if it cannot be read, because the session was killed."""

    tests: tuple[TestCase, ...]
    whole: bool

    @staticmethod
    def read(file: Path, root: Path | None = None) -> SessionReport:
        """Read a report.json of the run tree `root`; a broken one counts as absent."""
        try:
            # Not by `files`, which refuses halves of characters: ReFrame's texts may hold them.
            data = json.loads(files.read_in_tree(file, root, _MOST))
            entries = [entry for run in data["runs"] for entry in run["testcases"]]
            return SessionReport(tuple(TestCase.of(entry) for entry in entries), True)
        except (UserError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return SessionReport((), False)

    def find(self, environ: str, folder: str) -> TestCase | None:
        """The last entry of toolchain `environ` and stage folder `folder`; None without one."""
        mine = [t for t in self.tests if (t.environ, t.folder) == (environ, folder)]
        return mine[-1] if mine else None

    def broken_fixture(self, environ: str) -> str:
        """Why a test of toolchain `environ` could not start."""
        broken = [
            test
            for test in self.tests
            if test.is_fixture and test.environ == environ and test.result == "fail"
        ]
        if not broken:
            return "a test it depends on failed"
        return f"{broken[0].name.split(' ')[0]} failed: {broken[0].reason(self)}"

"""What the scratch copy imports while `trace` runs: notes which test reaches which mutant's line.

A test's own processes inherit its name in the environment.  It stands alone: no other module here.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
_noted: set[tuple[str, str]] = set()
_seconds: dict[str, float] = defaultdict(float)
_failed: set[str] = set()


def reached(mutant: str) -> bool:
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if test and (mutant, test) not in _noted:
        _noted.add((mutant, test))
        _note("reach.jsonl", mutant=mutant, test=test)
    return True


def pytest_runtest_logreport(report):  # type: ignore[no-untyped-def]
    _seconds[report.nodeid] += report.duration
    if not report.passed:
        _failed.add(report.nodeid)
    if report.when == "teardown":
        seconds, has_passed = round(_seconds[report.nodeid], 3), report.nodeid not in _failed
        _note("times.jsonl", test=report.nodeid, seconds=seconds, passed=has_passed)


def _note(file: str, **facts: object) -> None:
    with (_FOLDER / file).open("a") as stream:
        stream.write(json.dumps(facts) + "\n")

"""A pytest plugin for `trace`: names each test to coverage, and writes what each took."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path

import coverage
import pytest

_seconds: dict[str, float] = defaultdict(float)
_failed: set[str] = set()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    running = coverage.Coverage.current()
    assert running is not None, "run by `coverage run`"
    running.switch_context(item.nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.nodeid] += report.duration
    if not report.passed:
        _failed.add(report.nodeid)


def pytest_sessionfinish() -> None:
    lines = [
        json.dumps({"test": test, "seconds": round(took, 3), "passed": test not in _failed})
        for test, took in _seconds.items()
    ]
    with Path(os.environ["ROUNDTRIP_MUTANTS_TIMES"]).open("a") as file:
        file.writelines(line + "\n" for line in lines)

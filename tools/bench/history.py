"""Processor time and memory of a year of nights: ledger, detection, the page, and its opening."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from roundtrip import paths
from roundtrip.collect import analysis
from roundtrip.errors import UserError
from roundtrip.history import ledger
from roundtrip.report import nights
from roundtrip.report.pages import history
from roundtrip.report.pages.series import split

NIGHTS, SERIES = 365, 500
CAMPAIGN, SITE = "synthetic", "local"
_Made = TypeVar("_Made")


def measure(count: int = NIGHTS, series: int = SERIES) -> Iterator[str]:
    """User plus system time of each step, and the largest memory of this process.

    The tree of reports is made in a temporary folder.  UserError if it cannot be made.
    """
    with tempfile.TemporaryDirectory() as folder:
        reports = Path(folder)
        _publish(reports, 0, count, series)
        cold, _ = _spent(lambda: ledger.read_ledger(reports, CAMPAIGN, SITE))
        _publish(reports, count, 1, series)
        more, known = _spent(lambda: ledger.read_ledger(reports, CAMPAIGN, SITE))
        settings = analysis.default().history
        detection, judged = _spent(lambda: nights.judge(known.nights, known.provenance, settings))
        page, text = _spent(lambda: _page(known, judged))
        opening = _opening(text, reports / "history.html")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # kB -> GB
    yield f"{count} nights x {series} series, s of processor time:"
    yield f"ledger {cold:.1f}, a night more {more:.1f}, detection {detection:.1f}, page {page:.1f}"
    yield f"all {cold + detection + page:.1f}; {peak:.2f} GB at most; page {len(text) / 1e6:.1f} MB"
    yield f"until a browser has drawn the page: {opening}"


def _page(known: ledger.Ledger, judged: nights.Judged) -> str:
    series = {tuple(line.series.names.values()): line.known for line in judged.lines}
    assert len(series) == sum(1 for _ in split(known.nights))  # noqa: S101
    made = history.History(CAMPAIGN, SITE, known.nights, known.provenance, series)
    return history.render(made)


def _opening(text: str, file: Path) -> str:
    """Processor time of Chromium's thread of the page, or why it was not measured."""
    file.write_text(text, encoding="utf-8")
    program = paths.checkout() / "tests" / "support" / "browser.py"
    done = subprocess.run(
        [sys.executable, str(program), file.as_uri()], capture_output=True, text=True
    )
    if done.returncode:
        return f"not measured: {(done.stderr.strip().splitlines() or ['no answer'])[-1]}"
    return f"{done.stdout.strip()} s"


def _publish(reports: Path, first: int, count: int, series: int) -> None:
    generator = paths.checkout() / "tests" / "support" / "nights.py"
    numbers = (str(number) for number in (count, series, first))
    command = [sys.executable, str(generator), str(reports), *numbers]
    done = subprocess.run(command, capture_output=True, text=True, cwd=paths.checkout())
    if done.returncode:
        raise UserError(f"{generator.name} failed: {done.stderr.strip()[-300:]}")


def _spent(work: Callable[[], _Made]) -> tuple[float, _Made]:
    """Processor time of `work` and of what it starts, s; and what it made."""
    before = _now()
    made = work()
    return _now() - before, made


def _now() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)

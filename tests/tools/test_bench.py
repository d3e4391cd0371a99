"""The benchmark program's own arithmetic and its errors; timings are no tests."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.launches import leave

from roundtrip import paths
from roundtrip.errors import UserError
from roundtrip.sites.site import Case
from roundtrip.studies.netpipe.output import OutputPoint
from tools.bench import costs, netpipe


def test_overhead_is_sessions_without_builds_over_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDTRIP_RUNS", str(tmp_path))
    tree = tmp_path / "smoke" / "local" / "20260101T000000Z"
    round_ = tree / "rounds" / "001"
    leave(Case("NetPIPE", (), "0" * 8, "local", "smp", "a"), round_)
    (tree / "state.json").write_text("{}")
    (round_ / "session.json").write_text(json.dumps({"wall_s": 20.0}))
    tests = [
        {"fixture": True, "time_setup": 1.0, "time_compile": 4.0, "time_run": None},
        {"fixture": False, "time_run": 12.0},
    ]
    (round_ / "report.json").write_text(json.dumps({"runs": [{"testcases": tests}]}))
    (line,) = costs.overhead()
    assert "ratio 1.250" in line


def test_overhead_without_a_run_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDTRIP_RUNS", str(tmp_path))
    with pytest.raises(UserError, match="run: make campaign"):
        next(costs.overhead())


def test_latency_is_at_one_byte_and_peak_at_any_size() -> None:
    points = [OutputPoint(1, 2e-6), OutputPoint(1000, 1e-6), OutputPoint(2000, 4e-6)]
    assert netpipe.latency(points) == 2e-6
    assert netpipe.peak(points) == pytest.approx(1e9)


def test_an_unknown_figure_names_those_there_are() -> None:
    process = subprocess.run(
        [sys.executable, "-m", "tools.bench", "nope"],
        cwd=paths.checkout(),
        capture_output=True,
        text=True,
    )
    assert process.returncode == 2
    assert "there are: reference, curve, overhead, reporting, starting" in process.stderr


@pytest.mark.nightly
def test_a_year_of_nights_is_measured_by_its_steps() -> None:
    head, steps, sums, opening = costs.history(40, 5)
    assert head.startswith("40 nights x 5 series")
    assert re.fullmatch(r"until a browser .*: (\d+\.\d\d s|not measured: no Chromium .+)", opening)
    numbers = [float(number) for number in re.findall(r"\d+\.\d+", f"{steps} {sums}")]
    assert len(numbers) == 7 and all(number >= 0 for number in numbers)
    ledger, _, detection, page, total, *_ = numbers
    assert total == pytest.approx(ledger + detection + page, abs=0.2)

"""``make calibration`` fails where a demand is missed beyond chance, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tools.calibration import __main__ as command
from tools.calibration import counts, demands, failing, nodes, real
from tools.calibration.estimates import Estimate, Told

ALARMS = "false alarms, Gauss, 90 nights"
POWER = "power, Gauss, +2 sd, 10 of 100 nights"


@pytest.mark.parametrize(
    ("made", "status", "last"),
    [
        # [0.23 %, 0.39 %] is wholly above 0.20 %.
        (Estimate(ALARMS, 60, 20_000), 1, "0 met, 0 cannot be told, 1 failed"),
        (Estimate(ALARMS, 20, 20_000), 0, "1 met, 0 cannot be told, 0 failed"),
        (Estimate(ALARMS, 45, 20_000), 0, "0 met, 1 cannot be told, 0 failed"),
        (Estimate(ALARMS, 2, 500), 0, "0 met, 1 cannot be told, 0 failed"),
        (Estimate(POWER, 790, 1000), 1, "0 met, 0 cannot be told, 1 failed"),
        (Estimate(POWER, 936, 1000), 0, "1 met, 0 cannot be told, 0 failed"),
        (Estimate(POWER, 870, 1000), 0, "0 met, 1 cannot be told, 0 failed"),
        # Nothing is promised of this noise.
        (Estimate("false alarms, Cauchy, 365 nights", 900, 20_000), 0, "0 failed"),
    ],
)
def test_the_status_says_whether_a_demand_failed(
    made: Estimate,
    status: int,
    last: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def table() -> Iterator[Told]:
        yield from ("a row", made)

    monkeypatch.setattr(command, "tables", lambda *_: {"alarms": table})
    assert command.main(["--only", "alarms"]) == status
    first, *failed, end = capsys.readouterr().out.splitlines()
    assert first == "a row"
    assert len(failed) == status
    assert end.endswith(last)


def test_a_failed_demand_is_one_line_with_its_numbers() -> None:
    found = [Estimate(POWER, 790, 1000), Estimate(ALARMS, 60, 20_000)]
    assert list(demands.failures(found)) == [
        f"demand failed: {POWER}: 790 of 1000, 79.00% [76.34%, 81.49%]; demanded: at least 88.00%",
        f"demand failed: {ALARMS}: 60 of 20000, 0.30% [0.23%, 0.39%]; demanded: at most 0.20%",
    ]


def test_the_tables_have_a_row_for_every_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = counts.Counted(500, 0, 0)
    monkeypatch.setattr(counts, "ProcessPoolExecutor", _Here)
    monkeypatch.setattr(counts, "quiet", lambda _: quiet)
    monkeypatch.setattr(counts, "power", lambda _: quiet)
    rng = np.random.default_rng(1)
    series = np.repeat([0.0, 0.3, 0.0], [200, 30, 200]) + rng.normal(0, 0.01, 430)
    monkeypatch.setattr(real, "load", lambda _: {"somewhere": dict.fromkeys("abc", series)})
    monkeypatch.setattr(nodes, "ProcessPoolExecutor", _Here)
    monkeypatch.setattr(nodes, "quiet", lambda *_, **__: 0)
    monkeypatch.setattr(failing, "ProcessPoolExecutor", _Here)
    monkeypatch.setattr(failing, "false", lambda *_, **__: 0)
    monkeypatch.setattr(failing, "named", lambda *_, **__: True)
    monkeypatch.setattr(nodes, "planted", lambda *_, **__: {3, 11, 20})
    made = command.tables(500, 1, Path())
    rows = [
        told.row
        for name in ("alarms", "power", "nodes", "failing", "real")
        for told in made[name]()
        if isinstance(told, Estimate)
    ]
    assert len(rows) == len(set(rows))
    assert demands.DEMANDS.keys() <= set(rows)


class _Here:
    """Stands for a pool of processes."""

    def __init__(self, _: int) -> None: ...

    def __enter__(self) -> _Here:
        return self

    def __exit__(self, *_: object) -> None: ...

    map = staticmethod(map)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--series", "0"], "--series 0: must be at least 1\n"),
        (["--series", "-5"], "--series -5: must be at least 1\n"),
        (["--processes", "0"], "--processes 0: must be at least 1\n"),
        (["--only", "real"], "--only real: needs --real FILE\n"),
    ],
)
def test_a_number_that_makes_no_sense_is_one_line(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(arguments) == 2
    assert capsys.readouterr() == ("", told)

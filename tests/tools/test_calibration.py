"""``make calibration`` fails where a demand is missed beyond chance, and nowhere else; simulated
nodes fail as often as they should, and the picture of real series is what detectors say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from roundtrip import paths
from roundtrip.measure import analysis
from tools.calibration import Demand, Estimate, TableOutput, failure_lines, nights, nodes, real
from tools.calibration import __main__ as command

ALARMS = "false alarms, Gauss, 90 nights"
POWER = "power, Gauss, +2 sd, 10 of 100 nights"
FEW, MANY = Demand(0.002, is_maximum=True), Demand(0.88)


@pytest.mark.parametrize(
    ("estimate", "status", "last"),
    [
        # [0.23 %, 0.39 %] is wholly above 0.20 %.
        (Estimate(ALARMS, 60, 20_000, FEW), 1, "0 met, 0 undecided, 1 failed"),
        (Estimate(ALARMS, 20, 20_000, FEW), 0, "1 met, 0 undecided, 0 failed"),
        (Estimate(ALARMS, 45, 20_000, FEW), 0, "0 met, 1 undecided, 0 failed"),
        (Estimate(ALARMS, 2, 500, FEW), 0, "0 met, 1 undecided, 0 failed"),
        (Estimate(POWER, 790, 1000, MANY), 1, "0 met, 0 undecided, 1 failed"),
        (Estimate(POWER, 936, 1000, MANY), 0, "1 met, 0 undecided, 0 failed"),
        (Estimate(POWER, 870, 1000, MANY), 0, "0 met, 1 undecided, 0 failed"),
        # Nothing is promised of this noise.
        (Estimate("false alarms, Cauchy, 365 nights", 900, 20_000), 0, "0 failed"),
    ],
)
def test_the_status_says_whether_a_demand_failed(
    estimate: Estimate,
    status: int,
    last: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def table() -> Iterator[TableOutput]:
        yield from ("a row", estimate)

    monkeypatch.setattr(command, "tables", lambda *_: {"alarms": table})
    assert command.main(["--only", "alarms"]) == status
    first, *failure_lines, end = capsys.readouterr().out.splitlines()
    assert first == "a row"
    assert len(failure_lines) == status
    assert end.endswith(last)


def test_a_failed_demand_is_one_line_with_its_numbers() -> None:
    estimates = [Estimate(POWER, 790, 1000, MANY), Estimate(ALARMS, 60, 20_000, FEW)]
    assert list(failure_lines(estimates)) == [
        f"demand failed: {POWER}: 790 of 1000, 79.00% [76.34%, 81.49%]; demanded: at least 88.00%",
        f"demand failed: {ALARMS}: 60 of 20000, 0.30% [0.23%, 0.39%]; demanded: at most 0.20%",
    ]


def test_each_row_demands_what_it_should(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = nights.SeriesCounts(500, 0, 0)
    monkeypatch.setattr(nights, "ProcessPoolExecutor", _Here)
    monkeypatch.setattr(nights, "count_alarms", lambda _: counts)
    monkeypatch.setattr(nights, "count_detections", lambda _: counts)
    rng = np.random.default_rng(1)
    series = np.repeat([0.0, 0.3, 0.0], [200, 30, 200]) + rng.normal(0, 0.01, 430)
    monkeypatch.setattr(real, "read_series", lambda _: {"somewhere": dict.fromkeys("abc", series)})
    monkeypatch.setattr(nodes, "ProcessPoolExecutor", _Here)
    monkeypatch.setattr(nodes, "count_false_naming_nights", lambda *_, **__: 0)
    monkeypatch.setattr(nodes, "named_nodes", lambda *_, **__: {3, 11, 20})
    monkeypatch.setattr(nodes, "count_falsely_flaky", lambda *_, **__: 0)
    monkeypatch.setattr(nodes, "is_named", lambda *_, **__: True)
    tables = command.tables(500, 1, Path())
    estimates = [
        output
        for name in ("alarms", "power", "nodes", "failing", "real")
        for output in tables[name]()
        if isinstance(output, Estimate)
    ]
    demands = {estimate.row: estimate.demand for estimate in estimates}
    assert len(demands) == len(estimates)
    bounded = [(row, demand) for row, demand in demands.items() if demand]
    upper_bounds, lower_bounds = (
        {row: demand.share for row, demand in bounded if demand.is_maximum is is_maximum}
        for is_maximum in (True, False)
    )
    steps, of_100, of_365 = "power, Gauss, +", "10 of 100 nights", "10 of 365 nights"
    assert {row: share for row, share in lower_bounds.items() if row.startswith("power")} == {
        f"{steps}2 sd, {of_100}": 0.88,
        f"{steps}2 sd, {of_365}": 0.8,
        f"{steps}5 sd, 3 of 100 nights": 0.8,
        f"{steps}10 sd, 2 of 100 nights": 0.95,
    }
    prompt_rows = [row for row in lower_bounds if row.startswith("named within two nights")]
    assert len(prompt_rows) == 10 and {lower_bounds[row] for row in prompt_rows} == {0.95}
    assert lower_bounds["real: obvious steps found"] == 0.92
    assert lower_bounds["real: of these, with another within 60 nights before"] == 0.88
    assert len(lower_bounds) == 4 + 10 + 2
    assert upper_bounds["false alarms, Gauss, 90 nights"] == 1 / 500
    assert upper_bounds["false alarms, season, 365 nights"] == 5 / 500
    assert upper_bounds["false alarms, Gauss, spread times 4, 12 of 100 nights"] == 1 / 500
    assert upper_bounds["real: alarms unsupported"] == 0.01
    for start, share in (("nodes falsely called flaky", 0.01), ("a node named in 20 quiet", 0.02)):
        assert {upper_bounds[row] for row in upper_bounds if row.startswith(start)} == {share}
    assert len(upper_bounds) == 2 * 18 + 3 + 4 + 6 + 2


class _Here:
    """Stands for a pool of processes."""

    def __init__(self, _: int) -> None: ...

    def __enter__(self) -> _Here:
        return self

    def __exit__(self, *_: object) -> None: ...

    map = staticmethod(map)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--series", "0"], "--series 0: must be at least 1\n"),
        (["--series", "-5"], "--series -5: must be at least 1\n"),
        (["--processes", "0"], "--processes 0: must be at least 1\n"),
        (["--only", "real"], "--only real: needs --real FILE\n"),
    ],
)
def test_a_number_that_makes_no_sense_is_one_line(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(arguments) == 2
    assert capsys.readouterr() == ("", complaint)


SETTINGS = analysis.default_settings().nodes


@pytest.mark.parametrize(
    ("site", "share"),
    [
        (nodes.Site(0.0), 0.0),
        (nodes.Site(0.03), 0.03),
        # A launch on two nodes of 1.5 % each, or on one: 2.5 % of all.
        (nodes.Site(0.03, is_per_node=True), 0.025),
        (nodes.Site(0.0, bad_night_share=0.2), 0.02),
    ],
)
def test_launches_of_a_site_fail_as_often_as_it_says(site: nodes.Site, share: float) -> None:
    outcomes = nodes._outcomes(site, 400, {}, np.random.default_rng(1))
    assert outcomes.failed.size == 400 * (4 * nodes.NODES // 2 + nodes.NODES)
    assert outcomes.failed.mean() == pytest.approx(share, rel=0.25)
    node_counts = np.bincount(outcomes.launch, minlength=outcomes.failed.size)
    assert set(node_counts[outcomes.stratum % 2 == 0]) == {2} and set(
        node_counts[outcomes.stratum % 2 == 1]
    ) == {1}


def test_a_dead_node_is_named_and_a_site_without_failures_names_nobody() -> None:
    assert nodes.count_falsely_flaky(nodes.Site(0.0), SETTINGS, 1) == 0
    assert nodes.is_named(1.0, 1, nodes.Site(0.01), SETTINGS, 1)
    assert not nodes.is_named(0.0, 2, nodes.Site(0.0), SETTINGS, 1)


DATA = paths.checkout() / "tests" / "data" / "real-histories"
DRAWN = paths.checkout() / "docs" / "images" / "ten-real-series.svg"


def test_the_picture_of_the_guide_is_what_is_found_today() -> None:
    assert real.render_files(DATA / "ten.parquet", DATA / "others.json") == DRAWN.read_text()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ('{"s/a": {"Otava": [9]}}', "s/a, Otava: right are nights, 0 to 4"),
        ('{"s/b": {"Otava": [0]}}', "s/b: series.parquet has no such series"),
        ('{"s/a": {"Otava": [true]}}', "right is JSON: by source/series and detector, nights"),
        ('[{"s/a": 1}]', "right is JSON"),
        ('{"s/a"', "right is JSON"),
        ("\0", "right is JSON"),
    ],
)
def test_bad_nights_are_one_line(
    tmp_path: Path, content: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    series, others = tmp_path / "series.parquet", tmp_path / "others.json"
    frame = {"source": ["s"] * 5, "series": ["a"] * 5, "night": range(5), "value": [1.0] * 5}
    pl.DataFrame(frame).write_parquet(series)
    others.write_text(content)
    assert real.main([str(series), str(others), str(tmp_path / "out.svg")]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"{others}: ") and error.count("\n") == 1 and complaint in error


def test_a_label_belongs_to_its_values_in_any_order_of_the_rows(tmp_path: Path) -> None:
    rows = [("s", name, n, 1.0 + (name == "a")) for name in ("b", "a") for n in range(5)]
    for order in (rows, rows[::-1]):
        file = tmp_path / "series.parquet"
        schema = ["source", "series", "night", "value"]
        pl.DataFrame(order, schema=schema, orient="row").write_parquet(file)
        series = real.read_series(file)["s"]
        assert list(series) == ["a", "b"]
        assert series["a"].min() > series["b"].max()

"""From a number of a report to all its nights: every such link leads to a series that is there."""

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from support.bundles import RECORDED_BUNDLES

from roundtrip import units
from roundtrip.content.blocks import Table
from roundtrip.content.data import read_bundle
from roundtrip.content.series import HistorySeries, SeriesMedians, split_series
from roundtrip.history import ledger
from roundtrip.report import publish, renderers
from roundtrip.report.build import build_report
from roundtrip.report.pages import write
from roundtrip.studies import display
from roundtrip.studies.netpipe import ARMS
from roundtrip.units import Unit

_LINK = re.compile(r"history\.html#series=([^\")]*)")
_ENVIRONS = ("openmpi41-boost181", "mpich40-boost181")


@pytest.mark.parametrize("name", ["netpipe", "ring", "wan"])
def test_every_link_of_a_report_leads_to_a_series_that_is_there(
    name: str, reports: Path, request: pytest.FixtureRequest
) -> None:
    if name == "netpipe":
        revision = request.getfixturevalue("revision")
    else:
        revision = publish.publish(RECORDED_BUNDLES / name, reports)
    link_keys = _LINK.findall((revision / "report.html").read_text())
    assert len(link_keys) > 20
    assert _LINK.findall((revision / "report.md").read_text()) == link_keys
    write.write_pages(reports)
    page = (revision.parents[1] / "history.html").read_text()
    assert set(link_keys) <= set(re.findall(r'<tr data-key="([^"]*)"', page))


def test_ratios_and_figures_of_one_series_lead_to_it(tmp_path: Path) -> None:
    """Of the ring study's reasons, of regions that are read, and of disturbed launches."""
    report = build_report(read_bundle(RECORDED_BUNDLES / "ring"))
    tables = report.table_by_file_name.values()
    for words, first in (
        ("Ratio of effective bandwidths: below 1 it costs", 2),
        ("when every byte is read, and the ratio of a region", 2),
        ("Median over all launches and over the undisturbed ones", 3),
    ):
        rows = [row for table in tables if words in table.caption for row in table.rows]
        numbers = [cell for row in rows for cell in row[first:] if cell.text[:1].isdigit()]
        assert numbers and all(map(report.history_link, numbers)), words
    (noise,) = [table for table in tables if table.caption.startswith("Noise in a launch")]
    assert all(report.history_link(row[2]) for row in noise.rows)


@pytest.fixture
def series_by_key(revision: Path, reports: Path) -> dict[str, HistorySeries]:
    nights = ledger.read_ledger(reports, "synthetic", "local").nights
    return {series.key: series for series in split_series(nights)}


def test_a_number_is_the_value_of_the_series_that_it_leads_to(
    revision: Path, series_by_key: dict[str, HistorySeries]
) -> None:
    """Of latencies, in µs: over all launches of the night, disturbed ones included."""
    night_data = read_bundle(revision / "bundle")
    tables = build_report(night_data).table_by_file_name.values()
    (latency,) = [table for table in tables if table.caption.startswith("Latency")]
    calm_rows = [row for row in latency.rows if row[2].linked_series_key]
    assert len(calm_rows) == 10
    for row in calm_rows:
        names = {**series_by_key[row[2].linked_series_key].identity}
        del names["unit"]
        is_series = (pl.col(name) == value for name, value in names.items())
        median_us = (1e6 * night_data.launch_medians.filter(*is_series)["median"]).median()
        assert isinstance(median_us, float)
        assert row[2].text.startswith(units.number_text(median_us))


def test_without_a_history_page_nothing_leads_there(revision: Path) -> None:
    """A bundle without medians has no night, and its site perhaps no page."""
    data = read_bundle(revision / "bundle")
    empty_data = replace(data, launch_medians=data.launch_medians.clear())
    report = build_report(empty_data)
    assert "history.html" not in renderers.render_html(report)
    assert "history.html" not in renderers.render_markdown(report)


def test_a_value_of_several_series_leads_nowhere(revision: Path) -> None:
    origins = SeriesMedians(read_bundle(revision / "bundle").launch_medians)
    cases = [f"NetPIPE/mode=pingpong,placement=shared-memory@local:smp+{e}" for e in _ENVIRONS]
    key = origins.find_key(cases[:1], 1, variant="mpi")
    assert key in origins.keys
    assert origins.find_key(cases, 1, variant="mpi") == ""
    assert origins.find_key(cases[:1], 1) == ""
    assert origins.find_key(cases[:1], 5, variant="mpi") == ""


def test_a_cell_of_no_value_leads_nowhere() -> None:
    assert display.interval_cell(None, Unit.US, series_key="0" * 12).linked_series_key == ""
    assert display.verdict_cell(None, series_key="0" * 12).linked_series_key == ""


def test_toolchains_compared_lead_to_the_series_of_both_sides(
    revision: Path, series_by_key: dict[str, HistorySeries]
) -> None:
    """Ratios and winners to that of the one that stands above its base, or won."""
    report = build_report(read_bundle(revision / "bundle"))
    (part,) = [part for part in report.sections if part.anchor == "toolchains"]
    (table,) = [block for block in part.blocks if isinstance(block, Table)]
    for row in table.rows:
        numerator, base, ratio = (series_by_key[cell.linked_series_key] for cell in row[2:5])
        environs = [series.environ for series in (numerator, base, ratio)]
        assert environs == [*reversed(_ENVIRONS), numerator.environ]
        variant_size = numerator.identity["variant"], numerator.identity["size_bytes"]
        assert (base.identity["variant"], base.identity["size_bytes"]) == variant_size
        label = f"{ARMS[variant_size[0]].title}, ping-pong, {units.size_text(variant_size[1])}, µs"
        assert row[1].text == label
    (winners,) = part.verdict_tables
    wins = [cell for row in winners.rows for cell in row[2:] if cell.verdict.endswith("faster")]
    assert wins
    assert {series_by_key[cell.linked_series_key].environ for cell in wins} == {_ENVIRONS[0]}
    part_report = replace(report, sections=(part,))
    link_keys = _LINK.findall(renderers.render_html(part_report))
    assert link_keys == _LINK.findall(renderers.render_markdown(part_report))
    assert len(link_keys) == 3 * len(table.rows) + 2 * len(wins)  # winners stand at the top as well

"""The table of machines by metrics: newest night that counts, interval, trend, and no claim."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from support import years
from support.browser import CHROMIUM, WHY_SKIPPED, browser

from roundtrip.collect import analysis
from roundtrip.report.pages import machines, write
from roundtrip.report.pages.history import History
from roundtrip.report.pages.machines import Value
from roundtrip.report.pages.write import CampaignSite, Night, Summary

NIGHTS = 5


def history() -> History:
    """One night a day, of raw MPI at 1 and 2 bytes with two toolchains."""
    full_history = years.make(series=20, nights=NIGHTS)
    is_raw = (pl.col("variant") == "mpi") & pl.col("size_bytes").is_in([1, 2])
    nights = full_history.nights.filter(is_raw).with_columns(
        case=pl.lit("pingpong/shared-buffer"), phase=pl.lit("measure"), left_out=pl.lit("")
    )
    return replace(full_history, nights=nights)


def found(site_history: History) -> list[Value]:
    return list(machines.values(site_history, analysis.default()))


def test_a_value_is_that_of_its_series_in_the_newest_night() -> None:
    site_history = history()
    latency = found(site_history)[0]
    assert latency.what == f"Half-round-trip latency at 1{chr(0xA0)}B"
    assert (latency.site, latency.campaign, latency.where) == (
        *("odin", "nightly"),
        "pingpong, on a node each, odin:ib",
    )
    has_toolchain = pl.col("case_id").str.ends_with(f"+{latency.toolchain}")
    rows = site_history.nights.filter(has_toolchain, size_bytes=1).sort("night")
    assert latency.night == rows["night"][-1] == years.night(NIGHTS - 1)
    for value, name in ((latency.value, "median"), (latency.low, "low"), (latency.high, "high")):
        assert value == pytest.approx(1e6 * rows[name][-1])
    baseline = rows["median"][:-1].median()
    assert latency.change == pytest.approx(rows["median"][-1] / baseline)  # type: ignore[operator]
    assert latency.levels == pytest.approx([1e6 * median for median in rows["median"]])
    assert latency.series


def test_a_value_of_no_single_series_has_no_interval() -> None:
    peak = next(value for value in found(history()) if value.what == "Peak bandwidth")
    assert (peak.low, peak.high, peak.series) == (None, None, "")
    assert str(peak.quantity).endswith("MB/s") and "no CI" not in str(peak.quantity)


def test_a_night_that_was_disturbed_or_left_out_is_not_the_newest() -> None:
    site_history = history()
    is_last = pl.col("night") == years.night(NIGHTS - 1)
    left_out = pl.when(is_last).then(pl.lit("disturbed")).otherwise(pl.lit(""))
    nights = site_history.nights.with_columns(left_out=left_out)
    for value in found(replace(site_history, nights=nights)):
        assert value.night == years.night(NIGHTS - 2)
        assert value.levels[-1] is None


def test_what_is_simulated_says_so_and_has_no_interval() -> None:
    site_history = history()
    environ = found(site_history)[0].toolchain
    fact = {"subject": environ, "name": "simulated by", "after": ""}
    row = site_history.provenance[0].with_columns(
        **{
            name: pl.lit(text)
            for name, text in fact.items()
            if name in site_history.provenance.columns
        }
    )
    site_history = replace(site_history, provenance=pl.concat([site_history.provenance, row]))
    simulated_values = [value for value in found(site_history) if value.toolchain == environ]
    assert simulated_values and all(
        value.mark.startswith("SIMULATED") and value.low is None for value in simulated_values
    )


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The index of two sites."""
    values = found(history())
    sites = {
        name: [
            value.model_copy(update={"site": name, "value": factor * value.value})
            for value in values
        ]
        for name, factor in (("odin", 1.0), ("thor", 0.5))
    }

    def summary(reports: Path, shelf: CampaignSite) -> Summary:
        return Summary(page="a", nights=1, values=tuple(sites[shelf.site]))

    shelves = [CampaignSite("nightly", name, (Night("2026-01-01", ("a",)),)) for name in sites]
    monkeypatch.setattr(write, "read_campaign_sites", lambda _: iter(shelves))
    monkeypatch.setattr(write, "_write_history", summary)
    write.write_pages(tmp_path)
    return tmp_path / write.INDEX


def test_both_sites_are_in_the_table_and_none_is_compared(page: Path) -> None:
    text = page.read_text()
    assert "No claim is made between sites" in text
    table = text[text.index('id="machines"') :]
    assert table.count("<span>thor") == table.count("<span>odin") == len(found(history()))


@pytest.mark.skipif(CHROMIUM is None, reason=WHY_SKIPPED)
def test_a_heading_sorts_the_rows_and_numbers_inside_their_metric(
    page: Path, tmp_path: Path
) -> None:
    column = "[...document.querySelectorAll('.sortable tbody tr')].map(row => row.cells[{}]{})"
    with browser(tmp_path / "profile") as session:
        session.open(page.as_uri())
        press = "document.querySelectorAll('.sortable th button')[{}].click()"
        session.run(press.format(1))
        sites = session.run(column.format(1, ".textContent.trim()"))
        assert sites == sorted(sites) and len(set(sites)) == 2
        session.run(press.format(5))
        metrics = session.run(column.format(0, ".textContent.trim()"))
        assert metrics == sorted(metrics)
        values = list(map(float, session.run(column.format(5, ".dataset.value"))))
        ends = metrics.count(metrics[0])
        assert values[:ends] == sorted(values[:ends]) and values[ends:] == sorted(values[ends:])
        assert session.faults() == []

"""The table of machines by metrics: newest night that counts, interval, trend, and no claim."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import pytest
from support.browser import CHROMIUM, NO_CHROMIUM_REASON, open_browser
from support.bundles import SITE, Publisher
from support.synthetic import SyntheticTree

from roundtrip.content import data
from roundtrip.content.data import BundleData
from roundtrip.errors import UserError
from roundtrip.measure import analysis
from roundtrip.report.pages import machines, write
from roundtrip.report.pages.history import HistoryPage
from roundtrip.report.pages.machines import HeadlineValue
from roundtrip.report.pages.write import CampaignSite, HistorySummary
from roundtrip.studies import derivation
from roundtrip.study import Study

#: The processors of the nights.
PROCESSORS = ("AMD EPYC", "Xeon", "Xeon", "Xeon")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a campaign on a site, with a night on each of `PROCESSORS`."""
    folder = tmp_path_factory.mktemp("machines")

    def make_tree(name: str, **settings: Any) -> SyntheticTree:
        return SyntheticTree(folder / name, samples=5, **settings).write()

    night = Publisher(make_tree, folder / "reports")
    for number, processor in enumerate(PROCESSORS, 1):
        night(number, processor=processor)
    return folder / "reports" / SITE


@pytest.fixture(scope="module")
def history(site: Path) -> HistoryPage:
    site_history = write.read_history(write.read_history_source(site))
    assert site_history
    return site_history


@pytest.fixture(scope="module")
def newest(site: Path) -> BundleData:
    return data.read_bundle(site / f"2026-11-{len(PROCESSORS):02d}" / "r1" / "bundle")


def found(history: HistoryPage, read: BundleData) -> list[HeadlineValue]:
    return list(machines.headline_values(history, analysis.default_settings(), lambda _: read))


@pytest.fixture(scope="module")
def values(history: HistoryPage, newest: BundleData) -> list[HeadlineValue]:
    return found(history, newest)


def test_a_value_is_the_median_over_the_launches_of_the_newest_night(
    values: list[HeadlineValue], newest: BundleData
) -> None:
    latency = values[0]
    assert latency.quantity_name == f"Half-round-trip latency at 1{chr(0xA0)}B"
    assert (latency.site, latency.campaign) == ("local", "synthetic")
    assert latency.setting == "pingpong, in one node, local:smp"
    is_series = pl.col("case_id").str.ends_with(f"+{latency.toolchain}")
    names = {"variant": "mpi", "size_bytes": 1, "phase": "measure"}
    rows = newest.launch_medians.filter(is_series, **names)
    assert latency.night == newest.manifest.data["started"]
    quantity, medians = latency.quantity, 1e6 * rows["median"]
    expected = medians.median(), medians.min(), medians.max()
    assert (quantity.value, quantity.low, quantity.high) == pytest.approx(expected)
    assert quantity.n == rows.height and quantity.series_key in newest.series_medians.keys


def test_a_peak_is_the_median_of_the_peaks_of_launches(
    values: list[HeadlineValue], newest: BundleData
) -> None:
    peak = next(value for value in values if value.quantity_name.startswith("Peak"))
    is_series = pl.col("case_id").str.ends_with(f"+{peak.toolchain}")
    rows = newest.launch_medians.filter(is_series, variant="mpi", phase="measure")
    rates = rows.with_columns(rate=pl.col("size_bytes") / pl.col("median") / 1e6)
    peaks = rates.group_by("launch").agg(pl.col("rate").max())["rate"].to_list()
    quantity = peak.quantity
    expected = median(peaks), min(peaks), max(peaks)
    assert (quantity.value, quantity.low, quantity.high) == pytest.approx(expected)
    assert quantity.series_key == ""


def test_a_trend_has_no_night_on_another_processor(
    values: list[HeadlineValue], history: HistoryPage, newest: BundleData
) -> None:
    for value in values:
        assert value.machine == "local, Xeon"
        assert [level is None for level in value.level_by_night] == [True, False, False, False]
        *past_levels, level = value.level_by_night[1:]
        assert value.trend_ratio == pytest.approx(level / median(past_levels))
    nowhere = replace(history, provenance=history.provenance.clear())
    for value in found(nowhere, newest):
        assert value.machine == "local" and None not in value.level_by_night


def test_a_night_that_was_disturbed_or_left_out_is_not_the_newest(
    history: HistoryPage, newest: BundleData
) -> None:
    last = max(history.nights["night"])
    left_out = pl.when(night=last).then(pl.lit("disturbed")).otherwise(pl.lit(""))
    nights = history.nights.with_columns(left_out=left_out)
    for value in found(replace(history, nights=nights), newest):
        assert value.night[:10] == "2026-11-03" and value.level_by_night[-1] is None


def test_a_night_that_cannot_be_read_has_no_values(history: HistoryPage) -> None:
    def fail(night: str) -> BundleData:
        raise UserError("damaged")

    assert list(machines.headline_values(history, analysis.default_settings(), fail)) == []


def test_what_only_the_report_of_the_night_has_is_there_without_a_trend(
    history: HistoryPage, newest: BundleData, monkeypatch: pytest.MonkeyPatch
) -> None:
    headline = derivation.headline_speeds

    def chosen(study: Study, samples: pl.LazyFrame, sizes: Sequence[int]) -> pl.DataFrame:
        is_night = samples.select(pl.col("rep").max()).collect().item() > 0
        name = "latency of the night" if is_night else "latency of all nights"
        return headline(study, samples, sizes).with_columns(what=pl.lit(name))

    monkeypatch.setattr(derivation, "headline_speeds", chosen)
    values = found(history, newest)
    names = {value.quantity_name.partition(" at ")[0] for value in values}
    assert names == {"latency of the night"}
    assert {(value.trend_ratio, value.trend) for value in values} == {(None, "")}


def test_what_is_simulated_says_so(history: HistoryPage, newest: BundleData) -> None:
    environ = newest.launches["environ"][0]
    row = history.provenance[0].with_columns(subject=pl.lit(environ), name=pl.lit("simulated by"))
    simulated = replace(history, provenance=pl.concat([history.provenance, row]))
    marks = {value.toolchain: value.emulation_label for value in found(simulated, newest)}
    assert {name for name, mark in marks.items() if mark.startswith("SIMULATED")} == {environ}


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: list[HeadlineValue]) -> Path:
    """The index of two campaigns on two sites, one of them on two machines."""
    places = {
        ("daily", "odin"): {"site": "odin"},
        ("nightly", "odin"): {"site": "odin", "processor": "AMD EPYC"},
        ("nightly", "thor"): {"site": "thor"},
    }

    def summary(reports: Path, shelf: CampaignSite) -> HistorySummary:
        names = {"campaign": shelf.campaign, **places[shelf.campaign, shelf.site]}
        copies = tuple(value.model_copy(update=names) for value in values)
        return HistorySummary(page_sha256="a", nights=1, headline_values=copies)

    shelves = [CampaignSite(*place, (("2026-01-01", ("a",)),)) for place in places]
    monkeypatch.setattr(write, "read_campaign_sites", lambda _: iter(shelves))
    monkeypatch.setattr(write, "_write_history", summary)
    write.write_pages(tmp_path)
    return tmp_path / write.INDEX


def test_machines_of_a_metric_stand_together_and_none_is_compared(page: Path) -> None:
    text = page.read_text()
    assert "Sites are not compared" in text
    rows = re.findall(r'<tr><th scope="row".*?</tr>', text[text.index('id="machines"') :], re.S)
    cells = [re.findall(r"<(?:th|td)[^>]*>(?:<span>)?([^<]*)", row) for row in rows]
    names = [name for name in ("odin, AMD EPYC", "odin, Xeon", "thor, Xeon") for _ in range(2)]
    assert [machine for _, machine, *_ in cells] == 2 * names
    assert len({what for what, *_ in cells[:6]}) == 1


@pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM_REASON)
def test_a_heading_sorts_the_rows_and_numbers_inside_their_metric(
    page: Path, tmp_path: Path
) -> None:
    column = "[...document.querySelectorAll('.sortable tbody tr')].map(row => row.cells[{}]{})"
    with open_browser(tmp_path / "profile") as session:
        session.open(page.as_uri())
        press = "document.querySelectorAll('.sortable th button')[{}].click()"
        session.evaluate(press.format(1))
        sites = session.evaluate(column.format(1, ".textContent.trim()"))
        assert sites == sorted(sites) and len(set(sites)) == 3
        session.evaluate(press.format(5))
        metrics = session.evaluate(column.format(0, ".textContent.trim()"))
        assert metrics == sorted(metrics)
        values = list(map(float, session.evaluate(column.format(5, ".dataset.value"))))
        ends = metrics.count(metrics[0])
        assert values[:ends] == sorted(values[:ends]) and values[ends:] == sorted(values[ends:])
        assert session.console_errors() == []

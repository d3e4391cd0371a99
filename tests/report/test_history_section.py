"""The section on changes since earlier nights, and the nights, series and changes it rests on."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from support import years
from support.measured import find_table
from support.nights import CAMPAIGN, ENVIRON, NODE_PSEUDONYM, SITE, NightWriter, start_time

from roundtrip.content import data, series
from roundtrip.content.blocks import Report, ReportSection, plain_text
from roundtrip.content.series import (
    Calendar,
    FactChange,
    HistorySeries,
    SeriesPoint,
    display_unit,
    series_key,
    split_series,
)
from roundtrip.history import ledger
from roundtrip.history.annotations import Annotation
from roundtrip.history.night_rows import PROVENANCE
from roundtrip.measure import manifest
from roundtrip.report import renderers
from roundtrip.report.build import build_report
from roundtrip.report.pages.answers import report_answers
from roundtrip.report.sections import history
from roundtrip.units import NO_VALUE, printable

CHANGED = 36


def change(number: int, series: Any) -> Any:
    factor = np.ones(series.height)
    if number >= CHANGED:
        factor[0] = 1.08
    if number == 45:
        factor[4] = 1.5
    return factor


def host(number: int) -> dict[str, Any]:
    return {"packages": {"libucx0": "1.14" if number >= CHANGED else "1.13"}}


def judged(folder: Path, count: int, **settings: Any) -> data.BundleData:
    """The newest of `count` nights, read with those before it in its bundle."""
    writer = NightWriter(folder, **{"series": 8, "launches": 2, "samples": 2, **settings})
    bundle = writer.write(count)[-1] / "bundle"
    ledger.attach_history(
        bundle, manifest.verify(bundle), ledger.read_ledger(folder, CAMPAIGN, SITE)
    )
    return data.read_bundle(bundle)


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> data.BundleData:
    return judged(tmp_path_factory.mktemp("nights"), 46, change=change, host=host)


@pytest.fixture(scope="module")
def report(changed: data.BundleData) -> Report:
    return build_report(changed)


@pytest.fixture(scope="module")
def part(changed: data.BundleData) -> ReportSection:
    return history.build_section(changed)


def answers(bundle_data: data.BundleData) -> list[str]:
    return texts(history.build_section(bundle_data))


def texts(section: ReportSection) -> list[str]:
    return [printable(plain_text(answer.text)) for answer in section.answers]


def test_a_first_night_has_one_plain_line(tmp_path: Path) -> None:
    part = history.build_section(judged(tmp_path, 1))
    (answer,) = texts(part)
    assert answer.startswith("Nothing to compare with yet")
    assert part.verdict_tables == () and len(part.blocks) == 1


def test_too_few_nights_are_not_called_unchanged(tmp_path: Path) -> None:
    (answer,) = answers(judged(tmp_path, 2))
    assert answer == (
        "Not judged yet: every series has 2 of the 12 nights that a verdict needs. "
        "No recorded fact of machine or software changed since the night before."
    )


def upgraded(night: int) -> Callable[[int], dict[str, Any]]:
    """What launches record of which MPI library and processor are others from `night` on."""

    def record(number: int) -> dict[str, Any]:
        library, processor = ("6", "9654") if number >= night else ("4", "7763")
        nodes = [{"host": NODE_PSEUDONYM, "processor": f"EPYC {processor}"}]
        return {"mpi_library": f"Open MPI v4.1.{library}", "nodes": nodes}

    return record


UPGRADES = (
    f"MPI library ({ENVIRON}): Open MPI v4.1.4 → Open MPI v4.1.6",
    f"processor: EPYC 7763 → EPYC 9654 on {NODE_PSEUDONYM}",
)


def test_of_two_nights_a_changed_mpi_and_a_changed_processor_are_named(tmp_path: Path) -> None:
    (answer,) = answers(judged(tmp_path, 2, record=upgraded(1)))
    changes = answer.partition("What changed since the night before: ")[2]
    assert set(changes.removesuffix(".").split("; ")) == set(UPGRADES)


def test_a_changed_mpi_and_a_changed_processor_are_named_though_no_series_stepped(
    tmp_path: Path,
) -> None:
    def host(number: int) -> dict[str, Any]:
        return {"packages": {"libucx0": "1.14" if number >= 19 else "1.13"}}

    bundle_data = judged(tmp_path, 20, record=upgraded(19), host=host)
    changes, rest = answers(bundle_data)
    beginning, *others = changes.split("; ")
    first = beginning.removeprefix("What changed since the night before: ")
    assert {first, *others} == {*UPGRADES, "and 1 other fact."}
    start = "Nothing else changed against 19 nights: of 8 series, 0 changed recently"
    assert rest.startswith(start)


def test_one_mpi_of_many_toolchains_is_named_once(changed: data.BundleData) -> None:
    verdicts = history.judge_bundle_nights(changed)
    names = [f"openmpi50-boost1{number}" for number in range(70, 75)]
    changes = [FactChange(name, "MPI version", "5.0.3", "5.0.5") for name in names]
    night = verdicts.calendar.nights[-1]
    two, five = (
        [*report_answers(replace(verdicts, changes_by_night={night: changes[:count]}))][-2]
        for count in (2, 5)
    )
    beginning = "What changed since the night before: MPI version"
    named = f"{beginning} ({names[0]}, {names[1]}): 5.0.3 → 5.0.5."
    assert printable(plain_text(two.text)) == named
    assert printable(plain_text(five.text)) == f"{beginning} (5 toolchains): 5.0.3 → 5.0.5."


def test_an_mpi_that_changed_earlier_is_no_news_and_it_is_said_what_would_have_been_seen(
    tmp_path: Path,
) -> None:
    (answer,) = answers(judged(tmp_path, 30, record=upgraded(28)))
    assert answer.startswith("Nothing changed against 29 nights: of 8 series, 0 changed recently")
    assert "would have shown a step of" in answer


def test_a_step_is_named_with_its_night_and_what_changed(part: ReportSection) -> None:
    worse, slower, rest = texts(part)
    assert worse.startswith("Worse last night: ") and "(and" not in worse
    assert slower.startswith("Regressed: mpi, 1 B; half round trip time; NetPIPE")
    assert "takes 8" in slower and "% longer since 2026-02-0" in slower
    assert slower.endswith(", when package libucx0 changed from 1.13 to 1.14.")
    assert "Nothing else changed against 45 nights: of 8 series, 1 changed recently" in rest
    (table,) = [table for table in part.tables if "level changed" in table.caption]
    row = [printable(cell.text) for cell in table.rows[0]]
    assert row[1] == "regressed, new" and row[2].endswith(" µs")
    low, high = (float(end) for end in row[3].split("[")[1].strip("]").split(", "))
    assert low < 1.08 < high
    assert float(row[6]) > float(row[7])


def test_a_row_leads_to_all_nights_of_its_series(
    changed: data.BundleData, part: ReportSection, report: Report
) -> None:
    names = [row[0] for table in part.tables for row in table.rows if row[0].linked_series_key]
    keys = {series.key for series in split_series(changed.past_nights.nights)}
    assert names and {cell.linked_series_key for cell in names} <= keys
    cell = names[0]
    assert report.history_link(cell) == f"../../history.html#series={cell.series_key}"
    assert f'<a href="{report.history_link(cell)}">{cell.text}</a>' in renderers.render_html(report)


def test_values_that_detection_left_out_are_counted_by_reason(changed: data.BundleData) -> None:
    nights = changed.past_nights.nights
    first, second = nights["night"].unique().sort()[:2]
    reasons = pl.col("night").replace_strict({first: "disturbed", second: "annotated"}, default="")
    past = replace(changed.past_nights, nights=nights.with_columns(left_out=reasons))
    text = printable(renderers.render_markdown(build_report(replace(changed, past_nights=past))))
    assert "8 values of single nights: disturbed." in text
    assert "8 values of single nights: annotated." in text


def test_a_night_that_stands_alone_is_named_and_the_audit_finds_no_fault(
    part: ReportSection, report: Report
) -> None:
    text = renderers.render_markdown(report)
    assert "Outside the range that earlier nights predict" in text
    assert "over the level of its series" in text
    table = find_table(part, "The value of this night")
    assert {row[0].linked_series_key for row in table.rows} <= report.history_series_keys - {""}
    audit = text.split("Self-audit", 1)[-1].splitlines()
    assert [line for line in audit if "| fail" in line and history.SECTION_TITLE in line] == []


def test_emulated_series_say_so(changed: data.BundleData) -> None:
    emulated_facts = changed.past_nights.provenance.filter(name="kernel").with_columns(
        subject=pl.lit(ENVIRON), name=pl.lit("emulated nodes"), value=pl.lit("namespaces")
    )
    site_ledger = ledger.Ledger(
        changed.past_nights.nights, pl.concat([changed.past_nights.provenance, emulated_facts])
    )
    slower = answers(replace(changed, past_nights=site_ledger))[-2]
    assert "openmpi41-boost181 (EMULATED NODES) takes 8" in slower


def test_a_step_names_the_kernel_of_the_nodes_that_changed_there(tmp_path: Path) -> None:
    names = [f"node-{number:08x}" for number in range(3)]

    def kernel(number: int) -> str:
        return "5.14.0-503" if number >= CHANGED else "5.14.0-427"

    bundle_data = judged(
        tmp_path, 46, change=change, nodes=lambda _: "+".join(names), kernel=kernel
    )
    slower = answers(bundle_data)[-2]
    assert slower.endswith(", when kernel changed from 5.14.0-427 to 5.14.0-503 on 3 nodes.")
    text = renderers.render_markdown(build_report(bundle_data))
    assert "kernel: 5.14.0-427 → 5.14.0-503 on 3 nodes" in text


@pytest.mark.nightly
def test_an_accepted_level_is_no_regression_and_the_annotation_is_named(tmp_path: Path) -> None:
    writer = NightWriter(tmp_path, series=8, launches=2, samples=2, change=change)
    bundle = writer.write(46)[-1] / "bundle"
    site_ledger = ledger.read_ledger(tmp_path, CAMPAIGN, SITE)
    start = str(manifest.verify(bundle).data["started"])
    words = {"text": "a <b> new switch", "series": "*", "kind": "accepted"}
    acceptance = Annotation.model_validate({"from": datetime.fromisoformat(start), **words})
    plain_copy = Path(shutil.copytree(bundle, tmp_path / "copy"))
    ledger.attach_history(plain_copy, manifest.verify(plain_copy), site_ledger)
    ledger.attach_history(bundle, manifest.verify(bundle), site_ledger, (acceptance,))
    before, after = (
        renderers.render_html(build_report(data.read_bundle(folder)))
        for folder in (plain_copy, bundle)
    )
    assert "Regressed:" in before and "Accepted levels" not in before
    assert "Regressed:" not in after
    assert f"8 series up to {start}, by the annotation “a &lt;b&gt; new switch”" in printable(after)


def test_a_series_without_a_value_last_night_has_none_in_the_table(tmp_path: Path) -> None:
    bundle_data = judged(tmp_path, 3, disturbed=lambda number: number == 2)
    for row in find_table(history.build_section(bundle_data), "The two newest nights").rows:
        before, newest, ratio = (printable(cell.text) for cell in row[1:4])
        assert before.endswith("s") and newest == ratio == NO_VALUE


def provenance(*facts: tuple[str, str, str, str]) -> pl.DataFrame:
    rows = [(night, "", subject, name, value) for night, subject, name, value in facts]
    return pl.DataFrame(rows, schema=PROVENANCE, orient="row")


def test_changes_are_between_nights_of_which_something_is_known() -> None:
    facts = provenance(("1", "", "kernel", "a"), ("3", "", "kernel", "b"), ("4", "", "kernel", "b"))
    changes = series.changes_by_night(facts, ["1", "2", "3", "4"])
    assert {night: list(map(str, changes[night])) for night in changes} == {"3": ["kernel: a → b"]}


def test_a_node_that_was_not_used_is_no_change_but_a_new_fact_is() -> None:
    first = ("1", "", "kernel", "a"), ("1", "node1", "firmware", "x")
    facts = provenance(*first, ("2", "", "kernel", "a"), ("2", "", "MCA", "4096"))
    (change,) = series.changes_by_night(facts, ["1", "2"])["2"]
    assert str(change) == "MCA: not set → 4096"


def test_nodes_that_changed_alike_are_one_change_of_so_many_nodes() -> None:
    nodes = [f"node-0000000{number}" for number in range(4)]
    facts = [
        (night, node, "kernel", kernel)
        for night, kernels in (("1", "aaaa"), ("2", "bbba"))
        for node, kernel in zip(nodes, kernels, strict=True)
    ]
    (change,) = series.changes_by_night(provenance(*facts), ["1", "2"])["2"]
    assert str(change) == "kernel: a → b on 3 nodes"
    (series_change,) = series.changes_of_series([change], {nodes[1], nodes[3]})
    assert str(series_change) == "kernel: a → b on node-00000001"
    assert series.changes_of_series([change], {nodes[3]}) == []
    first_change = series.changes_of_series([change], {nodes[0]})
    merged = series.merge_changes([series_change, *first_change])
    assert merged == [series.FactChange("", "kernel", "a", "b", (nodes[0], nodes[1]))]


def test_of_a_large_set_only_the_nodes_that_differ_are_named() -> None:
    def night(number: int, nodes: list[str]) -> SeriesPoint:
        place = start_time(number), "+".join(nodes)
        return SeriesPoint(*place, 1.0, None, None, "", 8, 0, "")

    all_nodes = [f"n{number:02d}" for number in range(20)]
    points = [
        *(night(0, all_nodes[:10]), night(1, []), night(2, [*all_nodes[1:10], "n10"])),
        *(night(3, all_nodes[:10]), night(4, all_nodes[10:])),
    ]
    changes = series.node_set_changes(points)
    assert [str(changes[key]) for key in sorted(changes)] == [
        "node set: 9 nodes in common, and n00 → n10",
        "node set: 0 nodes in common, and n00, n01, n02, n03, 6 more → n10, n11, n12, n13, 6 more",
    ]
    assert sorted(changes) == [start_time(2), start_time(4)]


def test_a_change_of_another_node_or_toolchain_is_not_of_this_series() -> None:
    names = ("", "node1", "node2", "gcc")
    changes = [series.FactChange(subject, "x", "1", "2") for subject in names]
    own_changes = series.changes_of_series(changes, {"node1", "gcc"})
    assert [change.subject for change in own_changes] == ["", "node1", "gcc"]


def test_a_cause_may_lie_two_nights_from_the_estimated_step_but_no_more() -> None:
    calendar = Calendar([start_time(index) for index in range(9)])
    candidates = {start_time(3)}
    near = [n for n in range(7) if calendar.nearest(start_time(n), candidates) is not None]
    assert near == [1, 2, 3, 4, 5]


def test_two_nights_of_a_day_are_distinct() -> None:
    calendar = Calendar(["2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"])
    assert calendar.describe("2026-01-01T02:00:00Z") == "night 2, 2026-01-01 02:00:00"


def test_a_series_keeps_its_key_and_shares_it_with_no_other() -> None:
    all_series = list(split_series(years.make_history(40, 3).nights))
    assert len({night_series.key for night_series in all_series}) == 40
    later_series = split_series(years.make_history(40, 5).nights)
    assert [each.key for each in later_series] == [each.key for each in all_series]
    assert all(series_key(each.identity) == each.key for each in all_series)


def test_times_are_printed_in_a_unit_that_fits() -> None:
    def shown(unit: str, *values: float) -> tuple[float, str]:
        points = tuple(SeriesPoint("", "", value, None, None, "", 8, 0, "") for value in values)
        return display_unit(HistorySeries("", {"unit": unit}, points, lower_is_better=True))

    assert shown("s", 2e-6, 3e-6) == (1e6, "µs")
    assert shown("s", 2.0, 3.0) == (1.0, "s")
    assert shown("MB/s", 2e-6) == (1.0, "MB/s")

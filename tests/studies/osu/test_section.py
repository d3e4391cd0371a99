"""The OSU section says what is in the data, and finds a NetPIPE that does not agree."""

from dataclasses import replace
from itertools import product
from typing import Any

import polars as pl
import pytest
from support.bundles import fields_by_series_key, with_launch_medians
from support.measured import bundle_data, find_table, launch_row, study_section

from roundtrip.content.blocks import ReportSection, plain_text
from roundtrip.content.data import BundleData
from roundtrip.measure import analysis
from roundtrip.measure.bundle_rows import POINTS_SCHEMA
from roundtrip.measure.columns import setting_rows
from roundtrip.report.painter import svg_files
from roundtrip.stats.summaries import Interval
from roundtrip.studies.findings import OPEN
from roundtrip.studies.osu import Thresholds, curves
from roundtrip.studies.osu.curves import AGREE, DISAGREE, NETPIPE_PAIRS, NetPIPEComparison, Panel
from roundtrip.studies.osu.section import _agreement_clauses, overall_answers
from roundtrip.studies.section import find_section
from roundtrip.study import get_study

SETTINGS = analysis.default_settings().study_thresholds(Thresholds)
BARRIER = "Barrier 1.00 µs on 2 ranks"
#: OSU's half round trip, s; NetPIPE's is this times `netpipe` of the made bundle.
LATENCY = {1: 3.0e-7, 64: 3.2e-7, 1024: 6.0e-7, 65536: 4.0e-6}


def rows_of(launch: int, study: str, benchmark: str, drift: float) -> list[tuple[Any, ...]]:
    case = "pingpong/same" if study == "netpipe" else benchmark
    variant = "mpi" if study == "netpipe" else "osu-7.4"
    key = (f"{study}/{benchmark}/{launch}", benchmark, study, case, variant)
    if benchmark == "barrier":
        return [(*key, 0, "average", 0, "operation_time", 1e-6 * drift, "s")]
    if benchmark == "mbw_mr":
        values = (("bandwidth", 100.0 * drift, "MB/s"), ("message_rate", 12.5e6 * drift, "1/s"))
        return [(*key, 8, "average", 0, *value) for value in values]
    rows = []
    for size, time in LATENCY.items():
        if study == "netpipe":
            rows.append((*key, size, "measure", 0, "half_round_trip_time", time * drift, "s"))
        else:
            rows.append((*key, size, "average", 0, "half_round_trip_time", 90 * time, "s"))
            rows.append((*key, size, "p50", 0, "half_round_trip_time", time * drift, "s"))
    return rows


PROGRAMS = (("osu", "latency"), ("osu", "mbw_mr"), ("osu", "barrier"), ("netpipe", "latency"))


def osu_data(
    netpipe: float = 1.0, launches: int = 8, emulated: dict[str, Any] | None = None
) -> BundleData:
    """A bundle of one toolchain; launches differ by up to 1 %.  `emulated`: for OSU only."""
    rows, cases, points = [], [], []
    for launch, (study, benchmark) in product(range(launches), PROGRAMS):
        drift = (1 + 0.001 * launch) * (netpipe if study == "netpipe" else 1.0)
        rows += rows_of(launch, study, benchmark, drift)
        name = f"{study}/{benchmark}/{launch}"
        points.append({"launch": name, "verified": benchmark != "barrier"})
        emulation = setting_rows(emulated if emulated and study == "osu" else {})
        cases.append(launch_row(name, f"{study}/{benchmark}", study, emulation=emulation))
    return bundle_data(cases, rows, points=pl.DataFrame(points, schema=POINTS_SCHEMA))


@pytest.fixture(scope="module")
def section() -> ReportSection:
    return study_section(osu_data())


@pytest.mark.parametrize(
    ("netpipe", "launches", "outcome"),
    [(1.0, 8, AGREE), (1.03, 8, AGREE), (1.05, 8, OPEN), (1.2, 8, DISAGREE), (2.0, 5, OPEN)],
)
def test_a_disagreement_beyond_the_intervals_is_flagged(
    netpipe: float, launches: int, outcome: str
) -> None:
    section = study_section(osu_data(netpipe, launches))
    (verdicts,) = section.verdict_tables
    suffix = " where measured (1\xa0B, 64\xa0B, 1\xa0KiB, 64\xa0KiB)" if outcome == AGREE else ""
    assert verdicts.rows[0][1].verdict == f"{outcome}{suffix}"
    assert verdicts.rows[0][2].text == "not measured"  # bw was not launched
    rows = find_table(section, "OSU and our NetPIPE").rows
    assert [row[-1].verdict for row in rows] == [outcome] * len(LATENCY)
    assert float(rows[0][5].text) == pytest.approx(1 / netpipe, abs=0.01)
    (values, answer), (panel_answer,) = section.answers, section.panel_answers
    colour = "bad" if outcome == DISAGREE else "plain"
    assert answer.status_colour == panel_answer.status_colour == colour
    start = {
        AGREE: "OSU latency agrees",
        DISAGREE: "OSU latency disagrees",
        OPEN: "Open: whether OSU latency agrees",
    }[outcome]
    assert ": barrier 1.00 µs" in plain_text(panel_answer.text).replace("\xa0", " ")
    assert values.text == (f"{BARRIER}.",) and values.status_colour == "plain"
    (text,) = answer.text
    assert str(text).startswith(f"{start} with the ping-pong of NetPIPE everywhere (")


def test_what_is_not_measured_is_said_of_the_whole() -> None:
    data = osu_data()
    launches = data.launches.with_columns(simulated=True).filter(pl.col("study") == "osu")
    (answer,) = study_section(replace(data, launches=launches)).answers
    assert answer.text == (f"{BARRIER} (SIMULATED).",)


def test_what_was_emulated_is_never_laid_beside_what_was_measured() -> None:
    section = study_section(osu_data(emulated={"wan_rtt_ms": 2}))
    assert section.verdict_tables == ()
    assert "EMULATED WAN: RTT 2 ms" in find_table(section, "Times in µs").rows[0][0].text


def test_a_launch_counts_with_its_median_and_not_with_its_mean(section: ReportSection) -> None:
    rows = find_table(section, "Times in µs").rows
    texts = {row[1].text: [cell.text for cell in row[2:]] for row in rows}
    assert texts["latency"][2].startswith("0.602 [0.600,")
    assert texts["barrier"][0].startswith("1.00 [1.00,")


def test_rates_have_messages_a_second(section: ReportSection) -> None:
    (row,) = find_table(section, "Bandwidth in MB/s").rows
    assert row[1].text == "mbw_mr"
    assert row[-1].text.startswith("12.5 [12.5,")


def test_it_is_said_what_was_compared_with_what_was_sent(section: ReportSection) -> None:
    rows = find_table(section, "What was run").rows
    programs = {row[1].text: (row[3].text, row[5].text) for row in rows}
    assert programs == {
        "latency": ("median", "all compared"),
        "mbw_mr": ("mean", "all compared"),
        "barrier": ("mean", "not: the program cannot"),
    }


def test_each_kind_of_curve_has_a_figure_and_none_is_empty(section: ReportSection) -> None:
    assert [figure.name for figure in section.figures] == ["osu-latency-1", "osu-bandwidth-1"]
    for figure in section.figures:
        assert "2 ranks in one node" in next(svg_files(figure))


def test_a_rate_that_was_rounded_to_nothing_is_kept_and_not_drawn() -> None:
    data = osu_data()
    values = pl.when(pl.col("metric") == "bandwidth").then(0.0).otherwise("value")
    rounded_data = replace(data, samples=data.samples.with_columns(value=values))
    section = study_section(rounded_data)
    assert find_table(section, "Bandwidth in MB/s").rows[0][2].text == "0 [0,\N{NO-BREAK SPACE}0]"
    assert [figure.name for figure in section.figures] == ["osu-latency-1"]


def test_nothing_is_claimed_of_launches_that_are_not_paired() -> None:
    section = find_section(get_study("osu"), osu_data())
    assert section and section.ratios_by_claim() == {}


@pytest.mark.parametrize(
    ("one", "other", "outcome"),
    [
        ((1.0, 0.99, 1.01), (1.08, 1.07, 1.09), DISAGREE),
        ((1.0, 0.99, 1.01), (1.06, 1.05, 1.07), OPEN),
        ((1.0, 0.99, 1.01), (1.0, 0.98, 1.02), AGREE),
        ((1.0, 0.7, 1.4), (1.5, 1.3, 1.9), OPEN),
    ],
)
def test_the_rule_works_both_ways(
    one: tuple[float, float, float], other: tuple[float, float, float], outcome: str
) -> None:
    a, b = Interval(*one, 8), Interval(*other, 8)
    assert curves.agreement_outcome(a, b, SETTINGS) == outcome
    assert curves.agreement_outcome(b, a, SETTINGS) == outcome


def test_a_value_leads_to_its_series_by_the_statistic_that_counts() -> None:
    """The median where there is one, else the mean; and NetPIPE's beside it to NetPIPE's."""
    data = with_launch_medians(osu_data())
    names = fields_by_series_key(data)
    section = study_section(data)
    times = {row[1].text: row for row in find_table(section, "Times").rows}
    assert names[times["latency"][4].linked_series_key]["phase"] == "p50"
    assert names[times["latency"][4].linked_series_key]["size_bytes"] == 1024
    assert names[times["barrier"][2].linked_series_key]["phase"] == "average"
    (rates,) = find_table(section, "Bandwidth").rows
    assert names[rates[-1].linked_series_key]["metric"] == "message_rate"
    row = find_table(section, "OSU and our NetPIPE").rows[0]
    assert [names[cell.linked_series_key]["study"] for cell in row[3:5]] == ["osu", "netpipe"]


def compared(toolchain: str, outcome: str, kind: str = "") -> NetPIPEComparison:
    """OSU's latency at 1 B beside NetPIPE's."""
    panel = Panel(
        key=(toolchain,), toolchain=toolchain, placement_text="2 ranks in one node",
        emulation_label=kind, setting_values=(), ranks=2, osu_versions=(),
    )  # fmt: skip
    interval = Interval(1.0, 0.9, 1.1, 8)
    return NetPIPEComparison(panel, NETPIPE_PAIRS[0], 1, interval, interval, outcome)


def test_of_toolchains_that_differ_at_a_size_the_worst_counts() -> None:
    comparisons = [compared("Open MPI", AGREE), compared("MPICH", DISAGREE)]
    assert [line.replace("\xa0", " ") for line in _agreement_clauses(comparisons)] == [
        "OSU latency disagrees with the ping-pong of NetPIPE everywhere (1.0 times its values)"
    ]


def test_what_is_emulated_in_part_is_said_of_the_whole() -> None:
    comparisons = [compared("Open MPI", AGREE), compared("MPICH", AGREE, "EMULATED NODES")]
    made = curves.OSUCurves(osu_data())
    vars(made)["panels"] = tuple(comparison.panel for comparison in comparisons)
    for answer in overall_answers(made, comparisons):
        assert str(answer.text[0]).endswith(" (in part EMULATED NODES).")

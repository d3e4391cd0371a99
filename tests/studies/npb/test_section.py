"""The NPB section says what is in the data: clusters and links whose truth is known."""

import re
from dataclasses import replace
from typing import Any

import pytest
from studies.npb import npb_bundle as make
from studies.npb.npb_bundle import numbers, row
from support.bundles import fields_by_series_key, with_launch_medians
from support.measured import find_table, study_section

from roundtrip import units
from roundtrip.content.blocks import BulletList, Report, ReportSection
from roundtrip.content.data import BundleData
from roundtrip.measure.columns import setting_rows
from roundtrip.report import renderers
from roundtrip.report.painter import svg_files
from roundtrip.studies.npb import TCP, UDP
from roundtrip.studies.npb.data import NPBLaunches
from roundtrip.studies.npb.derived import (
    NOT_CRITICAL_STATEMENT,
    SCALING_STATEMENTS,
    UDP_BETTER_STATEMENT,
)
from roundtrip.studies.npb.scaling import rows_and_arms
from roundtrip.studies.section import find_section
from roundtrip.study import BLUE, get_study

HOSTILE = '<script>document.title="owned"</script>"><img src=x>{{7*7}}'


@pytest.fixture(scope="module")
def section() -> ReportSection:
    return study_section(make.two_clusters().data())


def test_speed_ups_are_those_of_the_data(section: ReportSection) -> None:
    cells = row(find_table(section, "Speed-up over one cluster"), "CG A", "UDP")
    assert cells[1].text == "1 rank"
    # 4 / (2 + 0.001), 4 / (2 + 0.001 + 1), 4 / (2 + 0.001 + 2)
    assert numbers(cells[2:]) == ["2.00", "1.33", "1.000"]
    assert [cell.verdict for cell in cells[2:]] == ["faster", "faster", "on par"]


def test_round_trips_and_break_even_follow_from_the_times(section: ReportSection) -> None:
    waits = find_table(section, "What an iteration waits for")
    cells = row(waits, "CG A", "UDP")
    assert cells[1].text == "100"  # 4 x 50 messages an iteration, of two ranks
    assert cells[2].text.startswith("50.")
    assert cells[3].text.startswith("4.0")  # 4 s / 1 = 2.001 s + 500 RTT
    assert float(cells[4].text.split(" ")[0]) == pytest.approx(1e3 * (4 / 1.13 - 2.001) / 500, 0.01)
    assert row(waits, "LU A", "UDP")[2].text.startswith("1.0")


#: The study's findings by their words.
NAMES = {
    UDP_BETTER_STATEMENT: "UDP",
    NOT_CRITICAL_STATEMENT: "critical",
    **{statement: kernel for kernel, statement in SCALING_STATEMENTS.items()},
}


def findings(data: BundleData) -> dict[tuple[str, str], str]:
    """(name of the finding, transport) -> verdict."""
    (verdicts,) = study_section(data).verdict_tables
    found = {}
    for statement, _, finding in verdicts.rows:
        transport = next((name for name in ("UDP", "TCP") if name in finding.text), "")
        found[NAMES[statement.text], transport] = finding.verdict
    return found


def test_numbers_of_the_study_are_given_or_inferred(section: ReportSection) -> None:
    (verdicts,) = section.verdict_tables
    assert {NAMES[cells[0].text]: cells[1].text for cells in verdicts.rows} == {
        "UDP": units.NO_VALUE,
        "critical": units.NO_VALUE,
        "LU": "inferred: 2.00",
        "CG": "1.13",
        "MG": "1.24",
    }


def test_each_finding_of_the_study_has_a_verdict() -> None:
    assert findings(make.two_clusters().data()) == {
        ("UDP", "UDP"): "holds",
        ("critical", ""): "holds",
        ("LU", "UDP"): "holds",  # 4 / 2.041 = 1.96 times
        ("LU", "TCP"): "holds in part",  # 1.63 times
        ("CG", "UDP"): "does not hold",  # 4 / 4.001 = 1.00 times
        ("CG", "TCP"): "does not hold",
        ("MG", ""): "not measured",
    }


def test_partial_evidence_is_named() -> None:
    builder = make.two_clusters(slow=1.05)
    for environ, status in (("mpich50-udp", "failed"), ("mpich50-tcp", "missing")):
        builder.add("CG", 2, 3.0, environ=environ, placement="one-per-node", status=status)
    (verdicts,) = study_section(builder.data()).verdict_tables
    rows = {cells[0].text: cells for cells in verdicts.rows}
    for name in (UDP_BETTER_STATEMENT, NOT_CRITICAL_STATEMENT):
        cell = rows[name][2]
        assert ", 6 of 7 comparisons: " in cell.text
        assert cell.verdict == "holds where measured (6 of 7 comparisons)"
        assert cell.status_colour == "warn"


def test_one_critical_difference_is_enough_whatever_is_not_measured() -> None:
    builder = make.two_clusters(slow=1.5)
    builder.add("CG", 2, 3.0, environ="mpich50-udp", placement="one-per-node", status="failed")
    assert findings(builder.data())["critical", ""] == "does not hold"
    builder.add("CG", 2, 3.0, environ="mpich50-tcp", placement="one-per-node", status="failed")
    assert findings(builder.data())["critical", ""] == "does not hold"


def test_of_a_class_for_trying_no_finding_is_judged() -> None:
    builder = make.Bundle()
    builder.add("LU", 1, compute=2.0, problem_class="S")
    builder.add("LU", 2, 4.0, compute=1.0, placement="one-per-node", problem_class="S")
    (verdicts,) = study_section(builder.data()).verdict_tables
    assert {cells[2].verdict for cells in verdicts.rows} == {"not measured"}
    assert [cells[2].text for cells in verdicts.rows] == [
        "UDP and another transport did not run the same kernel of class A or above",
        "no two transports ran the same kernel of class A or above",
        *(
            f"no {kernel} of class A or above in one cluster and over a link of 4 ms"
            for kernel in ("LU", "CG", "MG")
        ),
    ]


@pytest.mark.parametrize(
    ("slow", "better", "critical"),
    [
        (1.5, "holds", "does not hold"),
        (1.0, "does not hold", "holds"),
        (0.85, "does not hold", "holds"),
        (0.5, "does not hold", "does not hold"),
    ],
)
def test_transports_are_compared(slow: float, better: str, critical: str) -> None:
    verdicts = findings(make.two_clusters(slow=slow).data())
    assert verdicts["UDP", "UDP"] == better
    assert verdicts["critical", ""] == critical


def test_ranks_that_gain_and_fewer_that_do_not_are_no_matter_of_the_transport() -> None:
    builder = make.Bundle()
    for ranks, times in ((1, (4.0, 2.0)), (2, (4.0, 8.0))):
        builder.add("CG", ranks, compute=times[0], placement="one-per-node")
        builder.add("CG", 2 * ranks, 4.0, compute=times[1], placement="one-per-node")
    (answer, *_) = study_section(builder.data()).answers
    text = str(answer.text[0]).replace("\xa0", " ")
    assert "it depends on where in CG A (0.50 to 2.0 times as long)" in text


def test_too_few_rounds_settle_nothing() -> None:
    (verdicts,) = study_section(make.two_clusters(rounds=5).data()).verdict_tables
    assert {cells[2].verdict for cells in verdicts.rows} == {"open", "not measured"}


def test_ranks_that_share_processors_are_taken_apart() -> None:
    builder = make.Bundle()
    builder.add(ranks=2, compute=2.0, communication=0.5, placement="shared-memory")
    # 1.0 of the time to compute is its own, the rest is waiting for a processor.
    times = {"compute": 2.2, "communication": 0.25}
    builder.add(ranks=4, rtt=4.0, **times, placement="node-per-cluster", shared=True)
    section = study_section(builder.data())
    cells = row(find_table(section, "Speed-up over one cluster"), "fewer processors")
    assert "in memory inside" in cells[0].text
    assert cells[1].text == "2 ranks in one node"
    assert cells[2].text.startswith("2.00")  # (2 + 0.5) / (2 x 2 / 4 + 0.25)
    time_cells = row(find_table(section, "Compute and communication separately"), "4 ms")
    assert numbers(time_cells[6:]) == ["1.02", "2.00"]


def test_rows_of_two_placements_carry_different_labels() -> None:
    builder = make.Bundle()
    for placement, time in (("shared-memory", 1.0), ("one-per-node", 2.0)):
        builder.add("CG", ranks=2, compute=time, placement=placement)
    builder.add("CG", ranks=1, compute=2.0)
    rows = find_table(study_section(builder.data()), "In one machine or cluster").rows
    assert {cells[0].text.split(", ")[-1] for cells in rows} == {
        *("2 ranks in one node", "2 ranks on a node each", "1 rank")
    }


def test_a_benchmark_of_squares_is_compared_with_as_many_ranks() -> None:
    builder = make.Bundle()
    builder.add("BT", ranks=4, compute=2.0, placement="one-per-node", shared=True)
    builder.add("BT", 4, 4.0, compute=2.0, communication=2.0, placement="one-per-node", shared=True)
    cells = row(find_table(study_section(builder.data()), "Speed-up over one cluster"), "BT A")
    assert cells[1].text == "4 ranks on a node each, on fewer processors"
    assert cells[2].text.startswith("0.500")


def test_every_row_and_figure_over_the_link_says_that_it_is_emulated(
    section: ReportSection,
) -> None:
    for start in ("Speed-up over", "What an iteration", "Compute and", "Transports against"):
        link_table = find_table(section, start)
        assert "emulated WAN" in link_table.caption
        assert all("emulated WAN" in cells[0].text for cells in link_table.rows), start
    local_table = find_table(section, "In one machine or cluster")
    assert not any("emulated" in cell.text for cells in local_table.rows for cell in cells)
    texts = [text for f in section.figures for text in (f.alt_text, next(svg_files(f)))]
    assert len(texts) == 4 and all("emulated WAN" in text for text in texts)


def test_the_study_is_marked_beside_its_three_benchmarks_only() -> None:
    builder = make.two_clusters()
    builder.add("FT", 1)
    builder.add("FT", 2, 4.0, compute=0.5, communication=1.0, placement="one-per-node")
    picture = study_section(builder.data()).answer_gallery
    assert picture
    study_marks = {
        f.alt_text.split(": ")[1]: "The study, 2003" in next(svg_files(f)) for f in picture.figures
    }
    assert list(study_marks.items()) == [("CG A", True), ("LU A", True), ("FT A", False)]


def test_lost_cases_keep_their_place() -> None:
    builder = make.two_clusters()
    builder.add("CG", 2, 3.0, environ="mpich50-udp", placement="one-per-node", status="failed")
    builder.add("MG", 2, 3.0, environ="mpich50-udp", placement="one-per-node", status="missing")
    speedups = find_table(study_section(builder.data()), "Speed-up over one cluster")
    assert [column.name for column in speedups.columns[2:]] == ["0 ms", "2 ms", "3 ms", "4 ms"]
    assert row(speedups, "CG A", "UDP")[4].text == "no launch completed"
    assert row(speedups, "CG A", "TCP")[4].text == "not measured"
    assert row(speedups, "MG A")[4].text == "no launch completed"


def test_without_a_base_there_is_no_speed_up() -> None:
    builder = make.Bundle()
    builder.add("CG", 2, 4.0, communication=1.0, placement="one-per-node")
    section = study_section(builder.data())
    speedups = find_table(section, "Speed-up over one cluster")
    assert row(speedups, "CG")[2].text == "no base in one cluster"
    assert section.answers == ()
    assert not section.figures


def drifting() -> Any:
    """A machine that gets slower each round: only within one are TCP 1 and UDP 2 times the base."""
    builder = make.Bundle(rounds=9, drift=0.1, in_rounds=True)
    builder.add("CG", 1, compute=4.0)
    for name, time in (("TCP", 4.0), ("UDP", 2.0)):
        environ, toolchain = f"mpich50-{name.lower()}", f"MPICH 5.0, {name}"
        builder.add("CG", 2, 4.0, compute=time, environ=environ, toolchain=toolchain, placement="x")
    return builder


def test_launches_are_paired_by_round_whichever_came_back() -> None:
    builder = drifting()
    lost_launches = ("0000/0", "0000/1", "0001/2")  # of the base and of TCP
    builder.cases = [case for case in builder.cases if case["launch"] not in lost_launches]
    section = study_section(builder.data())
    gain = row(find_table(section, "Speed-up over one cluster"), "CG A", "TCP")[2]
    (transport_row,) = find_table(section, "Transports against each other").rows
    ratios = [" ".join(cell.text.split()) for cell in (gain, transport_row[2])]
    assert ratios == ["1.00 [1.00, 1.00]", "2.00 [2.00, 2.00]"]


def test_what_shares_no_round_is_not_compared_and_the_reason_shown() -> None:
    builder = drifting()
    for case in builder.cases:
        case["campaign_round"] += 100 * (case["partition"] == "clusterA")
    section = study_section(builder.data())
    cells = row(find_table(section, "Speed-up over one cluster"), "CG A", "TCP")
    assert cells[2].text == "not in the same rounds"
    (items,) = [b for b in section.blocks if isinstance(b, BulletList) and "over CG A" in str(b)]
    reason = "no round launched both (one in rounds 1 to 9, the other in rounds 101 to 109)"
    assert reason in str(items.items[0])


def test_launches_of_unknown_rounds_are_paired_in_order_whatever_their_sessions(
    section: ReportSection,
) -> None:
    """Cases of one round are launched in several ReFrame sessions, which have numbers each."""
    builder = make.two_clusters()
    for number, case in enumerate(builder.cases):
        case["round"] = f"{int(case['round']) * 100 + number // builder.rounds:05d}"
    assert study_section(builder.data()) == section


def test_a_failed_and_a_missing_launch_of_a_case_are_one_row() -> None:
    builder = make.two_clusters()
    for status in ("failed", "missing"):
        builder.add("MG", 4, 4.0, placement="one-per-node", status=status)
        builder.cases[-1]["emulation"] = setting_rows({"wan_rtt_ms": 4, "shared_processors": 2})
    speedups = find_table(study_section(builder.data()), "Speed-up over one cluster")
    assert row(speedups, "MG A")[-1].text == "no launch completed"


def test_hostile_names_are_text() -> None:
    builder = make.Bundle()
    builder.add(HOSTILE, 1, toolchain=HOSTILE)
    builder.add(HOSTILE, 2, 4.0, toolchain=HOSTILE, communication=1.0, placement=HOSTILE)
    page = renderers.render_html(Report(HOSTILE, (), (), (study_section(builder.data()),)))
    assert page.count("<script>") == 1  # the page's own
    assert "alert(" not in re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)[-1]
    assert "<img" not in page
    assert "{{7*7}}" in page


def test_a_bundle_without_npb_has_no_section() -> None:
    builder = make.Bundle()
    builder.add(status="failed")
    assert find_section(get_study("npb"), builder.data()) is None


def test_a_rate_leads_to_its_series_over_the_same_link() -> None:
    data = with_launch_medians(make.two_clusters().data())
    names = fields_by_series_key(data)
    rows = find_table(study_section(data), "Compute and communication separately").rows
    series_fields = [names[cells[1].linked_series_key] for cells in rows]
    assert {fields["metric"] for fields in series_fields} == {"rate"}
    assert len({fields["case_id"] for fields in series_fields}) == len(rows) == 12


def test_a_line_is_dashed_where_ranks_share_processors() -> None:
    rows = [
        {"name": "Ours", "colour": BLUE, "shared": False, "x": 1},
        {"name": "Ours", "colour": BLUE, "shared": True, "x": 4},
        {"name": "NPB 3.4", "colour": BLUE, "shared": True, "x": 4},
    ]
    points, arms = rows_and_arms(rows)
    titles = ["Ours", "Ours, on fewer processors", "NPB 3.4"]
    assert [(row["arm"], row["x"]) for row in points] == list(zip(titles, (1, 4, 4), strict=True))
    assert [arms[title].is_dashed for title in titles] == [False, True, True]


def declared(environ: str, transport: str) -> dict[str, object]:
    return {environ: {"reframe": {"extras": {"transport": transport}}}}


@pytest.mark.parametrize(
    ("environ", "toolchains", "role"),
    [
        *(
            (environ, declared(environ, transport), role)
            for environ in ("plain", "mpich50-udp")
            for transport, role in [("UDP", UDP), ("TCP", TCP), ("UCX on TCP", TCP), ("IB", None)]
        ),
        *(("plain", toolchains, None) for toolchains in (None, [1], {"plain": None})),
        ("plain", declared("other", "UDP"), None),
        ("mpich50-udp", {}, UDP),  # of a bundle older than the declaration, by its name alone
        ("mpich40-ucx", {}, TCP),
    ],
)
def test_the_site_declares_the_transport(
    environ: str, toolchains: object, role: str | None
) -> None:
    builder = make.Bundle(rounds=3)
    builder.add("CG", 2, 4.0, environ=environ, toolchain="MPICH", placement="one-per-node")
    data = replace(builder.data(), env_records={"toolchains.json": toolchains})
    assert {series.transport_role for series in NPBLaunches(data).link_series} == {role}

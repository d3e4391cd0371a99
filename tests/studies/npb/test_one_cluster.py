"""The NPB section without a link: rates, scaling over ranks and nodes, and NPB's own programs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from studies.npb import npb_bundle as make
from studies.npb.npb_bundle import numbers
from support.measured import find_table, study_section

from roundtrip.content.blocks import Report, plain_text
from roundtrip.measure import bundle, store
from roundtrip.report import publish
from roundtrip.report.build import build_report
from roundtrip.report.painter import svg_files
from roundtrip.studies.npb import SOURCE_CONTRAST
from roundtrip.studies.npb.speedup import verdicts_of_contrast
from roundtrip.studies.section import find_section
from roundtrip.study import get_study


def machine() -> Any:
    """CG on 1 and 2 ranks: ours at 0.8 of NPB's own on one, at 1.25 on two."""
    builder = make.Bundle()
    builder.add("CG", 1, compute=2.0)
    builder.add("CG", 1, compute=1.6, source="upstream")
    builder.add("CG", 2, compute=0.9, communication=0.1)
    builder.add("CG", 2, compute=1.25, source="upstream")
    return builder


def test_verdicts_against_npb_itself_stand_at_the_top() -> None:
    section = study_section(machine().data())
    top_table = section.verdict_tables[0]
    assert top_table.caption.startswith("Our programs against NPB 3.4")
    assert [column.name for column in top_table.columns[2:]] == ["1 rank", "2 ranks"]
    (cells,) = top_table.rows[:1]
    slow = cells[2]
    assert (slow.text[:5], slow.verdict, slow.status_colour) == ("0.800", "slower", "bad")
    cell = next(cells[3] for cells in top_table.rows if cells[3].verdict)
    assert (cell.text[:4], cell.verdict, cell.status_colour) == ("1.25", "faster", "good")
    assert section.title == "NPB: how fast are the NAS Parallel Benchmarks?"
    link_section = study_section(make.two_clusters().data())
    assert not [b for b in link_section.verdict_tables if b.caption.startswith("Our programs")]


def test_the_answer_needs_no_link() -> None:
    section = study_section(machine().data())
    scaling, comparison = (plain_text(answer.text) for answer in section.answers)
    assert scaling == "Speed-up on 2 ranks over the fewest: 2.00 times."
    assert comparison == (
        "Against NPB 3.4's own programs: faster in CG A on 2 ranks; slower in CG A on 1 rank."
    )
    (answer,) = section.panel_answers
    text = plain_text(answer.text)
    assert text.startswith(
        "CG A, MPICH 5.0 over TCP: 499\xa0Mop/s on 1 rank, 998\xa0Mop/s on 2 ranks"
    )
    assert "(2.00 times 1 rank, efficiency 100\N{NO-BREAK SPACE}%)" in text
    assert "Over NPB 3.4: 0.80 to 1.25 times its rate (slower, faster)." in text
    assert answer.status_colour == "bad"


def test_rates_and_times_of_both_programs() -> None:
    rates = find_table(study_section(machine().data()), "In one machine or cluster")
    names = [column.heading for column in rates.columns]
    assert names[2:5] == ["Time, s", "Rate, Mop/s", "Mop/s per process"]
    native, upstream = (cells for cells in rates.rows if "2 ranks" in cells[0].text)
    assert numbers(native[2:6]) == ["1.00", "998", "499", "0.902"]
    assert native[7].text == "0.0668 to 0.134"  # 2/3 and 4/3 of the mean
    # 1000 Mop of ours over the rate that NPB's own program printed.
    assert numbers(upstream[2:5]) == ["1.25", "798", "399"]
    assert [cell.text for cell in upstream[5:]] == ["not measured"] * 3


def test_scaling_over_ranks_has_a_table_and_a_figure() -> None:
    section = study_section(machine().data())
    scaling = find_table(section, "Speed-up over the fewest ranks")
    assert [(r[1].text, r[2].text[:4], r[3].text[:3]) for r in scaling.rows] == [
        ("1 rank", "2.00", "100"),
        ("1 rank", "1.28", "64\N{NO-BREAK SPACE}"),
    ]
    assert section.answer_gallery
    (figure,) = section.answer_gallery.figures
    assert figure.alt_text == "Speed-up over ranks: CG A"
    assert "Ours" in next(svg_files(figure)) and "NPB 3.4" in next(svg_files(figure))


def test_one_number_of_ranks_scales_nowhere() -> None:
    builder = make.Bundle()
    builder.add("CG", 2)
    section = study_section(builder.data())
    assert not section.figures
    assert "efficiency" not in str(section.panel_answers)
    assert [answer.text for answer in section.answers] == [
        ("CG A ran and verified; see the rates below.",)
    ]


@pytest.mark.parametrize(
    ("upstream_time", "rounds", "warning"),
    [
        (0.8, 6, "slower than official NPB 3.4: CG.W on 2 ranks, 0.800 [0.800, 0.800]"),
        (0.97, 6, "slower than official NPB 3.4: CG.W on 2 ranks, 0.970 [0.970, 0.970] (on par)"),
        (0.8, 5, "slower than official NPB 3.4: CG.W on 2 ranks, 0.800 (no CI, n = 5)"),
        (1.01, 6, None),
    ],
)
def test_what_is_slower_than_npb_itself_is_a_warning(
    upstream_time: float, rounds: int, warning: str | None
) -> None:
    builder = make.Bundle(rounds=rounds)
    builder.add("CG", 2, compute=1.0, problem_class="W")
    builder.add("CG", 2, compute=upstream_time, source="upstream", problem_class="W")
    warnings = [" ".join(line.split()) for line in study_section(builder.data()).warnings]
    assert len(warnings) == (warning is not None)
    assert all(line.startswith(warning or "") for line in warnings)


def test_warnings_are_notices_and_a_file_that_is_verified(
    make_tree: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = make_tree(launches=6, environs=("openmpi41-boost181",))
    folder = bundle.build_bundle(tree.path)
    monkeypatch.setattr(publish, "build_report", lambda *args: warned(build_report(*args)))
    revision = publish.publish(folder, tmp_path / "reports")
    assert publish.read_warnings(revision) == ["slow\N{REPLACEMENT CHARACTER}[31m here"]
    assert publish.verify_revision(revision) == []
    (revision / store.WARNINGS_FILE).write_text("none\n")
    assert publish.verify_revision(revision) == ["warnings.txt"]


def warned(report: Report) -> Report:
    section, *rest = report.sections
    return replace(report, sections=(replace(section, warnings=("slow\x1b[31m\nhere",)), *rest))


def test_both_verifications_are_distinct() -> None:
    builder = machine()
    builder.add("CG", 4, history="not recorded for this class", problem_class="C")
    builder.add("CG", 4, history=None, problem_class="D")
    counts = find_table(study_section(builder.data()), "Launches counted here")
    assert [tuple(cell.text for cell in row) for row in counts.rows] == [
        ("CG A", "12 of 12", "12 of 12"),
        ("CG A, NPB 3.4", "12 of 12", "not measured"),
        ("CG C", "6 of 6", "not recorded for this class"),
        ("CG D", "6 of 6", "not measured"),
    ]


def test_over_the_link_npb_itself_shows_what_the_delay_adds() -> None:
    builder = make.Bundle()
    for source, compute in (("native", 1.0), ("upstream", 2.0)):
        builder.add("CG", 1, compute=2 * compute, source=source)
        for rtt in (0.0, 4.0):
            names = {"placement": "one-per-node", "source": source}
            wait = 0.1 + 100 * rtt / 1e3
            builder.add("CG", 2, rtt, compute=compute, communication=wait, **names)
    section = study_section(builder.data())
    rows = find_table(section, "Compute and communication separately").rows
    native, upstream = (cells for cells in rows if "4 ms" in cells[0].text)
    assert numbers(native[2:6]) == ["1.00", "0.501", "0.334", "0.401"]
    assert numbers(upstream[2:6]) == ["not", "not", "not", "0.401"]
    (answer,) = section.panel_answers
    text = plain_text(answer.text)
    shares = "9.1\N{NO-BREAK SPACE}% at 0 ms, 33\N{NO-BREAK SPACE}% at 4 ms"
    assert f"In MPI, waiting included: {shares}" in text
    assert "NPB 3.4's own program: 1.60 times at 4 ms." in text
    waits = find_table(section, "What an iteration waits").rows
    assert all(cells[2].text.startswith("10.0") for cells in waits)
    beside = find_table(section, "Our programs beside")
    assert {cells[3].verdict for cells in beside.rows} == {"faster"}
    claims = find_section(get_study("npb"), builder.data()).ratios_by_claim()
    contrasts = verdicts_of_contrast(SOURCE_CONTRAST, claims)
    assert {claim.rtt_ms for claim in contrasts} == {None, 0.0, 4.0}


def test_what_shares_processors_or_is_implausible_stands_apart() -> None:
    builder = make.Bundle()
    for benchmark, compute, shared in (("CG", 1.0, False), ("MG", 1.6, True), ("LU", 0.4, False)):
        builder.add(benchmark, 1, compute=2.0)
        builder.add(benchmark, 2, compute=compute, shared=shared)
    lines = [plain_text(answer.text) for answer in study_section(builder.data()).answers]
    assert lines == [
        "Speed-up on 2 ranks over the fewest: 2.00 times.",
        "Where ranks share processors: speed-up on 2 ranks over the fewest: 1.25 times.",
        "Implausible, more than the ranks explain: LU A on 2 ranks in one node: 5.00 times.",
    ]


def test_places_that_differ_on_as_many_ranks_are_named() -> None:
    builder = make.Bundle()
    for placement, time in (("shared-memory", 2.0), ("one-per-node", 1.0)):
        builder.add("CG", 2, compute=time, placement=placement)
        builder.add("CG", 2, compute=1.5, source="upstream", placement=placement)
    comparison = study_section(builder.data()).answers[-1]
    assert plain_text(comparison.text) == (
        "Against NPB 3.4's own programs: faster in CG A on 2 ranks (2 ranks on a node each); "
        "slower in CG A on 2 ranks (2 ranks in one node)."
    )


def test_a_row_of_ratios_to_npb_itself_is_of_one_environment() -> None:
    builder = make.Bundle()
    for ranks in (2, 4):
        for environ, time in (("a", 2.0), ("b", 1.0)):
            builder.add("CG", ranks, compute=time, environ=environ)
            builder.add("CG", ranks, compute=1.5, source="upstream", environ=environ)
    top_table = study_section(builder.data()).verdict_tables[0]
    assert [[cell.verdict for cell in row[2:]] for row in top_table.rows] == [
        ["slower", "slower"],
        ["faster", "faster"],
    ]


#: Nodes of four ranks -> seconds: two nodes lose nothing, four half of it.
TIMES = {1: 8.0, 2: 4.0, 4: 4.0}


def grown(placement: str = "all-cores", **fields: str) -> make.Bundle:
    builder = make.Bundle()
    for nodes, time in TIMES.items():
        builder.add("CG", 4 * nodes, compute=time, nodes=nodes, placement=placement, **fields)
    return builder


def test_what_a_rank_does_in_a_second_falls_by_half_and_npb_itself_has_its_own_row() -> None:
    builder = grown()
    for nodes in TIMES:
        builder.add("CG", 4 * nodes, source="upstream", placement="all-cores", nodes=nodes)
    builder.add("CG", 2, 4.0, compute=1.0, placement="all-cores", nodes=2)  # over the link
    growth = find_table(study_section(builder.data()), "Efficiency and ranks by number of nodes")
    assert [column.name for column in growth.columns] == [
        *("What", "Where", "1 node", "2 nodes", "4 nodes")
    ]
    row, upstream_row = [[cell.text for cell in cells] for cells in growth.rows]
    assert row[:2] == ["CG A", "MPICH 5.0 over TCP, on every core"]
    assert upstream_row[0] == "CG A, NPB 3.4"
    assert row[2] == "100\N{NO-BREAK SPACE}%, 4 ranks"
    assert [float(text.split()[0]) for text in row[3:]] == pytest.approx([100, 50])
    assert row[4].endswith("]\N{NO-BREAK SPACE}%, 16 ranks")
    captions = [table.caption for table in study_section(grown("one-per-node").data()).tables]
    assert not [caption for caption in captions if caption.startswith("Efficiency and ranks")]

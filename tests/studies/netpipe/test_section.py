"""The report says what is in the data, and only that: trees whose truth is known."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support import synthetic
from support.bundles import read_tree
from support.json_files import content
from support.measured import find_table

from roundtrip.content.blocks import (
    Gallery,
    Paragraph,
    Report,
    ReportSection,
    RichText,
    Table,
    plain_text,
)
from roundtrip.report import renderers
from roundtrip.report.build import build_report
from roundtrip.report.painter import svg_files
from roundtrip.studies.netpipe import ARMS, RAW_MPI, Thresholds, derived
from roundtrip.studies.netpipe import output as netpipe_output
from roundtrip.studies.netpipe.curves import NetPIPECurves
from roundtrip.studies.netpipe.section import _level_texts, _outcome_legend, _question_text
from roundtrip.study import PINK, Arm
from roundtrip.units import ConfidenceLevel

OPENMPI, MPICH, SLOW_BOOST = "openmpi41-boost181", "mpich40-boost181", "openmpi50-boost181"
Maker = Callable[..., Any]


def report(tree: Any) -> Report:
    return build_report(read_tree(tree))


def part(tree: Any) -> ReportSection:
    return next(part for part in report(tree).sections if part.anchor == "netpipe")


def words(text: RichText) -> str:
    return plain_text(text).replace("\N{NO-BREAK SPACE}", " ")


def column_names(table: Table) -> list[str]:
    return [column.name for column in table.columns]


def outcomes(section: ReportSection) -> dict[str, list[str]]:
    (table,) = section.verdict_tables
    return {row[0].text: [cell.verdict for cell in row[1:]] for row in table.rows}


def test_findings_follow_the_data(make_tree: Maker) -> None:
    """Boost.MPI adds 6 ns to 280 ns in one tree, 60 ns to 310 ns in the other.

    Each loss is red, also one that the study expected.
    """
    section = part(make_tree(launches=10, samples=20, environs=(OPENMPI, SLOW_BOOST)))
    assert outcomes(section) == {
        "Open MPI 4.1, Boost 1.81": ["agrees", "agrees", "agrees", "agrees"],
        "Open MPI 5.0, Boost 1.81": ["differs", "differs", "agrees", "agrees"],
    }
    plain, _, datatypes, serialized = section.answers
    assert words(plain.text) == (
        "Boost.MPI costs 14 to 19 % over raw MPI at 1 B, 1 KiB on Open MPI 5.0; on par elsewhere "
        "(medians within 2 %)."
    )
    assert {answer.status_colour for answer in section.answers} == {"bad"}
    assert words(datatypes.text).startswith("MPI with derived datatypes is ")
    assert words(serialized.text).startswith("Serializing every byte is ")
    good, bad = section.panel_answers
    assert "81: Boost.MPI is on par with raw MPI (medians within 2 %)." in words(good.text)
    assert "81: Boost.MPI costs 14 to 19 % over raw MPI at 1 B, 1" in words(bad.text)
    assert bad.status_colour == "bad"
    differ = "agrees on Open MPI 4.1; differs on Open MPI 5.0"
    assert [row[2].verdict for row in find_table(section, "What the study").rows] == [
        *(differ, differ, "agrees", differ, "agrees", "agrees", differ)
    ]


def test_what_was_not_measured_at_every_compared_size_says_so(make_tree: Maker) -> None:
    section = part(make_tree(launches=10, samples=20, environs=(OPENMPI,), sizes=[1, 1024, 65536]))
    (table,) = section.verdict_tables
    cells = [(words((cell.verdict,)), cell.status_colour) for cell in table.rows[0][1:]]
    assert cells == [
        *[("agrees where measured (1 B to 64 KiB)", "warn")] * 2,
        *[("agrees where measured (1 KiB to 64 KiB)", "warn")] * 2,
    ]
    assert words(section.answers[0].text) == (
        "Boost.MPI is on par with raw MPI at 1 B to 64 KiB (medians within 2 %); not measured at "
        "1 MiB."
    )
    for answer in section.answers:
        assert answer.status_colour == ("bad" if "slower" in words(answer.text) else "warn")
        assert words(answer.text).endswith("; not measured at 1 MiB.")


def test_what_got_better_than_in_the_study_is_not_red(
    make_tree: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here MPICH's datatypes are as fast as bytes: better than the study says."""
    toolchain = ("MPICH 4.0, Boost 1.81", 0.36e-6, 5e-9, 1.3e-10, 1.3e-10, 11e-9)
    monkeypatch.setitem(synthetic.TOOLCHAINS, MPICH, toolchain)
    tree = make_tree(launches=12, samples=30, environs=(MPICH,))
    (table,) = part(tree).verdict_tables
    cell = table.rows[0][3]
    assert (cell.verdict, cell.status_colour) == ("differs, for the better", "good")


def test_five_launches_are_too_few(make_tree: Maker) -> None:
    document = report(make_tree(launches=5, environs=(OPENMPI,)))
    more = (f"open: about {count} more launches" for count in (3, 5, 5, 5))
    assert outcomes(document.sections[0]) == {"Open MPI 4.1, Boost 1.81": [*more]}
    text = renderers.render_markdown(document)
    assert "no CI, n" in text
    row = next(line for line in text.splitlines() if line.startswith("| C5 |"))
    assert "| fail |" in row and "too few launches" in row


def keep_raw_mpi(tree: Any, environ: str) -> None:
    """As if this toolchain had run with raw MPI only."""
    for file in tree.path.rglob("samples.csv"):
        if environ not in str(file):
            continue
        lines = file.read_text().splitlines(keepends=True)
        mpi_lines = [line for line in lines if line[0] == "#" or ",mpi," in line or "study" in line]
        file.write_text("".join(mpi_lines))
        with content(file.with_name("run.json")) as run:
            run["samples"] = {"rows": sum(",mpi," in line for line in mpi_lines)}
            run["points"] = [point for point in run["points"] if point["variant"] == "mpi"]


def test_each_statement_and_the_conclusion_stand_beside_what_is_found(make_tree: Maker) -> None:
    section = part(make_tree(launches=10, samples=20, environs=(OPENMPI,)))
    table = find_table(section, "What the study")
    *statements, worst, (conclusion, _, finding) = table.rows
    is_read_off = [row[1].text.endswith("read off its figure") for row in statements]
    assert is_read_off == [True, True, True, False, True]
    assert "worst possible case" in worst[0].text and worst[2].verdict == "agrees"
    assert "does not impair" in conclusion.text and finding.verdict == "agrees"
    pattern = r"Boost.MPI has 0.9\d to 1.\d\d times the bandwidth of MPI, .*"
    assert re.fullmatch(pattern, finding.text)


def test_one_variant_alone_has_curves_and_no_verdict(make_tree: Maker) -> None:
    tree = make_tree(launches=6, environs=(OPENMPI,))
    keep_raw_mpi(tree, OPENMPI)
    section = part(tree)
    assert not section.answers
    assert section.answer_gallery and "bandwidth" in section.answer_gallery.figures[0].name
    assert "Boost" not in words(section.answer_gallery.caption)
    question = section.blocks[0]
    assert isinstance(question, Paragraph)
    assert words(question.text).endswith("Here is MPI alone, on this machine.")
    plots = [figure.plot for figure in section.answer_gallery.figures]
    assert [len(plot.views[0].curves) for plot in plots if plot] == [1, 1]  # ours, the study's
    assert section.verdict_tables == ()


def test_what_was_not_compared_is_no_part_of_the_count(make_tree: Maker) -> None:
    tree = make_tree(launches=10, samples=20, environs=(OPENMPI, MPICH))
    keep_raw_mpi(tree, MPICH)
    headline = part(tree).answers[0]
    text = words(headline.text)
    assert text.startswith("Boost.MPI is on par with raw MPI (medians within ")
    assert text.endswith(" %). Nothing was compared on MPICH 4.0, Boost 1.81.")
    assert headline.status_colour == "warn"


def test_rows_of_two_placements_carry_different_labels(make_tree: Maker) -> None:
    tree = make_tree(launches=6, environs=(OPENMPI, MPICH))
    for number in range(1, 7):
        tree.write_case(
            tree.launch_folder(number, MPICH),
            MPICH,
            display_name="NetPIPE %mode=pingpong %placement=one-per-node",
            parameters={"mode": "pingpong", "placement": "one-per-node"},
            extras={"toolchain": "Open MPI 4.1, Boost 1.81"},
        )
    section = part(tree)
    tables = [table for table in section.tables if table.columns[0].name == "Toolchain"]
    names = {row[0].text for table in tables for row in table.rows}
    openmpi_names = {name for name in names if name.startswith("Open MPI 4.1, Boost 1.81")}
    places = {name.split(", ")[2].partition(";")[0] for name in openmpi_names}
    assert places == {"in one node", "on a node each"}
    (verdicts,) = section.verdict_tables
    assert len({row[0].text.partition(";")[0] for row in verdicts.rows}) == 2


def test_transports_over_the_emulated_wan_are_seen_together_and_called_so(make_tree: Maker) -> None:
    tree = make_tree(launches=6, environs=(OPENMPI,), extras={"emulated": {"wan_rtt_ms": 2}})
    document = report(tree)
    tables = [
        table for table in document.sections[0].tables if table.columns[0].name == "Transport"
    ]
    assert len(tables) == 2
    for table in tables:
        assert column_names(table) == ["Transport", "RTT 2 ms"]
        ((name, value),) = table.rows
        assert name.text == "Open MPI 4.1, Boost 1.81, EMULATED WAN"
        assert "[" in value.text
    assert "EMULATED WAN: RTT 2 ms" in renderers.render_markdown(document)
    for figure in document.figures:
        assert "EMULATED" in next(svg_files(figure)) or "study" in figure.name
    for row in (row for table in document.sections[0].tables for row in table.rows):
        line = " ".join(cell.text for cell in row)
        assert "EMULATED" in line or line.startswith("The study")


def test_panels_share_their_axes_and_ratios_have_a_view_near_1_and_one_of_all(
    make_tree: Maker,
) -> None:
    figures = report(make_tree(launches=6)).figures
    labels = [
        next(svg_files(figure)).count(">0.01<") for figure in figures if "bandwidth" in figure.name
    ]
    assert len(labels) == 3 and len(set(labels)) == 1
    views = [figure.plot.views for figure in figures if "ratio" in figure.name and figure.plot]
    assert len(views) == 3 and {tuple(v.name for v in one) for one in views} == {("Near 1", "All")}
    for near, everything in views:
        assert near.y_axis == views[0][0].y_axis and everything.y_axis == views[0][1].y_axis
        assert near.y_axis and (near.y_axis.low, near.y_axis.is_log) == (0.75, False)
        assert everything.y_axis and everything.y_axis.is_log
        lowest = min(point[1] for curve in everything.curves for point in curve.points)
        assert everything.y_axis.low <= lowest < near.y_axis.low


def test_curves_that_end_early_are_named(make_tree: Maker) -> None:
    tree = make_tree(launches=6, environs=(OPENMPI,), sizes=[1, 1024, 65536, 1 << 20, 4 << 20])
    text = renderers.render_markdown(report(tree))
    end = "6 of 6 launches ended before 2\N{NO-BREAK SPACE}MiB (bounded)."
    assert f"Boost.MPI (Serialized): {end}" in text


def test_disturbed_launches_are_kept_marked_and_weighed(make_tree: Maker) -> None:
    document = report(make_tree(launches=6, environs=(OPENMPI,)))
    tables = document.table_by_file_name.values()
    effect = next(table for table in tables if "undisturbed ones" in table.caption)
    assert [cell.text.split(" (")[1] for cell in effect.rows[0][3:5]] == ["n = 6)", "n = 5)"]
    assert 0.3 < float(effect.rows[0][5].text) < 3
    assert "005/openmpi41-boost181" in renderers.render_markdown(document)


def test_the_reference_stands_beside_our_raw_mpi(make_tree: Maker) -> None:
    tree = make_tree(launches=6, environs=(OPENMPI,))
    recording = Path(__file__).parents[2] / "data" / "netpipe" / "NPopenmpi-4.1.4.full.out"
    folder = tree.launch_folder(1, OPENMPI).with_name("NetPIPEReference_1")
    folder.mkdir()
    (folder / "np.out").write_bytes(recording.read_bytes())
    netpipe_output.convert_output(folder / "np.out", "NPopenmpi", 2, hosts=["node"])
    name = "NetPIPEReference %placement=shared-memory"
    tree.write_case(
        folder, OPENMPI, study="netpipe-reference", check="NetPIPEReference", display_name=name
    )
    (table,) = [table for table in part(tree).tables if "Ours, median" in column_names(table)]
    sizes = [words(row[1].content_tuple) for row in table.rows]
    assert sizes == ["1 B", "1 KiB", "64 KiB", "1 MiB"]
    assert "no CI, n" in table.rows[0][2].text


def test_the_values_are_those_of_known_variants_at_sizes_above_zero() -> None:
    curves = NetPIPECurves.__new__(NetPIPECurves)
    rows = [(RAW_MPI, 0), (RAW_MPI, 1), (RAW_MPI, 8), ("smoke_signals", 8)]
    medians = pl.DataFrame(rows, schema=["variant", "size_bytes"], orient="row")
    vars(curves)["all_launch_medians"] = medians
    assert curves.launch_values.rows() == [(RAW_MPI, 1), (RAW_MPI, 8)]
    assert curves.unknown_variants == ["smoke_signals"]


@pytest.mark.parametrize("mode", ["pingpong", "stream"])
def test_a_caption_names_the_figure_of_the_study_only_beside_it(
    make_tree: Maker, mode: str
) -> None:
    section = part(make_tree(launches=6, environs=(OPENMPI,), sizes=[1, 1024], mode=mode))
    galleries = [block for block in section.blocks if isinstance(block, Gallery)]
    for gallery in filter(None, (section.answer_gallery, *galleries)):
        has_study = any(figure.name.endswith("-study") for figure in gallery.figures)
        caption = words(gallery.caption)
        assert has_study == ("is the study itself" in caption or "“The study” is" in caption)
        assert has_study == (mode == "pingpong")


def test_the_question_names_the_variants_that_ran() -> None:
    two = dict(list(ARMS.items())[:2])
    six = {**ARMS, "boost-view": Arm("Boost.MPI (View)", PINK)}
    five_text, two_text, six_text = (words(_question_text(arms)) for arms in (ARMS, two, six))
    assert "Here are the same five, on this machine, interleaved" in five_text
    assert "Here are MPI, Boost.MPI, on this machine, interleaved" in two_text
    assert "(Serialized), Boost.MPI (View), on this machine, interleaved" in six_text


def test_an_arm_without_a_published_curve_is_drawn_and_compared_with_none(
    make_tree: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(derived.PUBLISHED_MBIT_PER_S, "boost-serialized")
    section = part(make_tree(launches=6, environs=(OPENMPI,), sizes=[1, 1024]))
    galleries = [block for block in section.blocks if isinstance(block, Gallery)]
    curves = {
        figure.name: [curve.name for view in figure.plot.views for curve in view.curves]
        for gallery in filter(None, (section.answer_gallery, *galleries))
        for figure in gallery.figures
        if figure.plot
    }
    title = ARMS["boost-serialized"].title
    assert title in curves["netpipe-1-bandwidth-1"]
    assert title not in curves["netpipe-1-bandwidth-study"]
    assert ARMS["boost"].title in curves["netpipe-1-bandwidth-study"]
    serialized = derived.PUBLISHED_STATEMENTS[-1].arm.title
    assert serialized in curves["netpipe-1-ratio-1"]
    assert serialized not in curves["netpipe-1-ratio-study"]
    assert derived.published_ratio(derived.PUBLISHED_STATEMENTS[-1], 1024) is None


def test_a_margin_of_its_own_is_said_wherever_the_margin_is(make_tree: Maker) -> None:
    bundle_data = read_tree(make_tree(launches=9, environs=(OPENMPI,)))
    levels = bundle_data.analysis.statistics.model_copy(
        update={"equivalence_margins": (("netpipe", 0.2),)}
    )
    settings = replace(bundle_data.analysis, statistics=levels)
    text = renderers.render_markdown(build_report(replace(bundle_data, analysis=settings)))
    assert "within 20 % of 1" in text.replace("\N{NO-BREAK SPACE}", " ")
    assert "within 5 % of 1" not in text.replace("\N{NO-BREAK SPACE}", " ")


def test_sizes_and_launches_in_the_text_are_those_of_the_settings() -> None:
    settings = Thresholds(compared_sizes=[1, 65536], great_loss=0.5, many_bytes=65536)
    assert words(_outcome_legend(settings, 0.05)).endswith("they are tested from 64 KiB on.")
    interval, bandwidth = map(words, _level_texts(ConfidenceLevel(0.99)))
    assert interval.endswith("at 99 %.")
    assert bandwidth.endswith("Fewer launches than its level needs, 8 for 99 %: no interval.")


def test_a_mode_that_the_study_does_not_know_has_half_round_trips(make_tree: Maker) -> None:
    bundle_data = read_tree(make_tree(launches=6, environs=(OPENMPI,), sizes=[1]))
    burst = bundle_data.samples.with_columns(case=pl.lit("burst/same"))
    curves = NetPIPECurves(replace(bundle_data, samples=burst))
    (panel,) = curves.panels
    assert panel.case == "burst/same" and curves.point_series_key(panel, RAW_MPI, 1) == ""

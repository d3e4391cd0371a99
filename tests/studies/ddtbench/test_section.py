"""The DDTBench section says what is in the data: bundles whose truth is known."""

import re
from collections import defaultdict
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.bundles import fields_by_series_key, with_launch_medians
from support.measured import bundle_data, launch_row, study_section

from roundtrip.content.blocks import Cell, ReportSection, Table
from roundtrip.content.data import BundleData
from roundtrip.measure.bundle_rows import POINTS_SCHEMA
from roundtrip.report.painter import svg_files
from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies.ddtbench import MICRO_APPS, ORIGINAL_BUFFER_STATE
from roundtrip.studies.ddtbench.data import Panel
from roundtrip.studies.ddtbench.section import _advice_clauses, overall_answers
from roundtrip.studies.ddtbench.tables import datatype_claim

OPENMPI, MPICH = "Open MPI 4.1, Boost 1.81", "MPICH 4.0, Boost 1.81"
OPENMPI_LABEL, MPICH_LABEL = f"{OPENMPI}, in one node", f"{MPICH}, in one node"
#: µs: by hand (pack, communication, unpack), datatypes, MPI_Pack, of each micro-app.
TRUTH = {
    "NAS_LU_x": ((1.0, 18.0, 1.0), 6.0, (1.0, 19.0, 1.0)),
    "FFT": ((50.0, 400.0, 50.0), 2000.0, (80.0, 500.0, 80.0)),
    "MILC_su3_zd": ((2.0, 20.0, 2.0), 24.0, (2.0, 20.0, 2.0)),
}
#: Loops tuned by hand turn the answer of this one.
TUNED_APP = "MILC_su3_zd"
FINDING = {
    "finding_call": "MPI_Pack with MPI_BOTTOM",
    "finding_error": "Null pointer in parameter <inbuf>",
    "finding_consequence": "measured with addresses relative to an array",
}


def ddt_data(
    launches: int = 8, toolchains: tuple[str, ...] = (OPENMPI,), without: str = "none"
) -> BundleData:
    """The bundle of launches in one node; MPICH refuses a call.

    `without`: a state of memory that is left out.
    """
    rng = np.random.default_rng(1)
    cases, rows, points = [], [], []
    for toolchain, number in product(toolchains, range(launches)):
        case_id, name = f"DDTBench@{toolchain}", f"{number:03d}/{toolchain}"
        fields = {"toolchain": toolchain, "environ": toolchain, "mpi_library": f"{toolchain} here"}
        cases.append(launch_row(name, case_id, "ddtbench", **fields))
        for app, truth in TRUTH.items():
            for case, *names, value in _rows(app, truth, rng):
                if not case.endswith(without):
                    key = (name, case_id, "ddtbench", case, *names)
                    rows.append((*key, "epoch_time", value * 1e-6, "s"))
        if toolchain == MPICH:
            error = f"{FINDING['finding_error']} at 0x{number:x}"
            point = {"launch": name, "case_id": case_id, "study": "ddtbench", **FINDING}
            place = {"case": "WRF_x_vec/same", "variant": "mpi_pack_ddt", "finding_error": error}
            points.append({**point, **place})
    return bundle_data(cases, rows, points=pl.DataFrame(points, schema=POINTS_SCHEMA))


def _rows(app: str, truth: Any, rng: np.random.Generator) -> list[tuple[Any, ...]]:
    manual, ddt, pack = truth
    epochs = ("pack", "communication", "unpack")
    methods = {
        "manual": dict(zip(epochs, manual, strict=True)),
        "mpi_ddt": {"ddt_create_overhead": 5.0, "ddt_create_again": 2.0, "communication": ddt},
        "mpi_pack_ddt": dict(zip(epochs, pack, strict=True)),
        "reference": {"communication": 16.0},
    }
    if app == TUNED_APP:
        methods["manual-tuned"] = {"pack": 0.1, "communication": 16.2, "unpack": 0.1}
    return [
        (f"{app}/{state}", method, size, phase, rep, value * scale * rng.uniform(0.995, 1.005))
        for state, scale_of_state in (("original", 1.0), ("same", 0.9))
        for size, scale in ((40800, scale_of_state), (480, 0.1 * scale_of_state))
        for method, times in methods.items()
        for phase, value in times.items()
        for rep in range(6)
    ]


@pytest.fixture(scope="module")
def section() -> ReportSection:
    return study_section(ddt_data())


@pytest.fixture(scope="module")
def section_of_two() -> ReportSection:
    return study_section(ddt_data(toolchains=(OPENMPI, MPICH)))


def verdicts(section: ReportSection) -> dict[str, list[str]]:
    (table,) = section.verdict_tables
    return {row[0].text: [cell.verdict for cell in row[1:]] for row in table.rows}


def captioned(section: ReportSection, words: str) -> Table:
    """The first table with these words in its caption."""
    return next(table for table in section.tables if words in table.caption)


def row_of(table: Table, app: str) -> tuple[Cell, ...]:
    return next(row for row in table.rows if row[0].text == app)


def test_the_advice_follows_the_data(section: ReportSection) -> None:
    assert verdicts(section) == {
        "MILC_su3_zd": ["no difference"],
        "NAS_LU_x": ["use datatypes"],
        "FFT": ["pack by hand (datatypes 4.0 times slower)"],
    }


def test_tuned_loops_are_shown_beside_the_applications_own(section: ReportSection) -> None:
    table = captioned(section, "in the study; median")
    advice = {row[0].text: (row[-2].verdict, row[-1].verdict) for row in table.rows}
    assert advice[TUNED_APP] == ("no difference", "pack by hand")
    assert advice["FFT"] == ("pack by hand", "")
    assert [str(answer.text[0]).replace("\xa0", " ") for answer in section.answers] == [
        "Use datatypes for NAS_LU_x (3.3 times as fast).",
        "Pack by hand for FFT (4.0 times slower with datatypes).",
        "No difference for MILC_su3_zd.",
    ]
    text = str(section.panel_answers[0])
    assert f"tuned by hand are faster than datatypes for {TUNED_APP}" in text


def test_a_group_of_many_micro_apps_is_last_and_has_one_range_of_gains() -> None:
    apps = {"use datatypes": MICRO_APPS[:9], "pack by hand": MICRO_APPS[9:11], "open": ()}
    ratios = {app: [1.5, 3.0 + number] for number, app in enumerate(MICRO_APPS)}
    names = ", ".join(
        f"{app} (1.5 to {3 + MICRO_APPS.index(app)} times as fast)" for app in MICRO_APPS[9:11]
    )
    assert _advice_clauses(apps, ratios) == [
        f"pack by hand for {names}",
        f"use datatypes for {', '.join(MICRO_APPS[:9])} (1.5 to 11 times as fast)",
    ]
    assert _advice_clauses({"no difference": MICRO_APPS}, ratios) == ["no difference for all 16"]


def test_the_studys_claims_and_its_table_stand_beside_ours(section_of_two: ReportSection) -> None:
    table = captioned(section_of_two, "What the study says")
    reduction, gap, figure, picture = ([cell.text for cell in row[1:]] for row in table.rows)
    assert reduction[0] == "from 40\N{NO-BREAK SPACE}% to 15\N{NO-BREAK SPACE}% in NAS_LU_x"
    ours = [rf"from -?\d+.% to -?\d+.% [(]{name}[)]" for name in (MPICH, OPENMPI)]
    end = " in NAS_LU_x; datatypes are faster in NAS_LU_x"
    assert re.fullmatch(", ".join(ours) + end, reduction[1])
    assert figure[1].startswith("see our figure") and "rank 0's" in picture[1]
    assert gap[0] == "in its figure only" and gap[1].startswith(f"{MPICH} takes ")
    assert gap[1].endswith(f"as long with datatypes as {OPENMPI}; MVAPICH was not measured")
    classes = captioned(section_of_two, "The study's micro-apps")
    assert {row[0].text for row in classes.rows} == set(MICRO_APPS)
    assert row_of(classes, "FFT")[1].text == "Matrix transpose"


def test_making_types_is_shown_both_ways(section: ReportSection) -> None:
    row = row_of(captioned(section, "making and freeing"), "NAS_LU_x")
    assert row[2].text.startswith(("5.0", "4.9")) and row[3].text.startswith(("2.0", "1.9"))


def test_five_launches_are_too_few() -> None:
    assert set(map(tuple, verdicts(study_section(ddt_data(launches=5))).values())) == {
        ("open: 5 launches give no interval; 7 would",)
    }


def test_a_negative_overhead_is_shown(section: ReportSection) -> None:
    """Network 18 - 2 = 16 µs, datatypes 6 µs: (6 - 16) / 6."""
    row = row_of(captioned(section, "in the study; median"), "NAS_LU_x")
    assert row[1].text == "40800"
    assert row[5].text.startswith(("20.0 [", "19.9 ["))
    assert row[7].text.startswith("\N{MINUS SIGN}16")


def test_both_states_of_memory_are_there_at_every_size(section: ReportSection) -> None:
    tables = [table for table in section.tables if "packing overhead in %" in table.caption]
    assert [len(table.rows) for table in tables] == [2 * len(TRUTH)] * 2


def test_one_state_of_memory_is_answered_where_it_alone_was_measured() -> None:
    (answer,) = study_section(ddt_data(launches=6, without="original")).panel_answers
    assert OPENMPI_LABEL in str(answer) and "use datatypes for NAS_LU_x" in str(answer)


def test_the_figure_has_a_panel_for_each_mpi(section_of_two: ReportSection) -> None:
    figures = section_of_two.figures
    assert len(figures) == 2 * 2 * 2  # toolchains, states of memory, overhead and time
    assert len({figure.name for figure in figures}) == len(figures)
    first = figures[0]
    assert first.alt_text.endswith(MPICH_LABEL)
    for words in ("NAS_LU_x", "FFT", "Packed by hand", "MPI datatypes"):
        assert words in next(svg_files(first))
    assert "\N{MINUS SIGN}50<" in next(svg_files(first)), "the axis reaches below zero"
    assert "\N{MINUS SIGN}100<" not in next(svg_files(first)), "and ends at 60 % below"
    picture = section_of_two.answer_gallery
    assert first.plot and picture and first in picture.figures
    view, full_view = first.plot.views
    names, full_names = ({curve.name for curve in one.curves} for one in (view, full_view))
    assert full_names - names - {"Packed by hand, tuned"} == {"MPI_Pack"}
    study = view.row_names.index("NAS_LU_x, study 2012")
    assert [p[1] for c in view.curves for p in c.points if p[0] == study] == [40, 15]
    assert view.row_names[study - 1] == "NAS_LU_x" and view.bracketed_rows == {study}
    assert view.x_axis.low >= -60


def test_the_figure_of_epochs_has_values_and_their_number(section: ReportSection) -> None:
    """Round trips as drawn, with their intervals; each epoch of the methods that have it."""
    for figure in (figure for figure in section.figures if "-time-" in figure.name):
        assert figure.plot
        views = {view.name: view for view in figure.plot.views}
        assert list(views) == ["Epochs", "Round trip", "Pack", "Communication", "Unpack"]
        intervals = {
            name: sum(point[2] is not None for curve in view.curves for point in curve.points)
            for name, view in views.items()
        }
        assert intervals["Round trip"] == intervals["Epochs"] > 0
        ends = [[point[1] for point in curve.points] for curve in views["Epochs"].curves]
        totals = list(map(sum, zip(*ends, strict=True)))
        assert max(totals) == pytest.approx(100) and min(totals) > 0
        names = {curve.name for curve in views["Round trip"].curves}
        assert {"Packed by hand", "MPI datatypes", "Contiguous, unpacked"} <= names
        pack_names = {curve.name for curve in views["Pack"].curves}
        assert "Packed by hand" in pack_names and "MPI datatypes" not in pack_names
        round_trips, epochs = (
            {
                (curve.name, view.row_names[int(place)]): (median, n)
                for curve in view.curves
                for place, median, _, _, n in curve.points
            }
            for view in (views["Round trip"], views["Communication"])
        )
        assert {n for _, n in round_trips.values()} == {8}
        datatypes = {key: value for key, value in round_trips.items() if key[0] == "MPI datatypes"}
        assert datatypes and all(epochs[key] == value for key, value in datatypes.items())


def test_a_refusal_is_a_finding(section: ReportSection, section_of_two: ReportSection) -> None:
    (row,) = captioned(section_of_two, "refused").rows
    assert [cell.text for cell in row] == [
        MPICH,
        f"{MPICH} here",
        FINDING["finding_call"],
        f"{FINDING['finding_error']} at 0x…",
        "WRF_x_vec mpi_pack_ddt",
        FINDING["finding_consequence"],
    ]
    assert not any("refused" in table.caption for table in section.tables)


def test_the_studys_example_is_beside_ours(section: ReportSection) -> None:
    study, original, same = captioned(section, "NAS_LU_x").rows
    assert [cell.text for cell in study[2:4]] == ["40", "15"]
    assert original[0].text == OPENMPI_LABEL and original[4].verdict == "holds"
    assert same[4].verdict == "holds"


def test_a_time_leads_to_its_series_and_a_sum_of_epochs_nowhere() -> None:
    data = with_launch_medians(ddt_data())
    names = fields_by_series_key(data)
    series_by_column: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for table in study_section(data).tables:
        for row in table.rows:
            for column, cell in zip(table.columns, row, strict=True):
                fields = names.get(cell.linked_series_key, {"variant": "", "phase": ""})
                series_by_column[column.name].add((fields["variant"], fields["phase"]))
    assert series_by_column["Contiguous"] == {("reference", "communication")}
    assert series_by_column["Make, in turn"] == {("mpi_ddt", "ddt_create_overhead")}
    assert series_by_column["Packed by hand"] == {("", "")}


@pytest.mark.parametrize(
    ("other", "verdict", "words"),
    [
        ((MPICH, "in one node"), Verdict.SLOWER, "It depends on the MPI"),
        ((MPICH, "in one node"), Verdict.CANNOT_TELL, "Use datatypes where"),
        ((OPENMPI, "two nodes"), Verdict.SLOWER, "It depends on where"),
    ],
)
def test_it_depends_on_the_mpi_only_if_the_mpi_alone_differs(
    other: tuple[str, str], verdict: Verdict, words: str
) -> None:
    panels = [
        Panel(key=(name + where, ORIGINAL_BUFFER_STATE), toolchain=name, placement_text=where)
        for name, where in ((OPENMPI, "in one node"), other)
    ]
    verdicts = {
        datatype_claim(panel, "FFT", 480): ClaimVerdict(Interval(1.0, 0.9, 1.1, 9), 0.0, 0.0, one)
        for panel, one in zip(panels, (Verdict.FASTER, verdict), strict=True)
    }
    assert str(overall_answers(panels, verdicts)[0].text[0]).startswith(words)

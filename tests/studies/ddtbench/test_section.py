"""The DDTBench section says what is in the data: trees whose truth is known."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from roundtrip.collect import bundle
from roundtrip.collect.night_rows import SERIES
from roundtrip.report import data, renderers
from roundtrip.report.blocks import Fold, Part, Table, all_blocks
from roundtrip.report.build import build
from roundtrip.report.pages import series
from roundtrip.report.painter import drawing
from roundtrip.report.plot import Curve
from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies.ddtbench import APPS, ORIGINAL
from roundtrip.studies.ddtbench.data import Panel
from roundtrip.studies.ddtbench.section import _group_text, overall
from roundtrip.studies.ddtbench.tables import comparison

OPENMPI, MPICH = "openmpi41-boost181", "mpich40-boost181"
OPENMPI_LABEL = "Open MPI 4.1, Boost 1.81, in one node"
MPICH_LABEL = "MPICH 4.0, Boost 1.81, in one node"
#: µs: by hand (pack, communication, unpack), datatypes, MPI_Pack, of each micro-app.
TRUTH = {
    "NAS_LU_x": ((1.0, 18.0, 1.0), 6.0, (1.0, 19.0, 1.0)),
    "FFT": ((50.0, 400.0, 50.0), 2000.0, (80.0, 500.0, 80.0)),
    "MILC_su3_zd": ((2.0, 20.0, 2.0), 24.0, (2.0, 20.0, 2.0)),
}
#: Loops tuned by hand turn the answer of this one.
TUNED_APP = "MILC_su3_zd"
FINDING = {
    "call": "MPI_Pack with MPI_BOTTOM",
    "error": "Null pointer in parameter <inbuf>",
    "consequence": "measured with addresses relative to an array",
}
Maker = Callable[..., Any]


@pytest.fixture
def make_ddt_tree(make_tree: Maker) -> Maker:
    """The tree of NetPIPE with the launches' contents replaced by DDTBench's."""

    def make(launches: int = 8, environs: tuple[str, ...] = (OPENMPI,)) -> Path:
        tree = make_tree(launches=launches, environs=environs)
        rng = np.random.default_rng(1)
        for case in sorted(tree.path.rglob("case.json")):
            _replace(case.parent, rng)
        return Path(tree.path)

    return make


def _replace(folder: Path, rng: np.random.Generator) -> None:
    case = json.loads((folder / "case.json").read_text())
    case.update(study="ddtbench")
    (folder / "case.json").write_text(json.dumps(case))
    rows = [row for app, truth in TRUTH.items() for row in _rows(app, truth, rng)]
    frame = pl.DataFrame(
        rows, schema=["case", "variant", "size_bytes", "phase", "rep", "value"], orient="row"
    ).select(
        pl.lit("ddtbench").alias("study"),
        "case",
        "variant",
        "size_bytes",
        "phase",
        "rep",
        pl.lit("epoch_time").alias("metric"),
        pl.col("value") * 1e-6,
        pl.lit("s").alias("unit"),
    )
    (folder / "samples.csv").write_text("# schema: 1\n" + frame.write_csv())
    run = json.loads((folder / "run.json").read_text())
    point = {"variant": "mpi_pack_ddt", "size_bytes": 40800, "samples": 6, "status": "converged"}
    if "mpich40" in str(folder):
        address = f"0x{zlib.crc32(str(folder).encode()):x}"
        point["finding"] = {**FINDING, "error": f"{FINDING['error']} at {address}"}
    points = [{**point, "case": f"WRF_x_vec/{state}"} for state in ("original", "same")]
    run.update(workload="ddtbench", points=points, samples={"rows": frame.height})
    (folder / "run.json").write_text(json.dumps(run))


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


def part(path: Path) -> Part:
    report = build(data.read(bundle.build(path)))
    return next(part for part in report.parts if part.anchor == "ddtbench")


def verdict_of(path: Path) -> dict[str, list[str]]:
    (table,) = part(path).verdicts
    return {row[0].text: [cell.verdict for cell in row[1:]] for row in table.rows}


def tables_of(section: Part) -> list[Table]:
    return [block for block in section.blocks if isinstance(block, Table)]


def test_the_advice_follows_the_data(make_ddt_tree: Maker) -> None:
    assert verdict_of(make_ddt_tree()) == {
        "MILC_su3_zd": ["no difference"],
        "NAS_LU_x": ["use datatypes"],
        "FFT": ["pack by hand"],
    }


def test_tuned_loops_are_shown_beside_the_applications_own(make_ddt_tree: Maker) -> None:
    section = part(make_ddt_tree())
    table = next(t for t in tables_of(section) if "memory as" in t.caption)
    advice = {row[0].text: (row[-2].verdict, row[-1].verdict) for row in table.rows}
    assert advice[TUNED_APP] == ("no difference", "pack by hand")
    assert advice["FFT"] == ("pack by hand", "")
    (answer,) = section.answers
    assert answer.text == (
        "Use datatypes for NAS_LU_x; pack by hand for FFT; no difference for MILC_su3_zd.",
    )
    text = str(section.panel_answers[0])
    assert f"tuned by hand beat datatypes for {TUNED_APP}" in text


def test_the_largest_group_of_many_micro_apps_is_named_as_the_rest() -> None:
    apps = {"use datatypes": APPS[:9], "pack by hand": APPS[9:11], "open": ()}
    names = ", ".join(APPS[9:11])
    assert _group_text(apps) == f"pack by hand for {names}; use datatypes for the other 9"
    assert _group_text({"open": APPS}) == "open for all 16"


def test_the_studys_claims_and_its_table_stand_beside_ours(make_ddt_tree: Maker) -> None:
    tables = tables_of(part(make_ddt_tree(environs=(OPENMPI, MPICH))))
    table = next(t for t in tables if t.caption.startswith("What the study says"))
    reduction, gap = ([cell.text for cell in row[1:]] for row in table.rows)
    assert reduction == [
        "from 40\N{NO-BREAK SPACE}% to 15\N{NO-BREAK SPACE}% in NAS_LU_x",
        "datatypes are faster in NAS_LU_x",
    ]
    assert gap[0] == "in its figure only" and gap[1].startswith("MPICH 4.0, Boost 1.81 takes ")
    assert gap[1].endswith(
        "as long with datatypes as Open MPI 4.1, Boost 1.81; MVAPICH was not measured"
    )
    (classes,) = [t for t in tables if t.caption.startswith("The study's micro-apps")]
    assert {row[0].text for row in classes.rows} == set(APPS)
    assert [row[1].text for row in classes.rows if row[0].text == "FFT"] == ["Matrix transpose"]


def test_making_types_is_shown_both_ways(make_ddt_tree: Maker) -> None:
    folds = [block for block in part(make_ddt_tree()).blocks if isinstance(block, Fold)]
    (table,) = next(fold for fold in folds if fold.summary.startswith("Making")).blocks
    assert isinstance(table, Table)
    row = next(row for row in table.rows if row[0].text == "NAS_LU_x")
    assert row[2].text.startswith(("5.0", "4.9")) and row[3].text.startswith(("2.0", "1.9"))


def test_five_launches_are_too_few(make_ddt_tree: Maker) -> None:
    assert set(map(tuple, verdict_of(make_ddt_tree(launches=5)).values())) == {
        ("cannot tell: 5 launches give no interval; 7 would",)
    }


def test_a_negative_overhead_is_shown(make_ddt_tree: Maker) -> None:
    """Network 18 - 2 = 16 µs, datatypes 6 µs: (6 - 16) / 6."""
    table = next(t for t in tables_of(part(make_ddt_tree())) if "memory as" in t.caption)
    row = next(row for row in table.rows if row[0].text == "NAS_LU_x")
    assert row[1].text == "40800"
    assert row[5].text.startswith("20.0 [") or row[5].text.startswith("19.9 [")
    assert row[7].text.startswith("\N{MINUS SIGN}16")


def test_both_states_of_memory_are_there_at_every_size(make_ddt_tree: Maker) -> None:
    section = part(make_ddt_tree())
    folds = [block for block in section.blocks if isinstance(block, Fold)]
    size_folds = [fold for fold in folds if fold.summary == "Every message size"]
    assert len(size_folds) == 2
    for fold in size_folds:
        (table,) = fold.blocks
        assert isinstance(table, Table) and len(table.rows) == 2 * len(TRUTH)


def test_one_state_of_memory_is_answered_where_it_alone_was_measured(make_ddt_tree: Maker) -> None:
    path = make_ddt_tree(launches=6)
    for file in path.rglob("samples.csv"):
        lines = [line for line in file.read_text().splitlines(True) if "/original," not in line]
        file.write_text("".join(lines))
        run = json.loads(file.with_name("run.json").read_text())
        run.update(points=run["points"][1:], samples={"rows": len(lines) - 2})
        file.with_name("run.json").write_text(json.dumps(run))
    (answer,) = part(path).panel_answers
    assert answer == part(path).answers[0] or OPENMPI_LABEL in str(answer)


def test_the_figure_has_a_panel_for_each_mpi(make_ddt_tree: Maker) -> None:
    section = part(make_ddt_tree(environs=(OPENMPI, MPICH)))
    figures = section.figures
    assert len(figures) == 2 * 2 * 2  # toolchains, states of memory, overhead and time
    assert len({figure.name for figure in figures}) == len(figures)
    first = figures[0]
    assert first.alt.endswith(MPICH_LABEL)
    for words in ("NAS_LU_x", "FFT", "Packed by hand", "MPI datatypes"):
        assert words in drawing(first)
    assert "\N{MINUS SIGN}100" in drawing(first), "the axis reaches below zero"
    assert first.plot and section.picture and first in section.picture.figures
    view, full_view = first.plot.views
    assert {"MPI_Pack"} == {c.name for c in full_view.curves} - {c.name for c in view.curves} - {
        "Packed by hand, tuned"
    }
    study = view.rows.index("the study, 2012")
    assert [p[1] for c in view.curves for p in c.points if p[0] == study] == [40, 15]


def _ends(curve: Curve) -> list[float]:
    return [point[1] for point in curve.points]


def test_the_figure_of_epochs_has_values_and_their_number(make_ddt_tree: Maker) -> None:
    """Round trips as drawn, with their intervals; each epoch of the methods that have it."""
    section = part(make_ddt_tree())
    for figure in (figure for figure in section.figures if "-time-" in figure.name):
        assert figure.plot
        views = {view.name: view for view in figure.plot.views}
        assert list(views) == ["Epochs", "Round trip", "Pack", "Communication", "Unpack"]
        assert views["Round trip"].interval_count == views["Epochs"].interval_count > 0
        parts = [
            sum(part) for part in zip(*(_ends(c) for c in views["Epochs"].curves), strict=True)
        ]
        assert max(parts) == pytest.approx(100) and min(parts) > 0
        names = {curve.name for curve in views["Round trip"].curves}
        assert {"Packed by hand", "MPI datatypes", "Contiguous, unpacked"} <= names
        pack_names = {curve.name for curve in views["Pack"].curves}
        assert "Packed by hand" in pack_names and "MPI datatypes" not in pack_names
        round_trips, epochs = (
            {
                (curve.name, view.rows[int(place)]): (median, n)
                for curve in view.curves
                for place, median, _, _, n in curve.points
            }
            for view in (views["Round trip"], views["Communication"])
        )
        assert {n for _, n in round_trips.values()} == {8}
        datatypes = {key: value for key, value in round_trips.items() if key[0] == "MPI datatypes"}
        assert datatypes and all(epochs[key] == value for key, value in datatypes.items())


def test_a_refusal_is_a_finding(make_ddt_tree: Maker) -> None:
    path = make_ddt_tree(environs=(OPENMPI, MPICH))
    (table,) = [t for t in tables_of(part(path)) if "refused" in t.caption]
    (row,) = table.rows
    assert [cell.text for cell in row] == [
        "MPICH 4.0, Boost 1.81",
        "Open MPI v4.1.4, package: Debian OpenMPI",
        FINDING["call"],
        f"{FINDING['error']} at 0x…",
        "WRF_x_vec mpi_pack_ddt",
        FINDING["consequence"],
    ]


def test_no_refusal_no_findings(make_ddt_tree: Maker) -> None:
    assert not any("refused" in table.caption for table in tables_of(part(make_ddt_tree())))


def test_the_studys_example_is_beside_ours(make_ddt_tree: Maker) -> None:
    (table,) = [t for t in tables_of(part(make_ddt_tree())) if "NAS_LU_x" in t.caption]
    study, original, same = table.rows
    assert [cell.text for cell in study[2:4]] == ["40", "15"]
    assert original[0].text == OPENMPI_LABEL and original[4].verdict == "holds"
    assert same[4].verdict == "holds"


def test_it_renders_the_same_twice(make_ddt_tree: Maker) -> None:
    path = bundle.build(make_ddt_tree())
    first, second = (build(data.read(path)) for _ in range(2))
    assert renderers.html(first) == renderers.html(second)
    assert "use datatypes" in renderers.markdown(first)


def test_a_time_leads_to_its_series_and_a_sum_of_epochs_nowhere(make_ddt_tree: Maker) -> None:
    path = make_ddt_tree()
    bundle_data = data.read(bundle.build(path))
    names = {series.series_key(row): row for row in bundle_data.medians.select(*SERIES).to_dicts()}
    series_by_column: dict[str, set[tuple[str, str]]] = {}
    for table in (block for block in all_blocks(part(path).blocks) if isinstance(block, Table)):
        for row in table.rows:
            for column, cell in zip(table.columns, row, strict=True):
                fields = names.get(cell.origin, {"variant": "", "phase": ""})
                series_by_column.setdefault(column.name, set()).add(
                    (fields["variant"], fields["phase"])
                )
    assert series_by_column["Contiguous"] == {("reference", "communication")}
    assert series_by_column["Make, in turn"] == {("mpi_ddt", "ddt_create_overhead")}
    assert series_by_column["Packed by hand"] == {("", "")}


@pytest.mark.parametrize(
    ("other", "verdict", "words"),
    [
        (("MPICH 4.0, Boost 1.81", "in one node"), Verdict.SLOWER, "It depends on the MPI"),
        (("MPICH 4.0, Boost 1.81", "in one node"), Verdict.CANNOT_TELL, "Use datatypes where"),
        (("Open MPI 4.1, Boost 1.81", "two nodes"), Verdict.SLOWER, "It depends on where"),
    ],
)
def test_it_depends_on_the_mpi_only_if_the_mpi_alone_differs(
    other: tuple[str, str], verdict: Verdict, words: str
) -> None:
    panels = [
        Panel(key=(toolchain + where, ORIGINAL), toolchain=toolchain, where=where)
        for toolchain, where in (("Open MPI 4.1, Boost 1.81", "in one node"), other)
    ]
    verdicts = {
        comparison(panel, "FFT", 480): ClaimVerdict(Interval(1.0, 0.9, 1.1, 9), 0.0, 0.0, one)
        for panel, one in zip(panels, (Verdict.FASTER, verdict), strict=True)
    }
    assert str(overall(panels, verdicts).text[0]).startswith(words)

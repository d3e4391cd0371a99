"""What was measured elsewhere: made of a bundle, copied into a launch, drawn and distinguished."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from studies.npb.npb_bundle import Bundle
from support.json_files import edit

from roundtrip import files
from roundtrip.content import plot
from roundtrip.content.blocks import BulletList, Table
from roundtrip.content.data import BundleData
from roundtrip.errors import UserError
from roundtrip.report.painter import svg_files
from roundtrip.studies.npb import (
    ReferenceNight,
    ReferenceRate,
    ReferenceSpeedup,
    marks,
    simulated,
    sweep,
)
from roundtrip.studies.npb.sweep import BenchmarkCurves

CHECKOUT = Path(__file__).parents[3]
NIGHT = {"campaign": "wan-marks", "site": "virtual", "started": "2026-11-22T14:11:14Z"}
PLACE = {"digest": "5e" * 32, "processor": "Some Processor"}
ORIGIN = ReferenceNight(**NIGHT, **PLACE, alone=[], emulated=[])
SPEEDS = (10.0, 100.0, 1000.0)


def bundle(builder: Bundle) -> BundleData:
    """As the report reads it, with what a manifest and a host record."""
    data = builder.data()
    manifest: Any = SimpleNamespace(data=NIGHT, digest="5e" * 32)
    host = {"cpu": {"model": "Some Processor"}}
    return replace(data, manifest=manifest, env_records={"host.json": host})


def over_the_link() -> Bundle:
    builder = Bundle(work=4000.0)
    builder.add("CG", 1, compute=4.0, problem_class="W")
    for rtt in (0.0, 4.0):
        fields = {"communication": 1 + rtt, "problem_class": "W", "placement": "one-per-node"}
        builder.add("CG", 2, rtt, compute=2.0, **fields)  # type: ignore[arg-type]
    return builder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The marks of `over_the_link`."""
    file = tmp_path / "marks.json"
    night = marks.reference_night_from_bundle(bundle(over_the_link()))
    file.write_text(json.dumps(night.as_json()))
    return file


def curves(benchmark: str, waits: float, mops: float) -> BenchmarkCurves:
    """Two clusters wait for as many round trips at 4 ms, and save half of 1.6e9 operations."""
    one_cluster = {speed: 100 / speed for speed in SPEEDS}
    two_clusters = {
        rtt: {speed: 50 / speed + waits * rtt / 1e3 for speed in SPEEDS} for rtt in (0.0, 2.0, 4.0)
    }
    fields = {"benchmark": benchmark, "class": "W", "toolchain": "Open MPI", "launches": 6}
    reference_speedups = [
        ReferenceSpeedup(
            **fields,
            **{"mops": mops, "ranks": ranks, "rtt_ms": rtt, "separated": ranks == 4},
            **{"speedup": 1.5 - rtt / 8, "low": 1.0, "high": 1.6},
        )
        for ranks in (2, 4)
        for rtt in (0.0, 2.0, 4.0)
    ]
    changes = {"alone": [ReferenceRate(**fields, mops=mops)], "emulated": reference_speedups}
    return BenchmarkCurves(
        benchmark, "W", one_cluster, two_clusters, 1.6e9, (ORIGIN.model_copy(update=changes),)
    )


def test_marks_are_the_reports_speed_ups_above_the_rate_of_one_rank() -> None:
    bundle_marks = marks.reference_night_from_bundle(bundle(over_the_link()))
    assert bundle_marks.processor == "Some Processor"
    (rank_mark,) = bundle_marks.alone
    assert rank_mark.mops == pytest.approx(1000.0, rel=0.01)
    near, far = bundle_marks.emulated
    assert (near.rtt_ms, far.rtt_ms, far.ranks) == (0.0, 4.0, 2)
    assert near.speedup == pytest.approx(4 / 3, rel=0.01)
    assert far.speedup == pytest.approx(4 / 7, rel=0.01)
    assert far.low and far.high and far.low <= far.speedup <= far.high
    assert {mark.mops for mark in bundle_marks.emulated} == {rank_mark.mops}
    assert not far.separated


def test_the_command_prints_a_file_of_marks_or_one_line_of_what_is_wrong(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert marks.main([str(CHECKOUT / "tests" / "data" / "bundles" / "wan")]) == 2
    assert "it has no launch of NPB on one rank" in capsys.readouterr().err
    monkeypatch.setattr(marks.data, "read_bundle", lambda _: bundle(over_the_link()))
    assert marks.main(["some/bundle"]) == 0
    file = tmp_path / "marks.json"
    file.write_text(capsys.readouterr().out)
    assert sweep.read_reference_night(file, "CG", "W").alone


def test_what_campaigns_name_has_the_benchmarks_that_they_sweep() -> None:
    count = 0
    for campaign in ("simulated", "simulated-night"):
        settings = files.parse_toml((CHECKOUT / "campaigns" / f"{campaign}.toml").read_text())
        for check in settings["check"]:
            for name in check.get("variables", {}).get("marks", []):
                count += 1
                for benchmark in check["parameters"].get("benchmark", ["CG", "LU", "MG"]):
                    file_marks = sweep.read_reference_night(CHECKOUT / name, benchmark, "W")
                    assert file_marks.alone
                    assert {mark.rtt_ms for mark in file_marks.emulated} == {0.0, 1.0, 2.0, 4.0}
    assert count


def test_only_what_was_measured_is_marked() -> None:
    data = bundle(over_the_link())
    launches = data.launches.with_columns(simulated=pl.lit(True))
    with pytest.raises(UserError, match="only what was measured is marked"):
        marks.reference_night_from_bundle(replace(data, launches=launches))


def test_a_launch_keeps_what_is_of_its_benchmark_with_its_origin(file: Path) -> None:
    cg_marks = sweep.read_reference_night(file, "CG", "W")
    assert [mark.rtt_ms for mark in cg_marks.emulated] == [0.0, 4.0]
    assert cg_marks.origin_text == ORIGIN.origin_text
    mg_marks = sweep.read_reference_night(file, "MG", "W")
    assert (mg_marks.emulated, mg_marks.alone) == ([], [])


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"processor": None}, "processor"),
        ({"alone": [{"benchmark": "CG"}]}, "alone.0"),
        ({"emulated": 3}, "emulated"),
    ],
)
def test_what_is_no_file_of_marks_is_refused_with_its_place(
    file: Path, change: dict[str, Any], place: str
) -> None:
    edit(file, **change)
    with pytest.raises(UserError, match=f"marks.json: no file of marks: {place}"):
        sweep.read_reference_night(file, "CG", "W")


def test_the_figure_marks_them_and_says_that_they_were_measured() -> None:
    (figure,) = simulated.speedup_figures([curves("CG", 100, 500.0)])
    assert "SIMULATED; measured: Some Processor" in next(svg_files(figure))
    assert "One rank, measured: 500\xa0Mop/s" in next(svg_files(figure))
    for name in ("EMULATED 1 + 1, +0 ms", "EMULATED 2 + 2, +4 ms"):
        assert name in next(svg_files(figure))
    assert "EMULATED 1 + 1, +2 ms" not in next(svg_files(figure))  # the table has it
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", next(svg_files(figure)))
    assert {"10", "100", "1\u202f000"} <= set(texts) and "20" not in texts  # apart from each other
    assert figure.plot
    curve_by_name = {curve.name: curve for curve in figure.plot.views[0].curves}
    rule = curve_by_name["One rank, measured: 500\xa0Mop/s"]
    assert {point[0] for point in rule.points} == {500.0}
    assert {point[4] for point in rule.points} == {None}  # its ends are no values
    square = curve_by_name["EMULATED 1 + 1, +4 ms"]
    assert (square.line_width, square.point_shape) == (0, "square")
    assert curve_by_name["EMULATED 2 + 2, +4 ms"].point_shape == "triangle-up"
    assert curve_by_name["+4 ms"].point_shape == plot.CIRCLE
    assert square.colour == curve_by_name["+4 ms"].colour
    assert [point[:2] for point in square.points] == [(500.0, 1.0)]


def test_tables_name_the_origin_and_say_of_each_row_what_it_is() -> None:
    blocks = marks.reference_blocks([curves("CG", 100, 500.0), curves("MG", 100, 1000.0)])
    tables = [block for block in blocks if isinstance(block, Table)]
    processors, speedups = tables
    assert all("measured; parts SIMULATED" in row[0].text for row in processors.rows)
    assert all("EMULATED, measured" in row[0].text for row in speedups.rows)
    assert len(speedups.rows) == 12
    assert [row[-1].text for row in speedups.rows[:6]] == ["rates"] * 3 + ["separated times"] * 3
    text = str([block for block in blocks if isinstance(block, BulletList)])
    assert ORIGIN.origin_text in text
    assert "SIMULATED" in text


def test_a_number_found_at_the_same_part_of_two_rates_is_explained_by_the_rates() -> None:
    """The numbers of two benchmarks that are alike are found at two speeds, for they differ."""
    text = marks.describe_proportions([curves("CG", 100, 100.0), curves("MG", 100, 100.0)], ORIGIN)
    assert "CG W 1.13 at" in text and "MG W 1.24 at" in text
    assert "does not give all of them" in text
    slow_curves = curves("CG", 100, 1.0), curves("MG", 100, 1.0)
    cg, mg = (
        curve.mflops_at_speedup(4.0, study)
        for curve, study in zip(slow_curves, (1.13, 1.24), strict=True)
    )
    assert cg and mg
    rate_curves = [curves("CG", 100, cg * 9), curves("MG", 100, mg * 9)]
    assert "proportions gives all of them" in marks.describe_proportions(rate_curves, ORIGIN)
    assert marks.describe_proportions(rate_curves[:1], ORIGIN) == ""
    no_marks = [replace(curve, reference_nights=()) for curve in rate_curves]
    assert marks.reference_blocks(no_marks) == []


def test_the_largest_class_counts_and_the_classes_of_a_benchmark_are_neighbours() -> None:
    w_curves = [curves(name, 100, 500.0) for name in ("CG", "MG")]
    a_curves = [replace(curve, problem_class="A") for curve in w_curves]
    sorted_curves = sorted([*a_curves, *w_curves], key=lambda curve: curve.sort_key)
    assert [curve.name for curve in sorted_curves] == ["CG W", "CG A", "MG W", "MG A"]
    sentence = marks.describe_proportions(sorted_curves, ORIGIN)
    assert "CG A 1.13 at" in sentence and "MG A 1.24 at" in sentence
    assert "CG W" not in sentence

"""The tables of a bundle: what they hold, what is refused, points, medians, simulation."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from measure.conftest import ENVIRON, Maker
from support.bundles import RECORDED_BUNDLES, read_tree, rewrite_table, set_column
from support.json_files import content, edit
from support.synthetic import SyntheticTree, pseudonym

from roundtrip import model
from roundtrip.content import data
from roundtrip.content.labels import simulated_notice as notice
from roundtrip.errors import UserError
from roundtrip.history import facts
from roundtrip.measure import bundle, bundle_tables, launches, manifest, records, samples
from roundtrip.measure.bundle_rows import (
    DETAIL_ROW_BY_STUDY,
    MEDIANS_SCHEMA,
    PLACEMENT_SCHEMA,
    POINTS_SCHEMA,
    RECORD_BY_STUDY,
    SCHEMA_BY_TABLE,
    SIMULATION_TITLES,
    TIMING_COLUMNS,
    LaunchRow,
)
from roundtrip.measure.columns import decode_row, encode_row, setting_rows, table_columns
from roundtrip.report.build import build_report
from roundtrip.stats.summaries import lower_rank

LAUNCH = f"001/{ENVIRON}/NetPIPE_ping"


def test_every_table_has_its_columns_and_none_has_json(make_tree: Maker) -> None:
    extras = {"emulated": {"wan_rtt_ms": 2, "nodes": "namespaces"}}
    tree = make_tree(launches=2, environs=(ENVIRON,), extras=extras)
    bundle_path = bundle.build_bundle(tree.path)
    names = {file.stem for file in bundle_path.glob("*.parquet")}
    assert names == {*SCHEMA_BY_TABLE, "samples", "medians"}
    assert json.loads((bundle_path / "manifest.json").read_text())["schema"] == 2
    for name, schema in SCHEMA_BY_TABLE.items():
        frame = pl.read_parquet(bundle_path / f"{name}.parquet")
        assert dict(frame.schema) == schema, name
        assert frame.height, name
        for column in frame.select(pl.col(pl.String)).iter_columns():
            assert not column.str.contains(r"^[\[{]").any(), f"{name}.{column.name}"


def test_ranks_clock_and_load_stand_in_columns(bundle_path: Path) -> None:
    host = pseudonym()

    def rows(name: str, *columns: str) -> list[tuple[Any, ...]]:
        return pl.read_parquet(bundle_path / f"{name}.parquet").select(columns).rows()

    assert rows("placement", "rank", "host", "cpus") == [(0, host, [0]), (1, host, [1])]
    assert rows("nodes", "host", "kernel", "microcode", "firmware", "adapters") == [
        (host, "6.1.0-40-amd64", "0x1", None, ["mlx5_0: MT_0000000223, firmware 20.31.1014"])
    ]
    counts = ("rank", "involuntary_context_switches", "core_migrations")
    assert rows("disturbance", *counts) == [(0, 12, 0), (1, 9, 0)]
    load = [0.4, 0.5, 0.5]
    assert rows("cases", "hosts", "steal_s", "load_average_start") == [([host], 0.01, load)]
    clock = ("clock", "clock_resolution_s", "clock_overhead_s")
    assert rows("cases", *clock) == [("MPI_Wtime", 1e-9, 3.1e-8)]


def test_how_a_launch_took_its_times_stands_in_columns(two_launches: SyntheticTree) -> None:
    first, second = sorted(two_launches.path.rglob("run.json"))
    edit(first, timing={"clock": "one rank", "synchronisation": "message", "cache": "flushed"})
    timing = read_tree(two_launches).launches.select(*TIMING_COLUMNS)
    assert timing.rows() == [("one rank", "message", None, "flushed"), (None, None, None, None)]
    edit(second, timing={"clock": "the moon"})
    with pytest.raises(UserError, match="timing.clock"):
        records.read_record(second, two_launches.path)


def test_parameters_are_rows_of_launches_that_never_were_too(make_tree: Maker) -> None:
    missing_case = {"case": "NetPIPE/mode=stream,budget=2.5@local:smp+x", "launches": 1}
    tree = make_tree(launches=1, environs=(ENVIRON,), expected=[missing_case])
    parameters = pl.read_parquet(bundle.build_bundle(tree.path) / "parameters.parquet")
    assert parameters.rows() == [
        (LAUNCH, "mode", "pingpong", None),
        (LAUNCH, "placement", "shared-memory", None),
        ("missing/0001", "budget", "2.5", 2.5),
        ("missing/0001", "mode", "stream", None),
    ]


@pytest.mark.parametrize(
    ("value", "text", "number"),
    [
        (2, "2", 2.0),
        ("16", "16", 16.0),
        (0.5, "0.5", 0.5),
        ("1e-3", "1e-3", 1e-3),
        (True, "True", None),
        ("nan", "nan", None),
        ("1e999", "1e999", None),
        ("1_0", "1_0", None),
        ("٣", "٣", None),
        (["a", "b"], "['a', 'b']", None),
        (None, "None", None),
    ],
)
def test_a_value_is_text_and_maybe_a_number(value: Any, text: str, number: float | None) -> None:
    assert setting_rows({"x": value}) == [{"name": "x", "value": text, "number": number}]


def of_ring(tree: Any, record: dict[str, Any]) -> None:
    """Change the tree's one launch to one of the ring."""
    (file,) = tree.path.glob("rounds/*/output/*/*/*/*/run.json")
    case, rows = file.with_name("case.json"), file.with_name("samples.csv")
    edit(case, study="ring")
    text = rows.read_text().replace("netpipe,", "ring,")
    csv = text.replace("half_round_trip_time", "time_per_pass").encode()
    rows.write_bytes(csv)
    seal = samples.make_seal(csv, samples.parse(csv, rows).frame)
    edit(file, samples=seal, ring=record, npb={"not": "its"})


def test_what_a_workload_says_is_a_row_of_its_studys_table(tree: SyntheticTree) -> None:
    skipped_variants = [{"variant": "mpi-rma", "reason": "no windows on thunderbolt"}]
    wait = {"spins": 60, "yields": 0, "network_yields_ms": 2, "then": "futex"}
    of_ring(tree, {"skipped": skipped_variants, "wait": wait, "undeclared": 1})
    bundle_path = bundle.build_bundle(tree.path)
    assert [file.name for file in (bundle_path / "details").iterdir()] == ["ring.parquet"]
    frame = pl.read_parquet(bundle_path / "details" / "ring.parquet")
    assert dict(frame.schema) == table_columns(DETAIL_ROW_BY_STUDY["ring"])
    (row,) = frame.iter_rows(named=True)
    assert (row["launch"], row["wait"], row["passes_per_lap"]) == (LAUNCH, wait, None)
    assert row["skipped"] == [{"variant": "mpi-rma", "reason": f"no windows on {pseudonym()}"}]
    assert data.read_bundle(bundle_path).workload_records("ring")[LAUNCH]["wait"]["spins"] == 60
    assert data.read_bundle(bundle_path).workload_records("npb") == {}


def test_details_of_before_a_field_are_read_with_nulls(tree: SyntheticTree) -> None:
    of_ring(tree, {"tokens": 1, "wait": {"then": "poll"}})
    bundle_path = bundle.build_bundle(tree.path)
    wait_column = pl.struct(pl.col("wait").struct.field("then")).alias("wait")
    names = ("launch", "tokens", wait_column)
    rewrite_table(bundle_path, lambda frame: frame.select(names), "details/ring")
    (row,) = data.read_bundle(bundle_path).workload_records("ring").values()
    wait = {"spins": None, "yields": None, "network_yields_ms": None, "then": "poll"}
    nulls = dict.fromkeys(table_columns(RECORD_BY_STUDY["ring"]))
    assert row == {**nulls, "tokens": 1, "wait": wait}


@pytest.mark.parametrize("study", RECORD_BY_STUDY)
def test_a_record_comes_back_from_its_row_as_it_was(study: str) -> None:
    record = RECORD_BY_STUDY[study]
    assert "launch" not in table_columns(record)
    example = _example(model.json_schema(record))
    assert model.find_fault(record, example) is None
    row = pl.DataFrame([encode_row(record, example)], schema=table_columns(record))
    assert decode_row(record, row.row(0, named=True)) == example


def test_a_record_that_fits_no_column_says_so() -> None:
    class Odd(model.Record):
        x: int | str

    with pytest.raises(TypeError, match="no column can hold what .* allows: it has no single type"):
        table_columns(Odd)


def _example(schema: Any) -> Any:
    """Some value that the schema allows, with everything in it."""
    if "anyOf" in schema:
        return _example(schema["anyOf"][0])
    match schema["type"]:
        case "array":
            return [_example(schema["items"])] * 2
        case "object" if "properties" in schema:
            return {name: _example(item) for name, item in schema["properties"].items()}
        case "object":
            return {name: _example(schema["additionalProperties"]) for name in ("a", "b c")}
    return {"string": "text", "integer": 3, "number": 0.5, "boolean": True}[schema["type"]]


def test_a_bundle_from_before_a_table_is_read_without_it(make_tree: Maker) -> None:
    bundle_path = bundle.build_bundle(make_tree(launches=6, environs=(ENVIRON,)).path)
    assert data.read_bundle(bundle_path).node_facts.height == 6
    (bundle_path / "nodes.parquet").unlink()
    facts = json.loads((bundle_path / "manifest.json").read_text())
    (bundle_path / "manifest.json").unlink()
    del facts["files"]
    manifest.write_unsigned(bundle_path, facts)
    bundle_data = data.read_bundle(bundle_path)
    assert bundle_data.node_facts.is_empty()
    assert build_report(bundle_data).sections


def test_points_are_a_typed_table(two_launches: SyntheticTree) -> None:
    two_launches.fail_launch(2, ENVIRON)
    (file,) = two_launches.path.glob("rounds/001/output/*/*/*/*/run.json")
    point_records = json.loads(file.read_text())["points"]
    points = read_tree(two_launches).points
    assert dict(points.schema) == POINTS_SCHEMA
    names = ("case", "variant", "size_bytes", "samples", "status", "batch", "median_s", "verified")
    for name in names:
        assert points[name].to_list() == [point[name] for point in point_records]
    assert points.select("launch", "study").unique().rows() == [(LAUNCH, "netpipe")]


def test_what_a_library_made_of_a_legal_call_stands_in_the_row(tree: SyntheticTree) -> None:
    (file,) = tree.path.glob("rounds/*/output/*/*/*/*/run.json")
    finding = {"call": "MPI_Pack", "error": "MPI_ERR_ARG on thunderbolt", "consequence": "left out"}
    with content(file) as run:
        run["points"][0] |= {"finding": finding, "inner": 7}
    points = read_tree(tree).points
    (row,) = points.drop_nulls("finding_call").iter_rows(named=True)
    assert (row["inner"], row["finding_error"]) == (7, f"MPI_ERR_ARG on {pseudonym()}")
    assert row["finding_consequence"] == "left out"


KEYS = ("launch", "case", "variant", "size_bytes", "phase", "metric")


def test_each_launch_and_series_has_the_median_of_its_samples(make_tree: Maker) -> None:
    bundle_path = bundle.build_bundle(make_tree(launches=2, samples=9, sizes=[1, 64]).path)
    medians = pl.read_parquet(bundle_path / "medians.parquet")
    assert dict(medians.schema) == MEDIANS_SCHEMA
    sample_rows = pl.read_parquet(bundle_path / "samples.parquet")
    assert medians.height == 2 * 2 * 5 * 2 == sample_rows.select(KEYS).n_unique()
    rank = lower_rank(9, 0.95)
    for row in medians.iter_rows(named=True):
        series_rows = sample_rows.filter(pl.col(name) == row[name] for name in KEYS)
        values = np.sort(series_rows["value"].to_numpy())
        summary = [row[name] for name in ("samples", "median", "low", "high")]
        assert summary == [9, values[4], values[rank - 1], values[-rank]]
        names = ("case_id", "study", "unit")
        assert series_rows.select(names).unique().rows() == [tuple(row[name] for name in names)]
    assert medians.select("launch", "nodes").unique()["nodes"].to_list() == [pseudonym()] * 4


def test_five_samples_have_a_median_and_no_interval(make_tree: Maker) -> None:
    bundle_path = bundle.build_bundle(make_tree(launches=1, samples=5, environs=(ENVIRON,)).path)
    medians = pl.read_parquet(bundle_path / "medians.parquet")
    assert medians["samples"].unique().to_list() == [5]
    assert medians["median"].null_count() == 0
    assert medians["low"].null_count() == medians["high"].null_count() == medians.height


def test_hosts_of_a_launch_are_a_set() -> None:
    launches = pl.DataFrame(
        {"launch": ["1"], "case_id": ["c"], "study": ["s"], "campaign_round": [3]}
    ).with_columns(hosts=pl.Series([["b", "a", "b"]]))
    rows = pl.LazyFrame(
        {"launch": "1", "case": "c", "variant": "v", "size_bytes": 1, "phase": "measure"}
        | {"metric": "rate", "unit": "Mop/s", "value": [3.0, 1.0]}
    )
    (row,) = bundle_tables.launch_medians(rows, launches, 0.95).rows(named=True)
    assert (row["nodes"], row["campaign_round"]) == ("a+b", 3)
    assert (row["median"], row["samples"], row["unit"]) == (2.0, 2, "Mop/s")


@pytest.mark.parametrize("name", ["ring", "wan"])
def test_a_bundle_from_before_the_table_has_them_in_its_samples(name: str) -> None:
    bundle_data = data.read_bundle(RECORDED_BUNDLES / name)
    launches = bundle_tables.read_tables(RECORDED_BUNDLES / name).frames["cases"]
    medians = bundle_tables.read_medians(RECORDED_BUNDLES / name, launches, 0.95)
    assert medians.equals(bundle_data.launch_medians)
    assert medians["launch"].n_unique() == bundle_data.launches.filter(status="passed").height
    assert medians["samples"].sum() == bundle_data.samples.select(pl.len()).collect().item()


SIMULATOR = {"simgrid": "3.32", "platform": "grid-1ms", "platform_sha256": "5e" * 32}
SIMULATED = {**SIMULATOR, "host_flops": 2e8}


def test_what_simulated_a_launch_stands_in_columns_and_facts(tree: SyntheticTree) -> None:
    """It needs no allocation of a scheduler."""
    case = {"simulated": True, "scheduler": "slurm"}
    simulate(tree.path, case=case, run={"simulated": SIMULATED})
    bundle_path = bundle.build_bundle(tree.path)
    launch_rows = data.read_bundle(bundle_path).launches
    assert launch_rows.select(*SIMULATION_TITLES).row(0) == tuple(SIMULATED.values())
    bundle_manifest = manifest.verify(bundle_path)
    night_facts = facts.bundle_facts(
        bundle_path, bundle_manifest, launch_rows, pl.DataFrame(schema=PLACEMENT_SCHEMA)
    )
    assert (ENVIRON, "simulated: platform", "grid-1ms") in night_facts
    assert (ENVIRON, "simulated: host speed, flop/s", "200000000.0") in night_facts


@pytest.mark.parametrize(
    ("case", "run", "fault"),
    [
        ({"simulated": True}, {}, "run.json names no simulator"),
        ({}, {"simulated": SIMULATED}, "case.json says that it is not simulated"),
        ({"simulated": True}, {"simulated": {"platform": None}}, "run.json:[0-9]+: simulated"),
    ],
)
def test_a_simulated_launch_that_does_not_say_by_what_fails(
    tree: SyntheticTree, case: dict[str, Any], run: dict[str, Any], fault: str
) -> None:
    simulate(tree.path, case, run)
    (launch,) = launches.scan_launches(tree.path)
    assert launch.status == "failed"
    assert re.search(fault, launch.reason)


def test_what_simulated_a_launch_that_failed_is_left_out(two_launches: SyntheticTree) -> None:
    simulate(two_launches.path, case={"simulated": True}, run={"simulated": SIMULATED})
    for name in ("samples.csv", "run.json"):
        first, second = sorted(two_launches.path.rglob(name))
        second.write_bytes(first.read_bytes())
    rows = read_tree(two_launches).launches.filter(pl.col("status") != "missing")
    simulators = rows.select("status", "simulated_simgrid").sort("status").rows()
    assert simulators == [("failed", None), ("passed", "3.32")]


def simulate(tree: Path, case: dict[str, Any], run: dict[str, Any]) -> None:
    for name, changes in (("case.json", case), ("run.json", run)):
        for file in tree.rglob(name):
            edit(file, **changes)


def test_a_launch_at_many_host_speeds_has_none(tree: SyntheticTree) -> None:
    simulate(tree.path, {"simulated": True}, {"simulated": SIMULATOR})
    bundle_data = read_tree(tree)
    assert bundle_data.launches["simulated_host_flops"].to_list() == [None]
    assert "grid-1ms (hosts of all speeds swept, file 5e5e5e5e)" in str(notice(bundle_data))


@pytest.mark.parametrize("columns", [TIMING_COLUMNS, tuple(SIMULATION_TITLES)])
def test_a_bundle_from_before_columns_is_read(bundle_path: Path, columns: Any) -> None:
    old_bundle = rewrite_table(bundle_path, lambda cases: cases.drop(*columns))
    assert data.read_bundle(old_bundle).launches[columns[0]].to_list() == [None]
    names = ["launch", *columns]
    cases = bundle_tables.read_table(old_bundle / "cases.parquet", LaunchRow, names)
    assert cases[columns[-1]].to_list() == [None]


def test_a_bundle_that_names_no_simulator_is_refused(bundle_path: Path) -> None:
    forged_bundle = rewrite_table(bundle_path, set_column("simulated", True))
    with pytest.raises(UserError, match="simulated_simgrid"):
        data.read_bundle(forged_bundle)

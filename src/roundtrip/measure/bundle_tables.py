"""Makes the tables of a bundle from records of launches, and writes, reads and checks them.

Each is a parquet file without JSON in its cells, see docs/reference.md; column `launch` joins
them.  A correct checksum does not make data valid, so all data that a report relies on are checked.
"""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Any

import polars as pl
from polars.testing import assert_frame_equal

from roundtrip import model
from roundtrip.errors import UserError, printable
from roundtrip.measure import manifest, samples
from roundtrip.measure.bundle_rows import (
    DETAIL_ROW_BY_STUDY,
    LAUNCH_COLUMNS,
    MEDIANS_SCHEMA,
    OPTIONAL_TABLES,
    ROW_BY_TABLE,
    SCHEMA_BY_TABLE,
    SERIES_COLUMNS,
    MedianRow,
    SampleRow,
    Tables,
)
from roundtrip.measure.columns import (
    Row,
    Schema,
    cell_rules,
    decode_row,
    encode_row,
    newer_columns,
    setting_rows,
    table_columns,
)
from roundtrip.measure.run_record import RECORD_BY_STUDY, RankDisturbance

#: Row limit of a table that is read as a whole; campaigns have far fewer rows.
_MAX_ROWS = 1 << 22


def write_tables(
    tables: Tables, samples: pl.DataFrame, medians: pl.DataFrame, bundle: Path
) -> None:
    """Write all tables of a bundle into its folder `bundle`."""
    details = {f"details/{study}": frame for study, frame in tables.details.items()}
    frames = {**tables.frames, **details, "samples": samples, "medians": medians}
    for name, frame in frames.items():
        write_frame(frame, bundle / manifest.table_file(name))


def write_frame(frame: pl.DataFrame, file: Path) -> None:
    """Write a parquet file with fixed settings; OSError if the disk is full."""
    buffer = io.BytesIO()
    frame.write_parquet(
        buffer, compression="zstd", compression_level=3, row_group_size=1 << 18, statistics=True
    )
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(buffer.getbuffer())


def read_tables(bundle: Path) -> Tables:
    """Read and check the tables of a verified bundle; UserError for an invalid table."""
    tables = Tables(
        {
            name: read_table(file, row)
            if (file := bundle / manifest.table_file(name)).exists() or name not in OPTIONAL_TABLES
            else pl.DataFrame(schema=table_columns(row))
            for name, row in ROW_BY_TABLE.items()
        },
        {
            study: read_table(file, row, optional_columns=table_columns(row))
            for study, row in DETAIL_ROW_BY_STUDY.items()
            if (file := bundle / manifest.table_file(f"details/{study}")).exists()
        },
    )
    require_valid_tables(tables, lambda name: bundle / manifest.table_file(name))
    return tables


@contextmanager
def parquet_errors(file: Path) -> Iterator[Path]:
    """Context manager that turns errors of the parquet decoder, panics included, into UserError."""
    if not file.is_file():
        raise UserError("missing", file)
    try:
        yield file
    except pl.exceptions.SchemaError:
        why = "columns of other types than this version of roundtrip writes"
        raise UserError(why, file) from None
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        why = (str(error).splitlines() or ["it is damaged"])[0]
        raise UserError(f"not a parquet file: {why[:160]}", file) from None


def scan_table(
    file: Path, row: type[Row], optional_columns: Collection[str] | None = None
) -> pl.LazyFrame:
    """Scan a parquet file lazily, with columns as of `read_table`; UserError, or SchemaError on
    collection, for others."""
    schema = table_columns(row)
    names = {*pl.scan_parquet(file).collect_schema().names()}
    optional = newer_columns(row) if optional_columns is None else optional_columns
    lacking = schema.keys() - {*names, *optional}
    faults = {"missing": lacking, "unexpected": names - schema.keys()}
    if words := [f"{kind} columns: {', '.join(sorted(n))}" for kind, n in faults.items() if n]:
        raise UserError(printable("; ".join(words))[:300], file)
    casts = pl.ScanCastOptions(missing_struct_fields="insert")
    frame = pl.scan_parquet(file, schema=dict(schema), missing_columns="insert", cast_options=casts)
    return frame.select(*schema)


def read_table(
    file: Path,
    row: type[Row],
    names: Sequence[str] | None = None,
    optional_columns: Collection[str] | None = None,
) -> pl.DataFrame:
    """Read a parquet file of rows `row`, with all columns or only `names`.

    `optional_columns`, by default those newer than the table, may be missing: they are null.
    UserError for other columns.
    """
    with parquet_errors(file):
        table = scan_table(file, row, optional_columns).head(_MAX_ROWS + 1)
        frame = table.select(*(names or table_columns(row))).collect()
        if frame.height > _MAX_ROWS:
            raise UserError(f"{frame.height} rows; right are at most {_MAX_ROWS}", file)
        return frame


#: Columns that are never null for a launch that passed.
_REQUIRED_IF_PASSED = (
    *("check", "system", "partition", "environ", "toolchain", "started"),
    *("ranks", "hosts", "emulated", "disturbed", "simulated"),
)


def require_valid_tables(tables: Tables, table_path: Callable[[str], Path]) -> None:
    """UserError for the first value in `tables` that no launch can have; `table_path` returns the
    path of a table, such as ``cases`` or ``details/<study>``, for the message."""
    launches = tables.frames["cases"]
    passed_launches = launches.filter(pl.col("status") == "passed")
    for name in _REQUIRED_IF_PASSED:
        if passed_launches[name].null_count():
            raise UserError(f"{name} is empty where it cannot be", table_path("cases"))
    if passed_launches.is_empty():
        raise UserError("no launch completed: nothing to report", table_path("cases"))
    _require_unique(launches, ["launch"], "a launch has two rows", table_path("cases"))
    for name, frame in tables.frames.items():
        require_valid_rows(frame, ROW_BY_TABLE[name], table_path(name))
    launch_ids = launches.select("launch")
    for name in ("parameters", "emulation", "placement", "nodes", "disturbance"):
        require_matching_launches(
            tables.frames[name], launch_ids, "no launch of cases.parquet", table_path(name)
        )
    _require_passed_launches(tables.frames["points"], launches, table_path("points"))
    for name in ("parameters", "emulation"):
        frame, fault = tables.frames[name], "a name has two rows for one launch"
        _require_unique(frame, ["launch", "name"], fault, table_path(name))
    if {*launches.filter("emulated")["launch"]} != {*tables.frames["emulation"]["launch"]}:
        raise UserError("emulated is not as emulation.parquet has it", table_path("cases"))
    for study, frame in tables.details.items():
        details_file = table_path(f"details/{study}")
        study_launches = launches.filter(pl.col("study") == study).select("launch")
        require_matching_launches(frame, study_launches, f"no launch of {study}", details_file)
        _require_unique(frame, ["launch"], "a launch has two rows", details_file)
        for row in frame.iter_rows(named=True):
            if problem := model.find_fault(
                RECORD_BY_STUDY[study], decode_row(RECORD_BY_STUDY[study], row)
            ):
                raise UserError(f"{problem.dotted_path or 'a row'}: {problem.why}", details_file)


def require_valid_samples(rows: pl.LazyFrame, launches: pl.DataFrame, file: Path) -> None:
    """UserError if a sample row is invalid, or belongs to no passed launch in `launches`."""
    _require_passed_launches(
        rows.select(*LAUNCH_COLUMNS).unique().sort("launch").collect(), launches, file
    )
    is_complete = pl.all_horizontal(pl.all().is_not_null().all())
    if not rows.select(is_complete & samples.all_rows_valid()).collect().item():
        raise UserError("rows that no launch can have measured: units, numbers or blanks", file)


def _require_unique(frame: pl.DataFrame, keys: Sequence[str], fault: str, file: Path) -> None:
    if frame.select(keys).is_duplicated().any():
        raise UserError(fault, file)


def require_valid_rows(frame: pl.DataFrame, row: type[Row], file: Path) -> None:
    """UserError for the first cell of `frame` that breaks a rule of the model `row`."""
    tests = {str(number): rule.violation.any() for number, rule in enumerate(cell_rules(row))}
    for rule, is_broken in zip(cell_rules(row), frame.select(**tests).row(0), strict=True):
        if is_broken:
            cell = frame.filter(rule.violation)[rule.column][0]
            if cell is None and rule.requirement.startswith("a text"):
                raise UserError(f"{rule.column} is empty where it cannot be", file)
            text = printable(str(cell.to_list() if isinstance(cell, pl.Series) else cell)[:60])
            raise UserError(f"{rule.column} {text!r} is not {rule.requirement}", file)


def require_matching_launches(
    rows: pl.DataFrame, launches: pl.DataFrame, reason: str, file: Path
) -> None:
    """UserError unless each row equals one of `launches` in all columns of `launches`; the message
    says that its launch is `reason`, such as "no launch that passed"."""
    unknown_rows = rows.join(launches, on=launches.columns, how="anti", nulls_equal=True)
    if not unknown_rows.is_empty():
        name = printable(str(unknown_rows["launch"][0])[:200])
        raise UserError(f"rows of {name!r}, which is {reason}", file)


def _require_passed_launches(rows: pl.DataFrame, launches: pl.DataFrame, file: Path) -> None:
    passed_launches = launches.filter(pl.col("status") == "passed").select(*LAUNCH_COLUMNS)
    require_matching_launches(rows, passed_launches, "no launch that passed", file)


JsonObject = Mapping[str, Any]
_RANK_COLUMNS = tuple(RankDisturbance.model_fields)


def make_tables(records: Iterable[JsonObject]) -> Tables:
    """Return the tables of a run, sorted by case and launch, from one record per launch.

    A record has columns of `CASES_SCHEMA`, as far as they are known, and the entries `parameters`,
    `emulated`, `clock`, `timing`, `simulation` (`simulated` of run.json), `disturbance`,
    `placement`, `nodes`, `points` and `details`.  An error of polars if a value fits no column.
    """
    rows: dict[str, list[JsonObject]] = {name: [] for name in SCHEMA_BY_TABLE}
    details: defaultdict[str, list[JsonObject]] = defaultdict(list)
    for record in sorted(records, key=itemgetter("case_id", "launch")):
        labels = {name: record[name] for name in LAUNCH_COLUMNS}
        launch_rows = {
            "cases": [_launch_row(record)],
            "points": _point_rows(record),
            "parameters": setting_rows(record.get("parameters") or {}),
            "emulation": setting_rows(record.get("emulated") or {}),
            "placement": record.get("placement") or (),
            "nodes": record.get("nodes") or (),
            "disturbance": _disturbance_rows(record),
        }
        for table, table_rows in launch_rows.items():
            rows[table] += [{**row, **labels} for row in table_rows]
        if record["study"] in RECORD_BY_STUDY and (detail := record.get("details")):
            row = {
                **encode_row(RECORD_BY_STUDY[record["study"]], detail),
                "launch": record["launch"],
            }
            details[record["study"]].append(row)
    return Tables(
        {name: make_frame(rows[name], schema) for name, schema in SCHEMA_BY_TABLE.items()},
        {
            study: make_frame(rows, table_columns(DETAIL_ROW_BY_STUDY[study]))
            for study, rows in details.items()
        },
    )


def make_frame(rows: Sequence[JsonObject], schema: Schema) -> pl.DataFrame:
    """Return a table with the columns `schema`: null if a row lacks one; others are lost."""
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


def _launch_row(record: JsonObject) -> JsonObject:
    clock, disturbance = record.get("clock") or {}, record.get("disturbance") or {}
    return {
        **record,
        "emulated": bool(record.get("emulated")),
        **_prefix_keys("clock", clock),
        "clock": clock.get("name"),
        **_prefix_keys("timing", record.get("timing")),
        **_prefix_keys("simulated", record.get("simulation")),
        "steal_s": disturbance.get("steal_s"),
        "load_average_start": _optional_floats(disturbance.get("load_average_start")),
        "load_average_end": _optional_floats(disturbance.get("load_average_end")),
    }


def _prefix_keys(prefix: str, values: JsonObject | None) -> JsonObject:
    return {f"{prefix}_{name}": value for name, value in (values or {}).items()}


def _optional_floats(values: Sequence[float | None] | None) -> list[float | None] | None:
    if values is None:
        return None
    return [None if number is None else float(number) for number in values]


def _point_rows(record: JsonObject) -> Iterator[JsonObject]:
    for point in (record.get("points") or ()) if record["status"] == "passed" else ():
        yield {**point, **_prefix_keys("finding", point.get("finding"))}


def _disturbance_rows(record: JsonObject) -> Iterator[JsonObject]:
    disturbance = record.get("disturbance") or {}
    columns = [disturbance.get(name) or [] for name in _RANK_COLUMNS]
    for rank, values in enumerate(zip_longest(*columns)):
        yield {"rank": rank, **dict(zip(_RANK_COLUMNS, values, strict=True))}


MEDIANS_FILE = manifest.table_file("medians")
#: Columns that identify a row of the medians; they determine `case_id` and unit.
_MEDIAN_KEYS = ["launch", *SERIES_COLUMNS]


def launch_medians(rows: pl.LazyFrame, launches: pl.DataFrame, level: float) -> pl.DataFrame:
    """Return the median of each series in each launch, columns `MEDIANS_SCHEMA`, sorted by case,
    launch and series.

    `rows` has the columns of samples.parquet, `launches` those of cases.parquet; `level` is the
    confidence level of the rank intervals, which are null with too few samples.
    """
    from roundtrip.stats.summaries import median_intervals  # scipy, which sanity checks do not need

    units = rows.select("metric", "unit").unique("metric").collect()
    hosts = pl.col("hosts").list.unique().list.sort().list.join("+")
    launch_columns = launches.select(*LAUNCH_COLUMNS, "campaign_round", nodes=hosts)
    medians = median_intervals(
        rows.select(*_MEDIAN_KEYS, "value").collect(), _MEDIAN_KEYS, "value", level
    )
    medians = medians.rename({"n": "samples"}).join(launch_columns, on="launch")
    return medians.join(units, on="metric").select(*MEDIANS_SCHEMA).sort("case_id", *_MEDIAN_KEYS)


def read_medians(bundle: Path, launches: pl.DataFrame, level: float) -> pl.DataFrame:
    """Read the launch medians of a verified bundle, columns `MEDIANS_SCHEMA`; an older bundle lacks
    them, and they are computed from its samples.  UserError for an invalid table."""
    if (medians := read_stored_medians(bundle, launches)) is not None:
        return medians
    with parquet_errors(bundle / manifest.table_file("samples")) as file:
        rows = scan_table(file, SampleRow)
        require_valid_samples(rows, launches, file)
        return launch_medians(rows, launches, level)


def read_stored_medians(bundle: Path, launches: pl.DataFrame) -> pl.DataFrame | None:
    """Read medians.parquet of a verified bundle, columns `MEDIANS_SCHEMA`; None without the file.
    UserError for an invalid table; it is not compared with the samples."""
    file = bundle / MEDIANS_FILE
    if not file.exists():
        return None
    medians = read_table(file, MedianRow)
    require_valid_rows(medians, MedianRow, file)
    _require_passed_launches(medians.select(*LAUNCH_COLUMNS), launches, file)
    _require_unique(medians, _MEDIAN_KEYS, "a series has two rows for one launch", file)
    return medians


def require_medians(medians: pl.DataFrame, derived_medians: pl.DataFrame, bundle: Path) -> None:
    """UserError unless the stored `medians` of a bundle equal `derived_medians`, which
    `launch_medians` computed from its samples."""
    try:
        # Versions of polars differ in the mean of two samples.
        assert_frame_equal(medians, derived_medians, rel_tol=1e-12, abs_tol=0)
    except AssertionError:
        reason = "not the medians of the samples beside it"
        raise UserError(reason, bundle / MEDIANS_FILE) from None

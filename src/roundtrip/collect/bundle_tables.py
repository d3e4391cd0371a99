"""The tables of a bundle: made of the records of launches, written, read and checked.

Each is a parquet file that any reader opens, without JSON in its cells; docs/bundle.md says what is
in them.  Column `launch` joins them.  A correct checksum does not make data valid: what a report
relies on is checked, whoever wrote it.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip import model
from roundtrip.collect import samples
from roundtrip.collect.bundle_rows import (
    ALL,
    CASES,
    DETAIL_ROWS,
    LABELS,
    LATER,
    MEDIANS,
    POINTS,
    ROWS,
    SIMULATED,
    TIMING,
    Median,
    Sample,
    Tables,
)
from roundtrip.collect.columns import (
    Row,
    Rule,
    Schema,
    cells,
    columns,
    later,
    rules,
    setting_rows,
    value,
)
from roundtrip.collect.run_record import DETAILS, RankDisturbance
from roundtrip.errors import UserError, printable

_ROW_GROUP = 1 << 18
#: Rows of a table that is read as a whole: far more than any campaign has.
_MOST_ROWS = 1 << 22
_OTHER_COLUMNS = "other columns than this version of roundtrip writes"


def write_tables(made: Tables, bundle: Path) -> None:
    """Write all tables into the folder `bundle`."""
    for name, frame in made.frames.items():
        write_frame(frame, bundle / f"{name}.parquet")
    if made.details:
        (bundle / "details").mkdir()
    for study, frame in made.details.items():
        write_frame(frame, bundle / "details" / f"{study}.parquet")


def write_frame(frame: pl.DataFrame, file: Path) -> None:
    """Write parquet with fixed settings, through memory, so that a full disk raises OSError."""
    buffer = io.BytesIO()
    frame.write_parquet(
        buffer, compression="zstd", compression_level=3, row_group_size=_ROW_GROUP, statistics=True
    )
    file.write_bytes(buffer.getbuffer())


def read_tables(bundle: Path) -> Tables:
    """The tables of a verified bundle, checked; UserError for what is none."""
    made = Tables(
        {
            name: _whole(file, row, later(row))
            if (file := bundle / f"{name}.parquet").exists() or name not in LATER
            else pl.DataFrame(schema=columns(row))
            for name, row in ROWS.items()
        },
        {
            study: _whole(file, row, columns(row))
            for study, row in DETAIL_ROWS.items()
            if (file := bundle / "details" / f"{study}.parquet").exists()
        },
    )
    require_tables(made, lambda name: bundle / f"{name}.parquet")
    return made


@contextmanager
def decoding(file: Path) -> Iterator[Path]:
    """Turn every error of the parquet decoder, panics included, into a UserError."""
    try:
        yield file
    except pl.exceptions.SchemaError:
        raise UserError(_OTHER_COLUMNS, file) from None
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        why = (str(error).splitlines() or ["it is damaged"])[0]
        raise UserError(f"not a parquet file: {why[:160]}", file) from None


def scan_table(file: Path, row: type[Row]) -> pl.LazyFrame:
    """A table of rows `row`; UserError, or SchemaError when it is collected, for another."""
    return _scan(file, columns(row), later(row))


def read_table(file: Path, row: type[Row], names: Sequence[str] | None = None) -> pl.DataFrame:
    """All rows of `file`, a table of rows `row`; UserError for any other.

    All columns, or `names`; those that came later may be missing, and are empty then.
    """
    schema = columns(row)
    with decoding(file):
        if not file.is_file():
            raise UserError("missing", file)
        there = pl.read_parquet_schema(file)
        if there != {n: kind for n, kind in schema.items() if n in there or n not in later(row)}:
            raise UserError(_OTHER_COLUMNS, file)
        asked = list(names or schema)
        known = [name for name in asked if name in there]
        found = pl.read_parquet(file, n_rows=_MOST_ROWS + 1, columns=known)
        _require_few(found.height, file)
        if known == asked:
            return found
        empty = (pl.lit(None, schema[name]).alias(name) for name in asked if name not in there)
        return found.with_columns(*empty).select(asked)


def _scan(file: Path, schema: Schema, added: Collection[str]) -> pl.LazyFrame:
    found = pl.scan_parquet(file).collect_schema()
    if found.keys() - schema.keys() or schema.keys() - found.keys() - set(added):
        raise UserError(_OTHER_COLUMNS, file)
    frame = pl.scan_parquet(
        file,
        schema=dict(schema),
        missing_columns="insert",
        cast_options=pl.ScanCastOptions(missing_struct_fields="insert"),
    )
    return frame.select(*schema)


def _whole(file: Path, row: type[Row], added: Collection[str]) -> pl.DataFrame:
    """A table of rows `row` that may be older than the columns `added`."""
    with decoding(file):
        if not file.is_file():
            raise UserError("missing", file)
        frame = _scan(file, columns(row), added)
        _require_few(frame.select(pl.len()).collect().item(), file)
        return frame.collect()


def _require_few(rows: int, file: Path) -> None:
    if rows > _MOST_ROWS:
        raise UserError(f"{rows} rows; right are at most {_MOST_ROWS}", file)


#: Columns that no launch that passed lacks.
_PASSED = (
    *("check", "system", "partition", "environ", "toolchain", "started"),
    *("ranks", "hosts", "emulated", "disturbed", "simulated"),
)


def require_tables(made: Tables, file: Callable[[str], Path]) -> None:
    """UserError for the first value that no launch can have.

    `file` gives the file of a table, for messages: of ``cases``, or ``details/<study>``.
    """
    launches = made.frames["cases"]
    _require_cases(launches, file("cases"))
    for name, frame in made.frames.items():
        require_rows(frame, ROWS[name], file(name))
    of_all = launches.select("launch")
    passed = launches.filter(pl.col("status") == "passed").select("launch", "case_id", "study")
    for name in ("parameters", "emulation", "placement", "nodes", "disturbance"):
        require_known(made.frames[name], of_all, "no launch of cases.parquet", file(name))
    require_known(made.frames["points"], passed, "no launch that passed", file("points"))
    for name in ("parameters", "emulation"):
        if made.frames[name].select("launch", "name").is_duplicated().any():
            raise UserError("a name stands there twice for a launch", file(name))
    emulated = launches.filter("emulated")["launch"]
    if set(emulated) != set(made.frames["emulation"]["launch"]):
        raise UserError("emulated is not as emulation.parquet has it", file("cases"))
    for study, frame in made.details.items():
        _require_details(study, frame, launches, file(f"details/{study}"))


def require_samples(taken: pl.LazyFrame, launches: pl.DataFrame, file: Path) -> None:
    """UserError for samples that no reader would have accepted, or of no launch that passed."""
    passed = launches.filter(pl.col("status") == "passed").select("launch", "case_id", "study")
    keys = taken.select("launch", "case_id", "study").unique().sort("launch")
    require_known(keys.collect(), passed, "no launch that passed", file)
    whole = pl.all_horizontal(pl.all().is_not_null().all())
    if not taken.select(whole & samples.all_good()).collect().item():
        raise UserError("rows that no launch can have measured: units, numbers or blanks", file)


def _require_cases(launches: pl.DataFrame, file: Path) -> None:
    passed = launches.filter(pl.col("status") == "passed")
    for name in _PASSED:
        if passed[name].null_count():
            raise UserError(f"{name} is empty where it cannot be", file)
    if passed.is_empty():
        raise UserError("no launch completed: nothing to report", file)
    if launches["launch"].is_duplicated().any():
        raise UserError("a launch stands there twice", file)


def require_rows(frame: pl.DataFrame, row: type[Row], file: Path) -> None:
    """UserError for the first cell of a table of rows `row` that breaks one of their rules."""
    for rule in rules(row):
        wrong = frame.filter(rule.broken)
        if not wrong.is_empty():
            raise UserError(f"{rule.column} {_shown(wrong[rule.column][0], rule)}", file)


def _shown(cell: Any, rule: Rule) -> str:
    if cell is None and rule.right.startswith("a text"):
        return "is empty where it cannot be"
    text = printable(str(cell.to_list() if isinstance(cell, pl.Series) else cell)[:60])
    return f"{text!r} is not {rule.right}"


def require_known(found: pl.DataFrame, launches: pl.DataFrame, whose: str, file: Path) -> None:
    """UserError unless every row is of one of `launches`, by all its columns."""
    strangers = found.join(launches, on=launches.columns, how="anti", nulls_equal=True)
    if not strangers.is_empty():
        name = printable(str(strangers["launch"][0])[:200])
        raise UserError(f"rows of {name!r}, which is {whose}", file)


def _require_details(study: str, frame: pl.DataFrame, launches: pl.DataFrame, file: Path) -> None:
    own = launches.filter(pl.col("study") == study).select("launch")
    require_known(frame, own, f"no launch of {study}", file)
    if frame["launch"].is_duplicated().any():
        raise UserError("a launch stands there twice", file)
    for row in frame.iter_rows(named=True):
        if fault := model.fault(DETAILS[study], value(DETAILS[study], row)):
            raise UserError(f"{fault.where or 'a row'}: {fault.why}", file)


Record = Mapping[str, Any]
_RANK = tuple(RankDisturbance.model_fields)


def make_tables(records: Iterable[Record]) -> Tables:
    """Of each launch what it told, as run.json and case.json have it, sorted by case and launch.

    A record has the plain columns of `CASES` that are known, and those known of `parameters`,
    `emulated`, `clock`, `timing`, `simulation` (`simulated` of run.json), `disturbance`,
    `placement`, `points` and `details`.  Raises whatever polars does of a value that fits no
    column.
    """
    told = sorted(records, key=lambda one: (one["case_id"], one["launch"]))
    rows = {
        "cases": [_case(one) for one in told],
        "points": _of_each(told, _points),
        "parameters": _of_each(told, lambda one: setting_rows(one.get("parameters") or {})),
        "emulation": _of_each(told, lambda one: setting_rows(one.get("emulated") or {})),
        "placement": _of_each(told, lambda one: one.get("placement") or ()),
        "nodes": _of_each(told, lambda one: one.get("nodes") or ()),
        "disturbance": _of_each(told, _ranks),
    }
    return Tables(
        {name: frame(rows[name], schema) for name, schema in ALL.items()},
        {study: frame(rows, columns(DETAIL_ROWS[study])) for study, rows in _details(told).items()},
    )


def frame(rows: Sequence[Record], schema: Schema) -> pl.DataFrame:
    """A table of rows that may lack columns, or have more."""
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


def _of_each(told: Sequence[Record], rows: Any) -> list[dict[str, Any]]:
    return [{**row, **{n: one[n] for n in LABELS}} for one in told for row in rows(one)]


def _case(one: Record) -> dict[str, Any]:
    clock, disturbance = one.get("clock") or {}, one.get("disturbance") or {}
    simulated = one.get("simulation") or {}
    loads = ("load_average_start", "load_average_end")
    return {
        **{name: one.get(name) for name in CASES},
        "emulated": bool(one.get("emulated")),
        "clock": clock.get("name"),
        "clock_resolution_s": clock.get("resolution_s"),
        "clock_overhead_s": clock.get("overhead_s"),
        **{n: (one.get("timing") or {}).get(n.removeprefix("timing_")) for n in TIMING},
        **{n: simulated.get(n.removeprefix("simulated_")) for n in SIMULATED},
        "steal_s": disturbance.get("steal_s"),
        **{name: _floats(disturbance.get(name)) for name in loads},
    }


def _floats(values: Sequence[float | None] | None) -> list[float | None] | None:
    return None if values is None else [None if one is None else float(one) for one in values]


def _points(one: Record) -> Iterator[dict[str, Any]]:
    for point in (one.get("points") or ()) if one["status"] == "passed" else ():
        finding = point.get("finding") or {}
        found = {f"finding_{name}": told for name, told in finding.items()}
        yield {**{name: point.get(name) for name in POINTS}, **found}


def _ranks(one: Record) -> Iterator[dict[str, Any]]:
    disturbance = one.get("disturbance") or {}
    columns = [disturbance.get(name) or [] for name in _RANK]
    for rank, values in enumerate(zip_longest(*columns)):
        yield {"rank": rank, **dict(zip(_RANK, values, strict=True))}


def _details(told: Sequence[Record]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for one in told:
        if one["study"] in DETAILS and (details := one.get("details")):
            row = {**cells(DETAILS[one["study"]], details), "launch": one["launch"]}
            found.setdefault(one["study"], []).append(row)
    return found


MEDIANS_FILE = "medians.parquet"
#: What tells the series of one launch apart; study, case and unit follow from launch and metric.
_KEYS = ["launch", "case", "variant", "size_bytes", "phase", "metric"]
_ORDER = ["case_id", *_KEYS]
#: How far two versions of polars may differ where they form the middle of two samples.
_NEAR = 1e-12


def launch_medians(rows: pl.LazyFrame, launches: pl.DataFrame, level: float) -> pl.DataFrame:
    """The launch medians of `rows`, columns `MEDIANS`, by case, launch and series.

    `rows` has the columns of samples.parquet, `launches` those of cases.parquet; `level` is that
    of the rank intervals within a launch, which are null with too few samples.
    """
    from roundtrip.stats.summaries import median_intervals  # scipy; a check's sanity needs it not

    units = rows.select("metric", "unit").unique("metric").collect()
    hosts = pl.col("hosts").list.unique().list.sort().list.join("+")
    known = launches.select(*LABELS, "campaign_round", nodes=hosts)
    found = median_intervals(rows.select(*_KEYS, "value").collect(), _KEYS, "value", level)
    joined = found.rename({"n": "samples"}).join(known, on="launch").join(units, on="metric")
    return joined.select(*MEDIANS).sort(_ORDER)


def write_medians(made: pl.DataFrame, bundle: Path) -> None:
    """Write launch medians, columns `MEDIANS`, into the folder `bundle`."""
    write_frame(made, bundle / MEDIANS_FILE)


def read_medians(bundle: Path, launches: pl.DataFrame, level: float) -> pl.DataFrame:
    """The launch medians of a verified bundle, columns `MEDIANS`; `launches`, `level` as in `of`.

    A bundle from before they had a table has them in its samples.  UserError for a table that no
    collector wrote.
    """
    if (found := stored_medians(bundle, launches)) is not None:
        return found
    with decoding(bundle / "samples.parquet") as file:
        rows = scan_table(file, Sample)
        require_samples(rows, launches, file)
        return launch_medians(rows, launches, level)


def stored_medians(bundle: Path, launches: pl.DataFrame) -> pl.DataFrame | None:
    """The table of a verified bundle, columns `MEDIANS`, checked by itself; None without one.

    UserError for a table that no collector wrote.
    """
    file = bundle / MEDIANS_FILE
    if not file.exists():
        return None
    found = read_table(file, Median)
    require_rows(found, Median, file)
    passed = launches.filter(pl.col("status") == "passed").select(*LABELS)
    require_known(found.select(*LABELS), passed, "no launch that passed", file)
    if found.select(_KEYS).is_duplicated().any():
        raise UserError("a series stands there twice for a launch", file)
    return found


def require_medians(made: pl.DataFrame, derived: pl.DataFrame, bundle: Path) -> None:
    """UserError unless the launch medians of a bundle are those of its samples.

    Both have the columns `MEDIANS` in the order of `of`.
    """
    numbers = ["median", "low", "high"]
    same = made.drop(numbers).equals(derived.drop(numbers))
    for name in numbers if same else ():
        one, other = made[name], derived[name]
        near = (one - other).abs() <= _NEAR * other.abs()
        same &= (one.is_null() == other.is_null()).all() and bool(near.drop_nulls().all())
    if not same:
        raise UserError("not the medians of the samples beside it", bundle / MEDIANS_FILE)

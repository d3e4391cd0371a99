"""Imported values: their rows, their files, and the nights that are formed from them.

An import has values.parquet, source.json (the files, with their sha256) and set-aside.txt, and is
never overwritten.  It holds only rows that no earlier import has, so that a log that grows is
stored once.  `read_imports` forms nights from all imports together, so that a report beside a log
counts no value twice.

If a report or a database names the session, a night is one session.  Performance logs do not name
it: then a night begins when its first job ended, and ends at noon UTC, or, where jobs run around
noon (as nightly ones do in California), in the middle of the longest part of the day without jobs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from pathlib import Path, PurePath
from typing import Annotated, Any

import polars as pl
from pydantic import Field

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.history import night_rows
from roundtrip.measure import bundle_tables, reader, store
from roundtrip.measure.columns import CellRule, Row, table_columns
from roundtrip.measure.samples import MAX_VALUE
from roundtrip.model import json_schema
from roundtrip.stats.summaries import median_intervals

_ShortText = Annotated[str, Field(max_length=200)]
_LongText = Annotated[str, Field(max_length=1000)]


class LoggedValue(Row):
    """A value as a reader makes it of a file; no name is replaced by a pseudonym yet.

    `name` is ReFrame's name of the test with its parameters; `time` (UTC) is when its job ended,
    null where only the session is known; `hosts` are joined by ",".  A limit that there is none of
    is null.  `facts` is a JSON object about the session.
    """

    line: int
    time: datetime | None
    session: datetime | None
    session_end: datetime | None
    name: _LongText
    system: _ShortText
    partition: _ShortText
    environ: _ShortText
    hosts: Annotated[str, Field(max_length=100_000)]
    modules: _LongText
    facts: str
    metric: _LongText
    value: float
    unit: _ShortText
    lower: float | None
    upper: float | None


class ImportedValue(Row):
    """A row of ``values.parquet``: hosts have pseudonyms, `digest` is the sha256 of its file."""

    extra_rules = (
        CellRule(
            "time",
            pl.col("time").is_not_null() | pl.col("session").is_not_null(),
            "the time of a value, nor is that of its session",
        ),
    )

    time: datetime | None
    session: datetime | None
    session_end: datetime | None
    case_id: str
    case: str
    environ: str
    nodes: str
    modules: str
    facts: str
    metric: str
    unit: str
    value: Annotated[float, Field(ge=0, le=MAX_VALUE)]
    lower_is_better: bool
    digest: str


LOGGED_VALUES, VALUES = table_columns(LoggedValue), table_columns(ImportedValue)
#: Limits of times: the year before ReFrame's first performance log, and the far future.
MIN_TIME, MAX_TIME = datetime(2010, 1, 1), datetime(2200, 1, 1)
#: Length limit of each text, characters.
MAX_LENGTHS = {
    name: schema["maxLength"]
    for name, schema in json_schema(LoggedValue)["properties"].items()
    if "maxLength" in schema
}


def parse_time(text: str, zone: tzinfo) -> datetime | None:
    """Return the ISO 8601 time `text` in UTC; without a zone it is in `zone`.  None for no time."""
    try:
        time = datetime.fromisoformat(text)
        aware = time if time.tzinfo else time.replace(tzinfo=zone)
        return aware.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None


def parse_times(texts: pl.Series, zone: tzinfo) -> pl.Series:
    """Return the times `texts` in UTC, null for no time; those without a zone are in `zone`.

    ReFrame's usual form is parsed in bulk, any other text by `parse_time`, once each.
    """
    zoned_times = texts.str.to_datetime("%Y-%m-%dT%H:%M:%S%:z", time_unit="us", strict=False)
    utc_times = zoned_times.dt.replace_time_zone(None)
    rest = texts.filter(utc_times.is_null() & texts.is_not_null()).unique()
    if rest.is_empty():
        return utc_times
    times = {text: parse_time(text, zone) for text in rest}
    rest_times = texts.replace_strict(times, default=None, return_dtype=pl.Datetime("us"))
    return utc_times.zip_with(utc_times.is_not_null(), rest_times)


@dataclass(frozen=True)
class Reject:
    """A rejected part of a file: the line where it begins (0: the whole file), and why."""

    line: int
    reason: str


@dataclass
class ParsedFile:
    """Content of a file: values (`LOGGED_VALUES`), rejects, number of rows without a value."""

    rows: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=LOGGED_VALUES))
    rejects: list[Reject] = field(default_factory=list)
    empty_rows: int = 0

    def reject(self, line: int, reason: str) -> None:
        """Add a reject."""
        self.rejects.append(Reject(line, reason))


_VALUES, _REJECTS = "values.parquet", "set-aside.txt"
IMPORT_FILES = (store.IMPORT_SOURCE_FILE, _VALUES, _REJECTS)


#: Columns of `read_known_values`: also the name of the file, the folder of the import below that of
#: reports, and the zone of its times.
KNOWN_VALUES = {**VALUES, "file": pl.String, "folder": pl.String, "zone": pl.String}


def read_known_values(site: Path) -> pl.DataFrame:
    """Return columns `KNOWN_VALUES` of all imports; UserError for a damaged or foreign import."""
    values = _read_all_values(site)
    folders, names = [], []
    for folder in store.import_folders(site):
        path = str(store.file_path(folder, _VALUES))
        source = require_intact_import(folder)
        files_in, options = source.get("files"), source.get("options")
        zone = str(options.get("timezone")) if isinstance(options, dict) else ""
        folders.append((path, "/".join(folder.parts[-4:]), zone))
        names += [
            (path, str(entry.get("sha256")), PurePath(str(entry.get("name"))).name)
            for entry in (files_in if isinstance(files_in, list) else ())
            if isinstance(entry, dict)
        ]
    folder_columns, name_columns = (
        dict.fromkeys(columns, pl.String)
        for columns in (("path", "folder", "zone"), ("path", "digest", "file"))
    )
    folder_rows = pl.DataFrame(folders, folder_columns, orient="row")
    name_rows = pl.DataFrame(names, name_columns, orient="row").unique(["path", "digest"])
    known = values.join(folder_rows, on="path").join(name_rows, on=["path", "digest"], how="left")
    return known.select(*VALUES, pl.col("file").fill_null(""), "folder", "zone")


def write_import(
    site: Path,
    known_rows: pl.DataFrame,
    values: pl.DataFrame,
    source: Mapping[str, Any],
    messages: list[str],
) -> tuple[Path | None, int]:
    """Write an import of those `values` that are not in `known_rows`, both columns `VALUES`.

    Return its folder, None without a new row, and the number of values that were not known; a row
    that says more of a known value is new, too.  The folder of the site is locked.
    """
    columns = [name for name in VALUES if name != "digest"]
    new_rows = values.join(known_rows, on=columns, how="anti", nulls_equal=True)
    if new_rows.is_empty():
        return None, 0
    known, all_values = map(without_repeats, (known_rows, pl.concat([known_rows, new_rows])))
    with files.draft_folder(site) as draft:
        bundle_tables.write_frame(new_rows.select(*VALUES), draft / _VALUES)
        digest = files.sha256((draft / _VALUES).read_bytes())
        text = json.dumps({"schema": 1, **source, "values": digest}, indent=1, sort_keys=True)
        (draft / store.IMPORT_SOURCE_FILE).write_text(text + "\n", encoding="utf-8")
        lines = "".join(f"{line}\n" for line in messages)
        (draft / _REJECTS).write_text(lines, encoding="utf-8")
        folder = store.add_import(draft, site, files.sha256(text.encode())[:16])
    return folder, all_values.height - known.height


def read_imports(site: Path, level: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Columns `NIGHTS`, with intervals at `level`, and `PROVENANCE`; UserError for a bad import."""
    frames = form_nights(_read_all_values(site).select(*VALUES), level)
    for row, frame in ((night_rows.Night, frames[0]), (night_rows.Fact, frames[1])):
        bundle_tables.require_valid_rows(frame, row, store.imports_folder(site))
    return frames


def _read_all_values(site: Path) -> pl.DataFrame:
    """The tables of all imports of a site, with the `path` of each; UserError as `read_values`."""
    folders = store.import_folders(site)
    for folder in folders:
        require_intact_import(folder)
    tables = [store.file_path(folder, _VALUES) for folder in folders]
    if not tables:
        return pl.DataFrame(schema={**VALUES, "path": pl.String})
    reader.require_decodable_tables(tables)
    try:  # a log that grows every night has hundreds of imports, and each call takes time
        values = pl.read_parquet(tables, glob=False, include_file_paths="path")
        _require_valid_values(values.drop("path"), store.imports_folder(site))
    except (UserError, OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        frames = [read_values(file).with_columns(path=pl.lit(str(file))) for file in tables]
        values = pl.concat(frames)
    return values


def require_intact_import(path: Path) -> dict[str, Any]:
    """Return source.json of the import in `path`; UserError if its values have another sha256."""
    source_file, values_file = (
        store.file_path(path, name) for name in (store.IMPORT_SOURCE_FILE, _VALUES)
    )
    source = files.read_json(source_file)
    if not isinstance(source, dict) or source.get("schema") != 1:
        raise UserError("not of an import: right is schema 1", source_file)
    digest = files.sha256(files.read_bytes(values_file))
    if source.get("values") != digest:
        raise UserError("not the values that source.json has the sha256 of", values_file)
    return source


def read_values(file: Path) -> pl.DataFrame:
    """Return the table of an import, columns `VALUES`; UserError for a broken or other table."""
    with bundle_tables.parquet_errors(file):
        table = pl.read_parquet(file)
    _require_valid_values(table, file)
    return table


def _require_valid_values(table: pl.DataFrame, file: Path) -> None:
    """UserError about `file` unless `table` has values as imports have."""
    if dict(table.schema) != VALUES:
        raise UserError("not a table of imported values: its columns differ", file)
    bundle_tables.require_valid_rows(table, ImportedValue, file)
    for text in table["facts"].unique():
        facts = files.parse_json(text, file)
        if not isinstance(facts, dict) or not all(isinstance(fact, str) for fact in facts.values()):
            raise UserError("facts of a session are no texts", file)


#: Columns that identify a value in all logs and reports.
_VALUE_KEY_COLUMNS = ["case_id", "metric", "unit", "value"]
_MAX_JOB_END_DELAY = pl.duration(
    minutes=1
)  # by which a job's end may seem later than its session's


def without_repeats(values: pl.DataFrame) -> pl.DataFrame:
    """Return `values`, columns `VALUES`, without repeats from other imports, logs and reports.

    A log has whole seconds, and no session; a report of data version 3 has no times of jobs.
    """
    rows = values.sort(
        pl.col("session").is_null(), pl.col("nodes") == "", "session", "digest", maintain_order=True
    ).with_columns(second=pl.col("time").dt.truncate("1s"))
    is_timed = pl.col("time").is_not_null()
    timed_rows = _first_rows(rows.filter(is_timed), *_VALUE_KEY_COLUMNS, "second").with_row_index(
        "log"
    )
    untimed_rows = _first_rows(
        rows.filter(~is_timed), *_VALUE_KEY_COLUMNS, "session"
    ).with_row_index("report")
    pairs = _equal_row_pairs(timed_rows, untimed_rows)
    merged_rows = timed_rows.join(pairs, on="log", how="left", maintain_order="left").with_columns(
        session=pl.coalesce("session", "session_reported"),
        session_end=pl.coalesce("session_end", "session_end_reported"),
        facts=pl.coalesce("facts_reported", "facts"),
        nodes=pl.when(pl.col("nodes") == "")
        .then(pl.col("nodes_reported").fill_null(""))
        .otherwise("nodes"),
    )
    unpaired_rows = untimed_rows.join(pairs, on="report", how="anti")
    merged = [merged_rows.select(*VALUES), unpaired_rows.select(*VALUES)]
    return pl.concat(merged).sort(*VALUES, nulls_last=True)


def _equal_row_pairs(logs: pl.DataFrame, reports: pl.DataFrame) -> pl.DataFrame:
    """Return pairs of equal rows of logs and of reports without times, each row at most once."""
    columns = ["session", "session_end", "nodes", "facts"]
    reported = reports.select(
        *_VALUE_KEY_COLUMNS, "report", pl.col(columns).name.suffix("_reported")
    )
    timed = logs.select(*_VALUE_KEY_COLUMNS, "log", "second", "session")
    pairs = timed.join(reported, on=_VALUE_KEY_COLUMNS, maintain_order="left")
    session, begin = pl.col("session"), pl.col("session_reported")
    end = pl.col("session_end_reported") + _MAX_JOB_END_DELAY
    is_same_session = session.is_null() | (session == begin)
    is_in_session = pl.col("second").is_between(begin.dt.truncate("1s"), end)
    pairs = _first_rows(_first_rows(pairs.filter(is_same_session, is_in_session), "log"), "report")
    return pairs.select("log", "report", *(f"{name}_reported" for name in columns))


def _first_rows(rows: pl.DataFrame, *keys: str) -> pl.DataFrame:
    return rows.unique([*keys], keep="first", maintain_order=True)


def form_nights(values: pl.DataFrame, level: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Columns `NIGHTS`, with intervals at `level`, and `PROVENANCE` of `values` (`VALUES`)."""
    moments = without_repeats(values).with_columns(moment=pl.coalesce("time", "session"))
    keys = ["case_id", "metric"]
    unique_values = night_rows.in_newest_unit(moments, keys, "moment", ["value"])
    logged_times = unique_values.filter(pl.col("session").is_null())["time"]
    day = (pl.col("time") - pl.duration(seconds=_end_of_night(logged_times))).dt.date()
    first = pl.col("time").min().over(day, pl.col("session").is_null())
    start = pl.coalesce("session", first).dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    rows = unique_values.with_columns(
        night=start,
        study=pl.lit("imported"),
        variant=pl.col("metric"),
        size_bytes=pl.lit(0, pl.Int64),
        phase=pl.lit("measure"),
    ).with_columns(pl.col("digest").min().over("night"))  # the smallest of the night's files
    keys = ["night", *night_rows.SERIES, "nodes"]
    facts = rows.group_by(keys).agg(
        pl.col("digest").first(), pl.col("lower_is_better").drop_nulls().last()
    )
    nights = (
        median_intervals(rows, keys, "value", level)
        .join(facts, on=keys, nulls_equal=True)
        .with_columns(
            launches="n", disturbed=pl.lit(0, pl.Int64), left_out=pl.lit(""), foreign=pl.lit(True)
        )
    )
    return nights.select(*night_rows.NIGHTS).sort(keys), _provenance(rows)


_DAY_S, _NOON_S = 86_400, 43_200
#: The shortest part of a day without jobs that may separate nights, seconds.
_MIN_QUIET_S = 2 * 3600


def _end_of_night(times: pl.Series) -> int:
    """When nights of jobs that ended at `times` end, in seconds since 0:00 UTC."""
    seconds = (times.dt.epoch("s") % _DAY_S).unique().sort().to_list()
    later = [*seconds[1:], *(second + _DAY_S for second in seconds[:1])]
    quiet_parts = [(end - begin, begin) for begin, end in zip(seconds, later, strict=True)]
    longest, begin = max(quiet_parts, default=(0, 0))
    at_noon = min(quiet_parts, key=lambda part: (_NOON_S - 1 - part[1]) % _DAY_S, default=(0, 0))
    if longest < max(_MIN_QUIET_S, 4 * at_noon[0]):
        return _NOON_S
    return (begin + longest // 2) % _DAY_S


def _provenance(values: pl.DataFrame) -> pl.DataFrame:
    """Return each night's facts of its session, and modules of its environments."""
    rows = set()
    sources = values.select("night", "digest", "environ", "modules", "facts").unique()
    for night, digest, environ, modules, facts in sources.iter_rows():
        rows |= {(night, digest, "", name, value) for name, value in json.loads(facts).items()}
        if modules:
            rows.add((night, digest, environ, "modules", modules))
    return pl.DataFrame(sorted(rows), schema=night_rows.PROVENANCE, orient="row")

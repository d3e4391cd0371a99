"""Reads performance logs of ReFrame 4: any format, one line a test or one line a variable.

ReFrame writes no quotes, so a text with the delimiter in it makes a row too long.  Such a row is
taken if all readings of it that fit say the same; what does not fit is set aside.
"""

from __future__ import annotations

import datetime
import io
import json

import polars as pl

from roundtrip.imported.layout import HINT, Layout, Place, parse_header
from roundtrip.imported.values import EARLIEST, LATEST, LOGGED, LONGEST, Read, parse_time

#: How many delimiters a text of a row may hold: more is taken for damage.
_MOST_EXTRA = 4
#: A name as ReFrame makes it: a class, then parameters.
_NAME = r"^[\w.:+-]+( %.+)?$"
_BAD = r"[\x00-\x08\x0A-\x1F\x7F-\x9F\x{2028}\x{2029}\x{FFFD}]"


def parse(content: bytes, zone: datetime.tzinfo = datetime.UTC) -> Read:
    """The values of a log, sorted by line; a time that names no zone is one of `zone`."""
    read = Read()
    found = []
    for layout, rows in _by_layout(_lines(content, read), read):
        whole = rows.filter(pl.col("width") == layout.width)
        found.append(_values(whole, layout, zone, read))
        for extra in range(1, _MOST_EXTRA + 1):
            longer = rows.filter(pl.col("width") == layout.width + extra)
            if longer.height:
                found.append(_too_long(longer, layout, extra, zone, read))
        other = ~pl.col("width").is_between(layout.width, layout.width + _MOST_EXTRA)
        for line, _, width in rows.filter(other).iter_rows():
            _reject(read, line, width, layout)
    read.rows = pl.concat([read.rows, *found]).sort("line", maintain_order=True)
    read.aside.sort(key=lambda one: one.line)
    return read


def _reject(read: Read, line: int, width: int, layout: Layout) -> None:
    read.reject(line, f"{width} columns; the header has {layout.width}")


def _lines(content: bytes, read: Read) -> pl.DataFrame:
    """Whole and printable lines with their numbers; the others are set aside."""
    lines = content.decode("utf-8", "replace").split("\n")
    if lines.pop():
        read.reject(len(lines) + 1, "cut off: the last line has no end")
    frame = pl.DataFrame({"text": lines}, schema={"text": pl.String}).with_row_index("line", 1)
    frame = frame.select(pl.col("line").cast(pl.Int64), pl.col("text").str.strip_chars_end("\r"))
    is_bad = frame["text"].str.contains(_BAD)
    for line, text in frame.filter(is_bad).iter_rows():
        why = "a NUL byte" if "\0" in text else "a control character"
        read.reject(line, "not UTF-8 text" if "\ufffd" in text else why)
    return frame.filter(~is_bad & (pl.col("text") != ""))


def _by_layout(lines: pl.DataFrame, read: Read) -> list[tuple[Layout, pl.DataFrame]]:
    """The rows of each layout, with their width; a log may have several headers."""
    likely = lines.with_row_index("at").filter(pl.col("text").str.contains(HINT))
    headers = [(at, found) for at, _, text in likely.iter_rows() if (found := parse_header(text))]
    first = headers[0][0] if headers else lines.height
    if first:
        why = f"{first} rows before any header, which says what their columns are"
        read.reject(lines["line"][0], why)
    parts: dict[int, tuple[Layout, list[pl.DataFrame]]] = {}
    ends = [at for at, _ in headers[1:]] + [lines.height]
    for (at, layout), end in zip(headers, ends, strict=False):
        rows = lines[at + 1 : end]
        if layout.fault and rows.height:
            read.reject(lines["line"][at], layout.fault)
        elif rows.height:
            parts.setdefault(id(layout), (layout, []))[1].append(rows)
    return [
        (
            layout,
            pl.concat(rows).with_columns(
                width=pl.col("text")
                .str.count_matches(layout.delimiter, literal=True)
                .cast(pl.Int64)
                + 1
            ),
        )
        for layout, rows in parts.values()
    ]


def _too_long(
    rows: pl.DataFrame, layout: Layout, extra: int, zone: datetime.tzinfo, read: Read
) -> pl.DataFrame:
    """Values of rows with `extra` delimiters inside one text, where only one reading fits."""
    fields = pl.col("text").str.split(layout.delimiter)
    readings = []
    for at in layout.texts():
        joined = fields.list.slice(at, extra + 1).list.join(" ")
        parts = [fields.list.head(at), pl.concat_list(joined), fields.list.slice(at + extra + 1)]
        text = pl.concat_list(*parts).list.join(layout.delimiter)
        found = _values(rows.with_columns(text=text), layout, zone, Read())
        readings.append(found.filter(pl.col("name").str.contains(_NAME)))
    values = pl.concat([read.rows, *readings]).unique(maintain_order=True)
    per_line = values.group_by("line", "metric").len()
    doubtful = per_line.filter(pl.col("len") > 1)["line"]
    values = values.filter(~pl.col("line").is_in(doubtful.implode()))
    for line, _, width in rows.filter(~pl.col("line").is_in(values["line"].implode())).iter_rows():
        _reject(read, line, width, layout)
    return values


#: What ReFrame writes for nothing.
_NOTHING = ["", "null", "None"]
_JOB = r"^[\w.,+:@\[\]-]*$"


def _values(rows: pl.DataFrame, layout: Layout, zone: datetime.tzinfo, read: Read) -> pl.DataFrame:
    """Values, columns `LOGGED`, of rows of the right width.

    A row with a cell that does not fit is set aside in `read`; rows without a value are counted.
    """
    if not rows.height:
        return pl.DataFrame(schema=LOGGED)
    table = pl.read_csv(
        io.BytesIO("\n".join(rows["text"].to_list()).encode()),
        has_header=False,
        separator=layout.delimiter,
        quote_char=None,
        infer_schema=False,
        empty_string_is_null=False,
        new_columns=[str(index) for index in range(layout.width)],
    ).insert_column(0, rows["line"])
    table = _without(table, _broken_json(table, layout), read)
    variables = _variables(layout)
    if not table.height or not variables:
        read.empty += table.height
        return pl.DataFrame(schema=LOGGED)
    tests = _tests(table, layout, zone)
    values = pl.concat([tests.hstack(table.select(one)) for one in variables])
    values = values.filter(~pl.col("raw").is_in(_NOTHING), ~pl.col("metric").is_in(_NOTHING))
    read.empty += table.height - values["line"].n_unique()
    if not values.height:
        return pl.DataFrame(schema=LOGGED)
    values = values.with_columns(value=pl.col("raw").cast(pl.Float64, strict=False))
    return _without(values, _faults(values), read).select(*LOGGED)


def _cell(place: Place) -> pl.Expr:
    """The text at `place`, null where the cell is built otherwise."""
    column = pl.col(str(place.index))
    return column.str.extract(place.pattern, place.group) if place.pattern else column


def _variables(layout: Layout) -> list[list[pl.Expr]]:
    """For each variable of a row its metric, raw value, unit and limits."""
    known = layout.known
    if "perf_value" in known and "perf_var" in known:
        places = {name.removeprefix("perf_"): place for name, place in known.items()}
        return [_variable(_cell(places["var"]), places)]
    return [
        _variable(pl.lit(name), {part: Place(index) for part, index in columns.items()})
        for name, columns in layout.wide.items()
    ]


def _variable(metric: pl.Expr, places: dict[str, Place]) -> list[pl.Expr]:
    unit = _cell(places["unit"]) if "unit" in places else pl.lit("")
    return [
        metric.fill_null("").alias("metric"),
        _cell(places["value"]).fill_null("").alias("raw"),
        pl.when(unit.is_in(_NOTHING)).then(pl.lit("")).otherwise(unit.fill_null("")).alias("unit"),
        _limit(places, "lower"),
        _limit(places, "upper"),
    ]


def _limit(places: dict[str, Place], side: str) -> pl.Expr:
    place = places.get(f"{side}_thres") or places.get(side)
    found = _cell(place).cast(pl.Float64, strict=False) if place else pl.lit(None, pl.Float64)
    return found.alias(side)


def _faults(values: pl.DataFrame) -> pl.Series:
    """Why a value is not taken; "" if it is."""
    is_long = pl.any_horizontal(
        pl.col(name).str.len_chars() > most for name, most in LONGEST.items()
    )
    who = ("name", "system", "partition", "environ")
    is_nobody = pl.any_horizontal(pl.col(name).is_in(_NOTHING) for name in who)
    reason = (
        pl.when(pl.col("value").is_null())
        .then(pl.format("{} is not a number", pl.col("metric").str.head(100)))
        .when(~pl.col("value").is_finite())
        .then(pl.format("{} is not finite", pl.col("metric").str.head(100)))
        .when(pl.col("time").is_null() | ~pl.col("time").is_between(EARLIEST, LATEST))
        .then(pl.lit("no time at which the job ended"))
        .when(is_nobody)
        .then(pl.lit("no name of the test, or not where it ran"))
        .when(~pl.col("jobid").str.contains(_JOB))
        .then(pl.lit("no number of a job"))
        .when(is_long)
        .then(pl.lit("a name that is too long"))
        .otherwise(pl.lit(""))
    )
    return values.select(reason.alias("reason"))["reason"]


def _broken_json(table: pl.DataFrame, layout: Layout) -> pl.Series:
    reason = pl.lit("")
    for index in layout.json:
        broken = [text for text in table[str(index)].unique() if not _is_json(text)]
        why = pl.lit(f"broken JSON in column {index + 1}")
        reason = pl.when(pl.col(str(index)).is_in(broken)).then(why).otherwise(reason)
    return table.select(pl.repeat("", pl.len()).alias("none"), reason.alias("reason"))["reason"]


def _is_json(text: str) -> bool:
    try:
        json.loads(text or "null")
    except (ValueError, RecursionError):
        return False
    return True


def _without(frame: pl.DataFrame, reasons: pl.Series, read: Read) -> pl.DataFrame:
    """The lines of `frame` that have no fault at all; the others go to `read`."""
    bad = frame.select("line").with_columns(reason=reasons).filter(pl.col("reason") != "")
    for line, reason in bad.unique("line", maintain_order=True).iter_rows():
        read.reject(line, reason)
    return frame.filter(~pl.col("line").is_in(bad["line"].implode())) if bad.height else frame


#: "Stream %array_mb=64 /998573a1 @tulip:cpu+gcc"; the hash and the place need not be there.
_INFO = r"^(.*?)(?: /[0-9a-f]{6,})?(?: @([^:\s]+):([^+\s]+)\+(\S+))?$"
_NAMES = ("display_name", "name", "info", "unique_name", "short_name")


def _tests(table: pl.DataFrame, layout: Layout, zone: datetime.tzinfo) -> pl.DataFrame:
    """The columns of `LOGGED` that say which test a row is of, where and when it ran, and
    ``jobid``; empty or null where the log does not say it.

    Name and place are taken from `info` where there is no column of their own.
    """

    def text(name: str) -> pl.Expr:
        found = _cell(layout.known[name]) if name in layout.known else pl.lit("")
        return found.fill_null("")

    name, info = text(next(name for name in _NAMES if name in layout.known)), text("info")
    parts = _first(info, name).str.extract_groups(_INFO).struct
    system, version = text("system"), text("version").str.strip_prefix("reframe ")
    is_version = version.str.contains(r"^[0-9][0-9A-Za-z_.+-]{0,30}$")
    facts = pl.concat_str(pl.lit('{"ReFrame": "'), version, pl.lit('"}'))
    none = pl.lit(None, pl.Datetime("us"))
    return table.select(
        "line",
        _time(table, layout, zone).alias("time"),
        none.alias("session"),
        none.alias("session_end"),
        pl.when((info == name) | (info == "")).then(parts[0]).otherwise(name).alias("name"),
        # Older releases: system "tulip:cpu".
        _first(system.str.extract("^([^:]*)"), parts[1]).alias("system"),
        _first(text("partition"), system.str.extract(":(.*)"), parts[2]).alias("partition"),
        _first(text("environ"), parts[3]).alias("environ"),
        text("job_nodelist").replace(_NOTHING, "").alias("hosts"),
        text("modules").replace(_NOTHING, "").alias("modules"),
        pl.when(is_version).then(facts).otherwise(pl.lit("{}")).alias("facts"),
        text("jobid").alias("jobid"),
    )


def _first(*texts: pl.Expr) -> pl.Expr:
    """The first text that is not empty, or ""."""
    return pl.coalesce(*(pl.when(text != "").then(text) for text in texts), pl.lit(""))


def _time(table: pl.DataFrame, layout: Layout, zone: datetime.tzinfo) -> pl.Series:
    """When the jobs ended, UTC; null where a row does not say it, or not readably."""
    nothing = pl.Series("time", [None] * table.height, dtype=pl.Datetime("us"))
    unix = layout.known.get("job_completion_time_unix")
    if unix:
        seconds = _cell(unix).cast(pl.Float64, strict=False)
        is_date = seconds.is_between(0, 2**33)
        micros = pl.when(is_date).then(seconds * 1e6).cast(pl.Int64)
        nothing = table.select(micros.cast(pl.Datetime("us")).alias("time"))["time"]
    key = next((key for key in ("job_completion_time", "asctime") if key in layout.known), None)
    if key is None or not nothing.null_count():
        return nothing
    texts = table.select(_cell(layout.known[key]).alias("text"))["text"]
    return nothing.zip_with(nothing.is_not_null(), _parsed(texts, zone))


def _parsed(texts: pl.Series, zone: datetime.tzinfo) -> pl.Series:
    """Times in any form of ISO 8601; ReFrame's usual one fast, others each different text once."""
    usual = texts.str.to_datetime("%Y-%m-%dT%H:%M:%S%:z", time_unit="us", strict=False)
    found = usual.dt.replace_time_zone(None)
    rest = texts.filter(found.is_null() & texts.is_not_null()).unique()
    if rest.is_empty():
        return found
    times = {text: parse_time(text, zone) for text in rest}
    other = texts.replace_strict(times, default=None, return_dtype=pl.Datetime("us"))
    return found.zip_with(found.is_not_null(), other)

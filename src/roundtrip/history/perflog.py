"""Reads performance logs of ReFrame in any format, with one line per test or per variable.

ReFrame does not quote, so a text that contains the delimiter makes a row too long.  Such a row is
accepted if all its valid readings agree, and rejected otherwise.
"""

from __future__ import annotations

import contextlib
import datetime
import io
import json
from collections import defaultdict
from collections.abc import Iterator

import polars as pl

from roundtrip import units
from roundtrip.history.imported_nights import (
    LOGGED_VALUES,
    MAX_LENGTHS,
    MAX_TIME,
    MIN_TIME,
    ParsedFile,
    parse_times,
)
from roundtrip.history.log_layouts import (
    HEADER_WORD_PATTERN,
    NAME_ATTRIBUTES,
    LogLayout,
    old_header,
    parse_header,
)

#: Delimiters that the text of a row may contain; a row with more counts as damaged.
_MAX_EXTRA_DELIMITERS = 4
#: ReFrame's name of a test: a class, then parameters.
_TEST_NAME_PATTERN = r"^[\w.:+-]+( %.+)?$"
_BAD_CHARACTER_PATTERN = r"[\x00-\x08\x0A-\x1F\x7F-\x9F\x{2028}\x{2029}\x{FFFD}]"


def parse(content: bytes, zone: datetime.tzinfo = datetime.UTC) -> ParsedFile:
    """Return the values of a log, sorted by line; times that name no zone are in `zone`."""
    result = ParsedFile()
    frames = []
    for layout, texts in _rows_by_layout(_split_lines(content, result), result):
        delimiters = pl.col("text").str.count_matches(layout.delimiter, literal=True)
        rows = texts.with_columns(width=delimiters.cast(pl.Int64) + 1)
        frames.append(_row_values(rows.filter(width=layout.width), layout, zone, result))
        for extra in range(1, _MAX_EXTRA_DELIMITERS + 1):
            long_rows = rows.filter(pl.col("width") == layout.width + extra)
            if long_rows.height:
                frames.append(_long_row_values(long_rows, layout, extra, zone, result))
        is_other = ~pl.col("width").is_between(layout.width, layout.width + _MAX_EXTRA_DELIMITERS)
        _reject_rows(rows.filter(is_other), layout, result)
    result.rows = pl.concat([result.rows, *frames]).sort("line", maintain_order=True)
    result.rejects.sort(key=lambda reject: reject.line)
    return result


def _reject_rows(rows: pl.DataFrame, layout: LogLayout, result: ParsedFile) -> None:
    for line, width in rows.select("line", "width").iter_rows():
        result.reject(line, f"{width} columns; the header has {layout.width}")


def _split_lines(content: bytes, result: ParsedFile) -> pl.DataFrame:
    """Return the complete printable lines with their numbers; reject the others."""
    lines = content.decode("utf-8-sig", "replace").split("\n")  # Excel writes a BOM
    if lines.pop():
        result.reject(len(lines) + 1, "cut off: the last line has no end")
    frame = pl.DataFrame({"text": lines}, schema={"text": pl.String}).with_row_index("line", 1)
    frame = frame.select(pl.col("line").cast(pl.Int64), pl.col("text").str.strip_chars_end("\r"))
    is_bad = frame["text"].str.contains(_BAD_CHARACTER_PATTERN)
    for line, text in frame.filter(is_bad).iter_rows():
        reason = "a NUL byte" if "\0" in text else "a control character"
        result.reject(line, "not UTF-8 text" if "\ufffd" in text else reason)
    return frame.filter(~is_bad & (pl.col("text") != ""))


_EXAMPLE_HEADER = (
    "job_completion_time,display_name,system,partition,environ,perf_var,perf_value,perf_unit"
)


def _rows_by_layout(
    lines: pl.DataFrame, result: ParsedFile
) -> list[tuple[LogLayout, pl.DataFrame]]:
    """The rows of each layout; a log may have several headers."""
    rows = lines.with_row_index("at").filter(pl.col("text").str.contains(HEADER_WORD_PATTERN))
    headers = [(at, header) for at, _, text in rows.iter_rows() if (header := parse_header(text))]
    first = headers[0][0] if headers else lines.height
    parts: defaultdict[LogLayout, list[pl.DataFrame]] = defaultdict(list)
    for layout, rows in _rows_without_header(lines.head(first), result):
        parts[layout].append(rows)
    ends = [index for index, _ in headers[1:]] + [lines.height]
    for (index, layout), end in zip(headers, ends, strict=False):
        rows = lines[index + 1 : end]
        if layout.fault and rows.height:
            result.reject(lines["line"][index], layout.fault)
        elif rows.height:
            parts[layout].append(rows)
    return [(layout, pl.concat(rows)) for layout, rows in parts.items()]


def _rows_without_header(
    rows: pl.DataFrame, result: ParsedFile
) -> Iterator[tuple[LogLayout, pl.DataFrame]]:
    """Yield the rows of ReFrame 2 and 3, by layout; reject the others."""
    others = []
    widths = pl.col("text").str.count_matches("|", literal=True)
    for _, part in rows.group_by(widths, maintain_order=True):
        header = old_header(part["text"][0])
        layout = parse_header(header) if header else None
        if layout and not layout.fault:
            yield layout, part
        else:
            others.append(part)
    if others:
        count = sum(part.height for part in others)
        reason = f"{units.plural(count, 'row')} without a header: right is a first line such as "
        result.reject(others[0]["line"][0], f"{reason}{_EXAMPLE_HEADER!r}")


def _long_row_values(
    rows: pl.DataFrame, layout: LogLayout, extra: int, zone: datetime.tzinfo, result: ParsedFile
) -> pl.DataFrame:
    """Return the values of rows with `extra` delimiters in one text, if their readings agree."""
    fields = pl.col("text").str.split(layout.delimiter)
    readings = []
    for index in layout.text_columns():
        head, tail = fields.list.head(index), fields.list.slice(index + extra + 1)
        text_cell = pl.concat_list(fields.list.slice(index, extra + 1).list.join(" "))
        text = pl.concat_list(head, text_cell, tail).list.join(layout.delimiter)
        reading = _row_values(rows.with_columns(text=text), layout, zone, ParsedFile())
        readings.append(reading.filter(pl.col("name").str.contains(_TEST_NAME_PATTERN)))
    values = pl.concat([result.rows, *readings]).unique(maintain_order=True)
    per_line = values.group_by("line", "metric").len()
    ambiguous_lines = per_line.filter(pl.col("len") > 1)["line"]
    values = values.filter(~pl.col("line").is_in(ambiguous_lines.implode()))
    _reject_rows(rows.filter(~pl.col("line").is_in(values["line"].implode())), layout, result)
    return values


#: ReFrame's texts for a missing value.
_EMPTY_TEXTS = ["", "null", "None"]


def _row_values(
    rows: pl.DataFrame, layout: LogLayout, zone: datetime.tzinfo, result: ParsedFile
) -> pl.DataFrame:
    """Return the values, columns `LOGGED_VALUES`, of rows of the right width.

    `result` gets a reject for each fault, and counts the rows without a value.  A faulty value
    costs no other value of its row.
    """
    if not rows.height:
        return pl.DataFrame(schema=LOGGED_VALUES)
    table = pl.read_csv(
        io.BytesIO("\n".join(rows["text"].to_list()).encode()),
        has_header=False,
        separator=layout.delimiter,
        quote_char=None,
        infer_schema=False,
        empty_string_is_null=False,
        new_columns=[str(index) for index in range(layout.width)],
    ).insert_column(0, rows["line"])
    table = _reject_faulty(table, _json_fault(table, layout), result)
    variables = _variables_of_row(layout)
    if not table.height or not variables:
        result.empty_rows += table.height
        return pl.DataFrame(schema=LOGGED_VALUES)
    tests = _test_columns(table, layout, zone)
    values = pl.concat([tests.hstack(table.select(columns)) for columns in variables])
    is_empty = pl.col("raw").is_in(_EMPTY_TEXTS) | pl.col("metric").is_in(_EMPTY_TEXTS)
    values = values.filter(~is_empty)
    result.empty_rows += table.height - values["line"].n_unique()
    values = values.with_columns(value=pl.col("raw").cast(pl.Float64, strict=False))
    return _reject_faulty(values, _value_fault(), result).select(*LOGGED_VALUES)


def _variables_of_row(layout: LogLayout) -> list[list[pl.Expr]]:
    """Return metric, raw value, unit and limits of each variable of a row."""
    attributes = layout.attributes
    variables = [(pl.lit(name), parts) for name, parts in layout.variables.items()]
    if "perf_value" in attributes and "perf_var" in attributes:
        parts = {name.removeprefix("perf_"): cell for name, cell in attributes.items()}
        variables = [(parts["var"], parts)]
    rows = []
    for metric, parts in variables:
        lower, upper = (
            parts.get(f"{side}_thres", parts.get(side, pl.lit(None))) for side in ("lower", "upper")
        )
        columns = {
            "metric": metric.fill_null(""),
            "raw": parts["value"].fill_null(""),
            "unit": parts.get("unit", pl.lit("")).fill_null("").replace(_EMPTY_TEXTS, ""),
            "lower": lower.cast(pl.Float64, strict=False),
            "upper": upper.cast(pl.Float64, strict=False),
        }
        rows.append([column.alias(name) for name, column in columns.items()])
    return rows


NO_TIME = "no time at which the job ended: right is such as 2026-11-03T01:00:00+01:00"


def _value_fault() -> pl.Expr:
    """Why a value is rejected; "" if it is accepted."""
    is_long = pl.any_horizontal(pl.col(name).str.len_chars() > n for name, n in MAX_LENGTHS.items())
    identity = pl.col("name", "system", "partition", "environ")
    is_nobody = pl.any_horizontal(identity.is_in(_EMPTY_TEXTS))
    return (
        pl.when(pl.col("value").is_null())
        .then(pl.format("{} is not a number: right is such as 1.5", pl.col("metric").str.head(100)))
        .when(~pl.col("value").is_finite())
        .then(pl.format("{} is not finite", pl.col("metric").str.head(100)))
        .when(pl.col("time").is_null() | ~pl.col("time").is_between(MIN_TIME, MAX_TIME))
        .then(pl.lit(NO_TIME))
        .when(is_nobody)
        .then(pl.lit("no name of the test, or not where it ran"))
        .when(~pl.col("jobid").str.contains(r"^[\w.,+:@\[\]-]*$"))
        .then(pl.lit("no number of a job"))
        .when(is_long)
        .then(pl.lit("a name that is too long"))
        .otherwise(pl.lit(""))
    )


def _json_fault(table: pl.DataFrame, layout: LogLayout) -> pl.Expr:
    reason: pl.Expr = pl.lit("")
    for index in layout.json_columns:
        bad_texts = [text for text in table[str(index)].unique() if not _is_json(text)]
        message = pl.lit(f"broken JSON in column {index + 1}")
        reason = pl.when(pl.col(str(index)).is_in(bad_texts)).then(message).otherwise(reason)
    return reason


def _is_json(text: str) -> bool:
    with contextlib.suppress(ValueError, RecursionError):
        json.loads(text or "null")
        return True
    return False


def _reject_faulty(frame: pl.DataFrame, fault: pl.Expr, result: ParsedFile) -> pl.DataFrame:
    """Return the rows of `frame` without a `fault`; reject the others."""
    frame = frame.with_columns(fault=fault)
    bad_rows = frame.filter(pl.col("fault") != "").select("line", "fault")
    for row in bad_rows.unique(maintain_order=True).iter_rows():
        result.reject(*row)
    return frame.filter(pl.col("fault") == "").drop("fault")


#: "Stream %array_mb=64 /998573a1 @tulip:cpu+gcc"; of ReFrame 3 "Stream on tulip:cpu using gcc".
_INFO_PATTERN = r"^(.*?)(?: /[0-9a-f]{6,})?(?: (?:@|on )([^:\s]+):([^+\s]+)(?:\+| using )(\S+))?$"


def _test_columns(table: pl.DataFrame, layout: LogLayout, zone: datetime.tzinfo) -> pl.DataFrame:
    """Return the columns of `LOGGED_VALUES` with test, place and time of each row, and ``jobid``.

    A cell is empty or null if the log lacks it.  `info` replaces missing columns of name and place.
    """

    def text(name: str) -> pl.Expr:
        return layout.attributes.get(name, pl.lit("")).fill_null("")

    name = text(next(name for name in NAME_ATTRIBUTES if name in layout.attributes))
    info = text("info")
    parts = _first_text(info, name).str.extract_groups(_INFO_PATTERN).struct
    system, version = text("system"), text("version").str.strip_prefix("reframe ")
    is_version = version.str.contains(r"^[0-9][0-9A-Za-z_.+-]{0,30}$")
    facts = pl.concat_str(pl.lit('{"ReFrame": "'), version, pl.lit('"}'))
    no_time = pl.lit(None, pl.Datetime("us"))
    return table.select(
        "line",
        _end_time(table, layout, zone).alias("time"),
        *(no_time.alias(name) for name in ("session", "session_end")),
        pl.when((info == name) | (info == "")).then(parts[0]).otherwise(name).alias("name"),
        # Older releases: system "tulip:cpu".
        _first_text(system.str.extract("^([^:]*)"), parts[1]).alias("system"),
        _first_text(text("partition"), system.str.extract(":(.*)"), parts[2]).alias("partition"),
        _first_text(text("environ"), parts[3]).alias("environ"),
        text("job_nodelist").replace(_EMPTY_TEXTS, "").alias("hosts"),
        text("modules").replace(_EMPTY_TEXTS, "").alias("modules"),
        pl.when(is_version).then(facts).otherwise(pl.lit("{}")).alias("facts"),
        text("jobid").alias("jobid"),
    )


def _first_text(*texts: pl.Expr) -> pl.Expr:
    """The first text that is not empty, or ""."""
    return pl.coalesce(*(pl.when(text != "").then(text) for text in texts), pl.lit(""))


def _end_time(table: pl.DataFrame, layout: LogLayout, zone: datetime.tzinfo) -> pl.Expr:
    """When the jobs ended, UTC; null for a missing or unreadable time."""
    cells = layout.attributes
    seconds = cells.get("job_completion_time_unix", pl.lit(None)).cast(pl.Float64, strict=False)
    is_date = seconds.is_between(0, 2**33)
    micros = pl.when(is_date).then(seconds * 1e6).cast(pl.Int64)
    time = micros.cast(pl.Datetime("us"))
    text = cells.get("job_completion_time", cells.get("asctime", pl.lit(None, pl.String)))
    texts = table.select(text=pl.when(time.is_null()).then(text))["text"]
    return pl.coalesce(time, parse_times(texts, zone))

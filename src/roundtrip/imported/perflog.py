"""Reads performance logs of ReFrame 4: any format, one line a test or one line a variable.

ReFrame writes no quotes, so a text with the delimiter in it makes a row too long.  Such a row is
taken if all readings of it that fit say the same; what does not fit is set aside.
"""

from __future__ import annotations

import datetime
import io

import polars as pl

from roundtrip.imported import cells
from roundtrip.imported import layout as layouts
from roundtrip.imported.layout import Layout
from roundtrip.imported.schema import Read, SetAside

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
            read.aside.append(_columns(line, width, layout))
    read.rows = pl.concat([read.rows, *found]).sort("line", maintain_order=True)
    read.aside.sort(key=lambda one: one.line)
    return read


def _columns(line: int, width: int, layout: Layout) -> SetAside:
    return SetAside(line, f"{width} columns; the header has {layout.width}")


def _lines(content: bytes, read: Read) -> pl.DataFrame:
    """Whole and printable lines with their numbers; the others are set aside."""
    lines = content.decode("utf-8", "replace").split("\n")
    if lines.pop():
        read.aside.append(SetAside(len(lines) + 1, "cut off: the last line has no end"))
    frame = pl.DataFrame({"text": lines}, schema={"text": pl.String}).with_row_index("line", 1)
    frame = frame.select(pl.col("line").cast(pl.Int64), pl.col("text").str.strip_chars_end("\r"))
    is_bad = frame["text"].str.contains(_BAD)
    for line, text in frame.filter(is_bad).iter_rows():
        told = "a NUL byte" if "\0" in text else "a control character"
        read.aside.append(SetAside(line, "not UTF-8 text" if "\ufffd" in text else told))
    return frame.filter(~is_bad & (pl.col("text") != ""))


def _by_layout(lines: pl.DataFrame, read: Read) -> list[tuple[Layout, pl.DataFrame]]:
    """The rows of each layout, with their width; a log may have several headers."""
    likely = lines.with_row_index("at").filter(pl.col("text").str.contains(layouts.HINT))
    headers = [(at, found) for at, _, text in likely.iter_rows() if (found := layouts.of(text))]
    first = headers[0][0] if headers else lines.height
    if first:
        told = f"{first} rows before any header, which says what their columns are"
        read.aside.append(SetAside(lines["line"][0], told))
    parts: dict[int, tuple[Layout, list[pl.DataFrame]]] = {}
    ends = [at for at, _ in headers[1:]] + [lines.height]
    for (at, layout), end in zip(headers, ends, strict=False):
        rows = lines[at + 1 : end]
        if layout.fault and rows.height:
            read.aside.append(SetAside(lines["line"][at], layout.fault))
        elif rows.height:
            parts.setdefault(id(layout), (layout, []))[1].append(rows)
    return [(layout, _widths(pl.concat(rows), layout)) for layout, rows in parts.values()]


def _widths(rows: pl.DataFrame, layout: Layout) -> pl.DataFrame:
    count = pl.col("text").str.count_matches(layout.delimiter, literal=True)
    return rows.with_columns(width=count.cast(pl.Int64) + 1)


def _values(rows: pl.DataFrame, layout: Layout, zone: datetime.tzinfo, read: Read) -> pl.DataFrame:
    """The values of rows of the right width."""
    if not rows.height:
        return read.rows.clear()
    table = _split(rows["text"], layout).insert_column(0, rows["line"])
    return cells.values(table, layout, zone, read)


def _split(texts: pl.Series, layout: Layout) -> pl.DataFrame:
    """Columns "0", "1", ... of rows that all have the right width."""
    return pl.read_csv(
        io.BytesIO("\n".join(texts.to_list()).encode()),
        has_header=False,
        separator=layout.delimiter,
        quote_char=None,
        infer_schema=False,
        empty_string_is_null=False,
        new_columns=[str(index) for index in range(layout.width)],
    )


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
        read.aside.append(_columns(line, width, layout))
    return values

"""The readers of what is imported: logs, reports and databases of ReFrame, and what is kept."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from functools import cache
from pathlib import Path

import polars as pl

from roundtrip.collect.disclosure import Disclosure
from roundtrip.collect.pseudonyms import Pseudonyms
from roundtrip.errors import UserError
from roundtrip.history import annotations as annotation_file
from roundtrip.imported import bring, perflog, store
from roundtrip.imported.values import LOGGED_VALUES, VALUES, ParsedFile, select_comparable

_DATA = Path(__file__).parents[1] / "data" / "reframe"
_NAMES = Disclosure(Pseudonyms(["nid001"], b"k" * 32))


def seeds(pattern: str) -> Callable[[], list[bytes]]:
    """The contents of the recorded files of that pattern."""
    return lambda: [file.read_bytes() for file in sorted(_DATA.glob(pattern))]


def log(content: bytes, seed: bytes, folder: Path) -> bool:
    """Whether a log is read without loss: a row that was good stays where its header stands."""
    read = perflog.parse(content)
    _sound(read)
    lines, good = content.split(b"\n")[:-1], seed.split(b"\n")
    headers = [
        line for line in lines if perflog.parse_header(line.decode(errors="replace").rstrip("\r"))
    ]
    if headers == good[:1] and lines[0] == good[0]:
        whole = perflog.parse(seed).rows["line"].unique()
        taken_from_seed = {good[line - 1] for line in whole}
        kept = {lines[line - 1] for line in read.rows["line"].unique()}
        assert set(lines) & taken_from_seed <= kept, "a good row was lost"
    return not read.rejects


def any_file(content: bytes, seed: bytes, folder: Path) -> bool:
    """Whether a report or a database is read with no fault."""
    read = bring.parse(content, datetime.UTC)
    _sound(read)
    return not read.rejects


def _sound(read: ParsedFile) -> None:
    """What was read can be kept and made into nights, and every fault is one line."""
    assert dict(read.rows.schema) == LOGGED_VALUES
    assert read.rows["value"].is_finite().all()
    for fault in read.rejects:
        assert len(f"{UserError(fault.reason, 'x', fault.line)}".splitlines()) == 1
    rows = read.rows.with_columns(source=pl.lit(0), digest=pl.lit("0"))
    values, _ = select_comparable(rows, (), ())
    found, provenance = store.form_nights(bring.stored_rows(values, _NAMES))
    assert found.height <= values.height
    assert not found["median"].null_count() and not provenance["value"].null_count()


_ANNOTATIONS = """- from: 2026-11-03
  to: 2026-11-05
  text: the cooling failed
  series: "NetPIPE/*@x:*"
  leave_out: true
- from: 2026-11-07T01:00:00Z
  text: a new kernel
  kind: change
"""


def annotation_seeds() -> list[bytes]:
    """One good file."""
    return [_ANNOTATIONS.encode()]


def annotated(content: bytes, seed: bytes, folder: Path) -> bool:
    """Whether the annotations are some; then they can be said of nights."""
    file = folder / annotation_file.FILE_NAME
    file.write_bytes(content)
    found = annotation_file.load(file)
    night = {"night": ["2026-11-04T00:00:00Z"], "case_id": ["NetPIPE/@x:y+z"], "left_out": [""]}
    annotation_file.mark(pl.DataFrame(night), found)
    annotation_file.notes(night["night"], found)
    return True


@cache
def _values() -> bytes:
    import io

    read = bring.parse((_DATA / "4.10.4-default" / "results.db").read_bytes(), datetime.UTC)
    rows = read.rows.with_columns(source=pl.lit(0), digest=pl.lit("0"))
    table = bring.stored_rows(select_comparable(rows, (), ("widgets",))[0], _NAMES)
    written = io.BytesIO()
    table.select(*VALUES).write_parquet(written)
    return written.getvalue()


def values_seeds() -> list[bytes]:
    """The table of one import."""
    return [_values()]


def values(content: bytes, seed: bytes, folder: Path) -> bool:
    """Whether the table of an import is one; nights can be made of it then."""
    file = folder / "values.parquet"
    file.write_bytes(content)
    store.form_nights(store.read_values(file))
    return True

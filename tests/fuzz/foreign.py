"""The readers of what others wrote: logs, reports and databases of ReFrame, what is kept of them,
and what upstream programs print.
"""

import datetime
import io
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path

import polars as pl

from fuzz.mutate import written
from roundtrip.errors import UserError
from roundtrip.history import annotations as annotation_file
from roundtrip.history import imported_nights, importer, log_layouts, perflog
from roundtrip.history.imported_nights import LOGGED_VALUES, VALUES, ParsedFile
from roundtrip.history.screening import select_comparable
from roundtrip.measure import samples
from roundtrip.measure.disclosure import Redactor
from roundtrip.measure.pseudonyms import Pseudonyms
from roundtrip.studies.netpipe import output as netpipe_output
from roundtrip.studies.npb import derived as npb_derived
from roundtrip.studies.osu import output as osu_output

_DATA = Path(__file__).parents[1] / "data" / "reframe"
_NAMES = Redactor(Pseudonyms(["nid001"], b"k" * 32))


def log(content: bytes, seed: bytes, folder: Path) -> bool:
    """Whether a log is read without loss: a row that was good stays where its header stands."""
    parsed_file = perflog.parse(content)
    _sound(parsed_file)
    lines, seed_lines = content.split(b"\n")[:-1], seed.split(b"\n")
    headers = [
        line
        for line in lines
        if log_layouts.parse_header(line.decode(errors="replace").rstrip("\r"))
    ]
    if headers == seed_lines[:1] and lines[0] == seed_lines[0]:
        seed_numbers = perflog.parse(seed).rows["line"].unique()
        seed_rows = {seed_lines[line - 1] for line in seed_numbers}
        content_rows = {lines[line - 1] for line in parsed_file.rows["line"].unique()}
        assert set(lines) & seed_rows <= content_rows, "a good row was lost"
    return not parsed_file.rejects


def any_file(content: bytes, seed: bytes, folder: Path) -> bool:
    """Whether a report or a database is read with no fault."""
    parsed_file = importer.parse(content, datetime.UTC)
    _sound(parsed_file)
    return not parsed_file.rejects


def _sound(parsed_file: ParsedFile) -> None:
    """What was read can be kept and made into nights, and every fault is one line."""
    assert dict(parsed_file.rows.schema) == LOGGED_VALUES
    assert parsed_file.rows["value"].is_finite().all()
    for fault in parsed_file.rejects:
        assert len(f"{UserError(fault.reason, 'x', fault.line)}".splitlines()) == 1
    rows = parsed_file.rows.with_columns(source=pl.lit(0), file=pl.lit("x"), digest=pl.lit("0"))
    values, _ = select_comparable(rows, (), ())
    nights, provenance = imported_nights.form_nights(
        importer.pseudonymized_rows(values, _NAMES), 0.95
    )
    assert nights.height <= values.height
    assert not nights["median"].null_count() and not provenance["value"].null_count()


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
    entries = annotation_file.load(written(content, folder / annotation_file.FILE_NAME))
    night = {"night": ["2026-11-04T00:00:00Z"], "case_id": ["NetPIPE/@x:y+z"], "left_out": [""]}
    annotation_file.set_left_out(pl.DataFrame(night), entries)
    annotation_file.notes_on_nights(night["night"], entries)
    return True


@cache
def values_seeds() -> list[bytes]:
    """The table of one import."""
    parsed_file = importer.parse(
        (_DATA / "4.10.4-default" / "results.db").read_bytes(), datetime.UTC
    )
    rows = parsed_file.rows.with_columns(source=pl.lit(0), file=pl.lit("x"), digest=pl.lit("0"))
    table = importer.pseudonymized_rows(select_comparable(rows, (), ("widgets",))[0], _NAMES)
    buffer = io.BytesIO()
    table.select(*VALUES).write_parquet(buffer)
    return [buffer.getvalue()]


def values(content: bytes, seed: bytes, folder: Path) -> bool:
    """Whether the table of an import is one; nights can be made of it then."""
    imported_nights.form_nights(
        imported_nights.read_values(written(content, folder / "values.parquet")), 0.95
    )
    return True


def netpipe(content: bytes, seed: bytes, folder: Path) -> bool:
    file = written(content, folder / "np.out")
    points = netpipe_output.convert_output(file, "NPmpi", 2, hosts=[])
    assert [point.size_bytes for point in points] == [
        size for size, _ in zip(netpipe_output.SizeSchedule().sizes(), points, strict=False)
    ], "a line is missing"
    samples.read_rows(folder / "samples.csv")
    return True


def npb(content: bytes, seed: bytes, folder: Path) -> bool:
    npb_derived.convert_output(written(content, folder / "rfm_job.out"), "cg.A.x", hosts=[])
    samples.read_rows(folder / "samples.csv")
    return True


def osu(name: str) -> Callable[[bytes, bytes, Path], bool]:
    def check(content: bytes, seed: bytes, folder: Path) -> bool:
        output = osu_output.parse_output(written(content, folder / "osu.txt"), name)
        sizes = [row.size_bytes for row in output.rows]
        assert all(after == max(1, 2 * before) for before, after in pairwise(sizes))
        return True

    return check

"""What ReFrame 4.0 to 4.10 wrote is read whole; tables that somebody changed; directions."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.history import imported_nights, importer
from roundtrip.history.imported_nights import VALUES
from roundtrip.history.screening import lower_is_better
from roundtrip.measure import store

TEXT = dict.fromkeys((name for name, kind in VALUES.items() if kind == pl.String), "x")
ROW: dict[str, Any] = {
    **dict.fromkeys(VALUES),
    **TEXT,
    "time": datetime(2026, 11, 3),
    "facts": '{"version": "4.10.4"}',
    "value": 1.5,
    "lower_is_better": True,
}


def write(folder: Path, **changes: Any) -> Path:
    row = {**ROW, **changes}
    kinds = {name: VALUES.get(name, pl.String) for name in row}
    pl.DataFrame([row], schema=kinds).write_parquet(folder / "values.parquet")
    return folder / "values.parquet"


def test_a_table_that_an_import_may_have_written_is_taken(tmp_path: Path) -> None:
    assert imported_nights.read_values(write(tmp_path)).rows(named=True) == [ROW]
    session_times = {"time": None, "session": datetime(2026, 11, 3)}
    assert imported_nights.read_values(write(tmp_path, **session_times)).height == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"more": "x"}, "its columns differ"),
        ({"metric": None}, "metric is empty where it cannot be"),
        ({"value": float("inf")}, "value 'inf' is not from 0"),
        ({"time": None}, "is not the time of a value"),
        ({"facts": "[]"}, "facts of a session are no texts"),
        ({"facts": '{"version": 4}'}, "facts of a session are no texts"),
        ({"facts": "{"}, "not JSON"),
    ],
)
def test_another_table_is_refused(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        imported_nights.read_values(write(tmp_path, **changes))


def test_of_many_imports_the_faulty_one_is_named(tmp_path: Path) -> None:
    for name, changes in (("a", {}), ("b", {"facts": "["}), ("c", {})):
        folder = store.imports_folder(tmp_path) / name
        folder.mkdir(parents=True)
        digest = files.sha256(write(folder, **changes).read_bytes())
        source = json.dumps({"schema": 1, "values": digest})
        (folder / store.IMPORT_SOURCE_FILE).write_text(source)
    with pytest.raises(UserError, match="imported/b/values.parquet:1: not JSON"):
        imported_nights.read_imports(tmp_path, 0.95)


@pytest.mark.parametrize(("size", "part"), [(1000, 1000), (1000, 300), (1001, 1001), (1001, 300)])
def test_a_file_is_unpacked_up_to_the_limit(
    monkeypatch: pytest.MonkeyPatch, size: int, part: int
) -> None:
    monkeypatch.setattr(importer, "_MAX_FILE_BYTES", 1000)
    text = b"x" * size
    parts = (text[start : start + part] for start in range(0, size, part))
    content, fault = importer._gunzip(b"".join(map(gzip.compress, parts)))
    if size > 1000:
        assert content == b"" and fault is not None and fault.reason.startswith("too large")
    else:
        assert (content, fault) == (text, None)


LOWER = ["s", "us", "µs", "ms", "ns", "sec", "seconds", "min", "us/op", "s/iteration", "hours"]
HIGHER = ["MB/s", "GB/s", "Mop/s", "1/s", "GFLOPS", "Gflop/s", "ns/day", "MHz", "Gbps", "tokens/s"]
HIGHER += ["ns/d", "ns per day", "msg per second"]
LOWER += ["usec", "msecs", "mins", "hr", "s per step"]
NEITHER = ["", "%", "W", "J", "widgets", "MB", "shops"]


def test_less_time_is_better_more_rate_is_better_other_units_say_nothing() -> None:
    units = [*LOWER, *HIGHER, *NEITHER]
    directions = {unit: lower_is_better("x", unit, None, None) for unit in units}
    assert directions == {
        **dict.fromkeys(LOWER, True),
        **dict.fromkeys(HIGHER, False),
        **dict.fromkeys(NEITHER),
    }


def test_a_reference_with_one_limit_goes_before_the_unit() -> None:
    assert lower_is_better("x", "s", -0.1, None) is False
    assert lower_is_better("x", "W", None, 0.1) is True
    assert lower_is_better("x", "W", -0.1, 0.1) is None


def test_what_the_user_says_comes_first() -> None:
    assert lower_is_better("x_1", "MB/s", -0.1, None, lower_globs=["x_*"]) is True
    assert lower_is_better("y", "s", None, None, higher_globs=["y"]) is False


DATA = Path(__file__).parents[1] / "data" / "reframe"
#: Values of `Stream` (2 sizes, 2 environments, 3 variables, 2 sessions) and of `Latency`, where its
#: second session failed; elsewhere that has values too.
COUNTS = dict.fromkeys(("4.3.3-oneline", "4.7.4-compat", "4.10.4-csv", "4.10.4-multiline"), 24 + 3)
STREAM = {("Stream %array_mb=8", "gcc"), ("Stream %array_mb=8", "clang")}
STREAM |= {("Stream %array_mb=64", "gcc"), ("Stream %array_mb=64", "clang")}


def read(kind: str, pattern: str) -> list[importer.Source]:
    files = sorted((DATA / kind).glob(pattern))
    assert files
    return list(importer.read_sources(files, UTC))


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [
        (folder.name, pattern)
        for folder in sorted(DATA.glob("4.*"))
        for pattern in ("*.log*", "*.json", "*.db")
        if any(folder.glob(pattern))
    ],
)
def test_every_value_is_read(kind: str, pattern: str) -> None:
    sources = read(kind, pattern)
    assert not [reject for source in sources for reject in source.parsed.rejects]
    assert sum(source.parsed.rows.height for source in sources) == COUNTS.get(kind, 24 + 3 + 4)
    for source in sources:
        assert (source.parsed.rows["system"] == "tulip").all()
        assert (source.parsed.rows["partition"] == "cpu").all()
        stream = source.parsed.rows.filter(metric="copy")
        assert set(stream.select("name", "environ").rows()) <= STREAM
        assert stream["value"].is_between(20_000, 22_000).all()
        assert (stream["unit"] == "MB/s").all()
        assert (stream["lower"] == -0.9).all() and not stream["upper"].count()
        assert (source.parsed.rows.filter(metric="startup")["upper"] == 5).all()


@pytest.mark.parametrize("kind", ["4.6.3-default", "4.10.4-default"])
def test_logs_and_reports_say_the_same(kind: str) -> None:
    keys = ["name", "environ", "metric", "value", "unit"]
    logs, reports = (
        {row for source in read(kind, pattern) for row in source.parsed.rows.select(keys).rows()}
        for pattern in ("*.log*", "*.json")
    )
    assert logs == reports


def test_a_description_with_the_delimiter_in_it_costs_no_row() -> None:
    content = (DATA / "4.10.4-default" / "Stream.log").read_text().splitlines()
    assert {line.count("|") for line in content[1:]} == {content[0].count("|") + 1}
    (source,) = read("4.10.4-default", "Stream.log")
    assert source.parsed.rows["line"].n_unique() == 8


def test_rows_of_failed_tests_are_counted() -> None:
    (latency,) = read("4.10.4-multiline", "Latency.log")
    assert latency.parsed.empty_rows == 4
    assert latency.parsed.rows.height == 3

"""Bundles that somebody wrote over, manifest and all: one line, never a traceback."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.bundles import rewrite_table, set_column
from support.json_files import content, edit
from support.synthetic import SyntheticTree

from roundtrip.content import data
from roundtrip.errors import UserError
from roundtrip.measure import bundle, bundle_tables
from roundtrip.report import publish

ENVIRON = "openmpi41-boost181"


@pytest.mark.parametrize(
    ("table", "change", "complaint"),
    [
        ("points", set_column("launch", "another"), "which is no launch that passed"),
        ("points", set_column("study", "another"), "which is no launch that passed"),
        ("points", set_column("case", None), "case is empty where it cannot be"),
        ("points", set_column("variant", "a\nb"), "is not a text of 1 to 200 printable"),
        ("points", set_column("variant", "x" * 5000), "is not a text of 1 to 200 printable"),
        ("points", set_column("size_bytes", -1), "size_bytes '-1' is not from 0"),
        ("points", set_column("samples", None), "samples 'None' is not from 0"),
        ("points", set_column("batch", -1), "batch '-1' is not from 0"),
        ("points", set_column("median_s", float("nan")), "median_s 'nan' is not from 0"),
        ("points", set_column("median_s", float("inf")), "median_s 'inf' is not from 0"),
        ("points", lambda frame: frame.drop("case"), "missing columns: case"),
        ("points", lambda frame: frame.cast({"batch": pl.Float64}), "columns of other types"),
        ("points", lambda frame: frame.with_columns(more=1), "unexpected columns: more"),
        ("parameters", set_column("launch", "another"), "which is no launch of cases"),
        ("parameters", set_column("name", "same"), "a name has two rows for one launch"),
        ("parameters", set_column("name", None), "name is empty where it cannot be"),
        ("parameters", set_column("value", "x" * 100_000), "is not a text of up to 20000"),
        ("parameters", set_column("value", None), "value is empty where it cannot be"),
        ("parameters", set_column("number", float("nan")), "is not a finite number"),
        ("emulation", lambda frame: frame.clear(), "emulated is not as emulation.parquet"),
        ("emulation", set_column("number", None), "number 'None' is not from 0 to"),
        ("emulation", set_column("number", -1.0), "number '-1.0' is not from 0 to"),
        ("placement", set_column("launch", None), "launch is empty where it cannot be"),
        ("placement", set_column("rank", -1), "rank '-1' is not from 0"),
        ("placement", set_column("host", "a b"), "host 'a b' is not a name of a host"),
        ("placement", set_column("cpus", [None]), "is not a list, each a whole number"),
        ("nodes", set_column("launch", "another"), "which is no launch of cases"),
        ("nodes", set_column("host", "a b"), "host 'a b' is not a name of a host"),
        ("nodes", set_column("kernel", "a\nb"), "is not a text of 1 to 1000 printable"),
        ("nodes", set_column("adapters", [None]), "is not a list, each a text of 1 to 1000"),
        ("disturbance", set_column("core_migrations", -1), "core_migrations '-1' is not from 0"),
        ("disturbance", set_column("launch", "another"), "which is no launch of cases"),
        ("cases", set_column("emulated", False), "emulated is not as emulation.parquet"),
        ("cases", set_column("steal_s", -0.5), "steal_s '-0.5' is not from 0"),
        ("cases", set_column("load_average_end", [-1.0]), "is not a list, each from 0"),
        ("cases", set_column("hosts", ["a\nb"]), "is not a list, each a name of a host"),
        ("cases", set_column("launch", "same"), "a launch has two rows"),
        ("cases", set_column("study", None), "study is empty"),
        ("cases", set_column("hosts", None), "hosts is empty"),
        ("cases", set_column("status", "fine"), "no launch completed"),
        ("cases", set_column("ranks", -1), "ranks '-1' is not from 1"),
        ("cases", set_column("elapsed_s", float("nan")), "elapsed_s 'nan' is not from 0"),
        ("cases", lambda frame: frame.clear(), "no launch completed"),
        ("samples", set_column("value", float("inf")), "rows that no launch can have measured"),
        ("samples", set_column("value", -1.0), "rows that no launch can have measured"),
        ("samples", set_column("value", None), "rows that no launch can have measured"),
        ("samples", set_column("unit", "parsec"), "rows that no launch can have measured"),
        ("samples", set_column("size_bytes", -1), "rows that no launch can have measured"),
        ("samples", set_column("launch", "another"), "which is no launch that passed"),
        ("samples", lambda frame: frame.drop("value"), "missing columns: value"),
        ("samples", lambda frame: frame.cast({"value": pl.Float32}), "columns of other types"),
        ("medians", set_column("low", 9.0), "low '9.0' is not the lower end of an interval"),
        ("medians", set_column("median", None), "median 'None' is not from 0"),
        ("medians", set_column("high", 9.0), "low 'None' is not the lower end of an interval"),
        ("medians", set_column("unit", "parsec"), "unit 'parsec' is not the unit of the metric"),
        ("medians", set_column("samples", 0), "samples '0' is not from 1"),
        ("medians", set_column("variant", "a\nb"), "is not a text of 1 to 200 printable"),
        ("medians", set_column("launch", "another"), "which is no launch that passed"),
        ("medians", lambda frame: pl.concat([frame, frame]), "a series has two rows for one la"),
        ("medians", lambda frame: frame.head(3), "not the medians of the samples"),
        ("medians", set_column("nodes", "node9"), "not the medians of the samples"),
        ("medians", set_column("samples", 4), "not the medians of the samples"),
        ("medians", lambda frame: frame.with_columns(pl.col("median") * 1.0001), "not the medians"),
        ("medians", lambda frame: frame.drop("nodes"), "missing columns: nodes"),
    ],
)
def test_a_forged_table_with_a_matching_manifest_is_one_line(
    forgery: Path, table: str, change: Callable[[pl.DataFrame], pl.DataFrame], complaint: str
) -> None:
    rewrite_table(forgery, change, table)
    with pytest.raises(UserError, match=complaint) as error:
        data.read_bundle(forgery)
    assert "\n" not in str(error.value)
    table_name = "cases" if table == "emulation" and "emulated" in complaint else table
    assert error.value.file is not None and f"{table_name}.parquet" in error.value.file


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("schema", 3), ("git", []), ("tools", 1), ("started", 7), ("files", {})),
        *(("campaign", "../x"), ("more", 1)),
    ],
)
def test_a_forged_manifest_is_one_line(forgery: Path, key: str, value: Any) -> None:
    edit(forgery / "manifest.json", **{key: value})
    with pytest.raises(UserError, match=key):
        publish.publish(forgery, forgery.parent)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("forged") / "run"
    tree = SyntheticTree(path, launches=6, environs=(ENVIRON,), samples=3, sizes=[1, 64])
    tree.extras = {"emulated": {"wan_rtt_ms": 2}}
    return bundle.build_bundle(tree.write().path)


@pytest.fixture
def forgery(built: Path) -> Iterator[Path]:
    """A bundle to write over; it is put right after the test."""
    contents = {file: file.read_bytes() for file in built.iterdir() if file.is_file()}
    yield built
    for file, saved in contents.items():
        file.write_bytes(saved)


def test_a_table_of_too_many_rows_is_not_read(
    forgery: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pl.read_parquet(forgery / "points.parquet").height
    monkeypatch.setattr(bundle_tables, "_MAX_ROWS", rows - 1)
    with pytest.raises(UserError, match=rf"points.parquet: {rows} rows; right are at most"):
        data.read_bundle(forgery)


def test_a_table_that_the_manifest_does_not_list_is_missing(forgery: Path) -> None:
    with content(forgery / "manifest.json") as facts:
        del facts["files"]["points.parquet"]
    (forgery / "points.parquet").unlink()
    with pytest.raises(UserError, match=r"points.parquet: missing"):
        data.read_bundle(forgery)

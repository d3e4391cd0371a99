"""Bundles that somebody wrote over, manifest and all: one line, never a traceback."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.bundles import rewritten
from support.synthetic import Tree

from roundtrip.collect import bundle
from roundtrip.errors import UserError
from roundtrip.report import data, publish

ENVIRON = "openmpi41-boost181"


def set_of(name: str, value: Any) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda frame: frame.with_columns(pl.lit(value, frame.schema[name]).alias(name))


@pytest.mark.parametrize(
    ("table", "change", "complaint"),
    [
        ("cases", set_of("points", "[1]"), "points: "),
        ("cases", set_of("points", '[{"case": "a"}]'), "points: one lacks"),
        ("cases", set_of("points", "nope"), "points: "),
        ("cases", set_of("parameters", "[" * 100_000), "nested more than"),
        ("cases", set_of("parameters", "[]"), "column parameters, whole"),
        ("cases", set_of("clock", '{"resolution_s": "x"}'), "column clock, resolution_s"),
        ("cases", set_of("emulated", "3"), "column emulated"),
        ("cases", set_of("launch", "same"), "stands there twice"),
        ("cases", set_of("study", None), "study is empty"),
        ("cases", set_of("hosts", None), "hosts is empty"),
        ("cases", set_of("status", "fine"), "no launch came back"),
        ("cases", set_of("ranks", -1), "ranks is not between"),
        ("cases", set_of("elapsed_s", float("nan")), "elapsed_s is not between"),
        ("cases", lambda frame: frame.clear(), "no launch came back"),
        ("samples", set_of("value", float("inf")), "rows that no launch can have measured"),
        ("samples", set_of("value", -1.0), "rows that no launch can have measured"),
        ("samples", set_of("value", None), "rows that no launch can have measured"),
        ("samples", set_of("unit", "parsec"), "rows that no launch can have measured"),
        ("samples", set_of("size_bytes", -1), "rows that no launch can have measured"),
        ("samples", set_of("launch", "another"), "which is no launch that passed"),
        ("samples", lambda frame: frame.drop("value"), "other columns"),
        ("samples", lambda frame: frame.cast({"value": pl.Float32}), "other columns"),
    ],
)
def test_a_forged_table_with_a_matching_manifest_is_one_line(
    forgery: Path, table: str, change: Callable[[pl.DataFrame], pl.DataFrame], complaint: str
) -> None:
    file = forgery / f"{table}.parquet"
    before, listing = file.read_bytes(), (forgery / "manifest.json").read_bytes()
    try:
        rewritten(forgery, change, table)
        with pytest.raises(UserError, match=complaint) as caught:
            data.read(forgery)
        assert "\n" not in str(caught.value)
        assert caught.value.file is not None and f"{table}.parquet" in caught.value.file
    finally:
        file.write_bytes(before)
        (forgery / "manifest.json").write_bytes(listing)


@pytest.mark.parametrize(
    ("key", "value"),
    [("git", []), ("tools", 1), ("started", 7), ("files", {}), ("campaign", "../x"), ("more", 1)],
)
def test_a_forged_manifest_is_one_line(forgery: Path, key: str, value: Any) -> None:
    file = forgery / "manifest.json"
    before = file.read_bytes()
    try:
        file.write_text(json.dumps({**json.loads(before), key: value}))
        with pytest.raises(UserError, match=key):
            publish.publish(forgery, forgery.parent)
    finally:
        file.write_bytes(before)


@pytest.fixture(scope="module")
def forgery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle to write over, and to put right again."""
    path = tmp_path_factory.mktemp("forged") / "run"
    tree = Tree(path, launches=6, environs=(ENVIRON,), samples=3, sizes=[1, 64])
    return bundle.build(tree.write().path)

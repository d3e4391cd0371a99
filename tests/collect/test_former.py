"""Bundles of schema 1 are reported as ever: their JSON becomes the tables of schema 2."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.bundles import FORMER, of_schema_2, rewritten

from roundtrip.errors import UserError
from roundtrip.report import data, html, markdown, publish
from roundtrip.report.build import build


def without_files(text: str) -> str:
    """Without what names the bundle's files: its digest, and the list with their checksums."""
    text = re.sub(r"[0-9a-f]{64}|[0-9a-f]{16}", "digest", text)
    return re.sub(r"(?m)^.*\.(parquet|toml|json|py)\b.*digest.*\n", "", text)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "ring",
            [
                "needs ranks on several nodes",
                "launch 5 of 5: 4 of 5 launches came back, 2 failed",  # as it is recorded there
            ],
        ),
        ("wan", ["EMULATED WAN: RTT 2 ms", "0 on node1: 0; 1 on node1: 1"]),
    ],
)
def test_the_report_is_that_of_the_same_launches_in_tables(
    name: str, told: list[str], tmp_path: Path
) -> None:
    former = data.read(FORMER / name)
    latter = data.read(of_schema_2(FORMER / name, tmp_path / name))
    assert (former.manifest.data["schema"], latter.manifest.data["schema"]) == (1, 2)
    for table in ("launches", "points", "placement"):
        assert getattr(former, table).equals(getattr(latter, table)), table
    assert former.details.keys() == latter.details.keys()
    assert all(former.details[one].equals(latter.details[one]) for one in former.details)
    reports = [build(former), build(latter)]
    for render in (markdown.render, html.render):
        one, other = (without_files(render(report)) for report in reports)
        assert one == other
    text = markdown.render(reports[0]).replace("\N{NO-BREAK SPACE}", " ")
    assert [one for one in told if one not in text] == []


def test_a_published_one_is_rebuilt_byte_for_byte(tmp_path: Path) -> None:
    revision = publish.publish(FORMER / "wan", tmp_path)
    assert (revision / "bundle" / "cases.parquet").read_bytes() == (
        FORMER / "wan" / "cases.parquet"
    ).read_bytes()
    assert publish.verify(revision) == []


def set_of(name: str, value: Any) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda frame: frame.with_columns(pl.lit(value, frame.schema[name]).alias(name))


def with_finding(frame: pl.DataFrame) -> pl.DataFrame:
    texts = []
    for text in frame["points"].to_list():
        points = json.loads(text or "[]")
        finding = {"call": "MPI_Pack", "error": "refused", "consequence": "left out"}
        texts.append(json.dumps([{**point, "finding": finding, "inner": 3} for point in points]))
    return frame.with_columns(points=pl.Series(texts))


def test_a_refused_call_is_kept(tmp_path: Path) -> None:
    copy = rewritten(Path(shutil.copytree(FORMER / "wan", tmp_path / "b")), with_finding)
    (told,) = data.read(copy).points.select("finding_call", "inner").unique().rows()
    assert told == ("MPI_Pack", 3)


def test_one_from_before_a_column_is_still_read(tmp_path: Path) -> None:
    added = ["details", "campaign_round", "wanted", "sealed"]
    copy = Path(shutil.copytree(FORMER / "ring", tmp_path / "b"))
    read = data.read(rewritten(copy, lambda frame: frame.drop(added)))
    assert read.details == {}
    assert read.launches["sealed"].null_count() == read.launches.height


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (set_of("points", "[1]"), "column points: error"),
        (set_of("points", '[{"case": "a"}]'), "variant 'None' is not a text"),
        (set_of("points", "nope"), "json"),
        (set_of("parameters", "[" * 100_000), "nested more than"),
        (set_of("parameters", "[]"), "column parameters, whole"),
        (set_of("clock", '{"resolution_s": "x"}'), "column clock, resolution_s"),
        (set_of("emulated", "3"), "column emulated"),
        (set_of("disturbance", '{"core_migrations": [-1]}'), "column disturbance"),
        (set_of("launch", "same"), "stands there twice"),
        (set_of("hosts", None), "hosts is empty"),
        (set_of("case_id", None), "case_id|rows of"),
        (lambda frame: frame.drop("points"), "other columns"),
        (lambda frame: frame.with_columns(points=pl.lit(1)), "other columns"),
    ],
)
def test_a_forged_one_is_one_line(
    tmp_path: Path, change: Callable[[pl.DataFrame], pl.DataFrame], complaint: str
) -> None:
    copy = rewritten(Path(shutil.copytree(FORMER / "wan", tmp_path / "b")), change)
    with pytest.raises(UserError, match=f"(?i){complaint}") as caught:
        data.read(copy)
    assert "\n" not in str(caught.value)
    assert caught.value.file is not None and "cases.parquet" in caught.value.file

"""The points of a bundle: a row each, typed, of the launches that completed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import polars as pl
from support.hosts import pseudonym

from roundtrip.collect import bundle
from roundtrip.collect.bundle_rows import POINTS
from roundtrip.report import data

ENVIRON = "openmpi41-boost181"


def test_points_are_a_typed_table(make_tree: Callable[..., Any]) -> None:
    tree = make_tree(launches=2, environs=(ENVIRON,))
    tree.fail(2, ENVIRON)
    (file,) = tree.path.glob("rounds/001/output/*/*/*/*/run.json")
    recorded = json.loads(file.read_text())["points"]
    found = data.read(bundle.build(tree.path)).points
    assert dict(found.schema) == POINTS
    for name in ("case", "variant", "size_bytes", "samples", "status", "batch", "median_s"):
        assert found[name].to_list() == [point[name] for point in recorded]
    assert found["verified"].to_list() == [point["verified"] for point in recorded]
    assert found.select("launch", "study").unique().rows() == [
        (f"001/{ENVIRON}/NetPIPE_ping", "netpipe")
    ]
    slow = found.filter((pl.col("status") == "budget") & (pl.col("samples") > 0))
    assert slow["median_s"].min() > found["median_s"].min()


def test_what_a_library_made_of_a_legal_call_stands_in_the_row(
    make_tree: Callable[..., Any],
) -> None:
    tree = make_tree(launches=1, environs=(ENVIRON,))
    (file,) = tree.path.glob("rounds/*/output/*/*/*/*/run.json")
    run = json.loads(file.read_text())
    told = {"call": "MPI_Pack", "error": "MPI_ERR_ARG on thunderbolt", "consequence": "left out"}
    run["points"][0] |= {"finding": told, "inner": 7}
    file.write_text(json.dumps(run))
    found = data.read(bundle.build(tree.path)).points
    (row,) = found.drop_nulls("finding_call").iter_rows(named=True)
    assert (row["inner"], row["finding_error"]) == (7, f"MPI_ERR_ARG on {pseudonym()}")
    assert row["finding_consequence"] == "left out"

"""The seal of samples.csv, in run.json under `samples`: whether these are the rows as written.

The workload writes it: ``rows``; ``sha256`` of the file; ``counts``, the number of samples of each
series.  `SERIES` are the columns that identify a series.  Older launches have only ``rows``.
"""

from __future__ import annotations

import hashlib
from typing import Any

import polars as pl

SERIES = ["case", "variant", "size_bytes", "phase", "metric"]


def of(content: bytes, frame: pl.DataFrame) -> dict[str, Any]:
    """The seal of a samples.csv with this content and these rows."""
    counts = frame.group_by(SERIES, maintain_order=True).agg(samples=pl.len())
    return {"rows": frame.height, "sha256": digest(content), "counts": counts.to_dicts()}


def digest(content: bytes) -> str:
    """The sha256 of `content` in hexadecimal, as in the seal."""
    return hashlib.sha256(content).hexdigest()


def digest_of_rows(content: bytes) -> str:
    """The sha256 of the rows of a samples.csv, without its head, which says when it was written."""
    rows = b"".join(line for line in content.splitlines(True) if not line.startswith(b"#"))
    return digest(rows)


def is_whole(declared: dict[str, Any]) -> bool:
    """Whether `samples` of a run.json is a full seal, and not only the number of rows."""
    return "sha256" in declared and "counts" in declared


def fault(found: str, frame: pl.DataFrame, declared: dict[str, Any]) -> str:
    """How the rows differ from the seal `declared`; "" if they do not.

    `found` is the digest of the file, `frame` has its rows, with the columns of samples.csv.
    """
    if frame.height != declared["rows"]:
        return f"samples.csv has {frame.height} rows, run.json says {declared['rows']}"
    counted = frame.group_by(SERIES, maintain_order=True).agg(
        samples=pl.len(), in_order=(pl.col("rep") == pl.int_range(pl.len())).all()
    )
    if "counts" in declared:
        here, there = _by_series(counted.to_dicts()), _by_series(declared["counts"])
        for series in {**here, **there}:
            if (has := here.get(series, 0)) != (said := there.get(series, 0)):
                return f"samples.csv has {has} samples of {_named(series)}, run.json says {said}"
    for row in counted.filter(~pl.col("in_order")).head(1).to_dicts():
        series = tuple(row[name] for name in SERIES)
        return f"samples.csv: rep of {_named(series)} does not count 0, 1, 2, ..."
    if found != declared.get("sha256", found):
        return (
            "samples.csv is not the file that the workload wrote: "
            f"its sha256 begins {found[:12]}, that in run.json {declared['sha256'][:12]}"
        )
    return ""


def _by_series(counts: list[dict[str, Any]]) -> dict[tuple[Any, ...], int]:
    return {tuple(item[name] for name in SERIES): item["samples"] for item in counts}


def _named(series: tuple[Any, ...]) -> str:
    case, variant, size, phase, metric = series
    return f"{case} {variant} {size} B {phase} {metric}"

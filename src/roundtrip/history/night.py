"""Reads what published bundles tell a history: launch medians, and what they were measured with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip.collect import analysis, bundle_tables, manifest, signature
from roundtrip.collect.bundle_rows import CASES, LABELS, MEDIANS, Case, Median, PlaceRow, Sample
from roundtrip.collect.columns import rules
from roundtrip.collect.night_rows import NIGHTS, PAIRS, PROVENANCE, SERIES
from roundtrip.collect.signature import Signature
from roundtrip.errors import UserError
from roundtrip.history import facts, pairs, published, summary
from roundtrip.history.facts import Fact
from roundtrip.history.published import Revision
from roundtrip.model import TIME

_KEYS = ["digest", "launch", "case", "variant", "size_bytes", "phase", "metric"]
_NEEDED = (*LABELS, "environ", "disturbed")
_TEXTS = ["case", "variant", "phase", "metric", "unit", "nodes"]
_TIME = re.compile(TIME)
_BAD = "medians that no collector wrote"


@dataclass(frozen=True)
class Night:
    """One bundle: `launches` that passed and `medians` as its tables have them, not yet checked.

    Medians are without those of launches between pairs of nodes, which are in `pairs`.
    """

    revision: Revision
    started: str
    launches: pl.DataFrame
    medians: pl.DataFrame
    facts: list[Fact]
    pairs: pl.DataFrame
    signed: Signature


def read(revision: Revision, campaign: str, site: str) -> Night:
    """The night of a revision that was published for `campaign` on `site`.

    UserError if the bundle does not match its manifest or its signature, cannot be decoded, or is
    of something else.
    """
    bundle = revision.bundle
    checked = manifest.verify(bundle)
    signed = signature.check_signature(bundle, checked)
    mine = {"campaign": campaign, "site": site}
    if other := [name for name, value in mine.items() if checked.data[name] != value]:
        raise UserError(f"its bundle is of {other[0]} {checked.data[other[0]]!a}")
    started = checked.data["started"]
    if not _TIME.fullmatch(started):
        raise UserError(f"its start {started[:40]!a} is not as 2026-11-21T07:00:00Z")
    if started[:10] != published.date(revision.path.parent):
        raise UserError(f"its bundle is of {started[:10]}")
    launches, placement, found = _tables(bundle, checked)
    passed = launches.filter(pl.col("status") == "passed")
    _require(passed, bundle)
    told = facts.of(bundle, checked, passed, placement)
    apart, between = _pairs(bundle, checked)
    found = found.filter(~pl.col("launch").is_in(apart))
    label = {"night": started, "digest": revision.digest}
    rows = between.with_columns(**{k: pl.lit(v) for k, v in label.items()}).select(*PAIRS)
    return Night(revision, started, passed.select(*_NEEDED), found, told, rows, signed)


def _tables(
    bundle: Path, checked: manifest.Manifest
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Launches, placement and launch medians of a verified bundle."""
    names = ["launch", "rank", "cpus"]
    if bundle_tables.MEDIANS_FILE in checked.data["files"]:
        columns = [*_NEEDED, "status", *facts.COLUMNS]
        launches = bundle_tables.read_table(bundle / "cases.parquet", Case, columns)
        placement = bundle_tables.read_table(bundle / "placement.parquet", PlaceRow, names)
        found = bundle_tables.read_table(bundle / bundle_tables.MEDIANS_FILE, Median)
        return launches, placement, found
    made = bundle_tables.read_tables(bundle)
    level = analysis.load(bundle / analysis.FILE_NAME).statistics.confidence_level
    found = bundle_tables.read_medians(bundle, made.frames["cases"], level)
    return made.frames["cases"], made.frames["placement"].select(names), found


def _pairs(bundle: Path, checked: manifest.Manifest) -> tuple[list[str], pl.DataFrame]:
    """Launches between pairs of nodes of a verified bundle, and what they measured."""
    if pairs.PLAN not in checked.data["files"]:
        return [], pairs.none()
    made = bundle_tables.read_tables(bundle).frames
    rows = bundle_tables.scan_table(bundle / "samples.parquet", Sample)
    settings = analysis.load(bundle / analysis.FILE_NAME).nodes
    names = pairs.names(made["parameters"]).to_list()
    with bundle_tables.decoding(bundle / "samples.parquet"):
        told = made["cases"], made["parameters"], made["placement"]
        return names, pairs.of(rows, *told, settings)


def _require(passed: pl.DataFrame, bundle: Path) -> None:
    """UserError unless the launches that passed say who they are, each once."""
    names = passed["launch"].to_list()
    lacks = any(passed[name].null_count() for name in _NEEDED)
    if not names or lacks or len(set(names)) < len(names):
        raise UserError("launches that no collector wrote", bundle / "cases.parquet")


def together(
    nights: Sequence[Night], level: float
) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, str]]:
    """Frames of columns `NIGHTS` and `PROVENANCE` of `nights`, and by digest what is wrong.

    A night with something wrong has no rows.  `level` is that of the intervals over launches.
    """
    rows = summary.quick(pl.concat([pl.DataFrame(schema=_ROWS), *map(_labelled, nights)]))
    launches = pl.concat(
        [
            pl.DataFrame(schema={"digest": pl.String, **{n: CASES[n] for n in LABELS}}),
            *(one.launches.select(_digest(one), *LABELS) for one in nights),
        ]
    )
    failed = [one for one in nights if one.medians.is_empty() and not _measured(one.pairs)]
    empty = [one.revision.digest for one in failed]
    wrong = dict.fromkeys(empty, "it has no medians")
    for digest, why in _faults(rows, launches):
        wrong.setdefault(digest, why)
    good = rows.filter(~pl.col("digest").is_in(list(wrong)))
    told = [
        {"night": one.started, "digest": one.revision.digest}
        | dict(zip(("subject", "name", "value"), fact, strict=True))
        for one in nights
        if one.revision.digest not in wrong
        for fact in one.facts
    ]
    made = summary.nights(good, level) if good.height else pl.DataFrame(schema=NIGHTS)
    return made, pl.DataFrame(told, schema=PROVENANCE), wrong


_ROWS: Mapping[str, Any] = {
    "night": pl.String,
    "digest": pl.String,
    "launch": pl.String,
    **SERIES,
    "nodes": pl.String,
    **{name: MEDIANS[name] for name in ("campaign_round", "samples", "median", "low", "high")},
    "disturbed": pl.Boolean,
}


def _measured(rows: pl.DataFrame) -> bool:
    return bool((rows["measure"] != pairs.FAILURE).any())


def _digest(one: Night) -> pl.Expr:
    return pl.lit(one.revision.digest).alias("digest")


def _labelled(one: Night) -> pl.DataFrame:
    marked = one.launches.select("launch", "disturbed")
    rows = one.medians.with_columns(pl.lit(one.started).alias("night"), _digest(one))
    return rows.join(marked, on="launch", how="left").select(*_ROWS)


def _faults(rows: pl.DataFrame, launches: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """Digests of nights whose medians no collector can have written, and why.

    The texts of `rows` are categories.
    """
    texts = summary.texts(rows.select(_TEXTS).unique())  # few: to match all takes long
    for rule in rules(Median):
        few = texts if rule.column in _TEXTS else rows
        if not few.select(rule.broken.any()).item():
            continue
        for digest in summary.texts(rows).filter(rule.broken)["digest"].unique():
            yield digest, f"{_BAD}: {rule.column} is not {rule.right}"
    labels = summary.texts(rows.select("digest", *LABELS).unique())
    for digest in labels.join(launches, on=labels.columns, how="anti")["digest"].unique():
        yield digest, f"{_BAD}: of no launch that passed"
    if rows.select(_KEYS).hash_rows().is_duplicated().any():  # which is quick to see
        twice = rows.filter(rows.select(_KEYS).is_duplicated())
        for digest in summary.texts(twice)["digest"].unique():
            yield digest, f"{_BAD}: a series stands there twice for a launch"

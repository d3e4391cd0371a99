"""One published bundle as a night of a history: launch medians, their summary, and provenance."""

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
from roundtrip.collect.pseudonyms import STABLE
from roundtrip.collect.signature import Signature
from roundtrip.errors import UserError
from roundtrip.history import facts, pairs, published
from roundtrip.history.facts import Fact
from roundtrip.history.published import Revision
from roundtrip.model import TIME
from roundtrip.stats.summaries import with_ends
from roundtrip.studies.derivation import METRICS

ALL_DISTURBED = "disturbed"
#: Night, study and unit follow from digest, case and metric.
_FOLLOW = ["night", "study", "unit"]
_GROUP = ["digest", *(name for name in SERIES if name not in _FOLLOW), "nodes"]
_KEYS = ["digest", "launch", "case", "variant", "size_bytes", "phase", "metric"]
_NEEDED = (*LABELS, "environ", "disturbed")
_TEXTS = ["case", "variant", "phase", "metric", "unit", "nodes"]
_TIME = re.compile(TIME)
_BAD = "medians that no collector wrote"
_ROWS: Mapping[str, Any] = {
    "night": pl.String,
    "digest": pl.String,
    "launch": pl.String,
    **SERIES,
    "nodes": pl.String,
    **{name: MEDIANS[name] for name in ("campaign_round", "samples", "median", "low", "high")},
    "disturbed": pl.Boolean,
}
_BETTER = {name: metric.lower_is_better for name, metric in METRICS.items()}


def thresholds(site: str) -> analysis.Analysis:
    """Thresholds of the site; the package's if its file is damaged, which the page of it says."""
    try:
        return analysis.for_site(site)
    except UserError:
        return analysis.default()


def summarize(medians: pl.DataFrame, level: float) -> pl.DataFrame:
    """Columns `NIGHTS`, in no order; `level` is that of the intervals over launches.

    `medians` has the columns `MEDIANS`, and night, digest and disturbed (of the launch).  Sets of
    nodes of bundles that counted their hosts are "": which machines they were is not known.
    """
    stable = pl.col("nodes").cast(pl.String).str.contains(rf"^{STABLE}(\+{STABLE})*$")
    rows = medians.with_columns(nodes=pl.when(stable).then("nodes").otherwise(pl.lit("")))
    # A night on which everything was disturbed keeps its median, over all its launches.
    calm = ~pl.col("disturbed")
    used = pl.col("median").filter(calm | ~calm.any())
    groups = (
        to_categories(rows)
        .group_by(_GROUP)
        .agg(
            pl.col(_FOLLOW).first(),
            n=used.len().cast(pl.Int64),
            ordered=used.sort(),
            disturbed=pl.col("disturbed").sum().cast(pl.Int64),
            all_disturbed=~calm.any(),
        )
    )
    return (
        with_ends(to_strings(groups), level)
        .with_columns(
            median=pl.col("ordered").list.median(),
            lower_is_better=pl.col("metric").replace_strict(_BETTER, return_dtype=pl.Boolean),
            left_out=pl.when("all_disturbed").then(pl.lit(ALL_DISTURBED)).otherwise(pl.lit("")),
            foreign=pl.lit(False),
        )
        .rename({"n": "launches"})
        .select(*NIGHTS)
    )


def to_categories(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows with their texts as categories: groups and joins by them take a third."""
    return frame.with_columns(pl.col(pl.String).cast(pl.Categorical))


def to_strings(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows with texts for the categories of `to_categories`."""
    return frame.with_columns(pl.col(pl.Categorical).cast(pl.String))


@dataclass(frozen=True)
class MeasuredNight:
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


def read_night(revision: Revision, campaign: str, site: str) -> MeasuredNight:
    """The night of a revision that was published for `campaign` on `site`.

    UserError if the bundle does not match its manifest or its signature, cannot be decoded, or is
    of something else.
    """
    bundle = revision.bundle
    checked = manifest.verify(bundle)
    signed = signature.check_signature(bundle, checked)
    for name, value in (("campaign", campaign), ("site", site)):
        if checked.data[name] != value:
            raise UserError(f"its bundle is of {name} {checked.data[name]!a}")
    started = checked.data["started"]
    if not _TIME.fullmatch(started):
        raise UserError(f"its start {started[:40]!a} is not as 2026-11-21T07:00:00Z")
    if started[:10] != published.date(revision.path.parent):
        raise UserError(f"its bundle is of {started[:10]}")
    launches, placement, values = _tables(bundle, checked)
    passed = launches.filter(pl.col("status") == "passed")
    _require(passed, bundle)
    known = facts.bundle_facts(bundle, checked, passed, placement)
    paired, between = _pairs(bundle, checked)
    values = values.filter(~pl.col("launch").is_in(paired))
    between = between.with_columns(night=pl.lit(started), digest=pl.lit(revision.digest))
    between = between.select(*PAIRS)
    return MeasuredNight(revision, started, passed.select(*_NEEDED), values, known, between, signed)


def _tables(
    bundle: Path, checked: manifest.Manifest
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Launches, placement and launch medians of a verified bundle."""
    names = ["launch", "rank", "cpus"]
    if bundle_tables.MEDIANS_FILE in checked.data["files"]:
        columns = [*_NEEDED, "status", *facts.COLUMNS]
        launches = bundle_tables.read_table(bundle / "cases.parquet", Case, columns)
        placement = bundle_tables.read_table(bundle / "placement.parquet", PlaceRow, names)
        return (
            launches,
            placement,
            bundle_tables.read_table(bundle / bundle_tables.MEDIANS_FILE, Median),
        )
    frames = bundle_tables.read_tables(bundle).frames
    level = analysis.load(bundle / analysis.FILE_NAME).statistics.confidence_level
    values = bundle_tables.read_medians(bundle, frames["cases"], level)
    return frames["cases"], frames["placement"].select(names), values


def _pairs(bundle: Path, checked: manifest.Manifest) -> tuple[list[str], pl.DataFrame]:
    """Launches between pairs of nodes of a verified bundle, and what they measured."""
    if pairs.PLAN not in checked.data["files"]:
        return [], pairs.no_pairs()
    frames = bundle_tables.read_tables(bundle).frames
    rows = bundle_tables.scan_table(bundle / "samples.parquet", Sample)
    settings = analysis.load(bundle / analysis.FILE_NAME).nodes
    launches = pairs.paired_launches(frames["parameters"]).to_list()
    with bundle_tables.decoding(bundle / "samples.parquet"):
        tables = frames["cases"], frames["parameters"], frames["placement"]
        return launches, pairs.measure_pairs(rows, *tables, settings)


def _require(passed: pl.DataFrame, bundle: Path) -> None:
    """UserError unless the launches that passed say who they are, each once."""
    names = passed["launch"].to_list()
    lacks = any(passed[name].null_count() for name in _NEEDED)
    if not names or lacks or len(set(names)) < len(names):
        raise UserError("launches that no collector wrote", bundle / "cases.parquet")


def join_nights(
    nights: Sequence[MeasuredNight], level: float
) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, str]]:
    """Frames of columns `NIGHTS` and `PROVENANCE` of `nights`, and by digest what is wrong.

    A night with something wrong has no rows.  `level` is that of the intervals over launches.
    """
    rows = to_categories(pl.concat([pl.DataFrame(schema=_ROWS), *map(_labelled, nights)]))
    launches = pl.concat(
        [
            pl.DataFrame(schema={"digest": pl.String, **{n: CASES[n] for n in LABELS}}),
            *(one.launches.select(_digest(one), *LABELS) for one in nights),
        ]
    )
    wrong = {
        one.revision.digest: "it has no medians"
        for one in nights
        if one.medians.is_empty() and not (one.pairs["measure"] != pairs.FAILURE).any()
    }
    for digest, why in _faults(rows, launches):
        wrong.setdefault(digest, why)
    good = rows.filter(~pl.col("digest").is_in(list(wrong)))
    known = [
        {"night": one.started, "digest": one.revision.digest}
        | dict(zip(("subject", "name", "value"), fact, strict=True))
        for one in nights
        if one.revision.digest not in wrong
        for fact in one.facts
    ]
    summary = summarize(good, level) if good.height else pl.DataFrame(schema=NIGHTS)
    return summary, pl.DataFrame(known, schema=PROVENANCE), wrong


def _digest(one: MeasuredNight) -> pl.Expr:
    return pl.lit(one.revision.digest).alias("digest")


def _labelled(one: MeasuredNight) -> pl.DataFrame:
    marked = one.launches.select("launch", "disturbed")
    rows = one.medians.with_columns(pl.lit(one.started).alias("night"), _digest(one))
    return rows.join(marked, on="launch", how="left").select(*_ROWS)


def _faults(rows: pl.DataFrame, launches: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """Digests of nights whose medians no collector can have written, and why.

    The texts of `rows` are categories.
    """
    texts = to_strings(rows.select(_TEXTS).unique())  # few: to match all takes long
    for rule in rules(Median):
        few = texts if rule.column in _TEXTS else rows
        if not few.select(rule.broken.any()).item():
            continue
        for digest in to_strings(rows).filter(rule.broken)["digest"].unique():
            yield digest, f"{_BAD}: {rule.column} is not {rule.right}"
    labels = to_strings(rows.select("digest", *LABELS).unique())
    for digest in labels.join(launches, on=labels.columns, how="anti")["digest"].unique():
        yield digest, f"{_BAD}: of no launch that passed"
    if rows.select(_KEYS).hash_rows().is_duplicated().any():  # which is quick to see
        twice = rows.filter(rows.select(_KEYS).is_duplicated())
        for digest in to_strings(twice)["digest"].unique():
            yield digest, f"{_BAD}: a series has two rows for one launch"

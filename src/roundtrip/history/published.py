"""The published revisions of a campaign on a site that count as nights, and what they measured.

A night has launch medians, their summary, and provenance.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.history import facts, nodes
from roundtrip.history.facts import Fact
from roundtrip.history.night_rows import NIGHTS, PAIRS, PROVENANCE, SERIES
from roundtrip.measure import analysis, bundle_tables, manifest, signature, store
from roundtrip.measure.bundle_rows import (
    CASES_SCHEMA,
    LAUNCH_COLUMNS,
    MEDIANS_SCHEMA,
    LaunchRow,
    MedianRow,
    PlacementRow,
    SampleRow,
)
from roundtrip.measure.bundle_rows import SERIES_COLUMNS as SAMPLE_SERIES
from roundtrip.measure.columns import cell_rules
from roundtrip.measure.pseudonyms import PSEUDONYM_PATTERN
from roundtrip.measure.signature import Signature
from roundtrip.model import TIME_PATTERN
from roundtrip.stats.summaries import with_interval_columns

ALL_DISTURBED_REASON = "disturbed"
#: Night, study and unit follow from digest, case and metric.
_DERIVED_COLUMNS = ["night", "study", "unit"]
_GROUP_COLUMNS = ["digest", *(name for name in SERIES if name not in _DERIVED_COLUMNS), "nodes"]
_LAUNCH_KEY_COLUMNS = ["digest", "launch", *SAMPLE_SERIES]
_REQUIRED_CASE_COLUMNS = (*LAUNCH_COLUMNS, "environ", "disturbed")
_TEXT_COLUMNS = [
    *(name for name in SAMPLE_SERIES if MEDIANS_SCHEMA[name] == pl.String),
    "unit",
    "nodes",
]
_TIME_PATTERN = re.compile(TIME_PATTERN)
_INVALID_MEDIANS = "medians that no collector wrote"
_LAUNCH_MEDIAN_SCHEMA: Mapping[str, Any] = {
    "night": pl.String,
    "digest": pl.String,
    "launch": pl.String,
    **SERIES,
    "nodes": pl.String,
    **{
        name: MEDIANS_SCHEMA[name]
        for name in ("campaign_round", "samples", "median", "low", "high")
    },
    "disturbed": pl.Boolean,
}
#: The order of rows of nights.
NIGHTS_SORT_COLUMNS = ["night", "digest", *SERIES, "nodes"]


@dataclass(frozen=True)
class Revision:
    """A revision with a readable report.json; `digest` is that of the manifest of its bundle."""

    path: Path
    digest: str
    supersedes: str | None
    #: From its manifest: samples (equal in re-dated copies), start, and the night before.
    samples: str = ""
    started: str = ""
    before: tuple[str, str] | None = None

    @property
    def bundle(self) -> Path:
        """The folder of its bundle, to read."""
        return store.bundle_folder(self.path)


def measurement_digest(facts: dict[str, Any] | None) -> str | None:
    """The digest of the measurement, by the facts of a revision; None if it is missing."""
    digest = facts and facts.get("measurement", facts.get("digest"))
    return digest if isinstance(digest, str) else None


def current_revisions(site: Path) -> tuple[list[Revision], list[str]]:
    """Revisions that no later one supersedes, oldest first; and a warning for each damaged one."""
    latest_revisions, warnings = [], []
    for night in store.night_folders(site):
        night_revisions = []
        for path in store.revisions(night):
            if store.is_search_bundle(store.bundle_folder(path)):
                continue
            try:
                night_revisions.append(_read_revision(path))
            except UserError as error:
                warnings.append(f"{path}: {error_without_folder(path, error)}")
        superseded_names = {revision.supersedes for revision in night_revisions}
        latest_revisions += [
            each for each in night_revisions if each.path.name not in superseded_names
        ]
    return latest_revisions, warnings


def _read_revision(path: Path) -> Revision:
    facts = store.read_facts(path)
    if path.is_symlink() or facts is None:
        raise UserError("not a published report")
    digest, supersedes = facts.get("digest"), facts.get("supersedes")
    listing = files.read_in_tree(store.bundle_folder(path) / manifest.MANIFEST_FILE, path)
    if files.sha256(listing) != digest:
        raise UserError(f"its bundle is not the one that {store.FACTS_FILE} names")
    if supersedes is not None:
        revision_number, earlier_number = (
            store.revision_number(path.name),
            store.revision_number(str(supersedes)),
        )
        if not revision_number or not earlier_number or earlier_number >= revision_number:
            raise UserError(f"supersedes {str(supersedes)[:20]!a}, which is no earlier revision")
    return Revision(path, str(digest), supersedes, *_parse_manifest(listing))


def _parse_manifest(listing: bytes) -> tuple[str, str, tuple[str, str] | None]:
    """`samples`, `started` and `before` of a revision; the reader of its bundle checks them."""
    try:
        data = files.parse_json(listing.decode())
    except (UserError, UnicodeDecodeError):
        return "", "", None
    if not isinstance(data, dict):
        return "", "", None
    link, before = None, data.get("before")
    if isinstance(before, dict):
        link = str(before.get("digest")), str(before.get("started"))
    return manifest.run_digests(data), str(data.get("started")), link


def error_without_folder(path: Path, error: UserError) -> str:
    """The text of an error without the folder, which the message already names."""
    return str(error).replace(f"{path}/", "")


def site_thresholds(site: str) -> analysis.AnalysisSettings:
    """Thresholds of the site; the package's if its file is damaged, as the site's page says."""
    try:
        return analysis.load_site_settings(site)
    except UserError:
        return analysis.default_settings()


@dataclass(frozen=True)
class PublishedNights:
    """Tables of columns `NIGHTS`, `PROVENANCE` and `PAIRS`, and by digest data of their bundles.

    `stamps` are those of each `Revision`; `signatures` says who signed it.
    """

    nights: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=NIGHTS))
    provenance: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PROVENANCE))
    stamps: Mapping[str, str] = field(default_factory=dict)
    pairs: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PAIRS))
    signatures: Mapping[str, Signature] = field(default_factory=dict)

    def part(self, digests: Collection[str]) -> PublishedNights:
        """Only the nights whose bundles have these digests."""
        is_part = pl.col("digest").is_in(list(digests))
        return PublishedNights(
            self.nights.filter(is_part),
            self.provenance.filter(is_part),
            {digest: stamp for digest, stamp in self.stamps.items() if digest in digests},
            self.pairs.filter(is_part),
            {digest: entry for digest, entry in self.signatures.items() if digest in digests},
        )

    def joined(self, other: PublishedNights) -> PublishedNights:
        """The nights of both, sorted."""
        return PublishedNights(
            pl.concat([self.nights, other.nights]).sort(NIGHTS_SORT_COLUMNS),
            pl.concat([self.provenance, other.provenance]).sort(PROVENANCE.keys()),
            {**self.stamps, **other.stamps},
            pl.concat([self.pairs, other.pairs]).sort(PAIRS.keys()),
            {**self.signatures, **other.signatures},
        )


def summarize_medians(medians: pl.DataFrame, level: float) -> pl.DataFrame:
    """Summarize `medians` as columns `NIGHTS`, in no order; `level` is that of the intervals.

    `medians` has the columns `MEDIANS_SCHEMA`, and night, digest and disturbed (of the launch).
    Node sets of bundles that counted their hosts become "", because the machines are unknown.
    """
    is_stable = (
        pl.col("nodes")
        .cast(pl.String)
        .str.contains(rf"^{PSEUDONYM_PATTERN}(\+{PSEUDONYM_PATTERN})*$")
    )
    rows = medians.with_columns(nodes=pl.when(is_stable).then("nodes").otherwise(pl.lit("")))
    # If all launches of a night are disturbed, its median is over all of them.
    is_calm = ~pl.col("disturbed")
    values = pl.col("median").filter(is_calm | ~is_calm.any())
    groups = (
        to_categories(rows)
        .group_by(_GROUP_COLUMNS)
        .agg(
            pl.col(_DERIVED_COLUMNS).first(),
            n=values.len().cast(pl.Int64),
            ordered=values.sort(),
            disturbed=pl.col("disturbed").sum().cast(pl.Int64),
            all_disturbed=~is_calm.any(),
        )
    )
    return (
        with_interval_columns(to_strings(groups), level)
        .with_columns(
            median=pl.col("ordered").list.median(),
            lower_is_better=pl.col("metric").replace_strict(
                nodes.LOWER_IS_BETTER_BY_METRIC, return_dtype=pl.Boolean
            ),
            left_out=pl.when("all_disturbed")
            .then(pl.lit(ALL_DISTURBED_REASON))
            .otherwise(pl.lit("")),
            foreign=pl.lit(False),
        )
        .rename({"n": "launches"})
        .select(*NIGHTS)
    )


def to_categories(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows with texts as categories: groups and joins by them take a third of the time."""
    return frame.with_columns(pl.col(pl.String).cast(pl.Categorical))


def to_strings(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows with the categories of `to_categories` as texts."""
    return frame.with_columns(pl.col(pl.Categorical).cast(pl.String))


@dataclass(frozen=True)
class MeasuredNight:
    """One bundle: passed `launches` and `medians` as in its tables, not yet checked.

    `medians` lacks launches between pairs of nodes, which are in `pairs`.
    """

    revision: Revision
    started: str
    launches: pl.DataFrame
    medians: pl.DataFrame
    facts: list[Fact]
    pairs: pl.DataFrame
    signature: Signature


def read_night(revision: Revision, campaign: str, site: str) -> MeasuredNight:
    """The night of a revision; UserError if it is damaged, or of other campaign, site or date."""
    bundle = revision.bundle
    bundle_manifest = manifest.verify(bundle)
    bundle_signature = signature.check_signature(bundle, bundle_manifest)
    for name, value in (("campaign", campaign), ("site", site)):
        if bundle_manifest.data[name] != value:
            raise UserError(f"its bundle is of {name} {bundle_manifest.data[name]!a}")
    start = bundle_manifest.data["started"]
    if not _TIME_PATTERN.fullmatch(start):
        raise UserError(f"its start {start[:40]!a} is not as 2026-11-21T07:00:00Z")
    if start[:10] != store.night_date(revision.path.parent):
        raise UserError(f"its bundle is of {start[:10]}")
    launches, placement, values = _read_launch_tables(bundle, bundle_manifest)
    passed_launches = launches.filter(status="passed")
    names = passed_launches["launch"]
    has_nulls = any(passed_launches[name].null_count() for name in _REQUIRED_CASE_COLUMNS)
    if names.is_empty() or has_nulls or names.is_duplicated().any():
        raise UserError("launches that no collector wrote", bundle / manifest.table_file("cases"))
    night_facts = facts.bundle_facts(bundle, bundle_manifest, passed_launches, placement)
    pair_launches, pair_rows = _read_pairs(bundle, bundle_manifest)
    return MeasuredNight(
        revision,
        start,
        passed_launches.select(*_REQUIRED_CASE_COLUMNS),
        values.filter(~pl.col("launch").is_in(pair_launches)),
        night_facts,
        pair_rows,
        bundle_signature,
    )


def _read_launch_tables(
    bundle: Path, bundle_manifest: manifest.Manifest
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Launches, placement and launch medians of a verified bundle."""
    names = ["launch", "rank", "cpus"]
    if bundle_tables.MEDIANS_FILE in bundle_manifest.data["files"]:
        columns = [*_REQUIRED_CASE_COLUMNS, "status", *facts.CASES_FACT_COLUMNS]
        cases, placement = (bundle / manifest.table_file(name) for name in ("cases", "placement"))
        return (
            bundle_tables.read_table(cases, LaunchRow, columns),
            bundle_tables.read_table(placement, PlacementRow, names),
            bundle_tables.read_table(bundle / bundle_tables.MEDIANS_FILE, MedianRow),
        )
    frames = bundle_tables.read_tables(bundle).frames
    level = analysis.load(bundle / analysis.ANALYSIS_FILE).statistics.confidence_level
    values = bundle_tables.read_medians(bundle, frames["cases"], level)
    return frames["cases"], frames["placement"].select(names), values


def _read_pairs(bundle: Path, bundle_manifest: manifest.Manifest) -> tuple[list[str], pl.DataFrame]:
    """Launches between pairs of nodes of a verified bundle, and their measures."""
    if nodes.PAIRS_PLAN_FILE not in bundle_manifest.data["files"]:
        return [], pl.DataFrame(schema=PAIRS)
    frames = bundle_tables.read_tables(bundle).frames
    rows = bundle_tables.scan_table(bundle / manifest.table_file("samples"), SampleRow)
    settings = analysis.load(bundle / analysis.ANALYSIS_FILE).nodes
    launches = nodes.pair_launch_names(frames["parameters"])
    with bundle_tables.parquet_errors(bundle / manifest.table_file("samples")):
        return launches, nodes.measure_pairs(rows, frames, settings, bundle_manifest)


def join_nights(
    nights: Sequence[MeasuredNight], level: float
) -> tuple[PublishedNights, dict[str, str]]:
    """Return the tables and signatures of `nights`, without stamps, and faults by digest.

    A night with a fault is left out.  `level` is that of the intervals over launches.
    """
    row_frames = [pl.DataFrame(schema=_LAUNCH_MEDIAN_SCHEMA)]
    launch_frames = [
        pl.DataFrame(schema={"digest": pl.String, **{n: CASES_SCHEMA[n] for n in LAUNCH_COLUMNS}})
    ]
    for night in nights:
        label = pl.lit(night.revision.digest).alias("digest")
        labelled = night.medians.with_columns(label, night=pl.lit(night.started))
        flags = night.launches.select("launch", "disturbed")
        row_frames.append(
            labelled.join(flags, on="launch", how="left").select(*_LAUNCH_MEDIAN_SCHEMA)
        )
        launch_frames.append(night.launches.select(label, *LAUNCH_COLUMNS))
    rows, launches = to_categories(pl.concat(row_frames)), pl.concat(launch_frames)
    faults = {
        night.revision.digest: "it has no medians"
        for night in nights
        if night.medians.is_empty() and not (night.pairs["measure"] != nodes.FAILURE).any()
    }
    for digest, fault in _median_faults(rows, launches):
        faults.setdefault(digest, fault)
    good_nights = {
        night.revision.digest: night for night in nights if night.revision.digest not in faults
    }
    good_rows = rows.filter(pl.col("digest").is_in(list(good_nights)))
    night_facts = [
        (night.started, digest, *fact)
        for digest, night in good_nights.items()
        for fact in night.facts
    ]
    part = PublishedNights(
        summarize_medians(good_rows, level) if good_rows.height else pl.DataFrame(schema=NIGHTS),
        pl.DataFrame(night_facts, schema=PROVENANCE, orient="row"),
        pairs=pl.concat([pl.DataFrame(schema=PAIRS), *(n.pairs for n in good_nights.values())]),
        signatures={digest: night.signature for digest, night in good_nights.items()},
    )
    return part, faults


def _median_faults(rows: pl.DataFrame, launches: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield digests of nights with impossible medians, and why; texts of `rows` are categories."""
    texts = to_strings(rows.select(_TEXT_COLUMNS).unique())  # few: matching all takes long
    for rule in cell_rules(MedianRow):
        candidates = texts if rule.column in _TEXT_COLUMNS else rows
        if not candidates.select(rule.violation.any()).item():
            continue
        for digest in to_strings(rows).filter(rule.violation)["digest"].unique():
            yield digest, f"{_INVALID_MEDIANS}: {rule.column} is not {rule.requirement}"
    labels = to_strings(rows.select("digest", *LAUNCH_COLUMNS).unique())
    for digest in labels.join(launches, on=labels.columns, how="anti")["digest"].unique():
        yield digest, f"{_INVALID_MEDIANS}: of no launch that passed"
    if rows.select(_LAUNCH_KEY_COLUMNS).hash_rows().is_duplicated().any():  # a quick check first
        duplicates = rows.filter(rows.select(_LAUNCH_KEY_COLUMNS).is_duplicated())
        for digest in to_strings(duplicates)["digest"].unique():
            yield digest, f"{_INVALID_MEDIANS}: a series has two rows for one launch"

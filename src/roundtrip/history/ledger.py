"""The history of a campaign on a site: read from its published reports, and put in bundles.

A bundle contains the nights before it; its report is judged against these only.

The cache is a zip file beside the nights, derived from their bundles, with a proof by the key of
the site: a cache that anybody else wrote or changed is ignored.  A cached night is valid until a
file of its bundle, or a key that may sign for the site, changes.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import hmac
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.history import imported_nights, night_rows, nodes, published
from roundtrip.history.annotations import ACCEPTED_KIND as KIND
from roundtrip.history.annotations import Annotation, notes_on_nights, rename_cases, set_left_out
from roundtrip.history.night_rows import NIGHTS, PAIRS, PROVENANCE, SERIES
from roundtrip.history.published import MeasuredNight, PublishedNights, Revision
from roundtrip.measure import bundle_tables, manifest, pseudonyms, reader, signature, store
from roundtrip.measure.columns import Row, table_columns
from roundtrip.measure.manifest import Manifest
from roundtrip.measure.signature import Signature

#: Nights per table while reading: a compromise between number of calls and memory.
_NIGHTS_PER_BATCH = 64
_DECODED_TABLES = ("cases", "placement", "nodes", "medians")
#: Most nights in a bundle: more than a year.
MAX_BUNDLE_NIGHTS = 400
#: Most nights with launches between pairs of nodes in a bundle; a night has many of these.
MAX_BUNDLE_PAIR_NIGHTS = 64
#: The tables in a bundle, by field of `Ledger`; the first two are in each bundle with a history.
_ROW_TYPE_BY_TABLE: Mapping[str, type[Row]] = {
    "nights": night_rows.Night,
    "provenance": night_rows.Fact,
    "pairs": night_rows.Pair,
    "notes": night_rows.Note,
    "accepted": night_rows.Acceptance,
    "left_out": night_rows.LeftOut,
}
_REQUIRED_TABLES = ("nights", "provenance")
CACHE_FILE = ".history.zip"
_INDEX, _PROOF = "index.json", "proof"
_SCHEMA_BY_CACHED_FILE = {
    "nights.parquet": NIGHTS,
    "provenance.parquet": PROVENANCE,
    "pairs.parquet": PAIRS,
}
#: Libraries whose versions also determine values and pages.
_LIBRARIES = ("jinja2", "numpy", "polars", "scipy")


def _table_frame(name: str, rows: Sequence[tuple[str, ...]] = ()) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=table_columns(_ROW_TYPE_BY_TABLE[name]), orient="row")


def _table_path(name: str) -> str:
    return manifest.table_file(f"{manifest.HISTORY_PREFIX}{name.replace('_', '-')}")


@dataclass(frozen=True)
class Ledger:
    """`nights` and `provenance` have the columns `NIGHTS` and `PROVENANCE`, oldest night first.

    `warnings`: the revisions that were left out, one line ``path: reason`` each.  In a bundle,
    `notes` (columns `NOTES`), `accepted` (`ACCEPTANCES`) and `left_out` (`LEFT_OUT`, of
    its own night) say what annotations do.  `pairs`, columns `PAIRS`: launches between pairs of
    nodes; `nights` has series of their nodes.  `signatures`: by night.  `remarks`: oddities of
    nights.  `unmatched_renamings`: annotations that rename none of its cases.
    """

    nights: pl.DataFrame = field(default_factory=lambda: _table_frame("nights"))
    provenance: pl.DataFrame = field(default_factory=lambda: _table_frame("provenance"))
    warnings: tuple[str, ...] = ()
    notes: pl.DataFrame = field(default_factory=lambda: _table_frame("notes"))
    pairs: pl.DataFrame = field(default_factory=lambda: _table_frame("pairs"))
    accepted: pl.DataFrame = field(default_factory=lambda: _table_frame("accepted"))
    left_out: pl.DataFrame = field(default_factory=lambda: _table_frame("left_out"))
    signatures: Mapping[str, Signature] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    unmatched_renamings: tuple[Annotation, ...] = ()

    def nights_before(self, started: str, most_nights: int) -> Ledger:
        """The newest `most_nights` nights that began before `started`, ISO 8601."""
        # A night of too few nodes has launches between pairs and no series.
        all_starts = pl.concat([self.nights["night"], self.pairs["night"]]).unique().sort()
        starts = all_starts.filter(all_starts < started).tail(most_nights).to_list()
        nights = self.nights.filter(pl.col("night").is_in(starts))
        facts = self.provenance.filter(pl.col("night").is_in(starts))
        pairs = self.pairs.filter(pl.col("night").is_in(starts))
        return Ledger(nights, facts, self.warnings, pairs=pairs)


def read_ledger(
    reports: Path, campaign: str, site: str, annotations: Sequence[Annotation] = ()
) -> Ledger:
    """Read all nights of `campaign` on `site` below the folder `reports`, including imported ones.

    One run is one night, even if two ran on one day; its newest revision counts, and none that
    another supersedes.  Unreadable revisions are left out with a warning.  `annotations` may rename
    cases, and leave nights out of detection.
    """
    folder = store.site_folder(reports, campaign, site)
    revisions, warnings = published.current_revisions(folder)
    revisions, new_warnings = _unique_revisions(revisions)
    warnings += new_warnings
    stamps = {revision.digest: store.folder_stamp(revision.bundle) for revision in revisions}
    old_cache = load_cache(folder)
    same_cache = old_cache.part(dict(stamps.items() & old_cache.stamps.items()))
    changed = {each.digest: each for each in revisions if each.digest not in same_cache.stamps}
    additions, new_warnings = _read_revisions(changed, stamps, campaign, site)
    new_cache = same_cache.joined(additions)
    if new_cache.stamps != old_cache.stamps:
        save_cache(folder, new_cache)
    tables = [frame.select("digest", "night") for frame in (new_cache.nights, new_cache.pairs)]
    starts = dict(pl.concat(tables).unique().iter_rows())
    digests = {starts[each.digest]: each.digest for each in revisions if each.digest in starts}
    current = new_cache.part(set(digests.values()))
    foreign_ledger = _imported_ledger(folder, site)
    nights = pl.concat([current.nights, foreign_ledger.nights])
    # Annotations that leave nights out may have the name before a renaming, or that after it.
    nights, unmatched = rename_cases(set_left_out(nights, annotations), annotations)
    nights = set_left_out(nights, annotations)
    return Ledger(
        nights.sort(published.NIGHTS_SORT_COLUMNS),
        pl.concat([current.provenance, foreign_ledger.provenance]),
        (*warnings, *new_warnings, *foreign_ledger.warnings),
        pairs=_without_left_out(current.pairs, annotations),
        remarks=tuple(_broken_links(folder, revisions)),
        unmatched_renamings=tuple(unmatched),
        signatures={
            each.started: current.signatures[each.digest]
            for each in revisions
            if each.digest in current.signatures
        },
    )


def _without_left_out(pairs: pl.DataFrame, annotations: Sequence[Annotation]) -> pl.DataFrame:
    """`pairs`, columns `PAIRS`, without the rows that annotations leave out."""
    case = pl.format(nodes.CASE_ID_FORMAT, "place", "environ")
    rows = set_left_out(pairs.with_columns(case_id=case, left_out=pl.lit("")), annotations)
    return rows.filter(left_out="").select(PAIRS.keys())


def _unique_revisions(revisions: Sequence[Revision]) -> tuple[list[Revision], list[str]]:
    """Drop revisions whose samples another has under another date; also return a warning for each.

    A run is one night, even if its bundle is copied under another date.  Keep the revision with the
    best signature, of equals the oldest.
    """
    groups: dict[str, list[Revision]] = {}
    for revision in revisions:
        groups.setdefault(revision.samples or revision.digest, []).append(revision)
    originals: dict[Path, Path] = {}
    for group in groups.values():
        if len({revision.started for revision in group}) > 1:
            best = min(group, key=_signature_rank)
            copies = [revision for revision in group if revision.started != best.started]
            originals |= {copy.path: best.path for copy in copies}
    unique_revisions = [revision for revision in revisions if revision.path not in originals]
    return unique_revisions, [
        f"{path}: its samples are those of {original}: one run, one night"
        for path, original in originals.items()
    ]


def _signature_rank(revision: Revision) -> int:
    """The rank of a revision's signature, the best first; last if the bundle cannot be verified."""
    try:
        state = signature.check_signature(revision.bundle, manifest.verify(revision.bundle)).state
    except UserError:
        return len(signature.SIGNATURE_STATES)
    return signature.SIGNATURE_STATES.index(state)


def _broken_links(folder: Path, revisions: Sequence[Revision]) -> list[str]:
    """A line for each night whose named predecessor is there, but differs."""
    successors = [revision for revision in revisions if revision.before]
    all_facts = map(store.read_facts, store.all_revisions(folder) if successors else ())
    digests = {str(facts.get("digest")) for facts in all_facts if facts}
    starts = {revision.started for revision in revisions}
    return [
        f"{report.path}: the night of {report.before[1]} is not the one that it names before it, "
        f"{report.before[0][:16]}: that was changed or replaced"
        for report in successors
        if report.before and report.before[1] in starts and report.before[0] not in digests
    ]


def _imported_ledger(folder: Path, site: str) -> Ledger:
    """The imported nights; only a warning if one of the imports cannot be read."""
    try:
        level = published.site_thresholds(site).statistics.confidence_level
        return Ledger(*imported_nights.read_imports(folder, level))
    except UserError as error:
        return Ledger(warnings=(str(error),))


def _read_revisions(
    revisions: Mapping[str, Revision], stamps: Mapping[str, str], campaign: str, site: str
) -> tuple[PublishedNights, list[str]]:
    """Read revisions that are not in the cache, by digest; also return warnings."""
    if not revisions:
        return PublishedNights(), []
    thresholds = published.site_thresholds(site)
    level = thresholds.statistics.confidence_level
    decode_errors = dict(_undecodable(revisions.values()))
    warnings = [f"{path}: {reason}" for path, reason in decode_errors.items()]
    additions = PublishedNights()
    decodable = [entry for entry in revisions.values() if entry.path not in decode_errors]
    for start in range(0, len(decodable), _NIGHTS_PER_BATCH):
        batch: list[MeasuredNight] = []
        for revision in decodable[start : start + _NIGHTS_PER_BATCH]:
            try:
                batch.append(published.read_night(revision, campaign, site))
            except UserError as error:
                reason = published.error_without_folder(revision.path, error)
                warnings.append(f"{revision.path}: {reason}")
        part, faults = published.join_nights(batch, level)
        additions = additions.joined(part)
        faulty = (each for each in decodable if each.digest in faults)
        warnings += [f"{each.path}: {faults[each.digest]}" for each in faulty]
    series = nodes.node_series(additions.pairs, thresholds.nodes, level)
    new_stamps = {digest: stamps[digest] for digest in additions.signatures}
    all_nights = pl.concat([additions.nights, series])
    return replace(additions, nights=all_nights, stamps=new_stamps), warnings


def _undecodable(revisions: Iterable[Revision]) -> Iterator[tuple[Path, str]]:
    """Yield revisions with tables that reach a limit or crash their decoder, and the error."""
    with reader.ReaderProcess() as decoder:
        for revision in revisions:
            tables = [revision.bundle / manifest.table_file(name) for name in _DECODED_TABLES]
            try:
                decoder.require_decodable([file for file in tables if file.is_file()])
            except UserError as error:
                yield revision.path, published.error_without_folder(revision.path, error)


@functools.cache
def code_digest() -> str:
    """A text that changes with any file of the package, since this may change values and pages."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for file in sorted(package.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            name = file.relative_to(package)
            digest.update(f"{name} {files.sha256(file.read_bytes())}\n".encode())
    versions = [metadata.version(name) for name in _LIBRARIES]
    return " ".join([digest.hexdigest(), *versions])


def _cache_format(site: str) -> str:
    """A text that changes with this package, the site's thresholds, or its signers."""
    thresholds = repr(published.site_thresholds(site)).encode()
    site_digest = hashlib.sha256(thresholds + signature.signature_cache_key(site)).hexdigest()
    return f"{code_digest()} {site_digest}"


def load_cache(site: Path) -> PublishedNights:
    """The cache of a campaign on a site; an empty one if it is missing, outdated or not authentic.

    Its tables are decoded in this process, because its digest shows that this user wrote them.
    """
    file = store.file_path(site, CACHE_FILE)
    if not file.is_file():
        return PublishedNights()
    try:
        with zipfile.ZipFile(file) as archive:
            limit = reader.ReadingLimits.for_size(file.stat().st_size).memory_bytes
            if sum(member.file_size for member in archive.infolist()) > limit:
                return PublishedNights()
            parts = {name: archive.read(name) for name in (_INDEX, *_SCHEMA_BY_CACHED_FILE)}
            proof = archive.read(_PROOF).decode()
        right_proof = pseudonyms.site_hmac(site.name, *parts.values())
        if not proof or not hmac.compare_digest(proof, right_proof):
            return PublishedNights()
        index = json.loads(parts[_INDEX])
        if index["format"] != _cache_format(site.name):
            return PublishedNights()
        tables = [pl.read_parquet(io.BytesIO(parts[name])) for name in _SCHEMA_BY_CACHED_FILE]
        if [dict(table.schema) for table in tables] != [*_SCHEMA_BY_CACHED_FILE.values()]:
            return PublishedNights()
        nights, facts, pairs = tables
        signatures = {digest: Signature(*entry) for digest, entry in index["signed"].items()}
        return PublishedNights(nights, facts, index["stamps"], pairs, signatures)
    except (Exception, pl.exceptions.PanicException):
        return PublishedNights()


def save_cache(site: Path, cache: PublishedNights) -> None:
    """Replace the cache in a folder atomically; do nothing if the folder cannot be written."""
    signatures = {digest: [entry.state, entry.key] for digest, entry in cache.signatures.items()}
    index = {"format": _cache_format(site.name), "stamps": dict(cache.stamps), "signed": signatures}
    parts = [json.dumps(index).encode()]
    for frame in (cache.nights, cache.provenance, cache.pairs):
        buffer = io.BytesIO()
        frame.write_parquet(buffer, compression="zstd", compression_level=1)
        parts.append(buffer.getvalue())
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as archive:
        for member, part in zip((_INDEX, *_SCHEMA_BY_CACHED_FILE), parts, strict=True):
            archive.writestr(member, part)
        archive.writestr(_PROOF, pseudonyms.site_hmac(site.name, *parts))
    with contextlib.suppress(OSError):
        store.replace_derived_file(site, CACHE_FILE, output.getvalue())


def has_history(bundle_manifest: Manifest) -> bool:
    """Whether a bundle holds the nights before it."""
    return any(name.startswith(manifest.HISTORY_PREFIX) for name in bundle_manifest.data["files"])


def attach_history(
    bundle: Path, bundle_manifest: Manifest, ledger: Ledger, annotations: Sequence[Annotation] = ()
) -> Manifest:
    """Put earlier nights of `ledger` into `bundle`; return its new manifest, which is not signed.

    The manifest names the night before.  What `annotations` say of these nights and of this one is
    added.  A bundle without a night before it stays unchanged.
    """
    started = str(bundle_manifest.data["started"])
    history = ledger.nights_before(started, MAX_BUNDLE_NIGHTS)
    if history.nights.is_empty() and history.pairs.is_empty():
        return bundle_manifest
    night_notes = notes_on_nights([*history.nights["night"].unique(), started], annotations)
    levels = [
        (annotation.last, annotation.series, annotation.text)
        for annotation in annotations
        if annotation.kind == KIND and annotation.last[:10] <= started[:10]
    ]
    omissions = [(each.series, each.words) for each in annotations if each.leaves_out(started)]
    tables = {
        "nights": history.nights,
        "provenance": history.provenance,
        "pairs": ledger.nights_before(started, MAX_BUNDLE_PAIR_NIGHTS).pairs,
        "notes": _table_frame("notes", night_notes),
        "accepted": _table_frame("accepted", levels),
        "left_out": _table_frame("left_out", omissions),
    }
    (bundle / manifest.HISTORY_PREFIX).mkdir()
    for name, frame in tables.items():
        if frame.height or name in _REQUIRED_TABLES:
            bundle_tables.write_frame(frame, bundle / _table_path(name))
    published_nights = history.nights.filter(~pl.col("foreign")).sort("night", "digest")
    if published_nights.is_empty():
        return manifest.write_unsigned(bundle, bundle_manifest.data)
    start, digest = published_nights.select("night", "digest").row(-1)
    link = {"before": {"digest": digest, "started": start}}
    return manifest.write_unsigned(bundle, {**bundle_manifest.data, **link})


def read_attached_history(bundle: Path, bundle_manifest: Manifest) -> Ledger:
    """Read the nights in a verified bundle, if any; UserError for contents that no ledger wrote."""
    if not has_history(bundle_manifest):
        return Ledger()
    tables: dict[str, Any] = {}
    for name, row in _ROW_TYPE_BY_TABLE.items():
        file = _table_path(name)
        if file in bundle_manifest.data["files"] or name in _REQUIRED_TABLES:
            tables[name] = bundle_tables.read_table(bundle / file, row)
            bundle_tables.require_valid_rows(tables[name], row, bundle / file)
    ledger = Ledger(**tables)
    for name, frame in (("nights", ledger.nights), ("pairs", ledger.pairs)):
        if not (frame["night"] < bundle_manifest.data["started"]).all():
            raise UserError(
                "a night that did not begin before this one", bundle / _table_path(name)
            )
    if ledger.nights.select("night", *SERIES, "nodes").is_duplicated().any():
        raise UserError("a series has two rows for one night", bundle / _table_path("nights"))
    return ledger

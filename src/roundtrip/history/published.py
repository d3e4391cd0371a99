"""The published revisions of a campaign on a site that count as nights, and the cache of them.

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
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.history.night_rows import NIGHTS, PAIRS, PROVENANCE, SERIES
from roundtrip.measure import analysis, manifest, pseudonyms, reader, signature, store
from roundtrip.measure.signature import Signature

CACHE_FILE = ".history.zip"
_INDEX, _PROOF = "index.json", "proof"
_SCHEMA_BY_CACHED_FILE = {
    "nights.parquet": NIGHTS,
    "provenance.parquet": PROVENANCE,
    "pairs.parquet": PAIRS,
}
#: Libraries whose versions also determine values and pages.
_LIBRARIES = ("jinja2", "numpy", "polars", "scipy")
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
    """Revisions that no later one supersedes, oldest first; and a warning for each damaged one.

    A revision is damaged where reading it raises a UserError.
    """
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
class Cache:
    """Tables of columns `NIGHTS`, `PROVENANCE` and `PAIRS`, and by digest data of their bundles.

    `stamps` are those of each `Revision`; `signatures` says who signed it.
    """

    nights: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=NIGHTS))
    provenance: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PROVENANCE))
    stamps: Mapping[str, str] = field(default_factory=dict)
    pairs: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PAIRS))
    signatures: Mapping[str, Signature] = field(default_factory=dict)

    def part(self, digests: Collection[str]) -> Cache:
        """Only the nights whose bundles have these digests."""
        is_part = pl.col("digest").is_in(list(digests))
        return Cache(
            self.nights.filter(is_part),
            self.provenance.filter(is_part),
            {digest: stamp for digest, stamp in self.stamps.items() if digest in digests},
            self.pairs.filter(is_part),
            {digest: entry for digest, entry in self.signatures.items() if digest in digests},
        )

    def joined(self, other: Cache) -> Cache:
        """The nights of both, sorted."""
        return Cache(
            pl.concat([self.nights, other.nights]).sort(NIGHTS_SORT_COLUMNS),
            pl.concat([self.provenance, other.provenance]).sort(PROVENANCE.keys()),
            {**self.stamps, **other.stamps},
            pl.concat([self.pairs, other.pairs]).sort(PAIRS.keys()),
            {**self.signatures, **other.signatures},
        )


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
    site_bytes = repr(site_thresholds(site)).encode() + signature.signature_cache_key(site)
    return f"{code_digest()} {hashlib.sha256(site_bytes).hexdigest()}"


def load_cache(site: Path) -> Cache:
    """The cache of a campaign on a site; an empty one if it is missing, outdated or not authentic.

    Its tables are decoded in this process, because its digest shows that this user wrote them.
    """
    file = store.file_path(site, CACHE_FILE)
    if not file.is_file():
        return Cache()
    try:
        with zipfile.ZipFile(file) as archive:
            limit = reader.ReadingLimits.for_size(file.stat().st_size).memory_bytes
            if sum(member.file_size for member in archive.infolist()) > limit:
                return Cache()
            parts = {name: archive.read(name) for name in (_INDEX, *_SCHEMA_BY_CACHED_FILE)}
            proof = archive.read(_PROOF).decode()
        right_proof = pseudonyms.site_hmac(site.name, *parts.values())
        if not proof or not hmac.compare_digest(proof, right_proof):
            return Cache()
        index = json.loads(parts[_INDEX])
        if index["format"] != _cache_format(site.name):
            return Cache()
        tables = [pl.read_parquet(io.BytesIO(parts[name])) for name in _SCHEMA_BY_CACHED_FILE]
        if [dict(table.schema) for table in tables] != [*_SCHEMA_BY_CACHED_FILE.values()]:
            return Cache()
        nights, facts, pairs = tables
        signatures = {digest: Signature(*entry) for digest, entry in index["signed"].items()}
        return Cache(nights, facts, index["stamps"], pairs, signatures)
    except (Exception, pl.exceptions.PanicException):
        return Cache()


def save_cache(site: Path, cache: Cache) -> None:
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

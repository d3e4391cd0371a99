"""The cache of a campaign's nights on a site, which is derived from their bundles.

It is a zip file beside the nights, with a proof by the key of the site: a cache that anybody else
wrote or changed is ignored.  A cached night is valid until a file of its bundle, or a key that may
sign for the site, changes.
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
from pathlib import Path

import polars as pl

from roundtrip import __version__
from roundtrip.history import night
from roundtrip.history.night_rows import NIGHTS, PAIRS, PROVENANCE, SERIES
from roundtrip.measure import pseudonyms, reader, signature, store
from roundtrip.measure.columns import Schema
from roundtrip.measure.signature import Signature

CACHE_FILE = ".history.zip"
_INDEX, _PROOF = "index.json", "proof"
_CACHED = {"nights.parquet": NIGHTS, "provenance.parquet": PROVENANCE, "pairs.parquet": PAIRS}
#: The order of rows of nights.
ORDER = ["night", "digest", *SERIES, "nodes"]


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
            pl.concat([self.nights, other.nights]).sort(ORDER),
            pl.concat([self.provenance, other.provenance]).sort(PROVENANCE.keys()),
            {**self.stamps, **other.stamps},
            pl.concat([self.pairs, other.pairs]).sort(PAIRS.keys()),
            {**self.signatures, **other.signatures},
        )


@functools.cache
def _code() -> str:
    """A digest of this package's code; a cache of other code is invalid."""
    code = b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py")))
    return f"{__version__} {hashlib.sha256(code).hexdigest()}"


def _format(site: str) -> str:
    """A text that changes with this package's code, the site's thresholds, or its signers."""
    site_bytes = repr(night.thresholds(site)).encode() + signature.cache_key(site)
    return f"{_code()} {hashlib.sha256(site_bytes).hexdigest()}"


def load(site: Path) -> Cache:
    """The cache in the folder of a campaign on a site; an empty one if it is missing or not ours.

    Its tables are decoded here, without the limits of a subprocess: the proof shows that we wrote
    them.
    """
    file = store.file(site, CACHE_FILE)
    if not file.is_file():
        return Cache()
    try:
        with zipfile.ZipFile(file) as archive:
            limit = reader.Limits.for_size(file.stat().st_size).memory
            if sum(member.file_size for member in archive.infolist()) > limit:
                return Cache()
            parts = {name: archive.read(name) for name in (_INDEX, *_CACHED)}
            proof = archive.read(_PROOF).decode()
        if not proof or not hmac.compare_digest(
            proof, pseudonyms.proof(site.name, *parts.values())
        ):
            return Cache()
        index = json.loads(parts[_INDEX])
        if index["format"] != _format(site.name):
            return Cache()
        nights, facts, pairs = (_cached_table(parts[n], schema) for n, schema in _CACHED.items())
        signatures = {digest: Signature(*entry) for digest, entry in index["signed"].items()}
        return Cache(nights, facts, index["stamps"], pairs, signatures)
    except (Exception, pl.exceptions.PanicException):
        return Cache()


def save(site: Path, cache: Cache) -> None:
    """Replace the cache in a folder atomically; do nothing if the folder cannot be written."""
    signatures = {digest: [entry.state, entry.key] for digest, entry in cache.signatures.items()}
    index = {"format": _format(site.name), "stamps": dict(cache.stamps), "signed": signatures}
    parts = [json.dumps(index).encode()]
    for frame in (cache.nights, cache.provenance, cache.pairs):
        buffer = io.BytesIO()
        frame.write_parquet(buffer, compression="zstd", compression_level=1)
        parts.append(buffer.getvalue())
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as archive:
        for member, part in zip((_INDEX, *_CACHED), parts, strict=True):
            archive.writestr(member, part)
        archive.writestr(_PROOF, pseudonyms.proof(site.name, *parts))
    with contextlib.suppress(OSError):
        store.replace_derived(site, CACHE_FILE, output.getvalue())


def _cached_table(content: bytes, schema: Schema) -> pl.DataFrame:
    table = pl.read_parquet(io.BytesIO(content))
    if dict(table.schema) != schema:
        raise ValueError("other columns")
    return table

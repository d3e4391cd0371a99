"""The history of a campaign on a site as it was last read: derived, and made anew when in doubt.

It is a zip beside the nights.  Whoever derived it from their bundles proves so with the key of the
site; one that anybody else wrote or changed is not taken.  A night is taken from it while no file
of its bundle, and no key that may sign for the site, has changed since it was read.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import hmac
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from roundtrip import __version__
from roundtrip.collect import pseudonyms, reader, signature
from roundtrip.collect.columns import Schema
from roundtrip.collect.night_rows import NIGHTS, PAIRS, PROVENANCE
from roundtrip.collect.signature import Signature

FILE_NAME = ".history.zip"
_INDEX, _NIGHTS, _PROVENANCE = "index.json", "nights.parquet", "provenance.parquet"
_PAIRS, _PROOF = "pairs.parquet", "proof"
_MEMBERS = (_INDEX, _NIGHTS, _PROVENANCE, _PAIRS)
_ANYTHING = (Exception, pl.exceptions.PanicException)


def _format(site: str) -> str:
    """What changes with the code of this room, or with whose signature counts for the site."""
    return f"{_code()} {hashlib.sha256(signature.trust(site)).hexdigest()}"


@functools.cache
def _code() -> str:
    code = b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py")))
    return f"{__version__} {hashlib.sha256(code).hexdigest()}"


@dataclass(frozen=True)
class Cache:
    """Rows of columns `NIGHTS`, `PROVENANCE` and `PAIRS`; `stamps` of the bundles they are of.

    A stamp is that of `Revision`, by the digest of the bundle; `signed` says who signed it.
    """

    nights: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=NIGHTS))
    provenance: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PROVENANCE))
    stamps: Mapping[str, str] = field(default_factory=dict)
    pairs: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PAIRS))
    signed: Mapping[str, Signature] = field(default_factory=dict)


def load(site: Path) -> Cache:
    """What the folder of a campaign on a site has; an empty one if it is missing or not ours."""
    if not (site / FILE_NAME).is_file():
        return Cache()
    try:
        reader.require_tables([site / FILE_NAME])
        with zipfile.ZipFile(site / FILE_NAME) as archive:
            parts = {name: archive.read(name) for name in _MEMBERS}
            proof = archive.read(_PROOF).decode()
        if not proof or not hmac.compare_digest(
            proof, pseudonyms.proof(site.name, *parts.values())
        ):
            return Cache()
        index = json.loads(parts[_INDEX])
        if index["format"] != _format(site.name):
            return Cache()
        tables = zip(_MEMBERS[1:], (NIGHTS, PROVENANCE, PAIRS), strict=True)
        nights, facts, between = (_table(parts[name], schema) for name, schema in tables)
        signed = {digest: Signature(*one) for digest, one in index["signed"].items()}
        return Cache(nights, facts, index["stamps"], between, signed)
    except _ANYTHING:
        return Cache()


def store(site: Path, cache: Cache) -> None:
    """Replace what is there at once; nothing if the folder cannot be written."""
    signed = {digest: [one.state, one.key] for digest, one in cache.signed.items()}
    index = {"format": _format(site.name), "stamps": dict(cache.stamps), "signed": signed}
    frames = (cache.nights, cache.provenance, cache.pairs)
    contents = [json.dumps(index).encode(), *map(_bytes, frames)]
    with contextlib.suppress(OSError):
        handle, name = tempfile.mkstemp(prefix=".history-", dir=site)
        try:
            with os.fdopen(handle, "wb") as stream, zipfile.ZipFile(stream, "w") as archive:
                for member, content in zip(_MEMBERS, contents, strict=True):
                    archive.writestr(member, content)
                archive.writestr(_PROOF, pseudonyms.proof(site.name, *contents))
            Path(name).chmod(0o644)
            Path(name).replace(site / FILE_NAME)
        finally:
            Path(name).unlink(missing_ok=True)


def _table(content: bytes, schema: Schema) -> pl.DataFrame:
    found = pl.read_parquet(io.BytesIO(content))
    if dict(found.schema) != schema:
        raise ValueError("other columns")
    return found


def _bytes(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=1)
    return buffer.getvalue()

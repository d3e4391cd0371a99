"""The history of a campaign on a site as it was last read: derived, and made anew when in doubt.

It is a zip beside the nights, whose checksums tell damage.  A night is taken from it while no file
of its bundle has changed since it was read.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
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
from roundtrip.collect import reader
from roundtrip.history.schema import NIGHTS, PAIRS, PROVENANCE, Schema

FILE_NAME = ".history.zip"
_INDEX, _NIGHTS, _PROVENANCE = "index.json", "nights.parquet", "provenance.parquet"
_PAIRS = "pairs.parquet"
_ANYTHING = (Exception, pl.exceptions.PanicException)


@functools.cache
def _format() -> str:
    """What changes with the code of this room: then the same bundles may give other rows."""
    code = b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py")))
    return f"{__version__} {hashlib.sha256(code).hexdigest()}"


@dataclass(frozen=True)
class Cache:
    """Rows of columns `NIGHTS`, `PROVENANCE` and `PAIRS`; `stamps` of the bundles they are of.

    A stamp is that of `Revision`, by the digest of the bundle.
    """

    nights: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=NIGHTS))
    provenance: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PROVENANCE))
    stamps: Mapping[str, str] = field(default_factory=dict)
    pairs: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PAIRS))


def load(site: Path) -> Cache:
    """What the folder of a campaign on a site has; an empty one if it is missing or damaged."""
    if not (site / FILE_NAME).is_file():
        return Cache()
    try:
        reader.require_tables([site / FILE_NAME])
        with zipfile.ZipFile(site / FILE_NAME) as archive:
            index = json.loads(archive.read(_INDEX))
            if index["format"] != _format():
                return Cache()
            nights = _table(archive.read(_NIGHTS), NIGHTS)
            facts = _table(archive.read(_PROVENANCE), PROVENANCE)
            between = _table(archive.read(_PAIRS), PAIRS)
            return Cache(nights, facts, index["stamps"], between)
    except _ANYTHING:
        return Cache()


def store(site: Path, cache: Cache) -> None:
    """Replace what is there at once; nothing if the folder cannot be written."""
    with contextlib.suppress(OSError):
        handle, name = tempfile.mkstemp(prefix=".history-", dir=site)
        try:
            with os.fdopen(handle, "wb") as stream, zipfile.ZipFile(stream, "w") as archive:
                archive.writestr(_NIGHTS, _bytes(cache.nights))
                archive.writestr(_PROVENANCE, _bytes(cache.provenance))
                archive.writestr(_PAIRS, _bytes(cache.pairs))
                told = {"format": _format(), "stamps": dict(cache.stamps)}
                archive.writestr(_INDEX, json.dumps(told))
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

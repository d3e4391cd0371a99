"""The nights before a run, inside its bundle: a report is judged against these, and no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip.collect import bundle_tables, manifest
from roundtrip.collect.columns import Row
from roundtrip.collect.manifest import Manifest
from roundtrip.collect.night_rows import ACCEPTED, NOTES, SERIES, Accepted, Fact, Night, Note, Pair
from roundtrip.errors import UserError
from roundtrip.history.annotations import ACCEPTED as KIND
from roundtrip.history.annotations import Annotation, notes
from roundtrip.history.ledger import Ledger

#: Nights that go into a bundle at most: a year, and more than detection looks back.
MOST_NIGHTS = 400
#: And nights of launches between pairs of nodes, of which there are many.
MOST_PAIRED = 64
_NIGHTS, _PROVENANCE, _NOTES, _PAIRS, _ACCEPTED = (
    f"{manifest.HISTORY}{name}.parquet"
    for name in ("nights", "provenance", "notes", "pairs", "accepted")
)
_TABLES: Mapping[str, tuple[str, type[Row]]] = {
    "nights": (_NIGHTS, Night),
    "provenance": (_PROVENANCE, Fact),
    "notes": (_NOTES, Note),
    "pairs": (_PAIRS, Pair),
    "accepted": (_ACCEPTED, Accepted),
}
_ROW = ["night", *SERIES, "nodes"]


def is_in(checked: Manifest) -> bool:
    """Whether a bundle holds the nights before it."""
    return any(name.startswith(manifest.HISTORY) for name in checked.data["files"])


def add(
    bundle: Path, checked: Manifest, ledger: Ledger, annotations: Sequence[Annotation] = ()
) -> Manifest:
    """Put the nights of `ledger` before the one of `bundle` into it; its manifest, written anew
    and not signed.  It names the night before it.

    What `annotations` say of these nights and of this one goes with them.  A bundle without a night
    before it stays as it is.
    """
    before = ledger.before(checked.data["started"], MOST_NIGHTS)
    if before.nights.is_empty():
        return checked
    (bundle / manifest.HISTORY).mkdir()
    bundle_tables.write_frame(before.nights, bundle / _NIGHTS)
    bundle_tables.write_frame(before.provenance, bundle / _PROVENANCE)
    if (between := ledger.before(checked.data["started"], MOST_PAIRED).pairs).height:
        bundle_tables.write_frame(between, bundle / _PAIRS)
    every = [*before.nights["night"].unique(), checked.data["started"]]
    if said := notes(every, annotations):
        bundle_tables.write_frame(pl.DataFrame(said, schema=NOTES, orient="row"), bundle / _NOTES)
    levels = [
        (one.last, one.series, one.text)
        for one in annotations
        if one.kind == KIND and one.last[:10] <= str(checked.data["started"])[:10]
    ]
    if levels:
        bundle_tables.write_frame(
            pl.DataFrame(levels, schema=ACCEPTED, orient="row"), bundle / _ACCEPTED
        )
    return manifest.write(bundle, {**checked.data, **_before(before)})


def _before(before: Ledger) -> dict[str, Any]:
    """The newest night that was published, which the next one names; nothing if none was."""
    own = before.nights.filter(~pl.col("foreign")).sort("night", "digest")
    if own.is_empty():
        return {}
    started, digest = own.select("night", "digest").row(-1)
    return {"before": {"digest": digest, "started": started}}


def read(bundle: Path, checked: Manifest) -> Ledger:
    """The nights in a verified bundle, if it holds some; UserError for what no ledger wrote."""
    if not is_in(checked):
        return Ledger()
    listed = checked.data["files"]
    held: dict[str, Any] = {
        field: _table(bundle / name, row)
        for field, (name, row) in _TABLES.items()
        if name in listed or field in ("nights", "provenance")
    }
    found = Ledger(**held)
    nights = bundle / _NIGHTS
    for frame, file in ((found.nights, nights), (found.pairs, bundle / _PAIRS)):
        if not (frame["night"] < checked.data["started"]).all():
            raise UserError("a night that did not begin before this one", file)
    if found.nights.select(_ROW).is_duplicated().any():
        raise UserError("a series stands there twice for a night", nights)
    return found


def _table(file: Path, row: type[Row]) -> pl.DataFrame:
    found = bundle_tables.read_table(file, row)
    bundle_tables.require_rows(found, row, file)
    return found

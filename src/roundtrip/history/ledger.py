"""The history of a campaign on a site: read from its published reports, and put in bundles.

A bundle holds the nights before it: its report is judged against these, and no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip import imported
from roundtrip.collect import bundle_tables, manifest, reader, signature
from roundtrip.collect.columns import Row
from roundtrip.collect.manifest import Manifest
from roundtrip.collect.night_rows import (
    ACCEPTED,
    NIGHTS,
    NOTES,
    PAIRS,
    PROVENANCE,
    SERIES,
    Accepted,
    Fact,
    Night,
    Note,
    Pair,
)
from roundtrip.collect.signature import Signature
from roundtrip.errors import UserError
from roundtrip.history import cache, night, nodes, published
from roundtrip.history.annotations import ACCEPTED as KIND
from roundtrip.history.annotations import Annotation, mark, notes
from roundtrip.history.cache import Cache
from roundtrip.history.night import MeasuredNight
from roundtrip.history.published import Revision

#: Nights that are put into one table at a time: few calls, and little memory.
_BATCH = 64
_TABLES = ("cases", "placement", "nodes", "medians")
_ORDER = ["night", "digest", *SERIES, "nodes"]
#: Nights that go into a bundle at most: a year, and more than detection looks back.
MOST_NIGHTS = 400
#: And nights of launches between pairs of nodes, of which there are many.
MOST_PAIRED = 64
_NIGHTS, _PROVENANCE, _NOTES, _PAIRS, _ACCEPTED = (
    f"{manifest.HISTORY}{name}.parquet"
    for name in ("nights", "provenance", "notes", "pairs", "accepted")
)
_ATTACHED: Mapping[str, tuple[str, type[Row]]] = {
    "nights": (_NIGHTS, Night),
    "provenance": (_PROVENANCE, Fact),
    "notes": (_NOTES, Note),
    "pairs": (_PAIRS, Pair),
    "accepted": (_ACCEPTED, Accepted),
}


@dataclass(frozen=True)
class Ledger:
    """`nights` and `provenance` have the columns `NIGHTS` and `PROVENANCE`, oldest night first.

    `warnings` say which revisions were left out, one line ``path: reason`` each.  A bundle also
    holds `notes`, columns `NOTES`: what annotations say of nights, and `accepted`,
    columns `ACCEPTED`: levels that they accept.  `pairs`, columns `PAIRS`, are
    launches between pairs of nodes; `nights` has a series for each node that they tell of.
    `signed` says by night who signed it, and `remarks` what is odd of nights that are there.
    """

    nights: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=NIGHTS))
    provenance: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PROVENANCE))
    warnings: tuple[str, ...] = ()
    notes: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=NOTES))
    pairs: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PAIRS))
    accepted: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=ACCEPTED))
    signed: Mapping[str, Signature] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def before(self, started: str, most: int) -> Ledger:
        """The newest `most` nights that began before `started`, ISO 8601."""
        earlier = self.nights.filter(pl.col("night") < started)
        kept = earlier["night"].unique().sort().tail(most).to_list()
        nights = earlier.filter(pl.col("night").is_in(kept))
        facts = self.provenance.filter(pl.col("night").is_in(kept))
        between = self.pairs.filter(pl.col("night").is_in(kept))
        return Ledger(nights, facts, self.warnings, pairs=between)


def read_ledger(
    reports: Path, campaign: str, site: str, annotations: Sequence[Annotation] = ()
) -> Ledger:
    """All nights of `campaign` on `site` below the folder `reports`, those imported included.

    One run is one night, also when two ran on one day: of revisions of one run the newest counts,
    and none that another supersedes.  What cannot be read is left out with a warning.
    `annotations` may leave nights out of detection.
    """
    folder = reports / campaign / site
    revisions, warnings = published.counting(folder)
    revisions, more = _once(revisions)
    warnings += more
    stamps = {one.digest: one.stamp() for one in revisions}
    held = cache.load(folder)
    same = {digest for digest, stamp in stamps.items() if held.stamps.get(digest) == stamp}
    changed = {one.digest: one for one in revisions if one.digest not in same}
    fresh, more = _read_revisions(list(changed.values()), campaign, site)
    nights = pl.concat([_with_digests(held.nights, same), fresh.nights]).sort(_ORDER)
    facts = pl.concat([_with_digests(held.provenance, same), fresh.provenance])
    between = pl.concat([_with_digests(held.pairs, same), fresh.pairs]).sort(PAIRS.keys())
    kept = {digest: stamps[digest] for digest in (*same, *fresh.stamps)}
    signed = {**{d: held.signed[d] for d in same if d in held.signed}, **fresh.signed}
    now = Cache(nights, facts.sort(facts.columns), kept, between, signed)
    if now.stamps != held.stamps:
        cache.store(folder, now)
    started = dict(nights.select("digest", "night").unique().iter_rows())
    newest = {started[one.digest]: one.digest for one in revisions if one.digest in started}
    counting = list(newest.values())
    foreign = _imported(folder / imported.FOLDER)
    return Ledger(
        mark(pl.concat([_with_digests(nights, counting), foreign.nights]), annotations).sort(
            _ORDER
        ),
        pl.concat([_with_digests(now.provenance, counting), foreign.provenance]),
        (*warnings, *more, *foreign.warnings),
        pairs=_with_digests(now.pairs, counting),
        remarks=tuple(_chain(folder, revisions)),
        signed={one.started: signed[one.digest] for one in revisions if one.digest in counting},
    )


def _once(revisions: Sequence[Revision]) -> tuple[list[Revision], list[str]]:
    """Revisions without those whose samples another one has under another date; a warning for each.

    A run is one night, however often somebody gives its bundle another date.  What its site signed
    counts first, then what is older.
    """
    groups: dict[str, list[Revision]] = {}
    for one in revisions:
        groups.setdefault(one.samples or one.digest, []).append(one)
    others: dict[Path, Path] = {}
    for same in groups.values():
        if len({one.started for one in same}) > 1:
            best = min(same, key=_doubt)
            others |= {one.path: best.path for one in same if one.started != best.started}
    kept = [one for one in revisions if one.path not in others]
    return kept, [
        f"{p}: its samples are those of {o}: one run, one night" for p, o in others.items()
    ]


def _doubt(one: Revision) -> int:
    """How little the signature of a revision is worth; most of one that is forged or damaged."""
    try:
        state = signature.check_signature(one.bundle, manifest.verify(one.bundle)).state
    except UserError:
        return len(signature.STATES)
    return signature.STATES.index(state)


def _chain(folder: Path, revisions: Sequence[Revision]) -> list[str]:
    """A line for each night that names another one before it than lies there now.

    A night that is not there at all was perhaps never published here, so it gets no line.
    """
    named = [one for one in revisions if one.before]
    there = published.every_digest(folder) if named else set()
    known = {one.started for one in revisions}
    return [
        f"{one.path}: the night of {one.before[1]} is not the one that it names before it, "
        f"{one.before[0][:16]}: that was changed or replaced"
        for one in named
        if one.before and one.before[1] in known and one.before[0] not in there
    ]


def _imported(folder: Path) -> Ledger:
    """What was imported; a warning alone if one of the imports cannot be read."""
    if not folder.is_dir():
        return Ledger()
    try:
        return Ledger(*imported.read(folder))
    except UserError as error:
        return Ledger(warnings=(str(error),))


def _read_revisions(
    revisions: Sequence[Revision], campaign: str, site: str
) -> tuple[Cache, list[str]]:
    """Rows of revisions that are not in the cache; their stamps are left empty."""
    if not revisions:
        return Cache(), []
    thresholds = night.thresholds(site)
    level = thresholds.statistics.confidence_level
    undecodable = dict(_undecodable(revisions))
    warnings = [f"{path}: {why}" for path, why in undecodable.items()]
    nights, facts = [pl.DataFrame(schema=NIGHTS)], [pl.DataFrame(schema=PROVENANCE)]
    between, signed = [pl.DataFrame(schema=PAIRS)], dict[str, Signature]()
    decodable = [one for one in revisions if one.path not in undecodable]
    for start in range(0, len(decodable), _BATCH):
        batch: list[MeasuredNight] = []
        for one in decodable[start : start + _BATCH]:
            try:
                batch.append(night.read_night(one, campaign, site))
            except UserError as error:
                warnings.append(f"{one.path}: {published.without_folder(one.path, error)}")
        rows, known, wrong = night.join_nights(batch, level)
        nights.append(rows)
        facts.append(known)
        for read in batch:
            if why := wrong.get(read.revision.digest):
                warnings.append(f"{read.revision.path}: {why}")
                continue
            signed[read.revision.digest] = read.signed
            if read.pairs.height:
                between.append(read.pairs)
    pairs = pl.concat(between)
    nights.append(nodes.node_series(pairs, thresholds.nodes, level))
    stamps = dict.fromkeys(signed, "")
    return Cache(pl.concat(nights), pl.concat(facts), stamps, pairs, signed), warnings


def _undecodable(revisions: Sequence[Revision]) -> Iterator[tuple[Path, str]]:
    """Revisions with tables that reach a limit or kill their decoder, and how."""
    with reader.Reader() as decoder:
        for one in revisions:
            tables = [one.bundle / f"{name}.parquet" for name in _TABLES]
            try:
                decoder.require([file for file in tables if file.is_file()])
            except UserError as error:
                yield one.path, published.without_folder(one.path, error)


def _with_digests(frame: pl.DataFrame, digests: Sequence[str] | set[str]) -> pl.DataFrame:
    return frame.filter(pl.col("digest").is_in(list(digests)))


def has_history(checked: Manifest) -> bool:
    """Whether a bundle holds the nights before it."""
    return any(name.startswith(manifest.HISTORY) for name in checked.data["files"])


def attach(
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
    published_nights = before.nights.filter(~pl.col("foreign")).sort("night", "digest")
    if published_nights.is_empty():
        return manifest.write(bundle, checked.data)
    started, digest = published_nights.select("night", "digest").row(-1)
    named = {"before": {"digest": digest, "started": started}}
    return manifest.write(bundle, {**checked.data, **named})


def read_attached(bundle: Path, checked: Manifest) -> Ledger:
    """The nights in a verified bundle, if it holds some; UserError for what no ledger wrote."""
    if not has_history(checked):
        return Ledger()
    listed = checked.data["files"]
    tables: dict[str, Any] = {}
    for name, (file, row) in _ATTACHED.items():
        if file in listed or name in ("nights", "provenance"):
            tables[name] = bundle_tables.read_table(bundle / file, row)
            bundle_tables.require_rows(tables[name], row, bundle / file)
    ledger = Ledger(**tables)
    for frame, file in ((ledger.nights, _NIGHTS), (ledger.pairs, _PAIRS)):
        if not (frame["night"] < checked.data["started"]).all():
            raise UserError("a night that did not begin before this one", bundle / file)
    if ledger.nights.select("night", *SERIES, "nodes").is_duplicated().any():
        raise UserError("a series has two rows for one night", bundle / _NIGHTS)
    return ledger

"""The history of a campaign on a site, from its published reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from roundtrip import imported
from roundtrip.collect import analysis, manifest, signature
from roundtrip.collect.night_rows import ACCEPTED, NIGHTS, NOTES, PAIRS, PROVENANCE, SERIES
from roundtrip.collect.reader import Reader
from roundtrip.collect.signature import Signature
from roundtrip.errors import UserError
from roundtrip.history import cache, night, nodes, published
from roundtrip.history.annotations import Annotation, mark
from roundtrip.history.cache import Cache
from roundtrip.history.night import Night
from roundtrip.history.published import Revision

#: Nights that are put into one table at a time: few calls, and little memory.
_BATCH = 64
_TABLES = ("cases", "placement", "nodes", "medians")
_NIGHT = ["night", "digest"]
_ORDER = [*_NIGHT, *SERIES, "nodes"]


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


def read(reports: Path, campaign: str, site: str, annotations: Sequence[Annotation] = ()) -> Ledger:
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
    fresh = {one.digest: one for one in revisions if one.digest not in same}
    made, more = _read(list(fresh.values()), campaign, site)
    nights = pl.concat([_of(held.nights, same), made.nights]).sort(_ORDER)
    facts = pl.concat([_of(held.provenance, same), made.provenance])
    between = pl.concat([_of(held.pairs, same), made.pairs]).sort(PAIRS.keys())
    kept = {digest: stamps[digest] for digest in (*same, *made.stamps)}
    signed = {**{d: held.signed[d] for d in same if d in held.signed}, **made.signed}
    now = Cache(nights, facts.sort(facts.columns), kept, between, signed)
    if now.stamps != held.stamps:
        cache.store(folder, now)
    newest = _newest(now.nights, revisions)
    found = _imported(folder / imported.FOLDER)
    return Ledger(
        mark(pl.concat([_of(nights, newest), found.nights]), annotations).sort(_ORDER),
        pl.concat([_of(now.provenance, newest), found.provenance]),
        (*warnings, *more, *found.warnings),
        pairs=_of(now.pairs, newest),
        remarks=tuple(_chain(folder, revisions)),
        signed={one.started: signed[one.digest] for one in revisions if one.digest in newest},
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


def _read(revisions: Sequence[Revision], campaign: str, site: str) -> tuple[Cache, list[str]]:
    """Rows of revisions that are not in the cache; their stamps are left empty."""
    level = analysis.default().statistics.confidence_level
    warnings = list(_undecodable(revisions))
    dead = {path for path, _ in warnings}
    told = [f"{path}: {why}" for path, why in warnings]
    nights, facts, digests = [pl.DataFrame(schema=NIGHTS)], [pl.DataFrame(schema=PROVENANCE)], []
    between, signed = [pl.DataFrame(schema=PAIRS)], dict[str, Signature]()
    alive = [one for one in revisions if one.path not in dead]
    for start in range(0, len(alive), _BATCH):
        found: list[Night] = []
        for one in alive[start : start + _BATCH]:
            try:
                found.append(night.read(one, campaign, site))
            except UserError as error:
                told.append(f"{one.path}: {str(error).replace(f'{one.path}/', '')}")
        rows, known, wrong = night.together(found, level)
        told += [
            f"{one.revision.path}: {wrong[one.revision.digest]}"
            for one in found
            if one.revision.digest in wrong
        ]
        good = [one for one in found if one.revision.digest not in wrong]
        digests += [one.revision.digest for one in good]
        signed |= {one.revision.digest: one.signed for one in good}
        between += [one.pairs for one in good if one.pairs.height]
        nights.append(rows)
        facts.append(known)
    thresholds = analysis.default()
    every = pl.concat(between)
    nights.append(nodes.series(every, thresholds.nodes, level))
    stamps = dict.fromkeys(digests, "")
    return Cache(pl.concat(nights), pl.concat(facts), stamps, every, signed), told


def _undecodable(revisions: Sequence[Revision]) -> Iterator[tuple[Path, str]]:
    """Revisions with tables that reach a limit or kill their decoder, and how."""
    with Reader() as reader:
        for one in revisions:
            tables = [one.bundle / f"{name}.parquet" for name in _TABLES]
            try:
                reader.require([file for file in tables if file.is_file()])
            except UserError as error:
                yield one.path, str(error).replace(f"{one.path}/", "")


def _of(frame: pl.DataFrame, digests: Sequence[str] | set[str]) -> pl.DataFrame:
    return frame.filter(pl.col("digest").is_in(list(digests)))


def _newest(nights: pl.DataFrame, revisions: Sequence[Revision]) -> list[str]:
    """One digest a night: that of its newest revision."""
    started = dict(nights.select("digest", "night").unique().iter_rows())
    newest = {started[one.digest]: one.digest for one in revisions if one.digest in started}
    return list(newest.values())

"""Two sides become a comparison: provenance, ratios ranked by evidence, and what has no partner.

A claim is made only where both sides were launched in the rounds of one run.  Everything else is
shown without a claim: a machine drifts from night to night by more than most builds differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from roundtrip.compare import advice, matching, provenance
from roundtrip.compare.model import Comparison, Row, Series
from roundtrip.compare.side import Side, Unit
from roundtrip.errors import UserError
from roundtrip.report import decision, speeds
from roundtrip.report.speeds import Point, Values
from roundtrip.stats.foresight import rounds_to_come
from roundtrip.stats.levels import Levels
from roundtrip.stats.rounds import Pairing, in_twos, pair_by_round
from roundtrip.stats.summaries import median_interval
from roundtrip.stats.verdicts import Judged, Verdict


def with_least(levels: Levels, regression: float | None) -> Levels:
    """`levels` for which a difference of `regression` (a fraction) is the least that matters."""
    if regression is None:
        return levels
    least = {"minimum_effect": regression, "equivalence_margin": regression}
    return levels.model_copy(update=least)


def compare(base: Side, new: Side, fail_on: float | None = None) -> Comparison:
    """Compare `new` with `base`.

    `fail_on`, a fraction, takes the place of the minimum effect and of the equivalence margin of
    the bundle of `new`.  UserError if a side is empty, if both are the same, or if they share
    launches: those are always on par with themselves.
    """
    is_one_run = base.data.manifest.digest == new.data.manifest.digest
    if is_one_run and dict(base.chosen) == dict(new.chosen):
        raise UserError(f"{base.name} and {new.name} are the same: there is nothing to compare")
    if is_one_run and (shared := _shared(base, new)):
        raise UserError(
            f"{base.name} and {new.name} share launches, such as those of {shared[0].told}: "
            "choose sides that share none"
        )
    levels = with_least(new.data.analysis.statistics, fail_on)
    matched = matching.match(base, new)
    values = [
        speeds.of(side.data, [str(row["launch"]) for unit in units for row in unit.launches])
        for side, units in zip((base, new), zip(*matched.pairs, strict=True), strict=False)
    ]
    rows: list[Row] = []
    ratios: dict[Series, list[float]] = {}
    for one, other in matched.pairs:
        pairing = _pairing(one, other) if is_one_run and not one.simulated else None
        why = advice.why(base, new, one, other) if pairing is None else pairing.refused
        for point in _points(one, other, values):
            series = Series(one, other, point)
            if pairing and not why:
                ratios[series] = _paired(pairing, point, values, new.data.is_abba)
            rows.append(_row(series, values, levels, why))
    ratios = {series: found for series, found in ratios.items() if found}
    judged = decision.judge(new.data, ratios, levels)
    is_sequential = new.data.is_sequential and is_one_run
    each = 2 if new.data.is_abba else 1
    rows = [
        replace(_judged(row, judged, ratios, levels, is_sequential), each=each)
        if row.series in judged
        else row
        for row in rows
    ]
    return Comparison(
        base,
        new,
        provenance.facts(base, new, matched.pairs),
        tuple(sorted(rows, key=_rank)),
        matched.removed,
        matched.added,
        matched.refused,
        levels,
        is_sequential,
        advice.command(matched.pairs) if len(judged) < len(rows) else "",
    )


def _shared(base: Side, new: Side) -> list[Unit]:
    """The cases of `base` whose launches `new`, a side of the same run, has too."""
    theirs = {str(row["launch"]) for unit in new.units for row in unit.launches}
    return [unit for unit in base.units if str(unit.launches[0]["launch"]) in theirs]


def _pairing(one: Unit, other: Unit) -> Pairing:
    return pair_by_round(
        *([speeds.launched(row) for row in each.launches] for each in (one, other))
    )


def _points(one: Unit, other: Unit, values: list[Values]) -> list[Point]:
    """What both sides measured and depends on what differs between them, in order."""
    depends_on = speeds.differs((one.mpi, one.boost), (other.mpi, other.boost))
    both = [
        {point for row in unit.launches for point in found.get(str(row["launch"]), {})}
        for unit, found in zip((one, other), values, strict=True)
    ]
    found = [point for point in both[0] & both[1] if point.depends_on in depends_on]
    return sorted(found, key=lambda point: (point.what, point.size_bytes or 0))


def _paired(pairing: Pairing, point: Point, values: list[Values], is_abba: bool) -> list[float]:
    """Speed of the new side over that of the base, one for each round that has both, or for two."""
    found = {}
    for number, (one, other) in zip(pairing.numbers, pairing.pairs, strict=True):
        mine, theirs = values[0].get(one, {}).get(point), values[1].get(other, {}).get(point)
        if mine and theirs and min(mine.number, theirs.number) > 0:
            found[number] = _speed(mine.number, theirs.number, point)
    return in_twos(found) if is_abba else list(found.values())


def _speed(base: float, new: float, point: Point) -> float:
    return base / new if point.lower_is_better else new / base


def _row(series: Series, values: list[Values], levels: Levels, why: str) -> Row:
    sides = [
        [
            value.number
            for row in unit.launches
            if (value := found.get(str(row["launch"]), {}).get(series.point)) is not None
        ]
        for unit, found in zip((series.base, series.new), values, strict=True)
    ]
    base, new = (median_interval(side, levels.confidence_level) for side in sides)
    ratio = _speed(base.median, new.median, series.point) if base.median and new.median else 1.0
    return Row(series, base, new, ratio, why=why or "no round has both values")


def _judged(
    row: Row,
    judged: Mapping[Series, Judged],
    ratios: Mapping[Series, list[float]],
    levels: Levels,
    is_sequential: bool,
) -> Row:
    told = judged[row.series]
    more = None
    if is_sequential and told.verdict is Verdict.CANNOT_TELL:
        directed = (Verdict.FASTER, Verdict.SLOWER)
        spoken = sum(one.verdict in directed for one in judged.values())
        more = rounds_to_come(ratios[row.series], levels, len(judged), spoken)
    return replace(row, ratio=told.interval.median, judged=told, why="", more=more)


def _rank(row: Row) -> tuple[bool, float, float]:
    """Claims first, by p and then by size."""
    return row.judged is None, row.judged.p if row.judged else 0.0, -abs(math.log(row.ratio))

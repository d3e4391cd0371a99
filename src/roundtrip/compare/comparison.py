"""Two sides become a comparison: provenance, ratios ranked by evidence, and what has no partner.

A claim is made only where both sides were launched in the rounds of one run.  Everything else is
shown without a claim: a machine drifts from night to night by more than most builds differ.
"""

from __future__ import annotations

import math
import tempfile
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from roundtrip.collect import bundle
from roundtrip.collect.launches import scan
from roundtrip.compare import model
from roundtrip.compare.model import Comparison, Row, Series, Status
from roundtrip.compare.side import Side, Unit, facts
from roundtrip.errors import UserError
from roundtrip.report import data, speeds
from roundtrip.report.speeds import Point, Values
from roundtrip.report.units import printable
from roundtrip.stats.rounds import Pairing, in_twos, pair_by_round
from roundtrip.stats.sequential import rounds_to_come
from roundtrip.stats.settings import Levels
from roundtrip.stats.summaries import median_interval
from roundtrip.stats.verdicts import ClaimVerdict, Verdict

#: What may differ besides, if the sides were chosen by this.
_FREES = {
    "toolchain": ("toolchain",),
    "mpi": ("toolchain",),
    "boost": ("toolchain",),
    "spack": ("toolchain",),
    "partition": ("partition",),
    "site": ("site", "partition", "toolchain"),
}
#: Fewer rounds never give a verdict.
_FIRST_LOOK = 6
#: After so many rounds in which one side did not complete, more would not help.
_PATIENCE = 3
_MOST_NAMED = 3
_NAMED = ("site", "partition", "toolchain")
_ALIKE = (*_NAMED, "mpi", "boost", "compiler", "flags", "spack")


@dataclass(frozen=True)
class _Matches:
    """Pairs (base, new); cases of one side alone; and why some were not compared."""

    pairs: tuple[tuple[Unit, Unit], ...]
    removed: tuple[Unit, ...]
    added: tuple[Unit, ...]
    refused: tuple[str, ...]


def _match(base: Side, new: Side) -> _Matches:
    """Match the cases of `base` with those of `new`, each with one at most."""
    free = _free(base, new)
    base_groups, new_groups = _grouped(base.units), _grouped(new.units)
    pairs: list[tuple[Unit, Unit]] = []
    refusals: list[str] = []
    for key in dict.fromkeys([*base_groups, *new_groups]):
        base_units, new_units = base_groups[key], new_groups[key]
        pairs += [
            (base_unit, new_unit)
            for base_unit in base_units
            if (new_unit := _best(base_unit, new_units, free))
            and _best(new_unit, base_units, free) is base_unit
        ]
        if {unit.kind for unit in base_units}.isdisjoint(unit.kind for unit in new_units):
            refusals += (
                [_not_alike(base_units[0], new_units[0])] if base_units and new_units else []
            )
    matched_ids = {id(unit) for pair in pairs for unit in pair}
    return _Matches(
        tuple(pairs),
        tuple(unit for unit in base.units if id(unit) not in matched_ids),
        tuple(unit for unit in new.units if id(unit) not in matched_ids),
        tuple(refusals),
    )


def _grouped(units: Sequence[Unit]) -> dict[tuple[str, str, str], list[Unit]]:
    groups: dict[tuple[str, str, str], list[Unit]] = defaultdict(list)
    for unit in units:
        groups[unit.what].append(unit)
    return groups


def _free(base: Side, new: Side) -> set[str]:
    """What may differ between the two names of a case."""
    free = {name for key in (*base.chosen, *new.chosen) for name in _FREES.get(key, ())}
    if {unit.site for unit in base.units}.isdisjoint(unit.site for unit in new.units):
        free |= set(_FREES["site"])
    names = [{unit.toolchain for unit in side.units} for side in (base, new)]
    if len(names[0]) == len(names[1]) == 1:
        free.add("toolchain")
    return free


def _best(unit: Unit, candidates: Sequence[Unit], free: Collection[str]) -> Unit | None:
    """The one that is most like `unit`; None if there is none, or if two are as like."""
    matches = [
        candidate
        for candidate in candidates
        if candidate.kind == unit.kind
        and all(
            getattr(unit, name) == getattr(candidate, name) for name in _NAMED if name not in free
        )
    ]
    likeness = [
        sum(getattr(unit, n) == getattr(candidate, n) for n in _ALIKE) for candidate in matches
    ]
    if not matches or likeness.count(max(likeness)) > 1:
        return None
    return matches[likeness.index(max(likeness))]


def _not_alike(base: Unit, new: Unit) -> str:
    kinds = " and ".join(unit.kind or "measured" for unit in (base, new))
    case = f"{base.check}, {base.parameters}"
    return f"{case}: {kinds}: what is emulated or simulated is compared with its like only"


def with_least(levels: Levels, regression: float | None) -> Levels:
    """`levels` for which a difference of `regression` (a fraction) is the least that matters."""
    if regression is None:
        return levels
    update = {"minimum_effect": regression, "equivalence_margin": regression}
    return levels.model_copy(update=update)


def compare(base: Side, new: Side, fail_on: float | None = None) -> Comparison:
    """Compare `new` with `base`.

    `fail_on`, a fraction, takes the place of the minimum effect and of the equivalence margin of
    the bundle of `new`.  UserError if a side is empty, if both are the same, or if they share
    launches: those are always on par with themselves.
    """
    is_one_run = base.data.manifest.digest == new.data.manifest.digest
    if is_one_run and dict(base.chosen) == dict(new.chosen):
        raise UserError(f"{base.name} and {new.name} are the same: there is nothing to compare")
    if is_one_run and (shared_units := _shared(base, new)):
        raise UserError(
            f"{base.name} and {new.name} share launches, such as those of {shared_units[0].label}: "
            "choose sides that share none"
        )
    levels = with_least(new.data.analysis.statistics, fail_on)
    matches = _match(base, new)
    values = [
        speeds.speeds_of_launches(
            side.data, [str(row["launch"]) for unit in units for row in unit.launches]
        )
        for side, units in zip((base, new), zip(*matches.pairs, strict=True), strict=False)
    ]
    rows: list[Row] = []
    ratios: dict[Series, list[float]] = {}
    for base_unit, new_unit in matches.pairs:
        launches = (
            [speeds.launched(row) for row in unit.launches] for unit in (base_unit, new_unit)
        )
        pairing = pair_by_round(*launches) if is_one_run and not base_unit.simulated else None
        why = (
            pairing.refused
            if pairing
            else model.reason_without_claim(base, new, base_unit, new_unit)
        )
        for point in _points(base_unit, new_unit, values):
            series = Series(base_unit, new_unit, point)
            if pairing and not why:
                ratios[series] = _paired(pairing, point, values, new.data.is_abba)
            rows.append(_unjudged_row(series, values, levels, why))
    ratios = {series: series_ratios for series, series_ratios in ratios.items() if series_ratios}
    verdicts = data.judge(new.data, ratios, levels)
    is_sequential = new.data.is_sequential and is_one_run
    rounds_per_ratio = 2 if new.data.is_abba else 1
    rows = [
        replace(
            _judged_row(row, verdicts, ratios, levels, is_sequential),
            rounds_per_ratio=rounds_per_ratio,
        )
        if row.series in verdicts
        else row
        for row in rows
    ]
    return Comparison(
        base,
        new,
        facts(base, new, matches.pairs),
        tuple(sorted(rows, key=_rank)),
        matches.removed,
        matches.added,
        matches.refused,
        levels,
        is_sequential,
        model.advise(matches.pairs) if len(verdicts) < len(rows) else "",
    )


def _shared(base: Side, new: Side) -> list[Unit]:
    """The cases of `base` whose launches `new`, a side of the same run, has too."""
    launches = {str(row["launch"]) for unit in new.units for row in unit.launches}
    return [unit for unit in base.units if str(unit.launches[0]["launch"]) in launches]


def _points(base: Unit, new: Unit, values: list[Values]) -> list[Point]:
    """What both sides measured and depends on what differs between them, in order."""
    depends_on = speeds.differs((base.mpi, base.boost), (new.mpi, new.boost))
    side_points = [
        {point for row in unit.launches for point in side_values.get(str(row["launch"]), {})}
        for unit, side_values in zip((base, new), values, strict=True)
    ]
    points = [point for point in side_points[0] & side_points[1] if point.depends_on in depends_on]
    return sorted(points, key=lambda point: (point.what, point.size_bytes or 0))


def _paired(pairing: Pairing, point: Point, values: list[Values], is_abba: bool) -> list[float]:
    """Speed of the new side over that of the base, one for each round that has both, or for two."""
    ratios = {}
    for number, (base_launch, new_launch) in zip(pairing.numbers, pairing.pairs, strict=True):
        base, new = (
            values[0].get(base_launch, {}).get(point),
            values[1].get(new_launch, {}).get(point),
        )
        if base and new and min(base.number, new.number) > 0:
            ratios[number] = _speed(base.number, new.number, point)
    return in_twos(ratios) if is_abba else list(ratios.values())


def _speed(base: float, new: float, point: Point) -> float:
    return base / new if point.lower_is_better else new / base


def _unjudged_row(series: Series, values: list[Values], levels: Levels, why: str) -> Row:
    sides = [
        [
            value.number
            for row in unit.launches
            if (value := side_values.get(str(row["launch"]), {}).get(series.point)) is not None
        ]
        for unit, side_values in zip((series.base, series.new), values, strict=True)
    ]
    base, new = (median_interval(side, levels.confidence_level) for side in sides)
    ratio = _speed(base.median, new.median, series.point) if base.median and new.median else 1.0
    return Row(series, base, new, ratio, why=why or "no round has both values")


def _judged_row(
    row: Row,
    verdicts: Mapping[Series, ClaimVerdict],
    ratios: Mapping[Series, list[float]],
    levels: Levels,
    is_sequential: bool,
) -> Row:
    verdict = verdicts[row.series]
    more = None
    if is_sequential and verdict.verdict is Verdict.CANNOT_TELL:
        decided_count = sum(
            j.verdict in (Verdict.FASTER, Verdict.SLOWER) for j in verdicts.values()
        )
        more = rounds_to_come(ratios[row.series], levels, len(verdicts), decided_count)
    return replace(row, ratio=verdict.interval.median, judged=verdict, why="", more=more)


def _rank(row: Row) -> tuple[bool, float, float]:
    """Claims first, by p and then by size."""
    return row.judged is None, row.judged.p if row.judged else 0.0, -abs(math.log(row.ratio))


@dataclass
class Watch:
    """Looks at the run in `tree`, of toolchains `base` and `new`, after its rounds.

    To look as often as one likes does no harm: the run is judged by the sequential test.  `tell`
    shows a line to people, `fail_on` is as for `compare`.
    """

    tree: Path
    base: str
    new: str
    tell: Callable[[str], None]
    fail_on: float | None = None
    _since_pair: int = 0
    _pairs: int = 0

    def enough(self) -> bool:
        """Whether all claims have a verdict, or none can be expected; called before each round."""
        pairs = self.pairs
        self._since_pair = 0 if pairs > self._pairs else self._since_pair + 1
        self._pairs = pairs
        if self._since_pair > _PATIENCE:
            self.tell(f"no round launched both in the last {_PATIENCE}: stopping")
            return True
        if pairs < _FIRST_LOOK or pairs % max(1, pairs // 10):
            return False
        comparison = self.judged()
        self.tell(describe_status(comparison, pairs))
        return is_decided(comparison)

    @property
    def pairs(self) -> int:
        """Rounds in which both toolchains have a launch that passed."""
        rounds: dict[str, set[int | None]] = {self.base: set(), self.new: set()}
        for launch in scan(self.tree):
            if launch.status == "passed" and launch.environ in rounds:
                rounds[launch.environ].add(launch.campaign_round)
        return len(rounds[self.base] & rounds[self.new])

    def judged(self) -> Comparison:
        """The comparison of what is there; UserError if no launch completed."""
        with tempfile.TemporaryDirectory(prefix="roundtrip-ab-") as folder:
            bundle_data = data.read(bundle.build(self.tree, Path(folder)))
            base, new = (
                Side(f"{self.tree}:toolchain={name}", bundle_data, {"toolchain": name})
                for name in (self.base, self.new)
            )
            return compare(base, new, self.fail_on)


def is_decided(compared: Comparison) -> bool:
    """Whether there are claims, and none is open."""
    return bool(compared.rows) and not _open(compared)


def describe_status(compared: Comparison, rounds: int) -> str:
    """A line: how many claims have a verdict, and which are open for how long."""
    open_claims = _open(compared)
    decided_count = len(compared.rows) - len(open_claims)
    line = f"round {rounds}: {decided_count} of {len(compared.rows)} decided"
    if open_claims:
        names = "; ".join(open_claims[:_MOST_NAMED])
        more = f"; {len(open_claims) - _MOST_NAMED} more" if len(open_claims) > _MOST_NAMED else ""
        line += f"; open: {names}{more}"
    return printable(line)


def _open(comparison: Comparison) -> list[str]:
    states = (Status.CANNOT_TELL, Status.NO_CLAIM)
    return [
        f"{model.describe_series(r)} ({model.describe_missing_rounds(r)})"
        for r in comparison.rows
        if r.status in states
    ]

"""Compares two sides: provenance, ratios ranked by evidence, and cases without a partner.

A claim is made only if both sides were launched in the rounds of one run.  Everything else is
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
from roundtrip.compare.side import Side, SideCase, facts
from roundtrip.errors import UserError
from roundtrip.report import data, speeds
from roundtrip.report.speeds import Point, Values
from roundtrip.report.units import printable
from roundtrip.stats.rounds import Pairing, double_round_ratios, pair_by_round
from roundtrip.stats.sequential import rounds_to_come
from roundtrip.stats.settings import Levels
from roundtrip.stats.summaries import median_interval
from roundtrip.stats.verdicts import ClaimVerdict, Verdict

#: Name fields in which cases may differ, by the key that selects the sides.
_FREE_FIELDS = {
    "toolchain": ("toolchain",),
    "mpi": ("toolchain",),
    "boost": ("toolchain",),
    "spack": ("toolchain",),
    "partition": ("partition",),
    "site": ("site", "partition", "toolchain"),
}
#: Fewer rounds never give a verdict.
_FIRST_LOOK = 6
#: A run stops after more than this many rounds in a row without a passed launch of both sides.
_PATIENCE = 3
_MOST_CLAIMS = 3
_NAME_FIELDS = ("site", "partition", "toolchain")
_LIKENESS_FIELDS = (*_NAME_FIELDS, "mpi", "boost", "compiler", "flags", "spack")


@dataclass(frozen=True)
class _Matches:
    """Pairs (base, new); cases that only one side has; and why some were not compared."""

    pairs: tuple[tuple[SideCase, SideCase], ...]
    removed: tuple[SideCase, ...]
    added: tuple[SideCase, ...]
    refusals: tuple[str, ...]


def _match(base: Side, new: Side) -> _Matches:
    """Match the cases of `base` with those of `new`, each with at most one."""
    free = _free_fields(base, new)
    base_groups, new_groups = _group(base.cases), _group(new.cases)
    pairs: list[tuple[SideCase, SideCase]] = []
    refusals: list[str] = []
    for key in dict.fromkeys([*base_groups, *new_groups]):
        base_cases, new_cases = base_groups[key], new_groups[key]
        pairs += [
            (base_case, new_case)
            for base_case in base_cases
            if (new_case := _best_match(base_case, new_cases, free))
            and _best_match(new_case, base_cases, free) is base_case
        ]
        if {case.kind for case in base_cases}.isdisjoint(case.kind for case in new_cases):
            refusals += (
                [_kind_refusal(base_cases[0], new_cases[0])] if base_cases and new_cases else []
            )
    matched_ids = {id(case) for pair in pairs for case in pair}
    return _Matches(
        tuple(pairs),
        tuple(case for case in base.cases if id(case) not in matched_ids),
        tuple(case for case in new.cases if id(case) not in matched_ids),
        tuple(refusals),
    )


def _group(cases: Sequence[SideCase]) -> dict[tuple[str, str, str], list[SideCase]]:
    groups: dict[tuple[str, str, str], list[SideCase]] = defaultdict(list)
    for case in cases:
        groups[case.key].append(case)
    return groups


def _free_fields(base: Side, new: Side) -> set[str]:
    """The name fields in which two matched cases may differ."""
    free = {name for key in (*base.selection, *new.selection) for name in _FREE_FIELDS.get(key, ())}
    if {case.site for case in base.cases}.isdisjoint(case.site for case in new.cases):
        free |= set(_FREE_FIELDS["site"])
    names = [{case.toolchain for case in side.cases} for side in (base, new)]
    if len(names[0]) == len(names[1]) == 1:
        free.add("toolchain")
    return free


def _best_match(
    case: SideCase, candidates: Sequence[SideCase], free: Collection[str]
) -> SideCase | None:
    """The candidate most similar to `case`; None without one, or if two are equally similar."""
    matches = [
        candidate
        for candidate in candidates
        if candidate.kind == case.kind
        and all(
            getattr(case, name) == getattr(candidate, name)
            for name in _NAME_FIELDS
            if name not in free
        )
    ]
    likeness = [
        sum(getattr(case, n) == getattr(candidate, n) for n in _LIKENESS_FIELDS)
        for candidate in matches
    ]
    if not matches or likeness.count(max(likeness)) > 1:
        return None
    return matches[likeness.index(max(likeness))]


def _kind_refusal(base: SideCase, new: SideCase) -> str:
    kinds = " and ".join(case.kind or "measured" for case in (base, new))
    case = f"{base.check}, {base.parameters}"
    return f"{case}: {kinds}: what is emulated or simulated is compared with its like only"


def with_minimum_effect(levels: Levels, regression: float | None) -> Levels:
    """`levels` with `regression` (a fraction) as minimum effect and margin; unchanged if None."""
    if regression is None:
        return levels
    update = {"minimum_effect": regression, "equivalence_margin": regression}
    return levels.model_copy(update=update)


def compare(base: Side, new: Side, fail_on: float | None = None) -> Comparison:
    """Compare `new` with `base`.

    `fail_on`: a fraction that replaces the minimum effect and the equivalence margin of the bundle
    of `new`.  UserError if a side is empty, if both are the same, or if they share launches, which
    are always on par with themselves.
    """
    is_one_run = base.data.manifest.digest == new.data.manifest.digest
    if is_one_run and dict(base.selection) == dict(new.selection):
        raise UserError(f"{base.name} and {new.name} are the same: there is nothing to compare")
    if is_one_run and (shared_cases := _shared_cases(base, new)):
        raise UserError(
            f"{base.name} and {new.name} share launches, such as those of {shared_cases[0].label}: "
            "choose sides that share none"
        )
    levels = with_minimum_effect(new.data.analysis.statistics, fail_on)
    matches = _match(base, new)
    values = [
        speeds.speeds_of_launches(
            side.data, [str(row["launch"]) for case in cases for row in case.launches]
        )
        for side, cases in zip((base, new), zip(*matches.pairs, strict=True), strict=False)
    ]
    rows: list[Row] = []
    ratios: dict[Series, list[float]] = {}
    for base_case, new_case in matches.pairs:
        launches = (
            [speeds.round_launch(row) for row in case.launches] for case in (base_case, new_case)
        )
        pairing = pair_by_round(*launches) if is_one_run and not base_case.simulated else None
        why = (
            pairing.refusal
            if pairing
            else model.reason_without_claim(base, new, base_case, new_case)
        )
        for point in _points(base_case, new_case, values):
            series = Series(base_case, new_case, point)
            if pairing and not why:
                ratios[series] = _round_ratios(pairing, point, values, new.data.is_abba)
            rows.append(_row_without_verdict(series, values, levels, why))
    ratios = {series: series_ratios for series, series_ratios in ratios.items() if series_ratios}
    verdicts = data.judge(new.data, ratios, levels)
    is_sequential = new.data.is_sequential and is_one_run
    rounds_per_ratio = 2 if new.data.is_abba else 1
    rows = [
        replace(
            _row_with_verdict(row, verdicts, ratios, levels, is_sequential),
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
        matches.refusals,
        levels,
        is_sequential,
        model.advise(matches.pairs) if len(verdicts) < len(rows) else "",
    )


def _shared_cases(base: Side, new: Side) -> list[SideCase]:
    """The cases of `base` whose launches are also in `new`, a side of the same run."""
    launches = {str(row["launch"]) for case in new.cases for row in case.launches}
    return [case for case in base.cases if str(case.launches[0]["launch"]) in launches]


def _points(base: SideCase, new: SideCase, values: list[Values]) -> list[Point]:
    """The points that both sides measured and that depend on what differs between them, sorted."""
    depends_on = speeds.differing_factors((base.mpi, base.boost), (new.mpi, new.boost))
    side_points = [
        {point for row in case.launches for point in side_values.get(str(row["launch"]), {})}
        for case, side_values in zip((base, new), values, strict=True)
    ]
    points = [point for point in side_points[0] & side_points[1] if point.depends_on in depends_on]
    return sorted(points, key=lambda point: (point.what, point.size_bytes or 0))


def _round_ratios(
    pairing: Pairing, point: Point, values: list[Values], is_abba: bool
) -> list[float]:
    """Speed of the new side over the base, one for each round (ABBA: two rounds) with both."""
    ratios = {}
    for number, (base_launch, new_launch) in zip(pairing.round_numbers, pairing.pairs, strict=True):
        base, new = (
            values[0].get(base_launch, {}).get(point),
            values[1].get(new_launch, {}).get(point),
        )
        if base and new and min(base.number, new.number) > 0:
            ratios[number] = _speed(base.number, new.number, point)
    return double_round_ratios(ratios) if is_abba else list(ratios.values())


def _speed(base: float, new: float, point: Point) -> float:
    return base / new if point.lower_is_better else new / base


def _row_without_verdict(series: Series, values: list[Values], levels: Levels, why: str) -> Row:
    sides = [
        [
            value.number
            for row in case.launches
            if (value := side_values.get(str(row["launch"]), {}).get(series.point)) is not None
        ]
        for case, side_values in zip((series.base, series.new), values, strict=True)
    ]
    base, new = (median_interval(side, levels.confidence_level) for side in sides)
    ratio = _speed(base.median, new.median, series.point) if base.median and new.median else 1.0
    return Row(series, base, new, ratio, why=why or "no round has both values")


def _row_with_verdict(
    row: Row,
    verdicts: Mapping[Series, ClaimVerdict],
    ratios: Mapping[Series, list[float]],
    levels: Levels,
    is_sequential: bool,
) -> Row:
    verdict = verdicts[row.series]
    ratios_missing = None
    if is_sequential and verdict.verdict is Verdict.CANNOT_TELL:
        decided_count = sum(
            j.verdict in (Verdict.FASTER, Verdict.SLOWER) for j in verdicts.values()
        )
        ratios_missing = rounds_to_come(ratios[row.series], levels, len(verdicts), decided_count)
    return replace(
        row, ratio=verdict.interval.median, verdict=verdict, why="", ratios_missing=ratios_missing
    )


def _rank(row: Row) -> tuple[bool, float, float]:
    """Sort key: claims first, by p and then by size of the ratio."""
    return row.verdict is None, row.verdict.p if row.verdict else 0.0, -abs(math.log(row.ratio))


@dataclass
class Watch:
    """Checks the run in `tree`, of toolchains `base` and `new`, after its rounds.

    The sequential test permits any number of checks.  `tell` shows a line to people; `fail_on` is
    as for `compare`.
    """

    tree: Path
    base: str
    new: str
    tell: Callable[[str], None]
    fail_on: float | None = None
    _since_pair: int = 0
    _pairs: int = 0

    def should_stop(self) -> bool:
        """Whether all claims have a verdict, or none can be expected; called before each round."""
        pairs = self.pairs
        self._since_pair = 0 if pairs > self._pairs else self._since_pair + 1
        self._pairs = pairs
        if self._since_pair > _PATIENCE:
            self.tell(f"no round launched both in the last {_PATIENCE}: stopping")
            return True
        if pairs < _FIRST_LOOK or pairs % max(1, pairs // 10):
            return False
        comparison = self.compare()
        self.tell(describe_status(comparison, pairs))
        return is_decided(comparison)

    @property
    def pairs(self) -> int:
        """The number of rounds in which a launch of each toolchain passed."""
        rounds: dict[str, set[int | None]] = {self.base: set(), self.new: set()}
        for launch in scan(self.tree):
            if launch.status == "passed" and launch.environ in rounds:
                rounds[launch.environ].add(launch.campaign_round)
        return len(rounds[self.base] & rounds[self.new])

    def compare(self) -> Comparison:
        """The comparison of the launches so far; UserError if none completed."""
        with tempfile.TemporaryDirectory(prefix="roundtrip-ab-") as folder:
            bundle_data = data.read(bundle.build(self.tree, Path(folder)))
            base, new = (
                Side(f"{self.tree}:toolchain={name}", bundle_data, {"toolchain": name})
                for name in (self.base, self.new)
            )
            return compare(base, new, self.fail_on)


def is_decided(comparison: Comparison) -> bool:
    """Whether there are claims, and none is open."""
    return bool(comparison.rows) and not _open_claims(comparison)


def describe_status(comparison: Comparison, rounds: int) -> str:
    """One line: how many claims have a verdict, and which open ones need how many rounds."""
    open_claims = _open_claims(comparison)
    decided_count = len(comparison.rows) - len(open_claims)
    line = f"round {rounds}: {decided_count} of {len(comparison.rows)} decided"
    if open_claims:
        names = "; ".join(open_claims[:_MOST_CLAIMS])
        more = (
            f"; {len(open_claims) - _MOST_CLAIMS} more" if len(open_claims) > _MOST_CLAIMS else ""
        )
        line += f"; open: {names}{more}"
    return printable(line)


def _open_claims(comparison: Comparison) -> list[str]:
    states = (Status.CANNOT_TELL, Status.NO_CLAIM)
    return [
        f"{model.describe_series(r)} ({model.describe_missing_rounds(r)})"
        for r in comparison.rows
        if r.status in states
    ]

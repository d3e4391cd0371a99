"""Compares two sides: provenance, ratios ranked by evidence, and cases without a partner.

A claim is made only if both sides were launched in the rounds of one run.  Everything else is
shown without a claim: a machine drifts from night to night by more than most builds differ.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from roundtrip.content import data
from roundtrip.errors import UserError
from roundtrip.measure import bundle
from roundtrip.measure.launches import scan_launches
from roundtrip.report import speeds
from roundtrip.report.compare import model
from roundtrip.report.compare.model import Comparison, Row, Series, Status
from roundtrip.report.compare.side import Pair, Side, SideCase, facts
from roundtrip.report.speeds import SpeedPoint, ValuesByLaunch
from roundtrip.stats.sequential import forecast_rounds
from roundtrip.stats.settings import Levels
from roundtrip.stats.summaries import median_interval
from roundtrip.stats.verdicts import Verdict, pair_by_round
from roundtrip.units import MEASURED_LABEL, printable

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
_MIN_PAIRS = 6
#: A run stops after more than this many rounds in a row without a passed launch of both sides.
_PATIENCE = 3
_MOST_CLAIMS = 3
_NAME_FIELDS = ("site", "partition", "toolchain")
_LIKENESS_FIELDS = (*_NAME_FIELDS, "mpi", "boost", "compiler", "flags", "spack")


def _match(base: Side, new: Side) -> tuple[list[Pair], list[str]]:
    """Pairs (base, new) of cases, each case in at most one; and why others were not compared."""
    sides = (base, new)
    selected_keys = {*base.selection, *new.selection}
    free = {name for key in selected_keys for name in _FREE_FIELDS.get(key, ())}
    if {case.site for case in base.cases}.isdisjoint(case.site for case in new.cases):
        free |= set(_FREE_FIELDS["site"])
    if all(len({case.toolchain for case in side.cases}) == 1 for side in sides):
        free.add("toolchain")
    fixed_fields = ["kind", *(name for name in _NAME_FIELDS if name not in free)]
    groups: dict[tuple[str, str, str], tuple[list[SideCase], list[SideCase]]] = {}
    for number, side in enumerate(sides):
        for case in side.cases:
            groups.setdefault(case.key, ([], []))[number].append(case)
    pairs: list[Pair] = []
    refusals: list[str] = []
    for base_cases, new_cases in groups.values():
        pairs += [
            (base_case, new_case)
            for base_case in base_cases
            if (new_case := _best_match(base_case, new_cases, fixed_fields))
            and _best_match(new_case, base_cases, fixed_fields) is base_case
        ]
        kinds = [{case.kind for case in cases} for cases in (base_cases, new_cases)]
        if base_cases and new_cases and kinds[0].isdisjoint(kinds[1]):
            base_case, new_case = base_cases[0], new_cases[0]
            kind, new_kind = (case.kind or MEASURED_LABEL for case in (base_case, new_case))
            reason = "emulated and simulated values are compared with their kind only"
            refusals.append(f"{base_case.name}: {kind} and {new_kind}: {reason}")
    return pairs, refusals


def _best_match(
    case: SideCase, candidates: Sequence[SideCase], fixed_fields: Sequence[str]
) -> SideCase | None:
    """The candidate most similar to `case`; None without one, or if two are equally similar."""
    matches = [
        candidate
        for candidate in candidates
        if all(getattr(case, name) == getattr(candidate, name) for name in fixed_fields)
    ]
    likeness = [
        sum(getattr(case, n) == getattr(candidate, n) for n in _LIKENESS_FIELDS)
        for candidate in matches
    ]
    if not matches or likeness.count(max(likeness)) > 1:
        return None
    return matches[likeness.index(max(likeness))]


def compare(base: Side, new: Side, fail_on: float | None = None) -> Comparison:
    """Compare `new` with `base`.

    `fail_on`: a fraction that replaces the minimum effect and all equivalence margins of the bundle
    of `new`.  UserError if a side is empty, if both are the same, or if they share launches, which
    are always on par with themselves.
    """
    is_one_run = base.data.manifest.digest == new.data.manifest.digest
    if is_one_run:
        _require_distinct(base, new)
    levels = new.data.analysis.statistics
    if fail_on is not None:
        margins = {"equivalence_margin": fail_on, "equivalence_margins": ()}
        levels = levels.model_copy(update={"minimum_effect": fail_on, **margins})
    pairs, refusals = _match(base, new)
    names = [[name for pair in pairs for name in pair[n].launch_names] for n in (0, 1)]
    values = [
        speeds.launch_speeds(*side) for side in zip((base.data, new.data), names, strict=True)
    ]
    ratios, reasons = _form_ratios(base, new, pairs, values)
    verdicts = data.judge_claims(new.data, ratios, levels)
    decided_count = sum(v.verdict.is_difference for v in verdicts.values())
    is_sequential = new.data.is_sequential and is_one_run
    rows = []
    for series, why in reasons.items():
        row = _row_without_claim(series, values, levels, why)
        if verdict := verdicts.get(series):
            missing = None
            limits = levels.for_study(series.study)
            if is_sequential and verdict.verdict is Verdict.CANNOT_TELL:
                missing = forecast_rounds(ratios[series], limits, len(verdicts), decided_count)
            rounds = 2 if new.data.is_abba else 1
            row = replace(row, ratio=verdict.interval.median, verdict=verdict, why="")
            row = replace(row, ratios_missing=missing, rounds_per_ratio=rounds)
        rows.append(row)
    matched_ids = {id(case) for pair in pairs for case in pair}
    removed, added = (
        tuple(case for case in side.cases if id(case) not in matched_ids) for side in (base, new)
    )
    return Comparison(
        base,
        new,
        facts(base, new, pairs),
        tuple(sorted(rows, key=_rank)),
        removed,
        added,
        tuple(refusals),
        levels,
        is_sequential,
        model.advise(pairs) if len(verdicts) < len(rows) else "",
    )


def _require_distinct(base: Side, new: Side) -> None:
    """Raise UserError if two sides of one run are the same or share launches."""
    if dict(base.selection) == dict(new.selection):
        raise UserError(f"{base.name} and {new.name} are the same: there is nothing to compare")
    new_launches = {name for case in new.cases for name in case.launch_names}
    for case in base.cases:
        if case.launch_names[0] in new_launches:
            raise UserError(
                f"{base.name} and {new.name} share launches, such as those of {case.label}: "
                "choose sides that share none"
            )


def _form_ratios(
    base: Side, new: Side, pairs: Sequence[Pair], values: Sequence[ValuesByLaunch]
) -> tuple[dict[Series, list[float]], dict[Series, str]]:
    """By series, the ratios that are claimed; and why nothing is claimed of a series without."""
    ratios, reasons = {}, {}
    is_one_run = base.data.manifest.digest == new.data.manifest.digest
    run_values = {**values[0], **values[1]}
    is_abba = new.data.is_abba
    for pair in pairs:
        pairing = None
        if is_one_run and not pair[0].simulated:
            launches = [[speeds.round_launch(row) for row in case.launches] for case in pair]
            pairing = pair_by_round(*reversed(launches))
        why = pairing.refusal if pairing else model.reason_without_claim(base, new, *pair)
        for point in _points(pair, values):
            series = Series(*pair, point)
            reasons[series] = why or "no round has both values"
            if pairing and (paired := speeds.paired_values(pairing, point, run_values, is_abba)):
                ratios[series] = paired.ratios
    return {series: found for series, found in ratios.items() if found}, reasons


def _points(pair: Pair, values: Sequence[ValuesByLaunch]) -> list[SpeedPoint]:
    """The points that both sides measured and that depend on what differs between them, sorted."""
    depends_on = speeds.differing_factors(*((case.mpi, case.boost) for case in pair))
    base_points, new_points = (
        {point for name in case.launch_names for point in side_values.get(name, {})}
        for case, side_values in zip(pair, values, strict=True)
    )
    points = [point for point in base_points & new_points if point.depends_on in depends_on]
    return sorted(points, key=lambda point: (point.what, point.size_bytes or 0))


def _row_without_claim(
    series: Series, values: Sequence[ValuesByLaunch], levels: Levels, why: str
) -> Row:
    intervals = []
    for case, side_values in zip((series.base, series.new), values, strict=True):
        points = (side_values.get(name, {}).get(series.point) for name in case.launch_names)
        numbers = [value.number for value in points if value]
        intervals.append(median_interval(numbers, levels.confidence_level))
    base, new = intervals
    ratio = 1.0
    if base.median and new.median:
        is_cost = series.point.lower_is_better
        ratio = base.median / new.median if is_cost else new.median / base.median
    return Row(series, base, new, ratio, why=why)


def _rank(row: Row) -> tuple[bool, float, float]:
    """Sort key: claims first, by p and then by size of the ratio."""
    return row.verdict is None, row.verdict.p if row.verdict else 0.0, -abs(math.log(row.ratio))


@dataclass
class Watch:
    """Checks the run in `tree`, of toolchains `base` and `new`, after its rounds.

    The sequential test permits any number.  `tell` shows a line; `fail_on` is as for `compare`.
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
        if pairs < _MIN_PAIRS or pairs % max(1, pairs // 10):
            return False
        comparison = self.compare()
        self.tell(describe_status(comparison, pairs))
        return is_decided(comparison)

    @property
    def pairs(self) -> int:
        """The number of rounds in which a launch of each toolchain passed."""
        rounds: dict[str, set[int | None]] = {self.base: set(), self.new: set()}
        for launch in scan_launches(self.tree):
            if launch.status == "passed" and launch.environ in rounds:
                rounds[launch.environ].add(launch.campaign_round)
        return len(rounds[self.base] & rounds[self.new])

    def compare(self) -> Comparison:
        """The comparison of the launches so far; UserError if none completed."""
        with tempfile.TemporaryDirectory(prefix="roundtrip-ab-") as folder:
            bundle_data = data.read_bundle(bundle.build_bundle(self.tree, Path(folder)))
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
        line += f"; open: {'; '.join(open_claims[:_MOST_CLAIMS])}"
    if len(open_claims) > _MOST_CLAIMS:
        line += f"; {len(open_claims) - _MOST_CLAIMS} more"
    return printable(line)


def _open_claims(comparison: Comparison) -> list[str]:
    rows = [row for row in comparison.rows if row.status in (Status.OPEN, Status.NO_CLAIM)]
    return [f"{model.describe_series(r)} ({model.describe_missing_rounds(r)})" for r in rows]

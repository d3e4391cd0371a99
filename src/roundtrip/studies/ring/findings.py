"""Tests of the three published reasons with our measurements, and the answers of the section."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import itemgetter

from roundtrip import units
from roundtrip.content import labels
from roundtrip.content.blocks import Answer, StatusColour, StrongText
from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies import findings as shared
from roundtrip.studies.findings import OPEN, ArmClaim, worst_colour
from roundtrip.studies.ring import CACHE_LINE, REGION, REGION_UDP, STUDY, Thresholds, derived
from roundtrip.studies.ring.curves import Panel, RingCurves
from roundtrip.studies.ring.derived import PUBLISHED_REASONS, PublishedReason
from roundtrip.units import Quantity, Unit

#: No red: if a reason of the study does not hold, something costs less than it did.
COLOUR_BY_OUTCOME: dict[str, StatusColour] = {
    "holds": "good",
    "holds in part": "warn",
    OPEN: "warn",
    "does not hold": "plain",
}
#: Outcomes that cover every compared size.
_OUTCOMES_AT_ALL_SIZES = ("holds", "does not hold")


@dataclass(frozen=True, kw_only=True)
class Finding(shared.Finding[PublishedReason, Panel]):
    """Test of one published reason with one pair of transports in one panel."""

    variant: str
    base: str

    @property
    def sentence(self) -> str:
        """The verdict, or from which size on the reason holds, if it does at no smaller size.

        "At least" means that the next smaller size is undecided, so it may hold there as well.
        """
        pairs = [
            (size, claim.verdict) for size, claim in sorted(self.size_verdicts, key=itemgetter(0))
        ]
        upper = list(takewhile(lambda pair: pair[1] is Verdict.SLOWER, reversed(pairs)))
        lower = [verdict for _, verdict in pairs[: len(pairs) - len(upper)]]
        if not upper or not lower or Verdict.SLOWER in lower:
            return self.verdict
        prefix = "at least " if lower[-1] is Verdict.CANNOT_TELL else ""
        return f"holds {prefix}from {units.size_text(upper[-1][0])} on{self.coverage_suffix}"


def reason_findings(
    panel: Panel, verdicts: Mapping[ArmClaim, ClaimVerdict], settings: Thresholds
) -> list[Finding]:
    """Return a finding for each pair of transports that was measured in the panel."""
    sizes = settings.compared_sizes
    results = []
    for statement in PUBLISHED_REASONS:
        for variant, base in statement.pairs:
            if size_verdicts := shared.size_verdicts(
                verdicts, STUDY, panel, (variant, base), sizes
            ):
                outcome = _reason_outcome([verdict.verdict for _, verdict in size_verdicts])
                results.append(
                    Finding(
                        statement=statement,
                        panel=panel,
                        variant=variant,
                        base=base,
                        outcome=outcome,
                        outcome_colour=COLOUR_BY_OUTCOME[outcome],
                        is_about_all_sizes=outcome in _OUTCOMES_AT_ALL_SIZES,
                        size_verdicts=size_verdicts,
                        compared_sizes=sizes,
                    )
                )
    return results


def _reason_outcome(verdicts: Sequence[Verdict]) -> str:
    """The outcome of "it costs": holds at every measured size, at some, at none, or is open."""
    cost_count = sum(verdict is Verdict.SLOWER for verdict in verdicts)
    free_count = sum(verdict in (Verdict.ON_PAR, Verdict.FASTER) for verdict in verdicts)
    if cost_count == len(verdicts):
        return "holds"
    if cost_count:
        return "holds in part"
    return "does not hold" if free_count == len(verdicts) else OPEN


def overall_answers(curves: RingCurves, all_findings: Sequence[Finding]) -> tuple[Answer, ...]:
    """Return short answers over all panels: cost of a pass in a node, gain over MPI, reasons."""
    panels = curves.panels
    regular_panels = [panel for panel in panels if not panel.is_oversubscribed]
    lines = list(_cost_sentences(curves, regular_panels))
    if gains := [
        one.median for panel in regular_panels if (one := curves.gain_over_mpi(panel, REGION))
    ]:
        times, size = units.range_text(gains), units.size_text(derived.PUBLISHED_BYTES)
        lines.append(
            f"A region has {times} times the bandwidth of the best two-sided MPI at {size}."
        )
    oversubscribed_panels = [panel for panel in panels if panel.is_oversubscribed]
    for line in _cost_sentences(curves, oversubscribed_panels):
        lines.append(f"More ranks than processors: {line[0].lower()}{line[1:]}")
    costs = [Answer((line,)) for line in lines]
    if (
        not costs
        and not all_findings
        and labels.are_all_simulated(panel.emulation_label for panel in panels)
    ):
        return (Answer((labels.ONLY_SIMULATED_NOTE,)),)
    if not all_findings:
        return (*costs, Answer(("No reason of the study could be tested.",), "warn"))
    regular_findings = [finding for finding in all_findings if not finding.panel.is_oversubscribed]
    by_reason: dict[str, list[Finding]] = defaultdict(list)
    for finding in regular_findings or all_findings:
        by_reason[finding.statement.short_title].append(finding)
    return (*costs, *(line for group in by_reason.values() for line in _reason_answers(group)))


def _cost_sentences(curves: RingCurves, panels: Sequence[Panel]) -> Iterator[str]:
    """Line on a region's time per pass in a node; called flat only if it is in every panel."""
    costs = [
        cost for panel in panels if panel.is_in_one_node and (cost := region_cost(curves, panel))
    ]
    if costs:
        times = units.range_text([cost.fixed_seconds.median * 1e6 for cost in costs])
        is_flat = all(cost.is_flat_in_time for cost in costs)
        suffix = " whatever its size" if is_flat else " (median over its sizes)"
        yield f"In a node a region is passed in {times} µs{suffix}."


def _reason_answers(group: Sequence[Finding]) -> Iterator[Answer]:
    """An answer on one reason for each outcome; if there are several, each names its pairs."""
    name = group[0].statement.short_title
    reason = f"“{name[0].lower()}{name[1:]}” (elepar's study, 2002)"
    pairs_by_outcome: dict[str, list[tuple[Finding, str]]] = defaultdict(list)
    for finding, pair in zip(group, pair_names(group), strict=True):
        pairs_by_outcome[finding.sentence].append((finding, pair))
    for outcome, pairs in pairs_by_outcome.items():
        names = ", ".join(dict.fromkeys(pair for _, pair in pairs))
        where = f" for {names}" if len(pairs_by_outcome) > 1 else ""
        colour = worst_colour(finding.status_colour for finding, _ in pairs)
        yield Answer((f"{reason}: {outcome}{where}.",), colour)


def pair_names(group: Sequence[Finding]) -> list[str]:
    """The transport of each finding, with the panel if there are several: ``PVM, XDR (MPICH)``."""
    panel_names = labels.short_titles({finding.panel.title for finding in group})
    titles = [finding.panel.variant_title(finding.variant) for finding in group]
    if len(panel_names) == 1:
        return titles
    panels = [panel_names[finding.panel.title] for finding in group]
    return [f"{title} ({panel})" for title, panel in zip(titles, panels, strict=True)]


def panel_answer(curves: RingCurves, panel: Panel, all_findings: Sequence[Finding]) -> Answer:
    """The answer of `panel`; `all_findings` are the findings of all panels."""
    clauses, gains = [], []
    size = units.size_text(derived.PUBLISHED_BYTES)
    if panel.is_in_one_node and (cost := region_cost(curves, panel)):
        clauses.append(_cost_clause(cost))
    for variant in (REGION, REGION_UDP):
        if gain := curves.gain_over_mpi(panel, variant):
            title = panel.variant_title(variant)
            gains.append(f"a {title[0].lower()}{title[1:]} has {units.interval_text(gain)}")
    if gains:
        base = "the effective bandwidth of the best two-sided MPI"
        clauses.append(f"{', '.join(gains)} times {base} at {size}")
    read_region, read_mpi = (derived.READ_VARIANT_BY_TRANSPORT[name] for name in (REGION, "mpi"))
    if read_gain := curves.bandwidth_ratio(panel, read_region, read_mpi, derived.PUBLISHED_BYTES):
        times = units.interval_text(read_gain)
        clauses.append(f"with every byte read {times} times MPI's at {size}")
    panel_findings = [finding for finding in all_findings if finding.panel == panel]
    clauses += [
        f"{finding.statement.short_title.lower()} ({finding.variant}): {finding.sentence}"
        for finding in panel_findings
    ] or ["no reason of the study could be tested"]
    colour = worst_colour(finding.status_colour for finding in panel_findings)
    return Answer((StrongText(panel.title), f": {'; '.join(clauses)}."), colour)


@dataclass(frozen=True)
class RegionCost:
    """Fixed cost of a region's pass, and its flatness over `size_range` (bytes).

    `is_flat` compares it in hand-overs if they were measured, else in time; None if that is open.
    """

    fixed_seconds: Interval
    time_flatness: Interval
    hand_over_flatness: Interval | None
    size_range: tuple[int, int]
    is_flat: bool | None
    is_flat_in_time: bool


def region_cost(curves: RingCurves, panel: Panel) -> RegionCost | None:
    """Cost of a region's pass in a panel; None if no region was passed there."""
    times_by_launch, bare_times = (
        curves.pass_seconds(panel, name) for name in (REGION, CACHE_LINE)
    )
    launches = list(times_by_launch.values())
    seconds = curves.interval([*curves.fixed_cost_seconds(panel, REGION).values()])
    time_flatness = curves.interval([derived.flatness(times.values()) for times in launches])
    if seconds is None or time_flatness is None:
        return None
    # The range of sizes that every launch measured.
    sizes = max(min(by_size) for by_size in launches), min(max(by_size) for by_size in launches)
    in_hand_overs = (
        derived.flatness_in_hand_overs(times, bare_times.get(launch, {}))
        for launch, times in times_by_launch.items()
    )
    hand_over_flatness = curves.interval([one for one in in_hand_overs if one is not None])
    limit = 1 + curves.settings.flat_within
    is_flat = is_within_limit(hand_over_flatness or time_flatness, limit)
    is_flat_in_time = bool(is_flat and is_within_limit(time_flatness, limit))
    return RegionCost(seconds, time_flatness, hand_over_flatness, sizes, is_flat, is_flat_in_time)


def _cost_clause(cost: RegionCost) -> str:
    low, high = map(units.size_text, cost.size_range)
    flatness = cost.hand_over_flatness or cost.time_flatness
    unit = " in bare hand-overs" if cost.hand_over_flatness else ""
    suffix = " whatever its size" if cost.is_flat_in_time else ", the median over its sizes"
    time = Quantity.from_interval(
        cost.fixed_seconds, Unit.US, units.FACTOR_FROM_SECONDS[Unit.US], prints_unit=True
    )
    words = f"a region is passed in {time}{suffix} from {low} to {high}"
    if cost.is_flat and not cost.is_flat_in_time:
        words += ", and in the same number of bare hand-overs at each"
    return f"{words} (largest over smallest{unit} {units.interval_text(flatness)})"


def is_within_limit(interval: Interval, limit: float, *, is_minimum: bool = False) -> bool | None:
    """Whether the whole interval is within `limit`, a minimum if `is_minimum`; None if open."""
    if interval.low is None or interval.high is None:
        return None
    low, high = (
        end >= limit if is_minimum else end <= limit for end in (interval.low, interval.high)
    )
    return low if low == high else None

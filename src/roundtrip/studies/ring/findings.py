"""The three reasons of the study, tested with our numbers, and the answers of the section."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import itemgetter

from roundtrip.report import labels, units
from roundtrip.report.blocks import Answer, Inline, Strong, Tone
from roundtrip.report.units import Quantity, Unit
from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies import findings as shared
from roundtrip.studies.findings import (
    Comparison,
    Evidence,
    comparison,
    listed,
    open_words,
    worst,
)
from roundtrip.studies.ring import REGION, REGION_UDP, STUDY, Thresholds, derived
from roundtrip.studies.ring.curves import Curves, Panel
from roundtrip.studies.ring.derived import STATEMENTS, Statement

#: A reason of the study that does not hold means that something costs less than it did: no red.
TONES: dict[str, Tone] = {
    "holds": "good",
    "holds in part": "warn",
    "cannot tell": "warn",
    "does not hold": "plain",
}
#: Outcomes that cover every compared size.
_EVERYWHERE = ("holds", "does not hold")


@dataclass(frozen=True, kw_only=True)
class Finding(shared.Finding[Statement, Panel]):
    """What one pair of transports in one panel says of a reason of the study."""

    variant: str
    base: str

    @property
    def sentence(self) -> str:
        """The verdict in a sentence: with the size from which on it holds, if there is one, and
        with what is known where it is open.
        """
        if self.outcome == "cannot tell":
            return open_words([one for _, one in self.evidence if one.verdict == self.outcome])
        return _from_a_size_on(self.evidence, self.where) or self.verdict


def findings(
    panel: Panel, judged: Mapping[Comparison, ClaimVerdict], settings: Thresholds
) -> list[Finding]:
    """One for each pair that was measured in the panel."""
    sizes = settings.compared_sizes
    found = []
    for statement in STATEMENTS:
        for variant, base in statement.pairs:
            keys = {size: comparison(STUDY, panel, variant, base, size) for size in sizes}
            if evidence := shared.evidence(judged, keys):
                outcome = _outcome([one.verdict for _, one in evidence])
                found.append(
                    Finding(
                        statement=statement,
                        panel=panel,
                        variant=variant,
                        base=base,
                        outcome=outcome,
                        settled=TONES[outcome],
                        everywhere=outcome in _EVERYWHERE,
                        evidence=evidence,
                        compared=sizes,
                    )
                )
    return found


def _outcome(verdicts: Sequence[Verdict]) -> str:
    """Of "it costs": every measured size shows it, some do, none does, or it cannot be decided."""
    costs = sum(verdict is Verdict.SLOWER for verdict in verdicts)
    does_not = sum(verdict in (Verdict.ON_PAR, Verdict.FASTER) for verdict in verdicts)
    if costs == len(verdicts):
        return "holds"
    if costs:
        return "holds in part"
    return "does not hold" if does_not == len(verdicts) else "cannot tell"


def _from_a_size_on(evidence: Evidence, where: str) -> str | None:
    """The words for what costs at all larger sizes and not at all sizes; else None.

    "At least" where the next smaller size is undecided: it may cost there as well.
    """
    ascending = [(size, judged.verdict) for size, judged in sorted(evidence, key=itemgetter(0))]
    above = list(takewhile(lambda one: one[1] is Verdict.SLOWER, reversed(ascending)))
    below = [verdict for _, verdict in ascending[: len(ascending) - len(above)]]
    if not above or not below or Verdict.SLOWER in below:
        return None
    least = "at least " if below[-1] is Verdict.CANNOT_TELL else ""
    return f"holds {least}from {units.size(above[-1][0])} on{where}"


def overall(
    curves: Curves, panels: Sequence[Panel], found: Sequence[Finding], settings: Thresholds
) -> tuple[Answer, ...]:
    """Short lines over all panels: the cost of a pass in a node, what is gained, the reasons."""
    own = [panel for panel in panels if not panel.oversubscribed]
    lines = [*_passes(curves, own, settings), *_gains(curves, own)]
    crowded = [panel for panel in panels if panel.oversubscribed]
    apart = [
        f"More ranks than processors: {line[0].lower()}{line[1:]}"
        for line in _passes(curves, crowded, settings)
    ]
    costs = [Answer((line,)) for line in (*lines, *apart)]
    if not costs and not found and labels.only_simulated(panel.kind for panel in panels):
        return (Answer((labels.ONLY_SIMULATED,)),)
    if not found:
        return (*costs, Answer(("No reason of the study could be tested.",), "warn"))
    by_reason: dict[str, list[Finding]] = {}
    for finding in [one for one in found if not one.panel.oversubscribed] or found:
        by_reason.setdefault(finding.statement.short, []).append(finding)
    reasons = [
        Answer((f"{name}: {_counted(mine)}.",), worst(finding.tone for finding in mine))
        for name, mine in by_reason.items()
    ]
    return (*costs, *reasons)


def _passes(curves: Curves, panels: Sequence[Panel], settings: Thresholds) -> Iterator[str]:
    """What a region costs that is handed over in a node; flat only if it is so in each panel."""
    costs = [
        fixed
        for panel in panels
        if panel.in_one_node and (fixed := fixed_pass(curves, panel, settings))
    ]
    if costs:
        times = units.span([fixed.cost.median * 1e6 for fixed in costs])
        flat = all(fixed.is_flat_in_time for fixed in costs)
        how = " whatever its size" if flat else " (median over its sizes)"
        yield f"In a node a region is passed in {times} µs{how}."


def _gains(curves: Curves, panels: Sequence[Panel]) -> Iterator[str]:
    """How many times the bandwidth of MPI's best call a region has."""
    gains = [
        gain.median
        for panel in panels
        if (found := curves.over_best(panel).get(derived.STUDY_SIZE, []))
        and (gain := curves.interval(found))
    ]
    if gains:
        times, at = units.span(gains), units.size(derived.STUDY_SIZE)
        yield f"A region has {times} times the bandwidth of the best two-sided MPI at {at}."


def _counted(found: Sequence[Finding]) -> str:
    """The outcome, or which there is where; many places are counted."""
    outcomes: dict[str, list[Finding]] = {}
    for finding in found:
        outcomes.setdefault(finding.sentence, []).append(finding)
    if len(outcomes) == 1:
        return next(iter(outcomes))
    names = labels.distinct({finding.panel.label for finding in found})
    return "; ".join(
        f"{outcome} for {listed(_pairs(mine, names), len(found))}"
        for outcome, mine in outcomes.items()
    )


def _pairs(found: Sequence[Finding], names: Mapping[str, str]) -> list[str]:
    """``PVM, XDR (MPICH 4.0)``: each pair, and where, if that differs."""
    return [
        f"{one.panel.title(one.variant)} ({names[one.panel.label]})"
        if len(names) > 1
        else one.panel.title(one.variant)
        for one in found
    ]


def panel_answer(
    curves: Curves, panel: Panel, found: Sequence[Finding], settings: Thresholds
) -> Answer:
    """The answer of `panel`; `found` are the findings of all panels."""
    words: list[Inline] = [Strong(panel.label), ": "]
    if panel.in_one_node:
        words += _fixed_cost(curves, panel, settings)
    gains = []
    for variant in (REGION, REGION_UDP):
        gain = curves.interval(curves.over_best(panel, variant).get(derived.STUDY_SIZE, []))
        if gain:
            title = panel.title(variant)
            gains.append(f"a {title[0].lower()}{title[1:]} has {units.interval(gain)}")
    if gains:
        at = units.size(derived.STUDY_SIZE)
        words.append(
            f"{', '.join(gains)} times the effective bandwidth of the best two-sided MPI at {at}; "
        )
    if with_reading := curves.gain_when_read(panel):
        at = units.size(derived.STUDY_SIZE)
        words.append(f"with every byte read {units.interval(with_reading)} times MPI's at {at}; ")
    mine = [finding for finding in found if finding.panel == panel]
    reasons = [f"{f.statement.short.lower()} ({f.variant}): {f.sentence}" for f in mine]
    words.append("; ".join(reasons) if reasons else "no reason of the study could be tested")
    return Answer((*words, "."), worst(finding.tone for finding in mine))


@dataclass(frozen=True)
class FixedPass:
    """Seconds of a pass, largest over smallest of its sizes, and between which sizes, bytes."""

    cost: Interval
    in_time: Interval
    in_hand_overs: Interval | None
    sizes: tuple[int, int]
    is_flat: bool
    is_flat_in_time: bool


def fixed_pass(curves: Curves, panel: Panel, settings: Thresholds) -> FixedPass | None:
    """What a region's pass costs in a panel; None if no region was passed there."""
    launches = list(curves.by_launch(panel, REGION).values())
    cost = curves.interval([derived.fixed_cost(by_size.values()) for by_size in launches])
    in_time = curves.interval([derived.flatness(by_size.values()) for by_size in launches])
    if cost is None or in_time is None:
        return None
    # The sizes that every launch measured: sizes ascend.
    sizes = max(min(by_size) for by_size in launches), min(max(by_size) for by_size in launches)
    in_hand_overs = curves.interval(curves.flatness_in_hand_overs(panel))
    is_flat = _is_flat(in_hand_overs or in_time, settings)
    is_flat_in_time = is_flat and _is_flat(in_time, settings)
    return FixedPass(cost, in_time, in_hand_overs, sizes, is_flat, is_flat_in_time)


def _fixed_cost(curves: Curves, panel: Panel, settings: Thresholds) -> list[Inline]:
    fixed = fixed_pass(curves, panel, settings)
    if fixed is None:
        return []
    low, high = map(units.size, fixed.sizes)
    flat = fixed.in_hand_overs or fixed.in_time
    unit = " in bare hand-overs" if fixed.in_hand_overs else ""
    how = " whatever its size" if fixed.is_flat_in_time else ", the median over its sizes"
    passed = Quantity.over(fixed.cost, Unit.US, units.TIMES[Unit.US], says_unit=True)
    cost = f"a region is passed in {passed}{how} from {low} to {high}"
    if fixed.is_flat and not fixed.is_flat_in_time:
        cost += ", and in the same number of bare hand-overs at each"
    return [f"{cost} (largest over smallest{unit} {units.interval(flat)}); "]


def _is_flat(flat: Interval, settings: Thresholds) -> bool:
    return flat.high is not None and flat.high <= 1 + settings.flat_within

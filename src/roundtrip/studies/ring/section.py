"""The ring section: the ring of elepar, repeated on a machine of today.

The study's three reasons are tested with our numbers, and the answers say what a pass costs, what
is gained, and which reasons hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import itemgetter

from roundtrip.report import labels, units
from roundtrip.report.blocks import (
    Answer,
    Block,
    Cell,
    Column,
    Gallery,
    Heading,
    Inline,
    Items,
    Paragraph,
    Part,
    Strong,
    Table,
    Text,
    Tone,
)
from roundtrip.report.data import Data
from roundtrip.report.units import Quantity, Unit
from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies import display
from roundtrip.studies import findings as shared
from roundtrip.studies.findings import Comparison, Evidence, claims, comparison, for_study, worst
from roundtrip.studies.ring import ARMS, REGION, REGION_UDP, STUDY, Thresholds, derived, tables
from roundtrip.studies.ring.curves import Curves, Panel, caption, draw, node_growth
from roundtrip.studies.ring.derived import STATEMENTS, Statement
from roundtrip.studies.study import Claim

#: A reason of the study that does not hold means that something costs less than it did: no red.
TONES: dict[str, Tone] = {
    "holds": "good",
    "holds in part": "warn",
    "cannot tell": "warn",
    "does not hold": "plain",
}
#: Outcomes that speak of every compared size.
_EVERYWHERE = ("holds", "does not hold")


@dataclass(frozen=True, kw_only=True)
class Finding(shared.Finding[Statement, Panel]):
    """What one pair of transports in one panel says of a reason of the study."""

    variant: str
    base: str

    @property
    def sentence(self) -> str:
        """The verdict in a sentence: with the size from which on it holds, if there is one."""
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
    """Of "it costs": every measured size shows it, some do, none does, or it cannot be told."""
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


def reason_table(
    curves: Curves, statement: Statement, ours: Sequence[Finding], settings: Thresholds
) -> Table:
    """One reason of the study: our ratios, and whether it holds."""
    rows = []
    for finding in ours:
        evidence = dict(finding.evidence)
        ratios = [
            display.verdict(
                evidence.get(size),
                base=finding.panel.title(finding.base),
                series=curves.series_key(finding.panel, finding.variant, size),
            )
            for size in settings.compared_sizes
        ]
        pair = " / ".join(finding.panel.title(name) for name in (finding.variant, finding.base))
        outcome = Cell("", finding.tone, finding.verdict)
        rows.append((Cell(finding.panel.label), Cell(pair), *ratios, outcome))
    return Table(
        f"“{statement.words}” {statement.test} Ratio of effective bandwidths: below 1 it costs.",
        (
            Column("Toolchain and placement"),
            Column("Pair"),
            *(Column(units.size(size), "right") for size in settings.compared_sizes),
            Column("The reason"),
        ),
        tuple(rows),
    )


def verdict_table(all_findings: Sequence[Finding]) -> Table:
    """A row for each panel, and a column for each pair."""
    pairs = {
        pair: f"{s.short} ({' / '.join(pair)})" for s in derived.STATEMENTS for pair in s.pairs
    }
    found = {
        panel: {(f.variant, f.base): f.cell for f in all_findings if f.panel == panel}
        for panel in dict.fromkeys(finding.panel for finding in all_findings)
    }
    return display.grid(
        "Do the study's three reasons hold here? Ratios of effective bandwidth over the compared "
        "sizes.",
        "Toolchain and placement",
        pairs,
        [(panel.label, row) for panel, row in found.items()],
        {pair: ARMS[pair[1]].title for pair in pairs},
    )


def overall(
    curves: Curves, panels: Sequence[Panel], found: Sequence[Finding], settings: Thresholds
) -> tuple[Answer, ...]:
    """Short lines over all panels: the cost of a pass in a node, what is gained, the reasons."""
    lines = [*_passes(curves, panels, settings), *_gains(curves, panels)]
    costs = [Answer((line,)) for line in lines]
    if not costs and not found and labels.only_simulated(panel.kind for panel in panels):
        return (Answer((labels.ONLY_SIMULATED,)),)
    if not found:
        return (*costs, Answer(("No reason of the study could be tested.",), "warn"))
    by_reason: dict[str, list[Finding]] = {}
    for finding in found:
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
        if panel.in_one_node and (fixed := _fixed(curves, panel, settings))
    ]
    if costs:
        times = display.span_text([fixed.cost.median * 1e6 for fixed in costs])
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
        times, at = display.span_text(gains), units.size(derived.STUDY_SIZE)
        yield f"A region has {times} times the bandwidth of the best two-sided MPI at {at}."


def _counted(found: Sequence[Finding]) -> str:
    """The outcome, or how often there is which."""
    counted = Counter(finding.sentence for finding in found)
    if len(counted) == 1:
        return next(iter(counted))
    return ", ".join(f"{outcome} ({count} of {len(found)})" for outcome, count in counted.items())


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
class _Fixed:
    """Seconds of a pass, largest over smallest of its sizes, and between which sizes, bytes."""

    cost: Interval
    in_time: Interval
    in_hand_overs: Interval | None
    sizes: tuple[int, int]
    is_flat: bool
    is_flat_in_time: bool


def _fixed(curves: Curves, panel: Panel, settings: Thresholds) -> _Fixed | None:
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
    return _Fixed(cost, in_time, in_hand_overs, sizes, is_flat, is_flat_in_time)


def _fixed_cost(curves: Curves, panel: Panel, settings: Thresholds) -> list[Inline]:
    fixed = _fixed(curves, panel, settings)
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


class Section:
    """Regions by reference against MPI and PVM, in a node, over a network, and mixed."""

    def __init__(self, data: Data) -> None:
        self._curves = Curves(data)
        self._settings = data.analysis.of(Thresholds)

    def claims(self) -> Mapping[Claim, Sequence[float]]:
        """The pairs that isolate the study's three reasons, at the compared sizes."""
        return claims(STUDY, self._curves, self._settings.compared_sizes)

    def part(self, judged: Mapping[Claim, ClaimVerdict]) -> Part:
        """Answers, the study's figure, what a pass costs, the three reasons."""
        mine = for_study(judged, STUDY.name)
        panels = self._curves.panels
        found = [f for panel in panels for f in findings(panel, mine, self._settings)]
        shared = [panel for panel in panels if panel.shared]
        in_node = [panel for panel in panels if panel.in_one_node]
        blocks: list[Block] = [
            Paragraph(_QUESTION),
            Gallery(caption(self._curves.level), draw(self._curves, panels)),
            Heading(3, "What a pass costs"),
        ]
        if in_node:
            blocks.append(tables.goals(self._curves, in_node, self._settings))
        if hubs := [panel for panel in panels if panel.hub_mbit_s and panel.case == "1+1"]:
            blocks.append(tables.goodput(self._curves, hubs, self._settings.least_goodput))
        blocks += [
            *([tables.crossovers(self._curves, shared)] if shared else []),
            *tables.when_read(self._curves, panels, self._settings.compared_sizes),
            *tables.laps(self._curves),
            *node_growth(self._curves).blocks("ring-growth"),
            Heading(3, "The study's three reasons"),
        ]
        for statement in derived.STATEMENTS:
            ours = [finding for finding in found if finding.statement == statement]
            if ours:
                blocks.append(reason_table(self._curves, statement, ours, self._settings))
        if left_out := tables.skipped_transports(self._curves, panels):
            blocks += [Heading(3, "What was left out"), left_out]
        blocks += [Heading(3, "How to read the ring"), Items(_READING)]
        return Part(
            anchor="ring",
            title="Ring: what does passing a region cost when it need not be copied?",
            blocks=tuple(blocks),
            answers=overall(self._curves, panels, found, self._settings),
            each=tuple(
                panel_answer(self._curves, panel, found, self._settings) for panel in panels
            ),
            verdicts=(verdict_table(found),) if found else (),
        )


_QUESTION: Text = (
    "In 2002 elepar passed regions of memory round a ring of processes by Cooperative Data "
    "Sharing: inside a machine the region itself is handed over, so a pass takes a constant "
    f"{units.amount(derived.PUBLISHED_PASS * 1e6, Unit.US, 2)} whatever its size; between "
    "machines it travels by message, and the program does not see the difference. The study says "
    "that MPI and PVM cannot do so, for three reasons. Here is the same ring on this machine, with "
    "MPI and PVM in the same launches, interleaved in random order.",
)
_READING: tuple[Text, ...] = (
    (
        "One token goes round. Every rank counts each pass in the first bytes of the token, in "
        "place, and checks the count. Once for each size, every rank also checks and changes all "
        "bytes. So every pass touches the region. Another table shows what a pass costs when the "
        "receiver reads all of it.",
    ),
    (
        "A region that leaves its node travels as a message of MPI or, as in the study, by UDP "
        "with acknowledgements of our own: two transports, in the same launches.",
    ),
    (
        "For a region that stays in its node, the program asserts in every lap that it is at the "
        "same offset and that no copy was made.",
    ),
    (
        "The bare cache line is the lower limit: each rank has a line that only the rank before it "
        "writes and only it reads. So every hand-over goes one way, between the same processors, "
        "in the same launch, and nothing else happens.",
    ),
    (
        "In a hybrid ring a lap has one hand-over in memory and two passes over the network; the "
        "time per pass is the lap's over three.",
    ),
    ("The study's own points are those of its text; its Ethernet point is read off its figure.",),
)

"""The ring section: elepar's ring on a current machine, and tests of its three reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from roundtrip import units
from roundtrip.content import labels
from roundtrip.content.blocks import (
    Block,
    Cell,
    Column,
    Heading,
    Paragraph,
    ReportSection,
    RichText,
    Table,
    text_items,
)
from roundtrip.content.data import BundleData
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.studies import display
from roundtrip.studies.findings import (
    OPEN,
    arm_claim_verdicts,
    describe_outcomes,
    ratios_by_arm_claim,
    worst_colour,
)
from roundtrip.studies.ring import ARMS, REGION, REGION_UDP, STUDY, derived, tables
from roundtrip.studies.ring.curves import (
    Panel,
    RingCurves,
    bandwidth_galleries,
    node_efficiency,
    pass_gallery,
)
from roundtrip.studies.ring.derived import PublishedReason
from roundtrip.studies.ring.findings import (
    Finding,
    is_within_limit,
    overall_answers,
    pair_names,
    panel_answer,
    reason_findings,
    region_cost,
)
from roundtrip.study import Claim
from roundtrip.units import Quantity, Unit

_NO_APPLICATION_CELL = Cell(
    "not measured: the ring passes regions, and runs no application", "muted"
)


def statement_table(
    curves: RingCurves, panels: Sequence[Panel], all_findings: Sequence[Finding]
) -> Table:
    """The table of the three published reasons, and of other published statements and numbers."""
    reasons = [
        (f"“{reason.quotation}”", units.NO_VALUE, _reason_cell(reason, all_findings))
        for reason in derived.PUBLISHED_REASONS
    ]
    two_ranks = [panel for panel in panels if panel.is_in_one_node and not panel.is_oversubscribed]
    three_ranks = [panel for panel in panels if panel.is_oversubscribed]
    two_nodes = [panel for panel in panels if panel.case == "1+1"]
    hybrid = [panel for panel in panels if panel.shared_passes and panel.network_passes]
    return display.statement_table(
        (
            (
                "“many programs will communicate much more efficiently than if written using "
                "interfaces like MPI or PVM”",
                units.NO_VALUE,
                _NO_APPLICATION_CELL,
            ),
            *reasons,
            (
                "“The overhead of processing the type can … in some other cases [be] performed "
                "concurrently with other communication”",
                units.NO_VALUE,
                display.NOT_MEASURED_CELL,
            ),
            (
                "“the time to “pass” a region is a constant …, and completely independent of the "
                "region size”: two processes on two processors",
                _microseconds(derived.PUBLISHED_PASS_S),
                _constant_time_cell(curves, two_ranks),
            ),
            (
                "“for the green line it is about twice that”: three processes on two processors",
                ("inferred: ", _microseconds(2 * derived.PUBLISHED_PASS_S)),
                _constant_time_cell(curves, three_ranks),
            ),
            (
                "“the red and green lines at the top are linear without bound”: effective "
                "bandwidth over region size, two processes on two processors",
                f"inferred: {units.number_text(1000)} times from 10 B to 10 kB",
                _linear_growth_cell(curves, two_ranks),
            ),
            (
                "“even higher for larger regions”: effective bandwidth, two processes on two "
                "processors",
                units.NO_VALUE,
                _large_region_cell(curves, two_ranks),
            ),
            (
                "“1.8 GB/sec and 3.7 GB/sec” for regions of 10000 bytes: two processes on two "
                "processors",
                f"inferred: 3.7 GB/s, a pass of {derived.PUBLISHED_BYTES / 3.7e3:.1f} µs",
                _bandwidth_cell(curves, two_ranks),
            ),
            (
                "“1.8 GB/sec and 3.7 GB/sec” for regions of 10000 bytes: three processes on two "
                "processors",
                f"inferred: 1.8 GB/s, a pass of {derived.PUBLISHED_BYTES / 1.8e3:.1f} µs",
                _bandwidth_cell(curves, three_ranks),
            ),
            (
                "“You will not see performance like that from PVM or MPI in any configuration, "
                "even working through shared memory”",
                units.NO_VALUE,
                _gain_cell(curves, two_ranks, REGION, derived.PUBLISHED_BYTES),
            ),
            (
                "“almost the entire bandwidth of the 10BaseT ethernet to the application, with "
                "region sizes of just 1000 bytes each”",
                "1.1 MB/s, read off its figure",
                _goodput_cell(curves, two_nodes),
            ),
            (
                "“superior to PVM and MPI in similar circumstances”: regions by UDP",
                units.NO_VALUE,
                _gain_cell(curves, two_nodes, REGION_UDP, derived.PUBLISHED_HUB_BYTES),
            ),
            (
                "hybrid: “one traversal of the ring consists of two traversals of the ethernet "
                "plus one through fixed-latency shared memory”",
                units.NO_VALUE,
                _lap_cell(hybrid),
            ),
        )
    )


def _microseconds(seconds: float) -> Quantity:
    return units.amount(seconds * 1e6, Unit.US, digits=2)


def _constant_time_cell(curves: RingCurves, panels: Sequence[Panel]) -> Cell:
    costs = [cost for panel in panels if (cost := region_cost(curves, panel))]
    if not costs:
        return display.NOT_MEASURED_CELL
    times = units.range_text([cost.fixed_seconds.median * 1e6 for cost in costs])
    intervals = [cost.hand_over_flatness or cost.time_flatness for cost in costs]
    ends = [end for one in intervals for end in (one.low, one.high) if end is not None]
    unit = " in bare hand-overs" if any(cost.hand_over_flatness for cost in costs) else ""
    flatness = (
        f", at the slowest size {units.range_text(ends)} times the fastest{unit}" if ends else ""
    )
    text = f"{times} µs{flatness}{_label_suffix(panels)}"
    return _outcome_cell(text, [cost.is_flat for cost in costs], "constant", "not constant")


def _linear_growth_cell(curves: RingCurves, panels: Sequence[Panel]) -> Cell:
    """Growth of a region's bandwidth over its sizes: linear if the time is constant."""
    costs = [(panel, cost) for panel in panels if (cost := region_cost(curves, panel))]
    ratios = (curves.bandwidth_growth(panel, cost.size_range) for panel, cost in costs)
    growths = [growth for growth in ratios if growth]
    if not growths:
        return display.NOT_MEASURED_CELL
    low, high = costs[0][1].size_range
    text = (
        f"{units.range_text([growth.median for growth in growths])} times from "
        f"{units.size_text(low)} to {units.size_text(high)}, where linear is "
        f"{units.number_text(high / low)} times"
        f"{_label_suffix(panels)}"
    )
    return _outcome_cell(text, [cost.is_flat for _, cost in costs], "linear", "not linear")


def _large_region_cell(curves: RingCurves, panels: Sequence[Panel]) -> Cell:
    costs = {panel: region_cost(curves, panel) for panel in panels}
    sizes = {panel: cost.size_range[1] for panel, cost in costs.items() if cost}
    first = derived.PUBLISHED_BYTES
    large = {panel: size for panel, size in sizes.items() if size > first}
    ratios = (curves.bandwidth_growth(panel, (first, size)) for panel, size in large.items())
    if not (growths := [growth for growth in ratios if growth]):
        return display.NOT_MEASURED_CELL
    text = (
        f"{units.range_text([growth.median for growth in growths])} times at "
        f"{' or '.join(dict.fromkeys(map(units.size_text, sizes.values())))} over "
        f"{units.size_text(derived.PUBLISHED_BYTES)}{_label_suffix(panels)}"
    )
    outcomes = [is_within_limit(growth, 1.0, is_minimum=True) for growth in growths]
    return _outcome_cell(text, outcomes, "holds", "not everywhere")


def _reason_cell(reason: PublishedReason, all_findings: Sequence[Finding]) -> Cell:
    """Ratios of bandwidths of the pairs that test a reason, and whether it holds for each."""
    findings_ = [finding for finding in all_findings if finding.statement == reason]
    if not findings_:
        return display.NOT_MEASURED_CELL
    ratios = [ratio for finding in findings_ for ratio in finding.ratios]
    slowdown = display.describe_slowdown(ratios)
    text = f"{units.ratio_range_text(ratios)} times the bandwidth{slowdown}"
    mark = _label_suffix([finding.panel for finding in findings_])
    verdicts = [finding.verdict for finding in findings_]
    verdict = describe_outcomes(pair_names(findings_), verdicts, "for")
    colour = worst_colour(finding.status_colour for finding in findings_)
    return Cell(f"{text}{mark}", colour, verdict)


def _bandwidth_cell(curves: RingCurves, panels: Sequence[Panel]) -> Cell:
    rates = [curves.bandwidth_at(panel, REGION, derived.PUBLISHED_BYTES) for panel in panels]
    if not any(rates):
        return display.NOT_MEASURED_CELL
    span = units.range_text([rate.median for rate in rates if rate], 1e-3)
    return Cell(f"{span} GB/s, effective: nothing is moved{_label_suffix(panels)}")


def _gain_cell(curves: RingCurves, panels: Sequence[Panel], variant: str, size: int) -> Cell:
    """Bandwidth ratio of `variant` to MPI's best two-sided call, and to PVM where it ran."""
    words: list[str] = []
    outcomes: list[bool | None] = []
    for name, base in (("the best two-sided MPI", derived.BEST_TWO_SIDED_VARIANT), ("PVM", "pvm")):
        ratios = (curves.bandwidth_ratio(panel, variant, base, size) for panel in panels)
        if gains := [ratio for ratio in ratios if ratio]:
            words.append(f"{units.range_text([gain.median for gain in gains])} times {name}")
            outcomes += [is_within_limit(gain, 1.0, is_minimum=True) for gain in gains]
    if not words:
        return display.NOT_MEASURED_CELL
    text = f"{' and '.join(words)} at {units.size_text(size)}{_label_suffix(panels)}"
    return _outcome_cell(text, outcomes, "holds", "not everywhere")


def _goodput_cell(curves: RingCurves, panels: Sequence[Panel]) -> Cell:
    shares, outcomes = [], []
    for panel in panels:
        rate = curves.bandwidth_at(panel, REGION_UDP, derived.PUBLISHED_HUB_BYTES)
        if panel.hub_mbit_s and rate:
            limit = derived.theoretical_goodput(panel.hub_mbit_s, derived.PUBLISHED_HUB_BYTES)
            shares.append(rate.median / limit)
            least = curves.settings.least_goodput * limit
            outcomes.append(is_within_limit(rate, least, is_minimum=True))
    if not shares:
        return display.NOT_MEASURED_CELL
    parts = " to ".join(
        dict.fromkeys(units.percent_text(end) for end in (min(shares), max(shares)))
    )
    text = f"{parts} of what the wire can carry, by UDP{_label_suffix(panels)}"
    return _outcome_cell(text, outcomes, "holds", "less")


def _lap_cell(panels: Sequence[Panel]) -> Cell:
    laps = dict.fromkeys(
        f"{units.plural(panel.network_passes, 'pass', 'passes')} over the network and "
        f"{panel.shared_passes} in memory"
        for panel in panels
    )
    return Cell(f"{'; '.join(laps)}{_label_suffix(panels)}") if laps else display.NOT_MEASURED_CELL


def _label_suffix(panels: Sequence[Panel]) -> str:
    return labels.label_suffix(panel.emulation_label for panel in panels)


def _outcome_cell(text: str, outcomes: Sequence[bool | None], if_true: str, if_false: str) -> Cell:
    """`text`, with the verdict `if_true` if all are true, `if_false` if one is false, else open."""
    if all(outcomes):
        return Cell(text, "good", if_true)
    return Cell(text, "warn", if_false if False in outcomes else OPEN)


def reason_table(
    curves: RingCurves, reason: PublishedReason, reason_findings: Sequence[Finding]
) -> Table:
    """Our ratios for one `reason` that the study gives, and whether the reason holds here."""
    rows, sizes = [], curves.settings.compared_sizes
    for finding in reason_findings:
        size_verdicts = dict(finding.size_verdicts)
        ratios = [
            display.verdict_cell(
                size_verdicts.get(size),
                base_name=finding.panel.variant_title(finding.base),
                series_key=curves.point_series_key(finding.panel, finding.variant, size),
            )
            for size in sizes
        ]
        pair = " / ".join(
            finding.panel.variant_title(name) for name in (finding.variant, finding.base)
        )
        outcome = Cell("", finding.status_colour, finding.verdict)
        rows.append((Cell(finding.panel.title), Cell(pair), *ratios, outcome))
    return display.size_table(
        f"“{reason.quotation}” {reason.test_text} Ratio of effective bandwidths: below 1 it costs.",
        ("Toolchain and placement", "Pair"),
        sizes,
        rows,
        last_name="The reason",
    )


def verdict_table(all_findings: Sequence[Finding]) -> Table:
    """The table of verdicts: a row for each panel, a column for each pair of transports."""
    columns = {
        pair: Column(f"{reason.short_title} ({' / '.join(pair)})", base_name=ARMS[pair[1]].title)
        for reason in derived.PUBLISHED_REASONS
        for pair in reason.pairs
    }
    return display.grid_table(
        "Do the study's three reasons hold here? Ratios of effective bandwidth over the compared "
        "sizes.",
        ("Toolchain and placement",),
        columns,
        (((one.panel.title,), (one.variant, one.base), one.verdict_cell) for one in all_findings),
    )


class Section:
    """Regions by reference against MPI and PVM, in a node, over a network, and mixed."""

    def __init__(self, data: BundleData) -> None:
        self._curves = RingCurves(data)

    def ratios_by_claim(self) -> Mapping[Claim, Sequence[float]]:
        return ratios_by_arm_claim(STUDY, self._curves, self._curves.settings.compared_sizes)

    def report_section(self, verdicts: Mapping[Claim, ClaimVerdict]) -> ReportSection:
        curves, panels = self._curves, self._curves.panels
        ring_verdicts = arm_claim_verdicts(verdicts, STUDY)
        results = [
            finding
            for panel in panels
            for finding in reason_findings(panel, ring_verdicts, curves.settings)
        ]
        blocks: list[Block] = [Paragraph(_QUESTION_TEXT)]
        if measured := [
            panel for panel in panels if not labels.are_all_simulated([panel.emulation_label])
        ]:
            blocks.append(statement_table(curves, measured, results))
        blocks += [*bandwidth_galleries(curves), Heading(3, "What a pass costs")]
        if node_panels := [panel for panel in panels if panel.is_in_one_node]:
            blocks.append(tables.region_cost_table(curves, node_panels))
        if hubs := [panel for panel in panels if panel.hub_mbit_s and panel.case == "1+1"]:
            blocks.append(tables.goodput_table(curves, hubs))
        if shared_panels := [panel for panel in panels if panel.shared_passes]:
            blocks.append(tables.crossover_table(curves, shared_panels))
        blocks += [
            *tables.read_blocks(curves),
            *tables.lap_blocks(curves),
            *node_efficiency(curves).blocks("ring-growth"),
            Heading(3, "The study's three reasons"),
        ]
        for reason in derived.PUBLISHED_REASONS:
            if group := [finding for finding in results if finding.statement == reason]:
                blocks.append(reason_table(curves, reason, group))
        if skipped_table := tables.skipped_transport_table(curves):
            blocks += [Heading(3, "What was left out"), skipped_table]
        blocks += [Heading(3, "How to read the ring"), text_items(*_READING_NOTES)]
        return ReportSection(
            anchor="ring",
            title="Ring: what does passing a region cost when it need not be copied?",
            blocks=tuple(blocks),
            answers=overall_answers(curves, results),
            panel_answers=tuple(panel_answer(curves, panel, results) for panel in panels),
            verdict_tables=(verdict_table(results),) if results else (),
            answer_gallery=pass_gallery(curves),
        )


_QUESTION_TEXT: RichText = (
    "In 2002 elepar passed regions of memory round a ring of processes by Cooperative Data "
    "Sharing: inside a machine the region itself is passed, so a pass takes a constant "
    f"{units.amount(derived.PUBLISHED_PASS_S * 1e6, Unit.US, 2)} at any size; between machines it "
    "is sent as a message, by the same program. The study gives three reasons why MPI and PVM "
    "cannot do so. Here is the same ring on this machine, with MPI and PVM in the same launches, "
    "interleaved in random order.",
)
_READING_NOTES = (
    "One token goes round. Every rank counts each pass in the first bytes of the token, in "
    "place, and checks the count. Once for each size, every rank also checks and changes all "
    "bytes. So every pass touches the region. Another table shows what a pass costs when the "
    "receiver reads all of it.",
    "Between nodes a region is sent as an MPI message or, as in the study, by UDP with our own "
    "acknowledgements: two transports, in the same launches.",
    "For a region that stays in its node, the program asserts in every lap that it is at the "
    "same offset and that no copy was made.",
    "The bare cache line is the lower limit: each rank has a line that only the rank before it "
    "writes and only it reads. So every hand-over goes one way, between the same processors, "
    "in the same launch, and nothing else happens.",
    "In a hybrid ring a lap has one hand-over in memory and two passes over the network; the "
    "time per pass is a third of the lap's.",
    "The study's points are from its text; its Ethernet point is read off its figure.",
)

"""The ring section: elepar's ring on a current machine, and tests of its three reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from roundtrip.report import labels, units
from roundtrip.report.blocks import (
    Block,
    Cell,
    Column,
    Gallery,
    Heading,
    Items,
    Paragraph,
    Part,
    Table,
    Text,
)
from roundtrip.report.data import Data
from roundtrip.report.units import Unit
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.studies import display
from roundtrip.studies.findings import claims, study_verdicts
from roundtrip.studies.ring import ARMS, STUDY, Thresholds, derived, tables
from roundtrip.studies.ring.curves import (
    Curves,
    caption,
    draw,
    draw_passes,
    node_growth,
    pass_caption,
)
from roundtrip.studies.ring.derived import Statement
from roundtrip.studies.ring.findings import Finding, findings, overall_answers, panel_answer
from roundtrip.studies.ring.published import study_table
from roundtrip.studies.study import Claim


def reason_table(
    curves: Curves, statement: Statement, reason_findings: Sequence[Finding], settings: Thresholds
) -> Table:
    """Return the table of one reason of the study: our ratios, and whether the reason holds."""
    rows = []
    for finding in reason_findings:
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
    """Return the table of verdicts: a row for each panel, a column for each pair."""
    pairs = {
        pair: f"{statement.short} ({' / '.join(pair)})"
        for statement in derived.STATEMENTS
        for pair in statement.pairs
    }
    cells_by_panel = {
        panel: {
            (finding.variant, finding.base): finding.cell
            for finding in all_findings
            if finding.panel == panel
        }
        for panel in dict.fromkeys(finding.panel for finding in all_findings)
    }
    return display.grid(
        "Do the study's three reasons hold here? Ratios of effective bandwidth over the compared "
        "sizes.",
        "Toolchain and placement",
        pairs,
        [(panel.label, row) for panel, row in cells_by_panel.items()],
        {pair: ARMS[pair[1]].title for pair in pairs},
    )


class Section:
    """Regions by reference against MPI and PVM, in a node, over a network, and mixed."""

    def __init__(self, data: Data) -> None:
        self._curves = Curves(data)
        self._settings = data.analysis.study_thresholds(Thresholds)

    def claims(self) -> Mapping[Claim, Sequence[float]]:
        """Ratios of the pairs that isolate the study's three reasons, at the compared sizes."""
        return claims(STUDY, self._curves, self._settings.compared_sizes)

    def part(self, verdicts: Mapping[Claim, ClaimVerdict]) -> Part:
        """Return the section: answers, figures, cost of a pass, the study's three reasons."""
        ring_verdicts = study_verdicts(verdicts, STUDY.name)
        panels = self._curves.panels
        results = [
            finding
            for panel in panels
            for finding in findings(panel, ring_verdicts, self._settings)
        ]
        shared_panels = [panel for panel in panels if panel.shared_passes]
        node_panels = [panel for panel in panels if panel.in_one_node]
        measured_panels = [panel for panel in panels if not labels.is_only_simulated([panel.kind])]
        published_table = study_table(self._curves, measured_panels, self._settings)
        blocks: list[Block] = [
            Paragraph(_QUESTION),
            *([published_table] if measured_panels else []),
            Gallery(caption(self._curves.level), draw(self._curves, panels)),
            Heading(3, "What a pass costs"),
        ]
        if node_panels:
            blocks.append(tables.goals(self._curves, node_panels, self._settings))
        if hubs := [panel for panel in panels if panel.hub_mbit_s and panel.case == "1+1"]:
            blocks.append(tables.goodput(self._curves, hubs, self._settings.least_goodput))
        blocks += [
            *([tables.crossovers(self._curves, shared_panels)] if shared_panels else []),
            *tables.read_blocks(self._curves, panels, self._settings.compared_sizes),
            *tables.lap_blocks(self._curves),
            *node_growth(self._curves).blocks("ring-growth"),
            Heading(3, "The study's three reasons"),
        ]
        for statement in derived.STATEMENTS:
            group = [finding for finding in results if finding.statement == statement]
            if group:
                blocks.append(reason_table(self._curves, statement, group, self._settings))
        if skipped_table := tables.skipped_transports(self._curves, panels):
            blocks += [Heading(3, "What was left out"), skipped_table]
        blocks += [Heading(3, "How to read the ring"), Items(_READING)]
        return Part(
            anchor="ring",
            title="Ring: what does passing a region cost when it need not be copied?",
            blocks=tuple(blocks),
            answers=overall_answers(self._curves, panels, results, self._settings),
            panel_answers=tuple(
                panel_answer(self._curves, panel, results, self._settings) for panel in panels
            ),
            verdicts=(verdict_table(results),) if results else (),
            picture=Gallery(pass_caption(self._curves.level), draw_passes(self._curves, panels)),
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

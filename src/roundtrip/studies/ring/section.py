"""The ring section: the ring of elepar, repeated on a machine of today."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from roundtrip.report import units
from roundtrip.report.blocks import (
    Block,
    Gallery,
    Heading,
    Items,
    Paragraph,
    Part,
    Text,
)
from roundtrip.report.data import Data
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.studies.findings import claims, for_study
from roundtrip.studies.ring import (
    STUDY,
    Thresholds,
    derived,
    figures,
    launches,
    tables,
)
from roundtrip.studies.ring.curves import Curves, node_growth
from roundtrip.studies.ring.findings import findings, overall, panel_answer
from roundtrip.studies.study import Claim


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
            Gallery(figures.caption(self._curves.level), figures.bandwidth(self._curves, panels)),
            Heading(3, "What a pass costs"),
        ]
        if in_node:
            blocks.append(tables.goals(self._curves, in_node, self._settings))
        if hubs := [panel for panel in panels if panel.hub_mbit_s and panel.case == "1+1"]:
            blocks.append(tables.goodput(self._curves, hubs, self._settings.least_goodput))
        blocks += [
            *([tables.crossovers(self._curves, shared)] if shared else []),
            *tables.when_read(self._curves, panels, self._settings.compared_sizes),
            *launches.laps(self._curves),
            *node_growth(self._curves).blocks("ring-growth"),
            Heading(3, "The study's three reasons"),
        ]
        for statement in derived.STATEMENTS:
            ours = [finding for finding in found if finding.statement == statement]
            if ours:
                blocks.append(tables.reasons(self._curves, statement, ours, self._settings))
        if left_out := launches.skipped_transports(self._curves, panels):
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
            verdicts=(tables.verdicts(found),) if found else (),
        )


_QUESTION: Text = (
    "In 2002 elepar passed regions of memory round a ring of processes by Cooperative Data "
    "Sharing: inside a machine the region itself is handed over, so a pass takes a constant "
    f"{units.number(derived.PUBLISHED_PASS * 1e6, 2)} µs whatever its size; between machines it "
    "travels by message, and the program does not see the difference. The study says that MPI and "
    "PVM cannot do so, for three reasons. Here is the same ring on this machine, with MPI and PVM "
    "in the same launches, interleaved in random order.",
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

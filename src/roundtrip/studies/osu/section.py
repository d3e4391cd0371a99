"""The OSU section: the baseline that everyone knows, and whether it agrees with our NetPIPE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from roundtrip.report.blocks import (
    Block,
    Cell,
    Fold,
    Gallery,
    Heading,
    Paragraph,
    Part,
    Table,
    Text,
)
from roundtrip.report.data import Data
from roundtrip.report.evidence import where_measured
from roundtrip.stats.verdicts import Judged
from roundtrip.studies import cells
from roundtrip.studies.osu import answers, beside_netpipe, derived, figures, growth, tables
from roundtrip.studies.osu.beside_netpipe import AGREE, DISAGREE, TONES, UNKNOWN, Comparison
from roundtrip.studies.osu.curves import Curves
from roundtrip.studies.osu.thresholds import Thresholds
from roundtrip.studies.study import Claim

_QUESTION: Text = (
    "These are the OSU Micro-Benchmarks as their authors wrote them. Most published numbers of an "
    "MPI were measured with them, so here this machine can be compared with others.",
)


class OSUSection:
    """The report on every OSU benchmark that was launched, with a cross-check."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self._curves = Curves(data)

    def claims(self) -> Mapping[Claim, Sequence[float]]:
        """None: OSU and NetPIPE are launched apart, so no ratio of theirs is paired."""
        return {}

    def part(self, judged: Mapping[Claim, Judged]) -> Part:
        """Figures, tables, the cross-check."""
        curves = self._curves
        found = beside_netpipe.compare(self._data, curves)
        drawn: list[Block] = [Paragraph(_QUESTION)]
        for kind in figures.KINDS:
            shown = figures.draw(curves, kind)
            if shown:
                drawn += [Heading(3, kind.name.capitalize()), Gallery(kind.caption, shown)]
        drawn += growth.of(curves).blocks("osu-growth")
        numbers = [tables.times(curves), tables.rates(curves)]
        drawn += [Heading(3, "In numbers"), *(table for table in numbers if table.rows)]
        settings = self._data.analysis.of(Thresholds)
        drawn += beside_netpipe.blocks(found, settings)
        what = tables.validation(self._data, curves)
        drawn.append(Fold("Versions, and which data were compared", (what,)))
        return Part(
            anchor="osu",
            title="OSU Micro-Benchmarks: the baseline everyone knows",
            blocks=tuple(drawn),
            answers=(answers.over_all(curves, found),),
            each=tuple(answers.of_panel(curves, panel, found) for panel in curves.panels),
            verdicts=(_verdicts(found, settings.compared_sizes),) if found else (),
        )


def _verdicts(found: Sequence[Comparison], compared: Sequence[int]) -> Table:
    rows = []
    for panel in dict.fromkeys(one.panel for one in found):
        told = {}
        for pair in beside_netpipe.PAIRS:
            mine = [one for one in found if (one.panel, one.pair) == (panel, pair)]
            if mine:
                told[pair] = _verdict(mine, compared)
        rows.append((panel.label, told))
    return cells.grid(
        "Does OSU agree with our NetPIPE? Ratios of the medians over the compared sizes.",
        "Toolchain",
        {pair: pair.words for pair in beside_netpipe.PAIRS},
        rows,
        dict.fromkeys(beside_netpipe.PAIRS, "NetPIPE"),
    )


def _verdict(mine: Sequence[Comparison], compared: Sequence[int]) -> Cell:
    outcomes = {one.outcome for one in mine}
    worst = DISAGREE if DISAGREE in outcomes else max(outcomes, key=_doubt)
    where = ""
    if worst == AGREE:
        where = where_measured([one.size_bytes for one in mine], compared)
    ratios = [one.osu.median / one.ours.median for one in mine]
    return cells.verdict(ratios, "warn" if where else TONES[worst], f"{worst}{where}")


def _doubt(outcome: str) -> bool:
    return outcome == UNKNOWN


def section(data: Data) -> OSUSection | None:
    """The section, if the bundle has launches of it that completed."""
    return None if data.passed(derived.STUDY).is_empty() else OSUSection(data)

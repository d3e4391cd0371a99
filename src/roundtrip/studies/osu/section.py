"""The OSU section: the baseline that everyone knows, and whether it agrees with our NetPIPE."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from roundtrip.report import units
from roundtrip.report.blocks import (
    Answer,
    Block,
    Cell,
    Fold,
    Gallery,
    Heading,
    Paragraph,
    Part,
    Strong,
    Table,
    Text,
    Tone,
)
from roundtrip.report.data import Data
from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.studies import display
from roundtrip.studies.findings import where_measured
from roundtrip.studies.osu import Thresholds, beside_netpipe, tables
from roundtrip.studies.osu.beside_netpipe import AGREE, DISAGREE, TONES, UNKNOWN, Comparison
from roundtrip.studies.osu.curves import KINDS, Curves, Panel, draw, node_growth
from roundtrip.studies.study import Claim

_QUESTION: Text = (
    "These are the OSU Micro-Benchmarks as their authors wrote them. Most published numbers of an "
    "MPI were measured with them, so here this machine can be compared with others.",
)


class Section:
    """The report on every OSU benchmark that was launched, with a cross-check."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self._curves = Curves(data)

    def claims(self) -> Mapping[Claim, Sequence[float]]:
        """None: OSU and NetPIPE are launched apart, so no ratio of theirs is paired."""
        return {}

    def part(self, judged: Mapping[Claim, ClaimVerdict]) -> Part:
        """Figures, tables, the cross-check."""
        curves = self._curves
        found = beside_netpipe.compare(self._data, curves)
        drawn: list[Block] = [Paragraph(_QUESTION)]
        for kind in KINDS:
            shown = draw(curves, kind)
            if shown:
                drawn += [
                    Heading(3, kind.name.capitalize()),
                    Gallery(kind.caption(curves.level), shown),
                ]
        drawn += node_growth(curves).blocks("osu-growth")
        numbers = [tables.times(curves), tables.rates(curves)]
        drawn += [Heading(3, "In numbers"), *(table for table in numbers if table.rows)]
        settings = self._data.analysis.of(Thresholds)
        drawn += beside_netpipe.blocks(found, settings, curves.level)
        what = tables.validation(self._data, curves)
        drawn.append(Fold("Versions, and which data were compared", (what,)))
        return Part(
            anchor="osu",
            title="OSU Micro-Benchmarks: the baseline everyone knows",
            blocks=tuple(drawn),
            answers=(overall(curves, found),),
            each=tuple(panel_answer(curves, panel, found) for panel in curves.panels),
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
    return display.grid(
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
    return display.span(ratios, "warn" if where else TONES[worst], f"{worst}{where}")


def _doubt(outcome: str) -> bool:
    return outcome == UNKNOWN


#: Benchmark, size in bytes, and how its time is told.
_COLLECTIVES = (("allreduce", 8, "allreduce"), ("barrier", 0, "barrier"))


def overall(curves: Curves, found: Sequence[Comparison]) -> Answer:
    """The smallest and the largest of all panels, and how often NetPIPE agrees.

    Collectives only where there is nothing else: their times are of different numbers of ranks.
    """
    told = []
    if values := _all(curves, lambda panel: _latency(curves, panel)):
        told.append(f"latency {display.span_text(values, 1e6)} µs at {units.size(8)}")
    if peaks := [peak for panel in curves.panels if (peak := _peak(curves, panel))]:
        told.append(f"bandwidth up to {display.span_text([rate for _, rate in peaks])} MB/s")
    if not told:
        told += [words for one in _COLLECTIVES if (words := _collective(curves, *one))]
    if counts := _counts(found):
        told.append(counts)
    kinds = {panel.kind for panel in curves.panels}
    kind = f" ({kinds.pop()})" if len(kinds) == 1 and "" not in kinds else ""
    return Answer((f"{_capital('; '.join(told) or 'see below')}{kind}.",), _answer_tone(found))


def panel_answer(curves: Curves, panel: Panel, found: Sequence[Comparison]) -> Answer:
    """The same of one panel, with collectives."""
    mine = [one for one in found if one.panel == panel]
    told = []
    if latency := _latency(curves, panel):
        told.append(f"latency {units.number(latency.median * 1e6)} µs at {units.size(8)}")
    if peak := _peak(curves, panel):
        told.append(f"bandwidth up to {units.number(peak[1])} MB/s, at {units.size(peak[0])}")
    for benchmark, size, name in _COLLECTIVES:
        if value := curves.point(panel, benchmark, "operation_time", size):
            told.append(f"{name} {units.number(value.median * 1e6)} µs")
    if counts := _counts(mine):
        told.append(counts)
    words = "; ".join(told) or "see below"
    return Answer((Strong(panel.label), f": {words}."), _answer_tone(mine))


def _latency(curves: Curves, panel: Panel) -> Interval | None:
    return curves.point(panel, "latency", "half_round_trip_time", 8)


def _collective(curves: Curves, benchmark: str, size: int, name: str) -> str:
    found = {
        panel: value.median
        for panel in curves.panels
        if (value := curves.point(panel, benchmark, "operation_time", size))
    }
    if not found:
        return ""
    few, many = (of(panel.ranks for panel in found) for of in (min, max))
    ranks = f"{few}" if few == many else f"{few} to {many}"
    return f"{name} {display.span_text([*found.values()], 1e6)} µs on {ranks} ranks"


def _peak(curves: Curves, panel: Panel) -> tuple[int, float] | None:
    """Size in bytes and MB/s of the greatest median."""
    rates = curves.of(curves.intervals, panel, benchmark="bw", metric="bandwidth")
    if rates.is_empty():
        return None
    size, most = rates.sort("median").select("size_bytes", "median").row(-1)
    return size, most


def _all(curves: Curves, of: Callable[[Panel], Interval | None]) -> list[float]:
    return [found.median for panel in curves.panels if (found := of(panel))]


def _counts(found: Sequence[Comparison]) -> str:
    counted = Counter(one.outcome for one in found)
    told = ", ".join(f"{counted[name]} {name}" for name in TONES if counted[name])
    return f"beside NetPIPE, of {units.plural(len(found), 'value')}, {told}" if found else ""


def _answer_tone(found: Sequence[Comparison]) -> Tone:
    return TONES[DISAGREE] if any(one.outcome == DISAGREE for one in found) else "plain"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

"""The answers of the OSU section: latency, bandwidth, collectives, and whether NetPIPE agrees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from roundtrip.report import units
from roundtrip.report.blocks import Answer, Strong, Tone
from roundtrip.stats.intervals import Interval
from roundtrip.studies.osu.beside_netpipe import DISAGREE, TONES, Comparison
from roundtrip.studies.osu.curves import Curves, Panel

#: Benchmark, size in bytes, and how its time is told.
_COLLECTIVES = (("allreduce", 8, "allreduce"), ("barrier", 0, "barrier"))


def over_all(curves: Curves, found: Sequence[Comparison]) -> Answer:
    """The smallest and the largest of all panels, and how often NetPIPE agrees.

    Collectives only where there is nothing else: their times are of different numbers of ranks.
    """
    told = []
    if values := _all(curves, lambda panel: _latency(curves, panel)):
        told.append(f"latency {_range(values, 1e6)} µs at {units.size(8)}")
    if peaks := [peak for panel in curves.panels if (peak := _peak(curves, panel))]:
        told.append(f"bandwidth up to {_range([rate for _, rate in peaks])} MB/s")
    if not told:
        told += [words for one in _COLLECTIVES if (words := _collective(curves, *one))]
    if counts := _counts(found):
        told.append(counts)
    kinds = {panel.kind for panel in curves.panels}
    kind = f" ({kinds.pop()})" if len(kinds) == 1 and "" not in kinds else ""
    return Answer((f"{_capital('; '.join(told) or 'see below')}{kind}.",), _tone(found))


def of_panel(curves: Curves, panel: Panel, found: Sequence[Comparison]) -> Answer:
    """The same of one panel, with collectives."""
    mine = [one for one in found if one.panel == panel]
    told = []
    if latency := _latency(curves, panel):
        told.append(f"latency {units.microseconds(latency.median)} µs at {units.size(8)}")
    if peak := _peak(curves, panel):
        told.append(f"bandwidth up to {units.number(peak[1])} MB/s, at {units.size(peak[0])}")
    for benchmark, size, name in _COLLECTIVES:
        if value := curves.point(panel, benchmark, "operation_time", size):
            told.append(f"{name} {units.microseconds(value.median)} µs")
    if counts := _counts(mine):
        told.append(counts)
    words = "; ".join(told) or "see below"
    return Answer((Strong(panel.label), f": {words}."), _tone(mine))


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
    return f"{name} {_range([*found.values()], 1e6)} µs on {ranks} ranks"


def _peak(curves: Curves, panel: Panel) -> tuple[int, float] | None:
    """Size in bytes and MB/s of the greatest median."""
    rates = curves.of(curves.intervals, panel, benchmark="bw", metric="bandwidth")
    if rates.is_empty():
        return None
    size, most = rates.sort("median").select("size_bytes", "median").row(-1)
    return size, most


def _all(curves: Curves, of: Callable[[Panel], Interval | None]) -> list[float]:
    return [found.median for panel in curves.panels if (found := of(panel))]


def _range(values: Sequence[float], scale: float = 1.0) -> str:
    low, high = (units.number(value * scale) for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _counts(found: Sequence[Comparison]) -> str:
    counted = Counter(one.outcome for one in found)
    told = ", ".join(f"{counted[name]} {name}" for name in TONES if counted[name])
    return f"beside NetPIPE, of {units.plural(len(found), 'value')}, {told}" if found else ""


def _tone(found: Sequence[Comparison]) -> Tone:
    return TONES[DISAGREE] if any(one.outcome == DISAGREE for one in found) else "plain"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

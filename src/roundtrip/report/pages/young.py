"""The newest night beside the one before it, for histories too short for any verdict."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from roundtrip.report import units
from roundtrip.report.nights import Judged, Line
from roundtrip.report.pages import packed
from roundtrip.report.units import Quantity, Unit
from roundtrip.stats.nights.verdicts import Verdict

#: Fewer series do not say what two nights of a site usually differ by.
_USUAL_LEAST = 8
#: So many reasons are named.
_NAMED = 3
DISTANCE = (
    "Distance: how far apart both nights are, in units of the median over all series of this site."
)


@dataclass(frozen=True)
class NightPair:
    """A series' values of its two newest nights, with units; `ratio` is the newest over the other.

    `distance` is how far they lie apart, in units of what the series of this site differ by in the
    middle; "" where that is not known.  `away` is the logarithm of `ratio`, without its sign.
    """

    line: Line
    before: Quantity | str
    newest: Quantity | str
    ratio: Quantity | str
    distance: Quantity | str
    away: float


def is_young(judged: Judged) -> bool:
    """Whether no series can be judged yet."""
    return bool(judged.lines) and len(judged.of(Verdict.TOO_FEW_NIGHTS)) == len(judged.lines)


def is_in_pairs(judged: Judged) -> bool:
    """Whether the table of `pairs` has every value, so that figures would add nothing.

    It has one value a night, so not those of several sets of nodes.
    """
    few = len(judged.calendar.nights) <= 2
    points = (line.series.points for line in judged.lines)
    one_a_night = all(len({each.night for each in some}) == len(some) for some in points)
    return is_young(judged) and few and one_a_night


def pairs(judged: Judged) -> Sequence[NightPair]:
    """One for each series, the farthest apart first."""
    apart = {line.series.key: _apart(line) for line in judged.lines}
    known = [abs(one) for one in apart.values() if one is not None]
    usual = median(known) if len(known) >= _USUAL_LEAST else 0.0
    ordered = sorted(judged.lines, key=lambda line: -abs(apart[line.series.key] or 0.0))
    return [_pair(line, apart[line.series.key], usual) for line in ordered]


def sentence(judged: Judged) -> str:
    """Why there is no verdict, and what changed since the night before."""
    newest = judged.calendar.nights[-1]
    whys = Counter(line.judgement.why for line in judged.lines)
    why = "; ".join(
        one if len(whys) == 1 else f"{units.plural(count, 'series', 'series')}: {one}"
        for one, count in whys.most_common(_NAMED)
    )
    if len(judged.calendar.nights) < 2:
        return f"{why}. There is no night to compare with yet."
    changed = "; ".join(map(str, judged.changed.get(newest, ()))) or "nothing that is recorded"
    return f"{why}. No verdict. What changed since the night before: {changed}."


def _values(line: Line) -> list[float]:
    """The values of the two newest nights of a series, or of its only one.

    Of several sets of nodes in a night, the median.
    """
    nights: dict[str, list[float]] = {}
    for point in line.series.points:
        nights.setdefault(point.night, []).append(point.median)
    return [median(values) for values in list(nights.values())[-2:]]


def _apart(line: Line) -> float | None:
    """The logarithm of the newest value over the one before; None without one."""
    values = _values(line)
    return math.log(values[1] / values[0]) if len(values) > 1 and min(values) > 0 else None


def _pair(line: Line, apart: float | None, usual: float) -> NightPair:
    factor, unit = packed.shown_in(line.series)
    values = [Quantity(value=one * factor, unit=unit, says_unit=True) for one in _values(line)]
    before = values[0] if len(values) > 1 else ""
    if apart is None:
        return NightPair(line, before, values[-1], "", "", 0.0)
    ratio = Quantity(value=math.exp(apart), unit=Unit.RATIO, decimals=3)
    far = Quantity(value=abs(apart) / usual, unit=Unit.PURE, decimals=1) if usual > 0 else ""
    return NightPair(line, before, values[-1], ratio, far, abs(apart))

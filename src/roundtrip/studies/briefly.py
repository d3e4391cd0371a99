"""Verdicts in one short line: what something costs over another thing, where, and where not.

``Boost.MPI costs 12 % at 1 B; on par elsewhere (medians within 1 %).``  The line says no more than
the verdicts do: each of them is counted under its own, also what cannot be told, and what was not
measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from roundtrip.report import units
from roundtrip.stats.verdicts import Judged, Verdict

#: A ratio of rates below this is told as a factor, not as a percentage.
_FACTOR = 0.5
_MOST_NAMED = 3
_NBSP = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class Told:
    """A verdict at `size` (bytes) in a panel, by its label; None: no launch measured it."""

    where: str
    size: int
    judged: Judged | None


def line(subject: str, base: str, found: Sequence[Told]) -> str:
    """What `subject` costs over `base`: a sentence without its full stop.

    `found` has every place that was to be compared, or is empty.
    """
    groups: dict[Verdict | None, list[Told]] = {}
    for verdict in (Verdict.SLOWER, Verdict.FASTER, Verdict.ON_PAR, Verdict.CANNOT_TELL, None):
        if mine := [one for one in found if _verdict(one) is verdict]:
            groups[verdict] = mine
    if not groups.keys() - {None}:
        return f"{subject} was not compared with {base}"
    clauses: list[str] = []
    for number, (verdict, mine) in enumerate(groups.items()):
        is_last = number == len(groups) - 1
        is_rest = is_last and number > 0 and verdict is Verdict.ON_PAR
        place = " elsewhere" if is_rest else _place(mine, found)
        clauses.append(_clause(subject if not clauses else "", base, verdict, mine, place))
    return "; ".join(clauses)


def _verdict(one: Told) -> Verdict | None:
    return one.judged.verdict if one.judged else None


def _clause(
    subject: str, base: str, verdict: Verdict | None, mine: Sequence[Told], place: str
) -> str:
    ratios = [one.judged.interval.median for one in mine if one.judged]
    if verdict is Verdict.SLOWER:
        return f"{subject} {_cost(ratios)}{place}".strip()
    if verdict is Verdict.FASTER:
        gains = _range([100 * (ratio - 1) for ratio in ratios], f"{_NBSP}%")
        return f"{subject} {'is ' if subject else ''}{gains} faster{place}".strip()
    if verdict is Verdict.ON_PAR:
        within = units.percent(max(0.01, *(_away(ratio) for ratio in ratios)))
        par = f"is on par with {base}" if subject else "on par"
        return f"{subject} {par}{place} (medians within {within})".strip()
    if verdict is Verdict.CANNOT_TELL:
        return f"{subject} against {base}: cannot tell{place}" if subject else f"cannot tell{place}"
    return f"not measured{place}"


def _away(ratio: float) -> float:
    """How far a ratio is from 1, rounded up to whole percents: it is never told as less."""
    far = max(ratio, 1 / ratio) - 1
    return -(-round(far * 1e4) // 100) / 100


def _cost(ratios: Sequence[float]) -> str:
    """Of ratios of rates below 1: the further time."""
    times = [1 / ratio for ratio in ratios]
    if min(ratios) < _FACTOR:
        low, high = units.number(min(times), 2), units.number(max(times), 2)
        return f"is {low if low == high else f'{low} to {high}'} times slower"
    return f"costs {_range([100 * (time - 1) for time in times], f'{_NBSP}%')}"


def _range(values: Sequence[float], unit: str) -> str:
    low, high = units.number(min(values), 2), units.number(max(values), 2)
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def _place(mine: Sequence[Told], found: Sequence[Told]) -> str:
    """Where a verdict holds: sizes and panels, each only if they do not go without saying.

    Where the sizes are not the same for all panels they are counted: the line has to stay short.
    """
    panels = list(dict.fromkeys(one.where for one in mine))
    by_panel = {name: sorted(one.size for one in mine if one.where == name) for name in panels}
    all_panels = {one.where for one in found} == set(panels)
    whole = {name: sorted(one.size for one in found if one.where == name) for name in panels}
    if len({tuple(sizes) for sizes in by_panel.values()}) == 1:
        sizes = by_panel[panels[0]]
        at = "" if by_panel == whole else f" at {_sizes(sizes, found)}"
        return at if all_panels else f"{at} on {_listed(panels)}"
    return f" in {len(mine)} of {len(found)} comparisons"


def _listed(panels: Sequence[str]) -> str:
    return "; ".join(panels) if len(panels) <= _MOST_NAMED else f"{len(panels)} toolchains"


def _sizes(sizes: Sequence[int], found: Sequence[Told]) -> str:
    """``1 B to 64 KiB``, or the sizes if one between them is lacking."""
    every = sorted({one.size for one in found})
    first = every.index(sizes[0])
    if len(sizes) > 2 and every[first : first + len(sizes)] == list(sizes):
        return f"{units.size(sizes[0])} to {units.size(sizes[-1])}"
    return ", ".join(map(units.size, sizes))

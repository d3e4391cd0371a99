"""Races of toolchains: which one is fastest at what, where that was found, and what is open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

from roundtrip.report import labels, units
from roundtrip.report.blocks import Answer, Cell, Table, text_cells, text_columns
from roundtrip.report.speeds import Compared, Setting, ToolchainComparison
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies.findings import more_launches
from roundtrip.studies.study import Claim

#: So many places or quantities at which one is fastest are named at the top.
MOST_PLACES = 3
_ON_PAR, _UNKNOWN = "on par", "open"
#: More rows than these do not stand at the top of a report.
_MOST_ROWS = 12
#: So many of the toolchains that none is faster than are named in a cell.
_MOST_NAMED = 6
Pair = tuple[str, str]
_What = tuple[Setting, str, int | None]


@dataclass(frozen=True)
class Race:
    """Toolchains that were compared with each other at one quantity and size.

    `judged` has a verdict on the speed of the first over that of the second of a pair; `series`
    has those of the runners, as in `Cell`.
    """

    setting: Setting
    what: str
    size_bytes: int | None
    runners: tuple[str, ...]
    judged: Mapping[Pair, ClaimVerdict]
    series: Mapping[str, str] = field(default_factory=dict)

    def _verdict(self, one: str, other: str) -> Verdict:
        if (one, other) in self.judged:
            return self.judged[one, other].verdict
        turned = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}
        back = self.judged.get((other, one))
        return turned.get(back.verdict, back.verdict) if back else Verdict.CANNOT_TELL

    @cached_property
    def leaders(self) -> tuple[str, ...]:
        """Those that none was found faster than."""
        slower = {
            one if found.verdict is Verdict.SLOWER else other
            for (one, other), found in self.judged.items()
            if found.verdict in (Verdict.FASTER, Verdict.SLOWER)
        }
        return tuple(one for one in self.runners if one not in slower)

    @cached_property
    def winner(self) -> str | None:
        """The one that was found faster than each of the others, if there is one."""
        for one in self.leaders:
            others = [other for other in self.runners if other != one]
            if all(self._verdict(one, other) is Verdict.FASTER for other in others):
                return one
        return None

    @property
    def margin(self) -> float:
        """How much faster the winner is than the next, as a part: 0.12 for 12 %."""
        ratios = []
        for (one, other), found in self.judged.items():
            if one == self.winner:
                ratios.append(found.interval.median)
            elif other == self.winner:
                ratios.append(1 / found.interval.median)
        return min(ratios) - 1

    @property
    def outcome(self) -> str:
        """The winner's environment, "on par" or "open"."""
        if self.winner:
            return self.winner
        pairs = list(combinations(self.leaders, 2))
        par = bool(pairs) and all(self._verdict(*pair) is Verdict.ON_PAR for pair in pairs)
        return _ON_PAR if par else _UNKNOWN

    def cell(self, names: Mapping[str, str]) -> Cell:
        """The winner with its margin, or who leads and what is known where that is open."""
        if self.winner:
            margin = units.speed(1 + self.margin, 1 + self.margin)
            return Cell(names[self.winner], "good", margin, series=self.series.get(self.winner, ""))
        left = self.leaders if 0 < len(self.leaders) < len(self.runners) else ()
        known = [names[one] for one in left]
        if len(known) > _MOST_NAMED:
            known[_MOST_NAMED:] = [f"{len(known) - _MOST_NAMED} more"]
        if self.outcome == _ON_PAR:
            return Cell(", ".join(known), "plain", _ON_PAR)
        if len(self.judged) == 1:
            ((one, _), found), *_ = self.judged.items()
            if found.interval.low is not None and found.interval.high is not None:
                known = [f"{names[one]}: {units.speed(found.interval.low, found.interval.high)}"]
        return Cell(" or ".join(known), "warn", f"{_UNKNOWN}{more_launches(self.judged.values())}")


def races(
    judged: Mapping[Claim, ClaimVerdict], compared: Mapping[ToolchainComparison, Compared]
) -> list[Race]:
    """All comparisons of toolchains, those put together that share a quantity and a size."""
    groups: dict[_What, dict[Pair, ClaimVerdict]] = {}
    series: dict[_What, dict[str, str]] = {}
    for key, one in judged.items():
        if isinstance(key, ToolchainComparison):
            what = (key.setting, key.what, key.size_bytes)
            groups.setdefault(what, {})[key.one, key.other] = one
            if key in compared:
                both = zip((key.one, key.other), compared[key].series, strict=True)
                series.setdefault(what, {}).update(both)
    found = []
    for what, pairs in groups.items():
        for runners in _connected(pairs):
            own = {pair: pairs[pair] for pair in pairs if pair[0] in runners}
            found.append(Race(*what, runners, own, series.get(what, {})))
    return found


def _connected(pairs: Iterable[Pair]) -> list[tuple[str, ...]]:
    """Toolchains that a chain of comparisons joins, sorted."""
    found: list[set[str]] = []
    for pair in pairs:
        touched = [group for group in found if group & set(pair)]
        found = [group for group in found if group not in touched]
        found.append(set(pair).union(*touched))
    return sorted(tuple(sorted(group)) for group in found)


def race_answers(found: Sequence[Race], titles: Mapping[str, str]) -> tuple[Answer, ...]:
    """Which toolchain is fastest at what; nothing without comparisons."""
    if not found:
        return ()
    outcomes: dict[str, list[Race]] = {}
    for race in found:
        name = f"{_names(race, titles)[race.winner]} is fastest" if race.winner else race.outcome
        outcomes.setdefault(name, []).append(race)
    ordered = sorted(outcomes, key=lambda name: (name in (_ON_PAR, _UNKNOWN), -len(outcomes[name])))
    words = "; ".join(f"{name} {_places(outcomes[name], len(found))}" for name in ordered)
    is_open = list(outcomes) == [_UNKNOWN]
    answer = f"Which is fastest is {words}." if is_open else f"{words[:1].upper()}{words[1:]}."
    return (Answer((answer,), "warn" if is_open else "plain"),)


def _places(some: Sequence[Race], count: int) -> str:
    """At what, if these are few; else in how many of all comparisons."""
    sizes: dict[str, list[str]] = {}
    for race in some:
        size = [] if race.size_bytes is None else [units.size(race.size_bytes)]
        sizes.setdefault(race.what, []).extend(size)
    if len(some) == count > 1:
        return "everywhere"
    if len(sizes) > MOST_PLACES:
        return f"in {len(some)} of {units.plural(count, 'comparison')}"
    named = (f"{what} at {', '.join(dict.fromkeys(s))}" if s else what for what, s in sizes.items())
    return f"for {'; '.join(named)}"


def top_tables(found: Sequence[Race], titles: Mapping[str, str]) -> tuple[Table, ...]:
    """The first rows of `race_tables`, as many as fit the top of a report."""
    left, kept = _MOST_ROWS, []
    for table in race_tables(found, titles):
        rows = table.rows[:left]
        left -= len(rows)
        more = len(table.rows) - len(rows)
        caption = f"{table.caption} {more} more below." if more else table.caption
        if rows:
            kept.append(replace(table, rows=rows, words=caption))
    return tuple(kept)


def race_tables(found: Sequence[Race], titles: Mapping[str, str]) -> tuple[Table, ...]:
    """A table for each study: a row for each quantity and a column for each size.

    Where each quantity has a size of its own, the size stands in its row.
    """
    studies = dict.fromkeys(race.setting.study for race in found)
    return tuple(
        _race_table([race for race in found if race.setting.study == study], titles)
        for study in studies
    )


def _race_table(own: Sequence[Race], titles: Mapping[str, str]) -> Table:
    sizes = sorted({race.size_bytes for race in own}, key=lambda size: size or 0)
    where = labels.differences({_where(race.setting) for race in own})
    rows: dict[tuple[str, str], dict[int | None, Cell]] = {}
    for race in own:
        what = labels.in_setting(race.what, where[_where(race.setting)])
        marked = ", ".join(filter(None, (what, race.setting.kind)))
        shared = ", ".join(_shared(race, titles)) or f"{len(race.runners)} toolchains"
        row = rows.setdefault((marked, shared), {})
        row[race.size_bytes] = race.cell(_names(race, titles))
    names = ["All" if size is None else units.size(size) for size in sizes]
    if len(sizes) > 1 and all(len(cells) == 1 for cells in rows.values()):
        at = dict(zip(sizes, names, strict=True))
        rows = {
            (what if size is None else f"{what} at {at[size]}", shared): {None: cell}
            for (what, shared), cells in rows.items()
            for size, cell in cells.items()
        }
        sizes, names = [None], ["Fastest"]
    none = Cell(units.NOTHING, "muted")
    return Table(
        "The fastest toolchain and its margin over the next: median of the ratios paired by "
        "round, corrected for all comparisons.",
        text_columns("What", "With", *names),
        tuple(
            (*text_cells(*named), *(cells.get(size, none) for size in sizes))
            for named, cells in rows.items()
        ),
    )


def _where(setting: Setting) -> str:
    return ", ".join(filter(None, (setting.parameters, setting.place)))


def _shared(race: Race, titles: Mapping[str, str]) -> list[str]:
    """What the titles of all runners have in common, such as the Boost."""
    first, *rest = (titles[one].split(", ") for one in race.runners)
    return [part for part in first if all(part in parts for parts in rest)]


def _names(race: Race, titles: Mapping[str, str]) -> dict[str, str]:
    """The part of each title in which the runners differ; the title where that is nothing."""
    shared = set(_shared(race, titles))
    return {
        one: ", ".join(part for part in titles[one].split(", ") if part not in shared)
        or titles[one]
        for one in race.runners
    }

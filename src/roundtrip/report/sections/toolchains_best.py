"""Which toolchain is fastest at what: the verdicts on pairs, put together into one table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

from roundtrip.report import units
from roundtrip.report.blocks import Answer, Cell, Column, Table
from roundtrip.report.sections.toolchains_data import Compared, Setting, ToolchainComparison
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies.study import Claim

QUESTION = "Which MPI and which Boost is fastest here?"
_ON_PAR, _UNKNOWN = "on par", "cannot tell"
_MOST_ROWS = 12
#: So many of the toolchains that none is faster than are named in a cell.
_MOST_NAMED = 6
Pairs = Mapping[tuple[str, str], ClaimVerdict]
_What = tuple[Setting, str, int | None]
_NONE: Mapping[ToolchainComparison, Compared] = {}


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
    judged: Pairs
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
        """The winner's environment, "on par" or "cannot tell"."""
        if self.winner:
            return self.winner
        pairs = list(combinations(self.leaders, 2))
        par = bool(pairs) and all(self._verdict(*pair) is Verdict.ON_PAR for pair in pairs)
        return _ON_PAR if par else _UNKNOWN

    def cell(self, names: Mapping[str, str]) -> Cell:
        """The winner with its margin, or who leads and that no winner can be told."""
        if self.winner:
            told = f"{units.percent(self.margin)} faster"
            return Cell(names[self.winner], "good", told, series=self.series.get(self.winner, ""))
        left = self.leaders if 0 < len(self.leaders) < len(self.runners) else ()
        known = [names[one] for one in left]
        if len(known) > _MOST_NAMED:
            known[_MOST_NAMED:] = [f"{len(known) - _MOST_NAMED} more"]
        if self.outcome == _ON_PAR:
            return Cell(", ".join(known), "plain", _ON_PAR)
        return Cell(" or ".join(known), "warn", _UNKNOWN)


def races(
    judged: Mapping[Claim, ClaimVerdict], compared: Mapping[ToolchainComparison, Compared] = _NONE
) -> list[Race]:
    """All comparisons of toolchains, those put together that share a quantity and a size."""
    groups: dict[_What, dict[tuple[str, str], ClaimVerdict]] = {}
    series: dict[_What, dict[str, str]] = {}
    for key, one in judged.items():
        if isinstance(key, ToolchainComparison):
            what = (key.setting, key.what, key.size_bytes)
            groups.setdefault(what, {})[key.one, key.other] = one
            if key in compared:
                both = zip((key.one, key.other), compared[key].series, strict=True)
                series.setdefault(what, {}).update(both)
    return [
        Race(
            *what,
            runners,
            {pair: pairs[pair] for pair in pairs if pair[0] in runners},
            series.get(what, {}),
        )
        for what, pairs in groups.items()
        for runners in _connected(pairs)
    ]


def _connected(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Toolchains that a chain of comparisons joins, sorted."""
    found: list[set[str]] = []
    for pair in pairs:
        touched = [group for group in found if group & set(pair)]
        found = [group for group in found if group not in touched]
        found.append(set(pair).union(*touched))
    return sorted(tuple(sorted(group)) for group in found)


def answers(found: Sequence[Race], titles: Mapping[str, str]) -> tuple[Answer, ...]:
    """How often which toolchain is fastest; nothing without comparisons."""
    if not found:
        return ()
    counted = Counter(
        _names(race, titles)[race.winner] if race.winner else race.outcome for race in found
    )
    words = [
        f"{name} is fastest in {count}"
        for name, count in counted.most_common()
        if name not in (_ON_PAR, _UNKNOWN)
    ]
    words += [f"{name} in {counted[name]}" for name in (_ON_PAR, _UNKNOWN) if counted[name]]
    told = f"Of {units.plural(len(found), 'comparison')}: {', '.join(words)}."
    return (Answer((told,), "warn" if set(counted) == {_UNKNOWN} else "plain"),)


def summary(found: Sequence[Race], titles: Mapping[str, str]) -> tuple[Table, ...]:
    """The first rows of `tables`, as many as fit the top of a report."""
    room, kept = _MOST_ROWS, []
    for table in tables(found, titles):
        rows = table.rows[:room]
        room -= len(rows)
        more = len(table.rows) - len(rows)
        caption = f"{table.caption} {more} more below." if more else table.caption
        if rows:
            kept.append(replace(table, rows=rows, words=caption))
    return tuple(kept)


def tables(found: Sequence[Race], titles: Mapping[str, str]) -> tuple[Table, ...]:
    """A table for each study: a row for each quantity and a column for each size."""
    return tuple(_tables(found, titles))


def _tables(found: Sequence[Race], titles: Mapping[str, str]) -> Iterator[Table]:
    for study in dict.fromkeys(race.setting.study for race in found):
        mine = [race for race in found if race.setting.study == study]
        sizes = sorted({race.size_bytes for race in mine}, key=lambda size: size or 0)
        several = len({race.setting for race in mine}) > 1
        rows: dict[tuple[str, str], dict[int | None, Cell]] = {}
        for race in mine:
            where = [_place(race.setting)] if several or race.setting.kind else []
            what = ", ".join([race.what, *where])
            names = _names(race, titles)
            row = rows.setdefault((what, _with(race, titles)), {})
            row[race.size_bytes] = race.cell(names)
        none = Cell(units.NOTHING, "muted")
        yield Table(
            "The fastest toolchain and its margin over the next: median of the ratios paired by "
            "round, corrected for all comparisons.",
            (
                Column("What"),
                Column("With"),
                *(Column("All" if size is None else units.size(size)) for size in sizes),
            ),
            tuple(
                (Cell(what), Cell(shared), *(cells.get(size, none) for size in sizes))
                for (what, shared), cells in rows.items()
            ),
        )


def _place(setting: Setting) -> str:
    return ", ".join(filter(None, (setting.parameters, setting.place, setting.kind)))


def _shared(race: Race, titles: Mapping[str, str]) -> list[str]:
    """What the titles of all runners have in common, such as the Boost."""
    first, *rest = (titles[one].split(", ") for one in race.runners)
    return [part for part in first if all(part in parts for parts in rest)]


def _with(race: Race, titles: Mapping[str, str]) -> str:
    shared = _shared(race, titles)
    return ", ".join(shared) if shared else f"{len(race.runners)} toolchains"


def _names(race: Race, titles: Mapping[str, str]) -> dict[str, str]:
    """The part of each title in which the runners differ; the title where that is nothing."""
    shared = set(_shared(race, titles))
    return {
        one: ", ".join(part for part in titles[one].split(", ") if part not in shared)
        or titles[one]
        for one in race.runners
    }

"""The section that compares toolchains: MPI with MPI, Boost with Boost; which one is fastest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

from roundtrip.report import units
from roundtrip.report.blocks import (
    Answer,
    Block,
    Cell,
    Code,
    Column,
    Fold,
    Heading,
    Items,
    Paragraph,
    Part,
    Strong,
    Table,
    Text,
    Tone,
    number_columns,
    text_cells,
    text_columns,
)
from roundtrip.report.data import Data
from roundtrip.report.speeds import (
    MOST_ENVIRONS,
    Compared,
    Setting,
    ToolchainComparison,
    Toolchains,
)
from roundtrip.report.units import Level, Quantity
from roundtrip.stats.summaries import MEDIAN, OVER_LAUNCHES, Kind, Summary, median_interval
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies.derivation import Facts, Pairing, Ratio
from roundtrip.studies.findings import more_launches
from roundtrip.studies.study import Claim

QUESTION = "Which MPI and which Boost is fastest here?"
_MOST_ANSWERS = 6
#: So many places or quantities at which one is fastest are named at the top.
_MOST_PLACES = 3
_ON_PAR, _UNKNOWN = "on par", "open"
#: More rows than these do not stand at the top of a report.
_MOST_ROWS = 12
#: So many of the toolchains that none is faster than are named in a cell.
_MOST_NAMED = 6
Pair = tuple[str, str]
_What = tuple[Setting, str, int | None]
_HOW: Text = (
    "A machine drifts from launch to launch by more than most toolchains differ. So launches are "
    "compared only with those of the same round, which were launched side by side in random "
    "order; each round gives one ratio. “Rounds” says how many rounds launched both, of how many "
    "that launched either, and in how many the first of the two came first. Launches that share "
    "no round, such as those of a second campaign, are never compared. For two toolchains that "
    "differ only in MPI, what depends on MPI is compared; for two that differ only in Boost, "
    "what depends on Boost.",
)
#: What stands behind the numbers of this part, for the report's audit.
_OF_LAUNCH = Summary("a study's value of a launch", Kind.COST, "the samples of a launch", MEDIAN)
FACTS = Facts(
    summaries=(
        _OF_LAUNCH,
        Summary("a value of one toolchain", Kind.COST, "launches", OVER_LAUNCHES),
    ),
    ratios=(Ratio("one toolchain over another", _OF_LAUNCH, Pairing.ROUND, OVER_LAUNCHES),),
)


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
    if len(sizes) > _MOST_PLACES:
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
    """A table for each study: a row for each quantity and a column for each size."""
    studies = dict.fromkeys(race.setting.study for race in found)
    return tuple(
        _race_table([race for race in found if race.setting.study == study], titles)
        for study in studies
    )


def _race_table(own: Sequence[Race], titles: Mapping[str, str]) -> Table:
    sizes = sorted({race.size_bytes for race in own}, key=lambda size: size or 0)
    several = len({race.setting for race in own}) > 1
    rows: dict[tuple[str, str], dict[int | None, Cell]] = {}
    for race in own:
        setting = race.setting
        where = (setting.parameters, setting.place, setting.kind)
        what = [race.what, *(filter(None, where) if several or setting.kind else ())]
        shared = ", ".join(_shared(race, titles)) or f"{len(race.runners)} toolchains"
        row = rows.setdefault((", ".join(what), shared), {})
        row[race.size_bytes] = race.cell(_names(race, titles))
    none = Cell(units.NOTHING, "muted")
    names = ("All" if size is None else units.size(size) for size in sizes)
    return Table(
        "The fastest toolchain and its margin over the next: median of the ratios paired by "
        "round, corrected for all comparisons.",
        text_columns("What", "With", *names),
        tuple(
            (*text_cells(*named), *(cells.get(size, none) for size in sizes))
            for named, cells in rows.items()
        ),
    )


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


class ToolchainsSection:
    """Compares toolchains with each other, by round."""

    def __init__(self, data: Data, toolchains: Toolchains) -> None:
        self._level = Level(data.analysis.statistics.confidence_level)
        self._toolchains = toolchains

    @cached_property
    def _by_pair(self) -> dict[Pair, dict[ToolchainComparison, Compared]]:
        """The comparisons of each pair of toolchains, in their order."""
        found: dict[Pair, dict[ToolchainComparison, Compared]] = {}
        for key, one in self._toolchains.compared.items():
            found.setdefault((key.one, key.other), {})[key] = one
        return found

    def _too_many(self) -> list[Text]:
        """Where toolchains are too many to compare each with each, and what is compared there."""
        return [
            (
                f"{_case(setting)}: {count} toolchains have {count * (count - 1) // 2} pairs, of "
                f"which {pairs} are asked: each toolchain with the first by name of those with "
                "its MPI, of those with its Boost and, unless one of them lies between, of all. Up "
                f"to {MOST_ENVIRONS} would be compared each with each. ",
                Code("roundtrip compare BUNDLE --toolchains ONE OTHER"),
                " compares any two of them.",
            )
            for setting, (count, pairs) in self._toolchains.too_many.items()
        ]

    def claims(self) -> Mapping[Claim, Sequence[float]]:
        """Ratios of speed with one toolchain over another, one for each shared round."""
        return {key: one.ratios for key, one in self._toolchains.compared.items()}

    def part(self, judged: Mapping[Claim, ClaimVerdict]) -> Part:
        """A table for each pair of toolchains, and what was not compared and why."""
        blocks: list[Block] = [Paragraph(_HOW)]
        if too_many := self._too_many():
            blocks.append(Items(tuple(too_many)))
        pairs = list(self._by_pair)
        for pair in pairs:
            title, table = self._versus(pair), self._table(pair, judged)
            is_long = len(pairs) > _MOST_ANSWERS
            blocks += [Fold(title, (table,))] if is_long else [Heading(3, title), table]
        reasons = tuple(
            (f"{self._versus((one.one, one.other))}, {_case(one.setting)}: {one.reason}.",)
            for one in self._toolchains.refused
        )
        title = "Not compared, and why"
        if len(reasons) > _MOST_ANSWERS:
            blocks.append(Fold(f"{title}: {len(reasons)} pairs", (Items(reasons),)))
        elif reasons:
            blocks += [Heading(3, title), Items(reasons)]
        found, titles = races(judged, self._toolchains.compared), self._toolchains.titles
        return Part(
            "toolchains",
            "Toolchains compared",
            tuple(blocks),
            answers=race_answers(found, titles),
            verdicts=race_tables(found, titles),
            question=QUESTION,
            each=tuple(self._each(pairs, judged)),
            summary=top_tables(found, titles),
        )

    def _each(self, pairs: Sequence[Pair], judged: Mapping[Claim, ClaimVerdict]) -> list[Answer]:
        if len(pairs) > _MOST_ANSWERS:
            text = f"{len(pairs)} pairs of toolchains are compared below, by round."
            return [Answer((Strong("Toolchains: "), text))]
        return [Answer((Strong(self._versus(p)), f": {self._counts(p, judged)}.")) for p in pairs]

    def _counts(self, pair: Pair, judged: Mapping[Claim, ClaimVerdict]) -> str:
        """How often each toolchain of a pair is faster; and where, if these are few places."""
        found: dict[Verdict, list[str]] = {}
        for key in self._by_pair[pair]:
            found.setdefault(judged[key].verdict, []).append(_quantity(key))
        counts = []
        for verdict in (v for v in Verdict if v in found):
            where = dict.fromkeys(found[verdict])
            named = f" ({'; '.join(where)})" if len(where) <= _MOST_PLACES else ""
            counts.append(f"{self._outcome(pair, verdict)} in {len(found[verdict])}{named}")
        comparisons = units.plural(sum(map(len, found.values())), "comparison")
        return f"of {comparisons}, {', '.join(counts)}"

    def _outcome(self, pair: Pair, verdict: Verdict) -> str:
        """The verdict with the name of the faster one."""
        titles = self._toolchains.titles
        faster = {Verdict.FASTER: pair[0], Verdict.SLOWER: pair[1]}.get(verdict)
        return f"{titles[faster]} is faster" if faster else str(verdict)

    def _versus(self, pair: Pair) -> str:
        titles = self._toolchains.titles
        return f"{titles[pair[0]]} against {titles[pair[1]]}"

    def _table(self, pair: Pair, judged: Mapping[Claim, ClaimVerdict]) -> Table:
        rows = [self._row(pair, key, one, judged[key]) for key, one in self._by_pair[pair].items()]
        one, other = (self._toolchains.titles[environ] for environ in pair)
        base = f"{other} (base)"
        columns = (
            *text_columns("Case", "What"),
            *number_columns(one, base),
            Column("Ratio of speeds", "right", base=base),
            *number_columns("q", "Rounds"),
        )
        caption = self._level.within(
            f"{self._versus(pair)}: medians over the rounds that launched both, and the median of "
            f"the paired ratio, with {{level}} rank intervals. Above 1 {one} is faster."
        )
        return Table(caption, columns, tuple(rows))

    def _row(
        self, pair: Pair, key: ToolchainComparison, one: Compared, judged: ClaimVerdict
    ) -> tuple[Cell, ...]:
        verdict = self._outcome(pair, judged.verdict) if judged.would_do is None else judged.words
        tone: Tone = "warn" if judged.verdict is Verdict.CANNOT_TELL else "plain"
        n = len(one.ones)
        return (
            Cell(_case(key.setting)),
            Cell(f"{_quantity(key)}, {one.unit}", unit=one.unit),
            *(
                Cell(Quantity.over(median_interval(side, self._level), one.unit), series=series)
                for side, series in zip((one.ones, one.others), one.series, strict=True)
            ),
            Cell(Quantity.claim(judged.interval), tone, verdict, series=one.series[0]),
            Cell(units.pure(judged.q, 2)),
            Cell((units.count(n), f" of {one.pairing.rounds}, first in {one.pairing.first}")),
        )


def _quantity(key: ToolchainComparison) -> str:
    return key.what if key.size_bytes is None else f"{key.what}, {units.size(key.size_bytes)}"


def _case(setting: Setting) -> str:
    case = f"{setting.check}, {setting.parameters}, on {setting.place}"
    return f"{case}, {setting.kind}" if setting.kind else case


def section(data: Data) -> ToolchainsSection | None:
    """The section, if two toolchains ran the same case."""
    toolchains = Toolchains(data)
    is_asked = toolchains.compared or toolchains.refused
    return ToolchainsSection(data, toolchains) if is_asked else None

"""Races of toolchains: the fastest one for each quantity and size, and undecided races."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

from roundtrip.report import labels, units
from roundtrip.report.blocks import Answer, Cell, StatusColour, Table, text_cells, text_columns
from roundtrip.report.speeds import PairedValues, Setting, ToolchainComparison
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies.findings import missing_launches_suffix
from roundtrip.studies.study import Claim

#: Maximum places or quantities that an answer names.
MOST_PLACES = 3
_ON_PAR, _OPEN = "on par", "open"
_OUTCOME_SENTENCES = {_ON_PAR: "Toolchains are on par", _OPEN: "Which is fastest is undecided"}
_OUTCOME_WORDS = {_ON_PAR: "on par", _OPEN: "undecided"}
#: Maximum rows of the tables at the top of a report.
_MAX_ROWS = 8
#: Maximum leaders that a cell names.
_MAX_NAMED = 6
Pair = tuple[str, str]
#: The name of a quantity in its setting, and a size in bytes.
_QuantityAndSize = tuple[str, int | None]


@dataclass(frozen=True)
class Race:
    """A comparison of toolchains in one setting, for one quantity and size.

    `verdicts`: by pair, the verdict on the speed of the first toolchain over that of the second;
    `series`: by toolchain, the key of its series, as in `Cell`.
    """

    setting: Setting
    quantity: str
    size_bytes: int | None
    toolchains: tuple[str, ...]
    verdicts: Mapping[Pair, ClaimVerdict]
    series: Mapping[str, str] = field(default_factory=dict)

    def _verdict(self, one: str, other: str) -> Verdict:
        if (one, other) in self.verdicts:
            return self.verdicts[one, other].verdict
        opposites = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}
        reverse = self.verdicts.get((other, one))
        return opposites.get(reverse.verdict, reverse.verdict) if reverse else Verdict.CANNOT_TELL

    @property
    def is_oversubscribed(self) -> bool:
        """Whether ranks share processors, so that waiting counts more than communication."""
        return "oversubscribed" in self.setting.parameters

    @cached_property
    def leaders(self) -> tuple[str, ...]:
        """Toolchains that no other one beats."""
        losers = {
            one if verdict.verdict is Verdict.SLOWER else other
            for (one, other), verdict in self.verdicts.items()
            if verdict.verdict in (Verdict.FASTER, Verdict.SLOWER)
        }
        return tuple(toolchain for toolchain in self.toolchains if toolchain not in losers)

    @cached_property
    def winner(self) -> str | None:
        """The toolchain that beats each of the others; None without one."""
        for leader in self.leaders:
            rivals = [rival for rival in self.toolchains if rival != leader]
            if all(self._verdict(leader, rival) is Verdict.FASTER for rival in rivals):
                return leader
        return None

    @property
    def margin(self) -> float:
        """The winner's lead over the next toolchain, a fraction; 0 without a winner."""
        ratios = []
        for (one, other), verdict in self.verdicts.items():
            if one == self.winner:
                ratios.append(verdict.interval.median)
            elif other == self.winner:
                ratios.append(1 / verdict.interval.median)
        return min(ratios, default=1.0) - 1

    @property
    def outcome(self) -> str:
        """The winner's environment, "on par" or "open"."""
        if self.winner:
            return self.winner
        pairs = list(combinations(self.leaders, 2))
        is_on_par = bool(pairs) and all(self._verdict(*pair) is Verdict.ON_PAR for pair in pairs)
        return _ON_PAR if is_on_par else _OPEN

    def cell(self, names: Mapping[str, str]) -> Cell:
        """A cell with the winner and its margin, or with the leaders and the outcome."""
        if self.winner:
            margin = units.speed_ratio_text(1 + self.margin, 1 + self.margin)
            return Cell(
                names[self.winner], "good", margin, series_key=self.series.get(self.winner, "")
            )
        leaders = self.leaders if len(self.leaders) < len(self.toolchains) else ()
        leader_names = [names[leader] for leader in leaders]
        if len(leader_names) > _MAX_NAMED:
            leader_names[_MAX_NAMED:] = [f"{len(leader_names) - _MAX_NAMED} more"]
        if self.outcome == _ON_PAR:
            return Cell(", ".join(leader_names), "plain", _ON_PAR)
        if len(self.verdicts) == 1:
            ((one, other), verdict), *_ = self.verdicts.items()
            if verdict.interval.low is not None and verdict.interval.high is not None:
                speed = units.speed_ratio_text(verdict.interval.low, verdict.interval.high)
                leader_names = [f"{names[one]} against {names[other]}: {speed}"]
        words = f"{_OPEN}{missing_launches_suffix(self.verdicts.values())}"
        return Cell(" or ".join(leader_names), "warn", words)


def races(
    verdicts: Mapping[Claim, ClaimVerdict], compared: Mapping[ToolchainComparison, PairedValues]
) -> list[Race]:
    """The comparisons of toolchains, grouped by setting, quantity and size."""
    groups: dict[tuple[Setting, str, int | None], dict[Pair, ClaimVerdict]] = defaultdict(dict)
    series: dict[tuple[Setting, str, int | None], dict[str, str]] = defaultdict(dict)
    for key, verdict in verdicts.items():
        if isinstance(key, ToolchainComparison):
            race_key, pair = (key.setting, key.what, key.size_bytes), (key.one, key.other)
            groups[race_key][pair] = verdict
            if key in compared:
                series[race_key].update(zip(pair, compared[key].series, strict=True))
    all_races = []
    for race_key, pairs in groups.items():
        for toolchains in _connected_groups(pairs):
            race_verdicts = {pair: pairs[pair] for pair in pairs if pair[0] in toolchains}
            all_races.append(Race(*race_key, toolchains, race_verdicts, series[race_key]))
    return all_races


def _connected_groups(pairs: Iterable[Pair]) -> list[tuple[str, ...]]:
    """The groups of toolchains that chains of comparisons connect, sorted."""
    groups: list[set[str]] = []
    for pair in pairs:
        overlaps = [group for group in groups if group & set(pair)]
        groups = [group for group in groups if group not in overlaps]
        groups.append(set(pair).union(*overlaps))
    return sorted(tuple(sorted(group)) for group in groups)


def race_answers(all_races: Sequence[Race], titles: Mapping[str, str]) -> tuple[Answer, ...]:
    """An answer for each winner, and for races without one; () without comparisons.

    Races of more ranks than processors stand apart.
    """
    shared_races = [race for race in all_races if race.is_oversubscribed]
    own_races = [race for race in all_races if not race.is_oversubscribed]
    subject = f"{labels.OVERSUBSCRIBED_NOTE.capitalize()}: "
    return (
        *_race_answers(own_races, titles),
        *_race_answers(shared_races, titles, subject),
    )


def _race_answers(
    all_races: Sequence[Race], titles: Mapping[str, str], subject: str = ""
) -> list[Answer]:
    if not all_races:
        return []
    quantities = _quantity_names(all_races)

    def place(race: Race) -> _QuantityAndSize:
        return quantities[race.setting, race.quantity], race.size_bytes

    outcomes: dict[str, list[Race]] = defaultdict(list)
    outcomes_at: dict[_QuantityAndSize, set[str]] = defaultdict(set)
    for race in all_races:
        name = _short_titles(race, titles)[race.winner] if race.winner else race.outcome
        outcomes[name].append(race)
        outcomes_at[place(race)].add(name)
    disputed = {key for key, names in outcomes_at.items() if len(names) > 1}
    ranking = sorted(outcomes, key=lambda name: (name in _OUTCOME_SENTENCES, -len(outcomes[name])))
    tone: StatusColour = "warn" if ranking == [_OPEN] else "plain"
    comparisons = units.plural(len(all_races), "comparison")
    answers = []
    winners = [name for name in ranking if name not in _OUTCOME_SENTENCES]
    if len(winners) > 1:
        leader, *others = ranking
        count = len(outcomes[leader])
        is_lead = 2 * count > len(all_races)
        lead = f"{leader} leads: fastest" if is_lead else f"No overall winner: {leader} is fastest"
        rest = [f"{_OUTCOME_WORDS.get(name, name)} in {len(outcomes[name])}" for name in others]
        kinds = labels.partial_label_suffix(race.setting.kind for race in all_races)
        tally = f"in {count} of {comparisons}{kinds}, {', '.join(rest)}"
        answers.append(Answer((f"{subject}{lead} {tally}.",)))
    for name in ranking:
        sentence = _OUTCOME_SENTENCES.get(name, f"{name} is fastest")
        kinds = labels.partial_label_suffix(race.setting.kind for race in outcomes[name])
        places = list(map(place, outcomes[name]))
        if len(places) == len(all_races) > 1 and name == _OPEN:
            sentence = "No toolchain is shown to be fastest:"
            where = f"every comparison is open{kinds}"
        elif len(places) == len(all_races) > 1:
            where = f"everywhere{kinds}"
        elif disputed & {*places}:
            # A place where another race has another outcome would contradict its sentence.
            where = f"in {len(places)} of {comparisons}{kinds}"
        elif len({quantity for quantity, _ in places}) > MOST_PLACES:
            clearest = sorted(outcomes[name], key=lambda race: race.margin, reverse=True)
            first_places = _places_text(list(map(place, clearest[:MOST_PLACES])))
            where = f"for {first_places}, and {len(places) - MOST_PLACES} more"
        else:
            where = f"for {_places_text(places)}"
        if name not in _OUTCOME_SENTENCES:
            margins = [1 + race.margin for race in outcomes[name]]
            where += f": {units.speed_ratio_text(min(margins), max(margins))}"
        answers.append(Answer((f"{subject}{sentence} {where}.",), tone))
    return answers


def _places_text(places: Sequence[_QuantityAndSize]) -> str:
    """``MPI, ping-pong at 1 B, 4 KiB; MPI, stream at 1 B``."""
    sizes: dict[str, list[str]] = {}
    for quantity, size in places:
        sizes.setdefault(quantity, []).extend([] if size is None else [units.size_text(size)])
    return "; ".join(
        f"{quantity} at {', '.join(dict.fromkeys(s))}" if s else quantity
        for quantity, s in sizes.items()
    )


def _quantity_names(all_races: Sequence[Race]) -> dict[tuple[Setting, str], str]:
    """The name of each quantity in each setting, with its kind, and with the parts in which the
    settings of its study differ.
    """
    texts: dict[str, set[str]] = {}
    for race in all_races:
        texts.setdefault(race.setting.study, set()).add(_setting_text(race.setting))
    differences = {study: labels.title_differences(texts[study]) for study in texts}
    names = {}
    for race in all_races:
        setting = race.setting
        difference = differences[setting.study][_setting_text(setting)]
        name = labels.add_missing_setting(race.quantity, difference)
        names[setting, race.quantity] = ", ".join(filter(None, (name, setting.kind)))
    return names


def top_tables(all_races: Sequence[Race], titles: Mapping[str, str]) -> tuple[Table, ...]:
    """The first rows of `race_tables`, at most `_MAX_ROWS` in all."""
    budget, tables = _MAX_ROWS, []
    for table in race_tables(all_races, titles):
        rows = table.rows[:budget]
        budget -= len(rows)
        rest = len(table.rows) - len(rows)
        caption = f"{table.caption} {rest} more below." if rest else table.caption
        if rows:
            tables.append(replace(table, rows=rows, rich_caption=caption))
    return tuple(tables)


def race_tables(all_races: Sequence[Race], titles: Mapping[str, str]) -> tuple[Table, ...]:
    """A table for each study: a row for each quantity and a column for each size.

    Rows of more ranks than processors come last.  A row names its size if it is the only one.
    """
    studies = dict.fromkeys(race.setting.study for race in all_races)
    ordered = sorted(all_races, key=lambda race: race.is_oversubscribed)
    return tuple(
        _race_table([race for race in ordered if race.setting.study == study], titles)
        for study in studies
    )


def _race_table(study_races: Sequence[Race], titles: Mapping[str, str]) -> Table:
    sizes = sorted({race.size_bytes for race in study_races}, key=lambda size: size or 0)
    quantities = _quantity_names(study_races)
    rows: dict[tuple[str, str], dict[int | None, Cell]] = {}
    for race in study_races:
        label = quantities[race.setting, race.quantity]
        # The parts that the titles of all toolchains share, such as the Boost.
        first, *rest = (titles[toolchain].split(", ") for toolchain in race.toolchains)
        parts = [part for part in first if all(part in others for others in rest)]
        common = ", ".join(parts) or f"{len(race.toolchains)} toolchains"
        row = rows.setdefault((label, common), {})
        row[race.size_bytes] = race.cell(_short_titles(race, titles))
    names = ["All" if size is None else units.size_text(size) for size in sizes]
    if len(sizes) > 1 and all(len(cells) == 1 for cells in rows.values()):
        headers = dict(zip(sizes, names, strict=True))
        rows = {
            (quantity if size is None else f"{quantity} at {headers[size]}", common): {None: cell}
            for (quantity, common), cells in rows.items()
            for size, cell in cells.items()
        }
        sizes, names = [None], ["Fastest"]
    blank = Cell(units.NO_VALUE, "muted")
    caption = (
        "The fastest toolchain and its margin over the next: median of the ratios paired by "
        "round, corrected for all comparisons."
    )
    table_rows = tuple(
        (*text_cells(*row_key), *(cells.get(size, blank) for size in sizes))
        for row_key, cells in rows.items()
    )
    return Table(caption, text_columns("What", "With", *names), table_rows)


def _setting_text(setting: Setting) -> str:
    return ", ".join(filter(None, (setting.parameters, setting.place)))


def _short_titles(race: Race, titles: Mapping[str, str]) -> dict[str, str]:
    """The title of each toolchain without the common parts; the whole title if nothing is left."""
    rests = labels.short_titles({titles[toolchain] for toolchain in race.toolchains})
    return {toolchain: rests[titles[toolchain]] for toolchain in race.toolchains}

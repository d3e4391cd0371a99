"""Rankings of toolchains: the fastest one for each quantity and size, if one is shown to be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from operator import attrgetter

from roundtrip import units
from roundtrip.content import labels
from roundtrip.content.blocks import Answer, Cell, StatusColour, Table, text_cells, text_columns
from roundtrip.report.speeds import PairedValues, Setting, ToolchainComparison
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies.findings import missing_launches_suffix
from roundtrip.study import Claim

#: Maximum quantities, with their sizes, that an answer names.
MAX_NAMED_QUANTITIES = 3
_ON_PAR, _OPEN = "on par", "open"
_SENTENCE_BY_OUTCOME = {
    _ON_PAR: "Toolchains are on par",
    _OPEN: "The fastest toolchain is undecided",
}
_TEXT_BY_OUTCOME = {_ON_PAR: "on par", _OPEN: "undecided"}
#: Maximum rows of the tables at the top of a report.
_MAX_ROWS = 8
#: Maximum leaders that a cell names.
_MAX_NAMED = 6
ToolchainPair = tuple[str, str]
_RankingKey = tuple[Setting, str, int | None]
#: The name of a quantity in its setting, and a size in bytes.
_QuantityAndSize = tuple[str, int | None]


@dataclass(frozen=True)
class ToolchainRanking:
    """A comparison of toolchains in one setting, for one quantity and size.

    `verdict_by_pair` has the verdict on the speed of the first toolchain over that of the second.
    """

    setting: Setting
    quantity: str
    size_bytes: int | None
    toolchains: tuple[str, ...]
    verdict_by_pair: Mapping[ToolchainPair, ClaimVerdict]
    series_key_by_toolchain: Mapping[str, str] = field(default_factory=dict)

    def _verdict(self, toolchain: str, base_toolchain: str) -> Verdict:
        if (toolchain, base_toolchain) in self.verdict_by_pair:
            return self.verdict_by_pair[toolchain, base_toolchain].verdict
        opposites = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}
        reverse = self.verdict_by_pair.get((base_toolchain, toolchain))
        return opposites.get(reverse.verdict, reverse.verdict) if reverse else Verdict.CANNOT_TELL

    @property
    def is_oversubscribed(self) -> bool:
        """Whether ranks share processors, so that waiting counts more than communication."""
        return "oversubscribed" in self.setting.parameters

    @cached_property
    def unbeaten_toolchains(self) -> tuple[str, ...]:
        losers = {
            one if verdict.verdict is Verdict.SLOWER else other
            for (one, other), verdict in self.verdict_by_pair.items()
            if verdict.verdict.is_difference
        }
        return tuple(toolchain for toolchain in self.toolchains if toolchain not in losers)

    @cached_property
    def fastest_toolchain(self) -> str | None:
        """The toolchain that beats each of the others; None without one."""
        for leader in self.unbeaten_toolchains:
            rivals = [rival for rival in self.toolchains if rival != leader]
            if all(self._verdict(leader, rival) is Verdict.FASTER for rival in rivals):
                return leader
        return None

    @property
    def margin(self) -> float:
        """The lead of the fastest toolchain over the next, a fraction; 0 without a fastest."""
        ratios = []
        for (one, other), verdict in self.verdict_by_pair.items():
            if one == self.fastest_toolchain:
                ratios.append(verdict.interval.median)
            elif other == self.fastest_toolchain:
                ratios.append(1 / verdict.interval.median)
        return min(ratios, default=1.0) - 1

    @property
    def outcome(self) -> str:
        """The environment of the fastest toolchain, "on par" or "open"."""
        if self.fastest_toolchain:
            return self.fastest_toolchain
        pairs = list(combinations(self.unbeaten_toolchains, 2))
        is_on_par = bool(pairs) and all(self._verdict(*pair) is Verdict.ON_PAR for pair in pairs)
        return _ON_PAR if is_on_par else _OPEN

    def cell(self, short_title_by_toolchain: Mapping[str, str]) -> Cell:
        """The fastest toolchain and its margin, or the unbeaten ones and the outcome."""
        if self.fastest_toolchain:
            margin = units.speed_ratio_text(1 + self.margin, 1 + self.margin)
            key = self.series_key_by_toolchain.get(self.fastest_toolchain, "")
            title = short_title_by_toolchain[self.fastest_toolchain]
            return Cell(title, "good", margin, series_key=key)
        is_any_beaten = len(self.unbeaten_toolchains) < len(self.toolchains)
        leaders = self.unbeaten_toolchains if is_any_beaten else ()
        leader_names = [short_title_by_toolchain[leader] for leader in leaders]
        if len(leader_names) > _MAX_NAMED:
            leader_names[_MAX_NAMED:] = [f"{len(leader_names) - _MAX_NAMED} more"]
        if self.outcome == _ON_PAR:
            return Cell(", ".join(leader_names), "plain", _ON_PAR)
        if len(self.verdict_by_pair) == 1:
            ((one, other), verdict), *_ = self.verdict_by_pair.items()
            if verdict.interval.low is not None and verdict.interval.high is not None:
                speed = units.speed_ratio_text(verdict.interval.low, verdict.interval.high)
                first, second = (short_title_by_toolchain[name] for name in (one, other))
                leader_names = [f"{first} against {second}: {speed}"]
        words = f"{_OPEN}{missing_launches_suffix(self.verdict_by_pair.values())}"
        return Cell(" or ".join(leader_names), "warn", words)


def rank_toolchains(
    verdicts: Mapping[Claim, ClaimVerdict], comparisons: Mapping[ToolchainComparison, PairedValues]
) -> list[ToolchainRanking]:
    """The comparisons of toolchains, grouped by setting, quantity and size."""
    groups: dict[_RankingKey, dict[ToolchainPair, ClaimVerdict]] = defaultdict(dict)
    series: dict[_RankingKey, dict[str, str]] = defaultdict(dict)
    for key, verdict in verdicts.items():
        if isinstance(key, ToolchainComparison):
            ranking_key = key.setting, key.quantity, key.size_bytes
            pair = key.environ, key.base_environ
            groups[ranking_key][pair] = verdict
            if key in comparisons:
                series[ranking_key].update(zip(pair, comparisons[key].series_keys, strict=True))
    rankings = []
    for ranking_key, pairs in groups.items():
        for toolchains in _connected_groups(pairs):
            ranking_verdicts = {pair: pairs[pair] for pair in pairs if pair[0] in toolchains}
            values = toolchains, ranking_verdicts, series[ranking_key]
            rankings.append(ToolchainRanking(*ranking_key, *values))
    return rankings


def _connected_groups(pairs: Iterable[ToolchainPair]) -> list[tuple[str, ...]]:
    """The groups of toolchains that chains of comparisons connect, sorted."""
    groups: list[set[str]] = []
    for pair in pairs:
        overlaps = [group for group in groups if group & set(pair)]
        groups = [group for group in groups if group not in overlaps]
        groups.append(set(pair).union(*overlaps))
    return sorted(tuple(sorted(group)) for group in groups)


def ranking_answers(
    rankings: Sequence[ToolchainRanking], title_by_environ: Mapping[str, str]
) -> tuple[Answer, ...]:
    """An answer for each fastest toolchain, and for open comparisons; oversubscribed ones apart."""
    oversubscribed_rankings = [ranking for ranking in rankings if ranking.is_oversubscribed]
    usual_rankings = [ranking for ranking in rankings if not ranking.is_oversubscribed]
    subject = f"{labels.OVERSUBSCRIBED_NOTE.capitalize()}: "
    usual_answers = _ranking_answers(usual_rankings, title_by_environ)
    return *usual_answers, *_ranking_answers(oversubscribed_rankings, title_by_environ, subject)


def _ranking_answers(
    rankings: Sequence[ToolchainRanking], title_by_environ: Mapping[str, str], subject: str = ""
) -> list[Answer]:
    if not rankings:
        return []
    quantities = _name_by_quantity(rankings)

    def place(ranking: ToolchainRanking) -> _QuantityAndSize:
        return quantities[ranking.setting, ranking.quantity], ranking.size_bytes

    outcomes: dict[str, list[ToolchainRanking]] = defaultdict(list)
    outcomes_at: dict[_QuantityAndSize, set[str]] = defaultdict(set)
    for ranking in rankings:
        name = ranking.outcome
        if ranking.fastest_toolchain:
            name = _short_title_by_toolchain(ranking, title_by_environ)[ranking.fastest_toolchain]
        outcomes[name].append(ranking)
        outcomes_at[place(ranking)].add(name)
    disputed = {key for key, names in outcomes_at.items() if len(names) > 1}
    names_in_order = sorted(outcomes, key=lambda n: (n in _SENTENCE_BY_OUTCOME, -len(outcomes[n])))
    tone: StatusColour = "warn" if names_in_order == [_OPEN] else "plain"
    comparisons = units.plural(len(rankings), "comparison")
    answers = []
    if sum(name not in _SENTENCE_BY_OUTCOME for name in names_in_order) > 1:
        leader, *others = names_in_order
        is_lead = 2 * len(outcomes[leader]) > len(rankings)
        lead = f"{leader} leads: fastest" if is_lead else f"No overall winner: {leader} is fastest"
        rest = [f"{_TEXT_BY_OUTCOME.get(name, name)} in {len(outcomes[name])}" for name in others]
        suffix = labels.partial_label_suffix(r.setting.emulation_label for r in rankings)
        tally = f"in {len(outcomes[leader])} of {comparisons}{suffix}, {', '.join(rest)}"
        answers.append(Answer((f"{subject}{lead} {tally}.",)))
    for name in names_in_order:
        sentence = _SENTENCE_BY_OUTCOME.get(name, f"{name} is fastest")
        suffix = labels.partial_label_suffix(r.setting.emulation_label for r in outcomes[name])
        places = list(map(place, outcomes[name]))
        if len(places) == len(rankings) > 1 and name == _OPEN:
            sentence = "No toolchain is shown to be fastest:"
            where = f"every comparison is open{suffix}"
        elif len(places) == len(rankings) > 1:
            where = f"everywhere{suffix}"
        elif disputed & {*places}:
            # A place where another ranking has another outcome would contradict its sentence.
            where = f"in {len(places)} of {comparisons}{suffix}"
        elif len({quantity for quantity, _ in places}) > MAX_NAMED_QUANTITIES:
            clearest = sorted(outcomes[name], key=lambda ranking: ranking.margin, reverse=True)
            first_places = _quantities_text(list(map(place, clearest[:MAX_NAMED_QUANTITIES])))
            where = f"for {first_places}, and {len(places) - MAX_NAMED_QUANTITIES} more"
        else:
            where = f"for {_quantities_text(places)}"
        if name not in _SENTENCE_BY_OUTCOME:
            margins = [1 + ranking.margin for ranking in outcomes[name]]
            where += f": {units.speed_ratio_text(min(margins), max(margins))}"
        answers.append(Answer((f"{subject}{sentence} {where}.",), tone))
    return answers


def _quantities_text(quantities: Sequence[_QuantityAndSize]) -> str:
    """The quantities, each with its sizes: ``MPI, ping-pong at 1 B, 4 KiB; MPI, stream at 1 B``."""
    sizes: dict[str, list[str]] = {}
    for quantity, size in quantities:
        sizes.setdefault(quantity, []).extend([] if size is None else [units.size_text(size)])
    return "; ".join(
        f"{quantity} at {', '.join(dict.fromkeys(s))}" if s else quantity
        for quantity, s in sizes.items()
    )


def _name_by_quantity(rankings: Sequence[ToolchainRanking]) -> dict[tuple[Setting, str], str]:
    """The name of each quantity by setting, with words that other settings lack, and label."""
    texts: dict[str, set[str]] = {}
    for ranking in rankings:
        texts.setdefault(ranking.setting.study, set()).add(_setting_text(ranking.setting))
    differences = {study: labels.title_differences(texts[study]) for study in texts}
    names = {}
    for ranking in rankings:
        setting = ranking.setting
        difference = differences[setting.study][_setting_text(setting)]
        name = labels.add_missing_setting(ranking.quantity, difference)
        names[setting, ranking.quantity] = ", ".join(filter(None, (name, setting.emulation_label)))
    return names


def top_ranking_tables(
    rankings: Sequence[ToolchainRanking], title_by_environ: Mapping[str, str]
) -> tuple[Table, ...]:
    """The first rows of `ranking_tables`, at most `_MAX_ROWS` in all."""
    budget, tables = _MAX_ROWS, []
    for table in ranking_tables(rankings, title_by_environ):
        rows = table.rows[:budget]
        budget -= len(rows)
        rest = len(table.rows) - len(rows)
        caption = f"{table.caption} {rest} more below." if rest else table.caption
        if rows:
            tables.append(replace(table, rows=rows, rich_caption=caption))
    return tuple(tables)


def ranking_tables(
    rankings: Sequence[ToolchainRanking], title_by_environ: Mapping[str, str]
) -> tuple[Table, ...]:
    """A table for each study; rows of more ranks than processors come last."""
    studies: dict[str, list[ToolchainRanking]] = {ranking.setting.study: [] for ranking in rankings}
    for ranking in sorted(rankings, key=attrgetter("is_oversubscribed")):
        studies[ranking.setting.study].append(ranking)
    return tuple(_ranking_table(group, title_by_environ) for group in studies.values())


def _ranking_table(
    rankings: Sequence[ToolchainRanking], title_by_environ: Mapping[str, str]
) -> Table:
    sizes = sorted({ranking.size_bytes for ranking in rankings}, key=lambda size: size or 0)
    quantities = _name_by_quantity(rankings)
    rows: dict[tuple[str, str], dict[int | None, Cell]] = {}
    for ranking in rankings:
        label = quantities[ranking.setting, ranking.quantity]
        # The parts that the titles of all toolchains share, such as the Boost.
        first, *rest = (title_by_environ[toolchain].split(", ") for toolchain in ranking.toolchains)
        parts = [part for part in first if all(part in others for others in rest)]
        common = ", ".join(parts) or f"{len(ranking.toolchains)} toolchains"
        row = rows.setdefault((label, common), {})
        row[ranking.size_bytes] = ranking.cell(_short_title_by_toolchain(ranking, title_by_environ))
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
    return ", ".join(filter(None, (setting.parameters, setting.system_partition)))


def _short_title_by_toolchain(
    ranking: ToolchainRanking, title_by_environ: Mapping[str, str]
) -> dict[str, str]:
    """The title of each toolchain without what all share; the whole title if nothing is left."""
    rests = labels.short_titles({title_by_environ[toolchain] for toolchain in ranking.toolchains})
    return {toolchain: rests[title_by_environ[toolchain]] for toolchain in ranking.toolchains}

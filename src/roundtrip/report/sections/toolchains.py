"""The section that compares toolchains, MPI with MPI and Boost with Boost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from roundtrip import units
from roundtrip.content.blocks import (
    Answer,
    Block,
    BulletList,
    Cell,
    CollapsibleBlocks,
    Column,
    Heading,
    InlineCode,
    Paragraph,
    ReportSection,
    RichText,
    StatusColour,
    Table,
    make_answer,
    number_columns,
    text_columns,
)
from roundtrip.content.data import BundleData
from roundtrip.report.sections import rankings
from roundtrip.report.speeds import (
    MAX_ENVIRONS_FOR_ALL_PAIRS,
    ComparedToolchains,
    PairedValues,
    Setting,
    ToolchainComparison,
)
from roundtrip.stats.summaries import LAUNCH_STATISTIC, MEDIAN, Summary, ValueKind, median_interval
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies.derivation import AuditedRatio, AuditFacts, PairingScope
from roundtrip.study import Claim
from roundtrip.units import ConfidenceLevel, Quantity

SECTION_QUESTION = "Which MPI and which Boost is fastest here, and how fast?"
_MAX_ANSWERS = 6
_METHOD_NOTE: RichText = (
    "A machine drifts from launch to launch by more than most toolchains differ. So only "
    "launches of one round are compared: a round launches each toolchain once, in random order, "
    "and gives one ratio. “Rounds”: number of rounds that launched both, of the rounds that "
    "launched either, and how often the first of the two came first. Launches of different "
    "campaigns share no round and are never compared. If two toolchains differ only in MPI, the "
    "values that depend on MPI are compared; if only in Boost, the values that depend on Boost.",
)
_LAUNCH_SUMMARY = Summary(
    "a study's value of a launch", ValueKind.COST, "the samples of a launch", MEDIAN
)
#: Facts about the section for the report's audit.
AUDIT_FACTS = AuditFacts(
    summaries=(
        _LAUNCH_SUMMARY,
        Summary("a value of one toolchain", ValueKind.COST, "launches", LAUNCH_STATISTIC),
    ),
    ratios=(
        AuditedRatio(
            "one toolchain over another", _LAUNCH_SUMMARY, PairingScope.ROUND, LAUNCH_STATISTIC
        ),
    ),
)


class ToolchainsSection:
    """Compares toolchains with each other, by round."""

    def __init__(self, data: BundleData, toolchains: ComparedToolchains) -> None:
        self._level = ConfidenceLevel(data.analysis.statistics.confidence_level)
        self._toolchains = toolchains
        names = sorted(data.completed_launches["toolchain"].unique())
        self._alone = f"Only {names[0]} was measured"
        if len(names) > 1:
            self._alone = "No toolchains are compared: none ran one case in the same rounds"

        self._by_pair: dict[rankings.ToolchainPair, dict[ToolchainComparison, PairedValues]] = {}
        for key, comparison in toolchains.comparisons.items():
            self._by_pair.setdefault((key.environ, key.base_environ), {})[key] = comparison

    def _oversized_setting_notes(self) -> list[RichText]:
        return [
            (
                f"{_setting_text(setting)}: {count} toolchains have {count * (count - 1) // 2} "
                f"pairs, of which {pairs} are compared: each toolchain with the first by name of "
                "its MPI, with the first of its Boost and, unless these link them already, with "
                f"the first of all. Up to {MAX_ENVIRONS_FOR_ALL_PAIRS} toolchains are compared in "
                "all pairs. ",
                InlineCode("roundtrip compare BUNDLE --toolchains ONE OTHER"),
                " compares any two of them.",
            )
            for setting, (count, pairs) in self._toolchains.pair_count_by_oversized_setting.items()
        ]

    def ratios_by_claim(self) -> Mapping[Claim, Sequence[float]]:
        return {key: comparison.ratios for key, comparison in self._toolchains.comparisons.items()}

    def report_section(self, verdicts: Mapping[Claim, ClaimVerdict]) -> ReportSection:
        blocks: list[Block] = [Paragraph(_METHOD_NOTE)]
        if notes := self._oversized_setting_notes():
            blocks.append(BulletList(tuple(notes)))
        pairs = list(self._by_pair)
        for pair in pairs:
            title, table = self._pair_title(pair), self._pair_table(pair, verdicts)
            is_long = len(pairs) > _MAX_ANSWERS
            blocks += (
                [CollapsibleBlocks(title, (table,))] if is_long else [Heading(3, title), table]
            )
        reasons = tuple(
            (f"{self._pair_title((one, other))}, {_setting_text(setting)}: {reason}.",)
            for (setting, one, other), reason in self._toolchains.refusal_by_pair.items()
        )
        title = "Not compared, and why"
        if len(reasons) > _MAX_ANSWERS:
            title = f"{title}: {len(reasons)} pairs"
            blocks.append(CollapsibleBlocks(title, (BulletList(reasons),)))
        elif reasons:
            blocks += [Heading(3, title), BulletList(reasons)]
        titles = self._toolchains.title_by_environ
        ranked = rankings.rank_toolchains(verdicts, self._toolchains.comparisons)
        answers = rankings.ranking_answers(ranked, titles) or (Answer((f"{self._alone}.",)),)
        if len(pairs) > _MAX_ANSWERS:
            text = f"{len(pairs)} pairs of toolchains are compared below, by round."
            panel_answers = [make_answer("Toolchains: ", text)]
        else:
            texts = [(pair, self._describe_verdict_counts(pair, verdicts)) for pair in pairs]
            panel_answers = [make_answer(self._pair_title(p), f": {text}.") for p, text in texts]
        return ReportSection(
            "toolchains",
            "Toolchains compared",
            tuple(blocks),
            answers=answers,
            verdict_tables=rankings.ranking_tables(ranked, titles),
            question=SECTION_QUESTION,
            panel_answers=tuple(panel_answers),
            summary_tables=rankings.top_ranking_tables(ranked, titles),
        )

    def _describe_verdict_counts(
        self, pair: rankings.ToolchainPair, verdicts: Mapping[Claim, ClaimVerdict]
    ) -> str:
        """The counts of verdicts on a pair, with the quantities if these are few."""
        quantities: dict[Verdict, list[str]] = {}
        for key in self._by_pair[pair]:
            quantities.setdefault(verdicts[key].verdict, []).append(_quantity_text(key))
        counts = []
        for verdict in (v for v in Verdict if v in quantities):
            places = dict.fromkeys(quantities[verdict])
            is_short = len(places) <= rankings.MAX_NAMED_QUANTITIES
            detail = f" ({'; '.join(places)})" if is_short else ""
            text = self._verdict_text(pair, verdict)
            counts.append(f"{text} in {len(quantities[verdict])}{detail}")
        comparisons = units.plural(sum(map(len, quantities.values())), "comparison")
        return f"of {comparisons}, {', '.join(counts)}"

    def _verdict_text(self, pair: rankings.ToolchainPair, verdict: Verdict) -> str:
        """The verdict in words, with the title of the faster toolchain."""
        titles = self._toolchains.title_by_environ
        winner = {Verdict.FASTER: pair[0], Verdict.SLOWER: pair[1]}.get(verdict)
        return f"{titles[winner]} is faster" if winner else str(verdict)

    def _pair_title(self, pair: rankings.ToolchainPair) -> str:
        titles = self._toolchains.title_by_environ
        return f"{titles[pair[0]]} against {titles[pair[1]]}"

    def _pair_table(
        self, pair: rankings.ToolchainPair, verdicts: Mapping[Claim, ClaimVerdict]
    ) -> Table:
        rows = [
            self._comparison_row(pair, key, comparison, verdicts[key])
            for key, comparison in self._by_pair[pair].items()
        ]
        one, other = (self._toolchains.title_by_environ[environ] for environ in pair)
        base = f"{other} (base)"
        values = (*text_columns("Case", "What"), *number_columns(one, base))
        ratio = Column("Ratio of speeds", "right", base_name=base)
        columns = (*values, ratio, *number_columns("q", "Rounds"))
        caption = self._level.fill_caption(
            f"{self._pair_title(pair)}: medians over the rounds that launched both, and the median "
            f"of the paired ratio, with {{level}} rank intervals. Above 1 {one} is faster."
        )
        return Table(caption, columns, tuple(rows))

    def _comparison_row(
        self,
        pair: rankings.ToolchainPair,
        comparison: ToolchainComparison,
        paired_values: PairedValues,
        verdict: ClaimVerdict,
    ) -> tuple[Cell, ...]:
        text = verdict.words
        if verdict.launches_needed is None:
            text = self._verdict_text(pair, verdict.verdict)
        tone: StatusColour = "warn" if verdict.verdict is Verdict.CANNOT_TELL else "plain"
        one_values, other_values = (
            Quantity.from_interval(median_interval(side, self._level), paired_values.unit)
            for side in (paired_values.environ_values, paired_values.base_values)
        )
        one_series, other_series = paired_values.series_keys
        pairing = paired_values.pairing
        rounds = f" of {pairing.rounds}, first in {pairing.first_count}"
        what = _quantity_text(comparison)
        if paired_values.unit not in units.UNPRINTED_UNITS:
            what += f", {paired_values.unit}"
        return (
            Cell(_setting_text(comparison.setting)),
            Cell(what, unit=paired_values.unit),
            Cell(one_values, series_key=one_series),
            Cell(other_values, series_key=other_series),
            Cell(Quantity.from_claim(verdict.interval), tone, text, series_key=one_series),
            Cell(units.pure_number(verdict.q, 2)),
            Cell((units.count(len(paired_values.environ_values)), rounds)),
        )


def _quantity_text(comparison: ToolchainComparison) -> str:
    if comparison.size_bytes is None:
        return comparison.quantity
    return f"{comparison.quantity}, {units.size_text(comparison.size_bytes)}"


def _setting_text(setting: Setting) -> str:
    case = f"{setting.check}, {setting.parameters}, on {setting.system_partition}"
    return f"{case}, {setting.emulation_label}" if setting.emulation_label else case


def toolchains_section(data: BundleData) -> ToolchainsSection | None:
    """Return the section; None for pairs of nodes, unless toolchains are compared as well."""
    toolchains = ComparedToolchains(data)
    is_asked = data.node_pairs.is_empty() or toolchains.comparisons or toolchains.refusal_by_pair
    return ToolchainsSection(data, toolchains) if is_asked else None

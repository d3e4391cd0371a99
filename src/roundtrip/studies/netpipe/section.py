"""The NetPIPE section: the Boost.MPI study, repeated.

Figures and tables, with the study's four findings beside ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from roundtrip.report import labels, units
from roundtrip.report.blocks import (
    Answer,
    Block,
    Cell,
    Column,
    Fold,
    Gallery,
    Heading,
    Inline,
    Items,
    Paragraph,
    Part,
    Strong,
    Table,
    Text,
)
from roundtrip.report.data import Data
from roundtrip.report.units import Level, Quantity, Unit
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.studies import display
from roundtrip.studies.findings import Comparison, claims, line, study_verdicts, worst_tone
from roundtrip.studies.netpipe import ARMS, STUDY, Thresholds, tables
from roundtrip.studies.netpipe.curves import (
    Curves,
    Panel,
    bandwidth_caption,
    draw_bandwidth,
    draw_ratio,
    ratio_caption,
)
from roundtrip.studies.netpipe.derived import STATEMENTS, Statement, published_rate
from roundtrip.studies.netpipe.findings import (
    Finding,
    findings,
    overall,
    panel_answer,
    verdict_points,
)
from roundtrip.studies.study import Arm, Claim


def verdict_table(all_findings: Sequence[Sequence[Finding]]) -> Table:
    """A row for each toolchain and setting, and a column for each finding of the study."""
    has_settings = len({group[0].panel.setting for group in all_findings}) > 1
    rows = []
    for group in all_findings:
        panel = group[0].panel
        name = f"{panel.label}; {panel.setting}" if has_settings else panel.label
        rows.append((name, {finding.statement: finding.cell for finding in group}))
    return display.grid(
        "Do the study's findings hold here? Ratios of bandwidth over the compared sizes, and "
        "whether we agree with the study.",
        "Toolchain",
        {statement: statement.short for statement in STATEMENTS},
        rows,
        {statement: ARMS[statement.base].title for statement in STATEMENTS},
    )


def finding_table(
    curves: Curves, number: int, statement: Statement, findings: Sequence[Finding]
) -> Table:
    """A table of one finding of the study: its words, its numbers and ours."""
    sizes = sorted({size for finding in findings for size in finding.compared_sizes})
    study = [_published_ratio(statement, size) for size in sizes]
    rows = [(Cell("The study, read off its figure"), *study, display.NONE)]
    for finding in findings:
        evidence = dict(finding.evidence)
        ratios = [
            tables.ratio_cell(
                evidence[size], curves.series_key(finding.panel, statement.variant, size)
            )
            if size in evidence
            else tables.nearest_ratio(curves, finding.panel, statement, size)
            for size in sizes
        ]
        outcome = Cell("", finding.tone, finding.verdict)
        rows.append((Cell(finding.panel.label), *ratios, outcome))
    variant, base = ARMS[statement.variant].title, ARMS[statement.base].title
    return Table(
        f"Finding {number}: “{statement.words}”: bandwidth of {variant} over {base}.",
        (
            Column("Toolchain"),
            *(Column(units.size(size), "right", base=base) for size in sizes),
            Column("Our finding"),
        ),
        tuple(rows),
    )


def study_table(all_findings: Sequence[Sequence[Finding]]) -> Table:
    """The study's statements beside our findings; `all_findings` has four for each panel."""
    rows: list[tuple[str, Inline | Text, Cell]] = []
    for statement_findings in zip(*all_findings, strict=True):
        statement = statement_findings[0].statement
        ratios = [
            value
            for size in statement_findings[0].compared_sizes
            if (value := _ratio(statement, size)) is not None
        ]
        number = (
            f"{units.ratio_range_text(ratios)} times, read off its figure"
            if ratios
            else units.NO_VALUE
        )
        points = [point for finding in statement_findings for point in verdict_points(finding)]
        rows.append(
            (
                f"“{statement.words}”",
                number,
                _joint_cell(
                    line(statement.subject, statement.base_title, points), statement_findings
                ),
            )
        )
    abstraction = [finding for group in all_findings for finding in group[:2]]  # Boost.MPI over MPI
    rows.append(
        (_CONCLUSION, units.NO_VALUE, _joint_cell("The first two rows together", abstraction))
    )
    return display.study_table(rows)


_CONCLUSION = (
    "“Overall, the additional abstraction provided by Boost.MPI does not impair its performance.”"
)


def _joint_cell(words: str, findings: Sequence[Finding]) -> Cell:
    outcomes = dict.fromkeys(finding.outcome for finding in findings)
    suffix = labels.mark(finding.panel.kind for finding in findings)
    tone = worst_tone(finding.tone for finding in findings)
    return Cell(f"{words}{suffix}.", tone, " or ".join(outcomes))


def _ratio(statement: Statement, size: int) -> float | None:
    """The published ratio, read off the figure; None outside of its points."""
    variant = published_rate(statement.variant, size)
    base = published_rate(statement.base, size)
    return None if variant is None or base is None else variant / base


def _published_ratio(statement: Statement, size: int) -> Cell:
    ratio = _ratio(statement, size)
    if ratio is None:
        return display.NONE
    return Cell(("about ", Quantity(value=ratio, unit=Unit.RATIO, digits=2)))


#: The question of a report in which a single arm was measured.
_ONE_ARM_QUESTION = "How fast is {} here?"


class Section:
    """Raw MPI against Boost.MPI, plain, with datatypes and serialized."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self._curves = Curves(data)
        self._settings = data.analysis.study_thresholds(Thresholds)
        self._levels = data.analysis.statistics

    def claims(self) -> Mapping[Claim, Sequence[float]]:
        """Every variant against raw MPI, and Boost.MPI's datatypes against MPI's."""
        return claims(STUDY, self._curves, self._settings.compared_sizes)

    def part(self, verdicts: Mapping[Claim, ClaimVerdict]) -> Part:
        """Findings, figures, tables."""
        verdicts_by_comparison = study_verdicts(verdicts, STUDY.name)
        panels = self._curves.panels
        findings_by_panel = {
            panel.key: findings(panel, verdicts_by_comparison, self._settings, self._levels)
            for panel in panels
            if panel.is_pingpong
        }
        groups = {
            key: group for key, group in findings_by_panel.items() if any(f.evidence for f in group)
        }
        question = Paragraph(_question(list(self._curves.arms.values())))
        blocks: list[Block] = [question, *self._findings(groups)]
        blocks += tables.wan_tables(self._curves, panels)
        settings = [
            list(setting_panels) for _, setting_panels in groupby(panels, key=lambda p: p.setting)
        ]
        gallery_lists = [
            self._galleries(number, setting_panels)
            for number, setting_panels in enumerate(settings, 1)
        ]
        picture = gallery_lists[0].pop(0)
        for setting_panels, galleries in zip(settings, gallery_lists, strict=True):
            blocks += self._setting(setting_panels, galleries, verdicts_by_comparison)
        blocks += tables.reference_blocks(self._data, self._curves)
        blocks += self._method(panels)
        return Part(
            anchor="netpipe",
            title="NetPIPE: what does Boost.MPI cost over raw MPI?",
            blocks=tuple(blocks),
            answers=self._answers(findings_by_panel),
            question=_ONE_ARM_QUESTION.format(arm) if (arm := self._only_arm()) else "",
            panel_answers=tuple(map(panel_answer, groups.values())) if len(groups) > 1 else (),
            verdicts=(verdict_table(list(groups.values())),) if groups else (),
            picture=picture,
        )

    def _answers(
        self, findings_by_panel: Mapping[tuple[str, ...], list[Finding]]
    ) -> tuple[Answer, ...]:
        if not findings_by_panel:
            text = "No ping-pong launch completed: the study's question stays open."
            return (Answer((text,), "warn"),)
        if arm := self._only_arm():
            text = f"Only {arm} was measured, so nothing is compared with it."
            return (Answer((text,)),)
        return overall(list(findings_by_panel.values()))

    def _only_arm(self) -> str:
        """The title of the arm, if no other was measured; "" otherwise."""
        arms = list(self._curves.arms.values())
        return arms[0].title if len(arms) == 1 else ""

    def _findings(self, findings_by_panel: Mapping[tuple[str, ...], list[Finding]]) -> list[Block]:
        if not findings_by_panel:
            return []
        curves = self._curves
        return [
            Heading(3, "What the study says, and what we find"),
            study_table(list(findings_by_panel.values())),
            Paragraph(_outcome_text(self._settings, self._levels.equivalence_margin)),
            *(
                finding_table(
                    curves,
                    number,
                    statement,
                    [group[number - 1] for group in findings_by_panel.values()],
                )
                for number, statement in enumerate(STATEMENTS, 1)
            ),
        ]

    def _galleries(self, number: int, panels: Sequence[Panel]) -> list[Gallery]:
        """The figures of one setting: ratios, if there are any, then bandwidth."""
        curves, margin, name = self._curves, self._levels.equivalence_margin, f"netpipe-{number}"
        is_pingpong = panels[0].is_pingpong
        ratio_text = ratio_caption(curves.level, margin, is_pingpong=is_pingpong)
        ratios = draw_ratio(f"{name}-ratio", curves, panels, margin)
        rates = draw_bandwidth(f"{name}-bandwidth", curves, panels)
        return [
            *([Gallery(ratio_text, ratios)] if ratios else []),
            Gallery(bandwidth_caption(curves, is_pingpong=is_pingpong), rates),
        ]

    def _setting(
        self,
        panels: list[Panel],
        galleries: list[Gallery],
        verdicts: Mapping[Comparison, ClaimVerdict],
    ) -> list[Block]:
        curves = self._curves
        blocks: list[Block] = [Heading(3, panels[0].setting), *galleries]
        ratio_panels = [
            panel for panel in panels if not curves.rows(curves.statement_ratios, panel).is_empty()
        ]
        if ratio_panels:
            blocks.append(
                tables.ratios(curves, ratio_panels, verdicts, self._settings.compared_sizes)
            )
        blocks.append(tables.rates(curves, panels))
        if panels[0].is_pingpong:
            blocks.append(tables.latency(curves, panels))
        blocks.append(tables.convergence(curves, panels))
        lines = tables.early_ends(curves, panels)
        if lines:
            blocks.append(Fold("Curves that end early, and why", (Items(lines),)))
        return blocks

    def _method(self, panels: Sequence[Panel]) -> list[Block]:
        blocks: list[Block] = [
            Heading(3, "How to read these numbers"),
            Items((_level(self._curves.level), *_READING)),
        ]
        blocks.append(Paragraph(tables.buffers(panels), is_note=True))
        if self._curves.unknown_variants:
            names = ", ".join(self._curves.unknown_variants)
            text = ("Variants that are not the study's, kept in the bundle and not shown: ", names)
            blocks.append(Paragraph(text, is_note=True))
        return blocks


def _outcome_text(settings: Thresholds, margin: float) -> Text:
    return (
        Strong("agrees"),
        ": every compared size shows it, or every one of those measured, which are then named; ",
        Strong("differs"),
        ": at least one size shows the contrary (for the better: less is lost than in the study); ",
        Strong("cannot tell"),
        ": the intervals are too wide for either. “On par” means that the whole interval of the "
        f"ratio lies within {units.percent(margin)} of 1; “slower” that it excludes 1, by more "
        "than the minimum effect, after correction for false discoveries; “suffers greatly” that "
        f"it lies below {settings.great_loss:g}. What the study says about datatypes and "
        "serializing concerns many bytes, so it is tested from "
        f"{units.size(settings.many_bytes)} on.",
    )


def _level(level: Level) -> Text:
    text = "Every interval is an exact rank interval of the median over launches, at "
    return (text, level, ".")


def _question(arms: Sequence[Arm]) -> Text:
    """What the study ran, and which of its variants were measured here."""
    if len(arms) == len(ARMS):
        here = "the same five, on this machine, interleaved in random order inside each launch"
    elif len(arms) == 1:
        here = f"{arms[0].title} alone, on this machine"
    else:
        names = ", ".join(arm.title for arm in arms)
        here = f"{names}, on this machine, interleaved in random order inside each launch"
    return (
        "The Boost.MPI study (D. Gregor and M. Troyer, 2005-2007) ran NetPIPE in five variants: "
        "raw MPI, Boost.MPI, both again with a derived datatype of one byte, and Boost.MPI "
        f"serializing an object for every byte. Here {'is' if len(arms) == 1 else 'are'} {here}.",
    )


_READING: tuple[Text, ...] = (
    (
        "Bandwidth is message bytes over half-round-trip time, in MB/s (10⁶ bytes/s). Each launch "
        "gives its median; the curve is the median over launches, the band its exact rank "
        "confidence interval. Fewer launches than its level needs, 6 for 95 %: no interval.",
    ),
    (
        "A ratio is formed within a launch, from its two medians, before anything is summarised "
        "over launches. So it is paired: a slow launch slows both sides of it.",
    ),
    (
        "The study's figure labels its axis “MB/s”. Its 1.4 at 1 byte would then be a half round "
        "trip of 0.7 µs, which no network of 2005 reached; in NetPIPE's own unit, Mbit/s of 2²⁰ "
        "bits, it is 5.4 µs. So we read the figure as Mbit/s and convert it to MB/s here.",
    ),
    (
        "n½ is the smallest message that reaches half of the peak bandwidth, interpolated on the "
        "log-log curve.",
    ),
    ("Warm-up messages are sent before each point, discarded, and counted under Convergence.",),
)

"""The NetPIPE section: the Boost.MPI study of 2005, repeated.

Figures and tables, with the four published statements tested with our numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from roundtrip import units
from roundtrip.content import labels
from roundtrip.content.blocks import (
    Answer,
    Block,
    BulletList,
    Cell,
    CollapsibleBlocks,
    Column,
    Heading,
    InlineElement,
    Paragraph,
    ReportSection,
    RichText,
    StatusColour,
    StrongText,
    Table,
    make_answer,
    text_items,
)
from roundtrip.content.data import BundleData
from roundtrip.stats.summaries import min_launches_for_interval
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies import display
from roundtrip.studies import findings as shared
from roundtrip.studies.findings import (
    OPEN,
    ArmClaim,
    PointVerdict,
    arm_claim_verdicts,
    cost_sentence,
    cost_sentence_colour,
    describe_outcomes,
    ratios_by_arm_claim,
    worst_colour,
)
from roundtrip.studies.netpipe import ARMS, STUDY, Thresholds, tables
from roundtrip.studies.netpipe.curves import NetPIPECurves, Panel, bandwidth_gallery, ratio_gallery
from roundtrip.studies.netpipe.derived import (
    PUBLISHED_MBIT_PER_S,
    PUBLISHED_STATEMENTS,
    PublishedStatement,
    published_ratio,
)
from roundtrip.study import Arm, Claim
from roundtrip.units import ConfidenceLevel

AGREES, DIFFERS = "agrees", "differs"
#: Our result differs from the published one only by a smaller loss.
DIFFERS_FOR_THE_BETTER = "differs, for the better"
#: A difference for the better is not red.
_COLOUR_BY_OUTCOME: dict[str, StatusColour] = {
    AGREES: "good",
    DIFFERS: "bad",
    DIFFERS_FOR_THE_BETTER: "good",
    OPEN: "warn",
}
Finding = shared.Finding[PublishedStatement, Panel]


def statement_findings(
    curves: NetPIPECurves, panel: Panel, verdicts: Mapping[ArmClaim, ClaimVerdict]
) -> list[Finding]:
    """The finding on each of PUBLISHED_STATEMENTS in one panel."""
    results, settings = [], curves.settings
    for statement in PUBLISHED_STATEMENTS:
        least = 0 if statement.expectation == "on par" else settings.many_bytes
        sizes = tuple(size for size in settings.compared_sizes if size >= least)
        pair = statement.variant, statement.base
        size_verdicts = shared.size_verdicts(verdicts, STUDY, panel, pair, sizes)
        claims = [claim for _, claim in size_verdicts]
        outcome = _statement_outcome(curves, statement.expectation, claims)
        results.append(
            Finding(
                statement=statement,
                panel=panel,
                outcome=outcome,
                outcome_colour=_COLOUR_BY_OUTCOME[outcome],
                is_about_all_sizes=outcome == AGREES,
                size_verdicts=size_verdicts,
                compared_sizes=sizes,
            )
        )
    return results


def _statement_outcome(
    curves: NetPIPECurves, expectation: str, size_verdicts: Sequence[ClaimVerdict]
) -> str:
    """Return "agrees" if every size shows `expectation`, "differs" if one shows the contrary."""
    if not size_verdicts:
        return OPEN
    verdicts = {claim.verdict for claim in size_verdicts}
    if expectation == "on par":
        agrees = verdicts == {Verdict.ON_PAR}
        differs = bool(verdicts & {Verdict.FASTER, Verdict.SLOWER})
    elif expectation == "slower":
        agrees = verdicts == {Verdict.SLOWER}
        differs = bool(verdicts & {Verdict.FASTER, Verdict.ON_PAR})
    else:
        bound, level = curves.settings.great_loss, curves.levels.false_discovery_level
        agrees = all(claim.interval.within(0, bound) and claim.q < level for claim in size_verdicts)
        differs = any(claim.interval.is_above(bound) for claim in size_verdicts)
    if agrees or not differs:
        return AGREES if agrees else OPEN
    is_worse = expectation == "on par" and Verdict.SLOWER in verdicts
    return DIFFERS if is_worse else DIFFERS_FOR_THE_BETTER


def overall_answers(all_findings: Sequence[Sequence[Finding]]) -> tuple[Answer, ...]:
    """One line for each statement over all panels; `all_findings` has four for each panel."""
    if not all_findings:
        text = "No ping-pong launch completed: the study's question stays open."
        return (Answer((text,), "warn"),)
    groups = [group for group in all_findings if any(finding.size_verdicts for finding in group)]
    emulation_labels = [group[0].panel.emulation_label for group in all_findings]
    if not groups and labels.are_all_simulated(emulation_labels):
        return (Answer((labels.ONLY_SIMULATED_NOTE,)),)
    if not groups:
        text = "Boost.MPI was not compared with raw MPI: no launch has both at a compared size."
        return (Answer((StrongText(text),), "warn"),)
    lines = [
        (f"{_statement_sentence(group)}.", cost_sentence_colour(_point_verdicts(group)))
        for group in zip(*groups, strict=True)
    ]
    if others := [group[0].panel.title for group in all_findings if group not in groups]:
        lines[0] = f"{lines[0][0]} Nothing was compared on {'; '.join(others)}.", "warn"
    return tuple(Answer((text,), colour) for text, colour in lines)


def panel_answer(findings: Sequence[Finding]) -> Answer:
    """The answer for one panel, from its four findings."""
    lines = " ".join(f"{_statement_sentence([one])}." for one in findings if one.size_verdicts)
    colour = cost_sentence_colour(_point_verdicts(findings))
    return make_answer(findings[0].panel.title, f": {lines}", colour)


def _statement_sentence(findings: Sequence[Finding]) -> str:
    """A sentence on one statement in all panels, at every compared size, measured or not."""
    statement = findings[0].statement
    return cost_sentence(statement.subject, statement.base_title, _point_verdicts(findings))


def _point_verdicts(findings: Sequence[Finding]) -> list[PointVerdict]:
    return [
        PointVerdict(finding.panel.title, size, dict(finding.size_verdicts).get(size))
        for finding in findings
        for size in finding.compared_sizes
    ]


def verdict_table(all_findings: Sequence[Sequence[Finding]]) -> Table:
    """A row for each toolchain and setting, and a column for each published statement."""
    has_settings = len({group[0].panel.setting for group in all_findings}) > 1
    cells = []
    for finding in (finding for group in all_findings for finding in group):
        panel = finding.panel
        name = f"{panel.title}; {panel.setting}" if has_settings else panel.title
        cells.append(((name,), finding.statement, finding.verdict_cell))
    return display.grid_table(
        "Do the study's findings hold here? Ratios of bandwidth over the compared sizes, and "
        "whether we agree with the study.",
        ("Toolchain",),
        {
            statement: Column(statement.short_title, base_name=ARMS[statement.base].title)
            for statement in PUBLISHED_STATEMENTS
        },
        cells,
    )


_BOTTLENECK_STATEMENT = (
    "“the bottleneck is in the underlying MPI implementation itself”: datatypes of Boost.MPI "
    "against MPI's"
)
_WORST_CASE_STATEMENT = (
    "“This particular instance is the worst possible case for Boost.MPI, because we are "
    "serializing millions of individual characters.”"
)
_CONCLUSION_STATEMENT = (
    "“Overall, the additional abstraction provided by Boost.MPI does not impair its performance.”"
)


def statement_table(all_findings: Sequence[Sequence[Finding]]) -> Table:
    """The published statements beside our findings; `all_findings` has four for each panel."""
    rows: list[tuple[str, InlineElement | RichText, Cell]] = []
    for group in zip(*all_findings, strict=True):
        statement = group[0].statement
        published = [published_ratio(statement, size) for size in group[0].compared_sizes]
        ratios = [ratio for ratio in published if ratio is not None]
        number = units.NO_VALUE
        if ratios:
            slowdown = display.describe_slowdown(ratios)
            number = f"{units.ratio_range_text(ratios)} times{slowdown}, read off its figure"
        rows.append((f"“{statement.quotation}”", number, _findings_cell(group)))
    boost_types = [group[1] for group in all_findings]
    rows.insert(3, (_BOTTLENECK_STATEMENT, units.NO_VALUE, _findings_cell(boost_types)))
    rows.append((_WORST_CASE_STATEMENT, units.NO_VALUE, _worst_case_cell(all_findings)))
    rows.append((_CONCLUSION_STATEMENT, units.NO_VALUE, _conclusion_cell(all_findings)))
    return display.statement_table(rows)


def _worst_case_cell(all_findings: Sequence[Sequence[Finding]]) -> Cell:
    """Serialized characters against the other three comparisons, over all panels and sizes."""
    serialized = [ratio for group in all_findings for ratio in group[3].ratios]
    others = [ratio for group in all_findings for finding in group[:3] for ratio in finding.ratios]
    if not serialized or not others:
        return display.NOT_MEASURED_CELL
    mark = labels.label_suffix(group[3].panel.emulation_label for group in all_findings)
    words = (
        f"{units.ratio_range_text(serialized)} times the bandwidth of MPI; every other comparison "
        f"has {units.ratio_range_text(others)} times{mark}."
    )
    is_worst = max(serialized) < min(others)
    return Cell(words, "good" if is_worst else "plain", AGREES if is_worst else DIFFERS)


def _conclusion_cell(all_findings: Sequence[Sequence[Finding]]) -> Cell:
    """Boost.MPI over MPI with both kinds of types: the first two findings of each panel."""
    pairs = [group[:2] for group in all_findings]
    findings = [finding for pair in pairs for finding in pair]
    ratios = [ratio for finding in findings for ratio in finding.ratios]
    if not ratios:
        return display.NOT_MEASURED_CELL
    times = units.ratio_range_text(ratios)
    words = f"Boost.MPI has {times} times the bandwidth of MPI, with both kinds of types"
    severity = (AGREES, DIFFERS_FOR_THE_BETTER, OPEN, DIFFERS)
    outcomes = [max((one.outcome for one in pair), key=severity.index) for pair in pairs]
    return _outcome_cell(words, findings, [pair[0].panel.title for pair in pairs], outcomes)


def _findings_cell(findings: Sequence[Finding]) -> Cell:
    panels = [finding.panel.title for finding in findings]
    outcomes = [finding.outcome for finding in findings]
    return _outcome_cell(_statement_sentence(findings), findings, panels, outcomes)


def _outcome_cell(
    words: str, findings: Sequence[Finding], panels: Sequence[str], outcomes: Sequence[str]
) -> Cell:
    """`words`, and the outcome in each panel; panels are named where outcomes differ."""
    suffix = labels.label_suffix(finding.panel.emulation_label for finding in findings)
    colour = worst_colour(finding.status_colour for finding in findings)
    names = labels.short_titles(set(panels))
    verdict = describe_outcomes([names[panel] for panel in panels], outcomes, "on")
    return Cell(f"{words}{suffix}.", colour, verdict)


class Section:
    """Raw MPI against Boost.MPI, plain, with datatypes and serialized."""

    def __init__(self, data: BundleData) -> None:
        self._curves = NetPIPECurves(data)

    def ratios_by_claim(self) -> Mapping[Claim, Sequence[float]]:
        return ratios_by_arm_claim(STUDY, self._curves, self._curves.settings.compared_sizes)

    def report_section(self, verdicts: Mapping[Claim, ClaimVerdict]) -> ReportSection:
        curves = self._curves
        verdict_by_claim = arm_claim_verdicts(verdicts, STUDY)
        all_findings = [
            statement_findings(curves, panel, verdict_by_claim)
            for panel in curves.panels
            if panel.is_pingpong
        ]
        groups = [group for group in all_findings if any(one.size_verdicts for one in group)]
        blocks: list[Block] = [Paragraph(_question_text(curves.measured_arms))]
        if groups:
            blocks += [
                Heading(3, "What the study says, and what we find"),
                statement_table(groups),
                Paragraph(_outcome_legend(curves.settings, curves.levels.equivalence_margin)),
                *(
                    tables.finding_table(curves, number, group)
                    for number, group in enumerate(zip(*groups, strict=True), 1)
                ),
            ]
        blocks += tables.wan_blocks(curves)
        picture = None
        by_setting = groupby(curves.panels, key=lambda panel: panel.setting)
        for number, (setting, group) in enumerate(by_setting, 1):
            panels = list(group)
            ratios = ratio_gallery(f"netpipe-{number}-ratio", curves, panels)
            rates = bandwidth_gallery(f"netpipe-{number}-bandwidth", curves, panels)
            galleries = [ratios, rates] if ratios else [rates]
            picture = picture or galleries.pop(0)
            blocks += [
                Heading(3, setting),
                *galleries,
                *self._panel_tables(panels, verdict_by_claim),
            ]
        blocks += tables.reference_blocks(curves)
        blocks += [
            Heading(3, "How to read these numbers"),
            BulletList((*_level_texts(curves.level), *((text,) for text in _READING_NOTES))),
            Paragraph(tables.describe_buffers(curves.panels), is_note=True),
        ]
        if names := ", ".join(curves.unknown_variants):
            text = ("Variants that the study lacks, in the bundle but not shown: ", names)
            blocks.append(Paragraph(text, is_note=True))
        return ReportSection(
            anchor="netpipe",
            title="NetPIPE: what does Boost.MPI cost over raw MPI?",
            blocks=tuple(blocks),
            answers=() if len(curves.measured_arms) == 1 else overall_answers(all_findings),
            panel_answers=tuple(map(panel_answer, groups)) if len(groups) > 1 else (),
            verdict_tables=(verdict_table(groups),) if groups else (),
            answer_gallery=picture,
        )

    def _panel_tables(
        self, panels: Sequence[Panel], verdicts: Mapping[ArmClaim, ClaimVerdict]
    ) -> Iterator[Block]:
        curves = self._curves
        ratios = curves.statement_ratio_intervals
        ratio_panels = [panel for panel in panels if curves.panel_rows(ratios, panel).height]
        if ratio_panels:
            yield tables.ratio_table(curves, ratio_panels, verdicts)
        yield tables.rate_table(curves, panels)
        if panels[0].is_pingpong:
            yield tables.latency_table(curves, panels)
        yield tables.convergence_table(curves, panels)
        if lines := tables.early_end_lines(curves, panels):
            yield CollapsibleBlocks("Curves that end early, and why", (text_items(*lines),))


def _level_texts(level: ConfidenceLevel) -> tuple[RichText, RichText]:
    """Texts on what an interval is, and how many launches it needs at `level`."""
    bandwidth = (
        "Bandwidth is message bytes over half-round-trip time, in MB/s (10⁶ bytes/s). Each launch "
        "gives its median; the curve is the median over launches, the band its exact rank "
        "confidence interval. Fewer launches than its level needs, "
        f"{min_launches_for_interval(level)} for "
    )
    interval = "Every interval is an exact rank interval of the median over launches, at "
    return (interval, level, "."), (bandwidth, level, ": no interval.")


def _outcome_legend(settings: Thresholds, margin: float) -> RichText:
    return (
        StrongText("agrees"),
        ": every compared size shows it (if only some were measured, they are named); ",
        StrongText("differs"),
        ": at least one size shows the contrary (for the better: less is lost than in the study); ",
        StrongText(OPEN),
        ": the intervals are too wide for either. “On par”: the whole interval of the ratio lies "
        f"within {units.percent_text(margin)} of 1. “Slower”: it excludes 1, by more than the "
        "minimum effect, after correction for false discoveries. “Suffers greatly”: it lies "
        f"below {settings.great_loss:g}. The study's statements on datatypes and serializing "
        f"concern many bytes: they are tested from {units.size_text(settings.many_bytes)} on.",
    )


def _question_text(arms: Mapping[str, Arm]) -> RichText:
    """Text on what the publication measured, and which `arms` were measured here."""
    names = ", ".join(arm.title for arm in arms.values())
    if set(arms) == set(PUBLISHED_MBIT_PER_S):
        here = "the same five, on this machine, interleaved in random order inside each launch"
    elif len(arms) == 1:
        here = f"{names} alone, on this machine"
    else:
        here = f"{names}, on this machine, interleaved in random order inside each launch"
    return (
        "The Boost.MPI study (D. Gregor and M. Troyer, 2005-2007) ran NetPIPE in five variants: "
        "raw MPI, Boost.MPI, both also with a derived datatype of one byte, and Boost.MPI "
        f"serializing an object for every byte. Here {'is' if len(arms) == 1 else 'are'} {here}.",
    )


_READING_NOTES = (
    "A ratio is formed within a launch, from its two medians, before anything is summarised over "
    "launches. So it is paired: a slow launch slows both sides.",
    "The study's figure labels its axis “MB/s”. Its 1.4 at 1 byte would then be a half round "
    "trip of 0.7 µs, which no network of 2005 reached; in NetPIPE's own unit, Mbit/s of 2²⁰ "
    "bits, it is 5.4 µs. So we read the figure as Mbit/s and convert it to MB/s here.",
    "n½ is the smallest message that reaches half of the peak bandwidth, interpolated on the "
    "log-log curve.",
    "Warm-up messages are sent before each point, discarded, and counted under Convergence.",
)

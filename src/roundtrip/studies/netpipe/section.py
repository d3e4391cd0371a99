"""The NetPIPE section: the Boost.MPI study, repeated.

The study's four findings with our numbers say whether they hold, and give the answers, a line each.
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
    Items,
    Paragraph,
    Part,
    Strong,
    Table,
    Text,
    Tone,
)
from roundtrip.report.data import Data
from roundtrip.report.units import Level, Quantity, Unit
from roundtrip.stats.settings import Levels
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies import display
from roundtrip.studies import findings as shared
from roundtrip.studies.findings import (
    Comparison,
    VerdictAt,
    claims,
    comparison,
    for_study,
    line,
    worst,
)
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
from roundtrip.studies.study import Claim

AGREES, DIFFERS, UNKNOWN = "agrees", "differs", "cannot tell"
#: It differs from the study only in that less is lost.
BETTER = "differs, for the better"
#: Good news is not red.
_TONES: dict[str, Tone] = {AGREES: "good", DIFFERS: "bad", BETTER: "good", UNKNOWN: "warn"}
Finding = shared.Finding[Statement, Panel]


def findings(
    panel: Panel, judged: Mapping[Comparison, ClaimVerdict], settings: Thresholds, levels: Levels
) -> list[Finding]:
    """The four findings of one panel."""
    return [_finding(statement, panel, judged, settings, levels) for statement in STATEMENTS]


def _finding(
    statement: Statement,
    panel: Panel,
    judged: Mapping[Comparison, ClaimVerdict],
    settings: Thresholds,
    levels: Levels,
) -> Finding:
    sizes = tuple(
        size
        for size in settings.compared_sizes
        if statement.expects == "on par" or size >= settings.many_bytes
    )
    pair = statement.variant, statement.base
    keys = {size: comparison(STUDY, panel, *pair, size) for size in sizes}
    evidence = shared.evidence(judged, keys)
    outcome = _outcome(statement.expects, [one for _, one in evidence], settings, levels)
    return Finding(
        statement=statement,
        panel=panel,
        outcome=outcome,
        settled=_TONES[outcome],
        everywhere=outcome == AGREES,
        evidence=evidence,
        compared=sizes,
    )


def _outcome(
    expects: str, evidence: Sequence[ClaimVerdict], settings: Thresholds, levels: Levels
) -> str:
    """ "agrees" if every size shows it, "differs" if one size shows the contrary."""
    if not evidence:
        return UNKNOWN
    verdicts = [one.verdict for one in evidence]
    if expects == "on par":
        agrees = all(verdict is Verdict.ON_PAR for verdict in verdicts)
        differs = any(verdict in (Verdict.FASTER, Verdict.SLOWER) for verdict in verdicts)
    elif expects == "slower":
        agrees = all(verdict is Verdict.SLOWER for verdict in verdicts)
        differs = any(verdict in (Verdict.FASTER, Verdict.ON_PAR) for verdict in verdicts)
    else:
        bound = settings.great_loss
        agrees = all(
            one.interval.within(0, bound) and one.q < levels.false_discovery_level
            for one in evidence
        )
        differs = any(one.interval.low is not None and one.interval.low > bound for one in evidence)
    if agrees or not differs:
        return AGREES if agrees else UNKNOWN
    return DIFFERS if expects == "on par" and Verdict.SLOWER in verdicts else BETTER


def verdict_table(all_findings: Sequence[Sequence[Finding]]) -> Table:
    """A row for each toolchain and setting, and a column for each finding of the study."""
    several = len({four[0].panel.setting for four in all_findings}) > 1
    rows = []
    for four in all_findings:
        panel = four[0].panel
        name = f"{panel.label}; {panel.setting}" if several else panel.label
        rows.append((name, {finding.statement: finding.cell for finding in four}))
    return display.grid(
        "Do the study's findings hold here? Ratios of bandwidth over the compared sizes, and "
        "whether we agree with the study.",
        "Toolchain",
        {statement: statement.short for statement in STATEMENTS},
        rows,
        {one: ARMS[one.base].title for one in STATEMENTS},
    )


def finding_table(
    curves: Curves, number: int, statement: Statement, ours: Sequence[Finding]
) -> Table:
    """One finding of the study: its words, its numbers, ours."""
    sizes = sorted({size for one in ours for size in one.compared})
    study = [_published_ratio(statement, size) for size in sizes]
    rows = [(Cell("The study, read off its figure"), *study, display.NONE)]
    for finding in ours:
        evidence = dict(finding.evidence)
        ratios = [
            tables.ratio_cell(
                evidence.get(size), curves.series_key(finding.panel, statement.variant, size)
            )
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


def _published_ratio(statement: Statement, size: int) -> Cell:
    variant = published_rate(statement.variant, size)
    base = published_rate(statement.base, size)
    if variant is None or base is None:
        return display.NONE
    return Cell(("about ", Quantity(value=variant / base, unit=Unit.RATIO, digits=2)))


_NONE = "Boost.MPI was not compared with raw MPI: only one of the two was measured."


def overall(found: Sequence[Sequence[Finding]]) -> tuple[Answer, ...]:
    """One line for each statement over all panels; `found` are the four findings of each."""
    compared = [four for four in found if any(finding.evidence for finding in four)]
    if not compared and labels.only_simulated(four[0].panel.kind for four in found):
        return (Answer((labels.ONLY_SIMULATED,)),)
    if not compared:
        return (Answer((Strong(_NONE),), "warn"),)
    alone = [four[0].panel.label for four in found if four not in compared]
    answers: list[Answer] = []
    for of_statement in zip(*compared, strict=True):
        each = [one for finding in of_statement for one in _at_each_size(finding)]
        statement = of_statement[0].statement
        text = f"{line(statement.subject, statement.over, each)}."
        if alone and not answers:
            text += f" Nothing was compared on {'; '.join(alone)}."
        tone: Tone = worst(finding.tone for finding in of_statement)
        answers.append(Answer((text,), "warn" if alone and not answers else tone))
    return tuple(answers)


def panel_answer(four: Sequence[Finding]) -> Answer:
    """What the four findings of one panel say together."""
    lines = [
        f"{line(one.statement.subject, one.statement.over, _at_each_size(one))}."
        for one in four
        if one.evidence
    ]
    text = " ".join(lines) or "Nothing was compared."
    plain, datatypes, *_ = four
    return Answer((Strong(plain.panel.label), f": {text}"), worst((plain.tone, datatypes.tone)))


def _at_each_size(finding: Finding) -> list[VerdictAt]:
    """Every size that was to be compared, measured or not."""
    there = dict(finding.evidence)
    return [VerdictAt(finding.panel.label, size, there.get(size)) for size in finding.compared]


class Section:
    """Raw MPI against Boost.MPI, plain, with datatypes and serialized."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self._curves = Curves(data)
        self._settings = data.analysis.of(Thresholds)
        self._levels = data.analysis.statistics

    def claims(self) -> Mapping[Claim, Sequence[float]]:
        """Every variant against raw MPI, and Boost.MPI's datatypes against MPI's."""
        return claims(STUDY, self._curves, self._settings.compared_sizes)

    def part(self, judged: Mapping[Claim, ClaimVerdict]) -> Part:
        """Findings, figures, tables."""
        mine = for_study(judged, STUDY.name)
        panels = self._curves.panels
        found = {
            panel.key: findings(panel, mine, self._settings, self._levels)
            for panel in panels
            if panel.is_pingpong
        }
        compared = {key: four for key, four in found.items() if any(f.evidence for f in four)}
        blocks: list[Block] = [Paragraph(_QUESTION), *self._findings(compared)]
        blocks += tables.over_the_wan(self._curves, panels)
        for number, (setting, group) in enumerate(groupby(panels, key=lambda p: p.setting), 1):
            blocks += self._setting(number, setting, list(group), mine)
        blocks += tables.reference_blocks(self._data, self._curves)
        blocks += self._method(panels)
        return Part(
            anchor="netpipe",
            title="NetPIPE: what does Boost.MPI cost over raw MPI?",
            blocks=tuple(blocks),
            answers=self._answers(found),
            each=tuple(map(panel_answer, compared.values())) if len(compared) > 1 else (),
            verdicts=(verdict_table(list(compared.values())),) if compared else (),
        )

    def _answers(self, found: Mapping[tuple[str, ...], list[Finding]]) -> tuple[Answer, ...]:
        if not found:
            text = "No ping-pong launch completed: the study's question stays open."
            return (Answer((text,), "warn"),)
        return overall(list(found.values()))

    def _findings(self, found: Mapping[tuple[str, ...], list[Finding]]) -> list[Block]:
        if not found:
            return []
        curves = self._curves
        return [
            Heading(3, "The study's four findings beside ours"),
            Paragraph(_outcome_text(self._settings.great_loss, self._levels.equivalence_margin)),
            *(
                finding_table(
                    curves, number, statement, [four[number - 1] for four in found.values()]
                )
                for number, statement in enumerate(STATEMENTS, 1)
            ),
        ]

    def _setting(
        self,
        number: int,
        setting: str,
        panels: list[Panel],
        judged: Mapping[Comparison, ClaimVerdict],
    ) -> list[Block]:
        curves, margin = self._curves, self._levels.equivalence_margin
        drawn: list[Block] = [
            Heading(3, setting),
            Gallery(
                bandwidth_caption(curves.level),
                draw_bandwidth(f"netpipe-{number}-bandwidth", curves, panels, margin),
            ),
        ]
        compared = [panel for panel in panels if not curves.rows(curves.ratio, panel).is_empty()]
        if compared:
            drawn += [
                Gallery(
                    ratio_caption(curves.level, margin),
                    draw_ratio(f"netpipe-{number}-ratio", curves, compared, margin),
                ),
                tables.ratios(curves, compared, judged, self._settings.compared_sizes),
            ]
        drawn.append(tables.rates(curves, panels))
        if panels[0].is_pingpong:
            drawn.append(tables.latency(curves, panels))
        drawn.append(tables.convergence(curves, panels))
        bounded = tables.bounded(curves, panels)
        if bounded:
            drawn.append(Fold("Curves that end early, and why", (Items(bounded),)))
        return drawn

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


def _outcome_text(great_loss: float, margin: float) -> Text:
    return (
        Strong("agrees"),
        ": every compared size shows it, or every one of those measured, which are then named; ",
        Strong("differs"),
        ": at least one size shows the contrary (for the better: less is lost than in the study); ",
        Strong("cannot tell"),
        ": the intervals are too wide for either. “On par” means that the whole interval of the "
        f"ratio lies within {units.percent(margin)} of 1; “slower” that it excludes 1, by more "
        "than the minimum effect, after correction for false discoveries; “suffers greatly” that "
        f"it lies below {great_loss:g}. What the study says about datatypes and serializing "
        "concerns many bytes, so it is tested from 1 KiB on.",
    )


def _level(level: Level) -> Text:
    text = "Every interval is an exact rank interval of the median over launches, at "
    return (text, level, ".")


_QUESTION: Text = (
    "The Boost.MPI study (D. Gregor and M. Troyer, 2005-2007) ran NetPIPE in five variants: raw "
    "MPI, Boost.MPI, both again with a derived datatype of one byte, and Boost.MPI serializing an "
    "object for every byte. Here are the same five, on this machine, interleaved in random order "
    "inside each launch.",
)
_READING: tuple[Text, ...] = (
    (
        "Bandwidth is message bytes over half-round-trip time, in MB/s (10⁶ bytes/s). Each launch "
        "gives its median; the curve is the median over launches, the band its exact rank "
        "confidence interval. Fewer than 6 launches: no interval.",
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

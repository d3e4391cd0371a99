"""The NetPIPE section: the Boost.MPI study, repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from roundtrip.report import units
from roundtrip.report.blocks import (
    Answer,
    Block,
    Fold,
    Gallery,
    Heading,
    Items,
    Paragraph,
    Part,
    Strong,
    Text,
)
from roundtrip.report.data import Data
from roundtrip.report.units import Level
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.studies.findings import Comparison, claims, for_study
from roundtrip.studies.netpipe import STUDY, Thresholds, figures, launches, published, tables
from roundtrip.studies.netpipe.curves import Curves, Panel
from roundtrip.studies.netpipe.findings import Finding, findings, overall, panel_answer
from roundtrip.studies.study import Claim


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
            verdicts=(tables.verdicts(list(compared.values())),) if compared else (),
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
                tables.findings(
                    curves, number, statement, [four[number - 1] for four in found.values()]
                )
                for number, statement in enumerate(published.STATEMENTS, 1)
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
                figures.bandwidth_caption(curves.level),
                figures.bandwidth(f"netpipe-{number}-bandwidth", curves, panels, margin),
            ),
        ]
        compared = [panel for panel in panels if not curves.of(curves.ratio, panel).is_empty()]
        if compared:
            drawn += [
                Gallery(
                    figures.ratio_caption(curves.level, margin),
                    figures.ratio(f"netpipe-{number}-ratio", curves, compared, margin),
                ),
                tables.ratios(curves, compared, judged, self._settings.compared_sizes),
            ]
        drawn.append(tables.rates(curves, panels))
        if panels[0].is_pingpong:
            drawn.append(launches.latency(curves, panels))
        drawn.append(launches.convergence(curves, panels))
        bounded = launches.bounded(curves, panels)
        if bounded:
            drawn.append(Fold("Curves that end early, and why", (Items(bounded),)))
        return drawn

    def _method(self, panels: Sequence[Panel]) -> list[Block]:
        blocks: list[Block] = [
            Heading(3, "How to read these numbers"),
            Items((_level(self._curves.level), *_READING)),
        ]
        blocks.append(Paragraph(launches.buffers(panels), is_note=True))
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

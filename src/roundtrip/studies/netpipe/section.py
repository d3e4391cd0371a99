"""The NetPIPE section: the Boost.MPI study, repeated.

Figures and tables, with the study's four findings beside ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from roundtrip.report import units
from roundtrip.report.blocks import (
    Block,
    Fold,
    Heading,
    Items,
    Paragraph,
    Part,
    Strong,
    Text,
    text_items,
)
from roundtrip.report.data import Data
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.studies.findings import OPEN, Comparison, claims, study_verdicts
from roundtrip.studies.netpipe import STUDY, Thresholds, tables
from roundtrip.studies.netpipe.curves import Curves, Panel, bandwidth_gallery, ratio_gallery
from roundtrip.studies.netpipe.derived import PUBLISHED_MEGABITS
from roundtrip.studies.netpipe.findings import (
    finding_table,
    findings,
    overall,
    panel_answer,
    study_table,
    verdict_table,
)
from roundtrip.studies.study import Arm, Claim


class Section:
    """Raw MPI against Boost.MPI, plain, with datatypes and serialized."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self._curves = Curves(data)
        self._settings = data.analysis.study_thresholds(Thresholds)
        self._levels = data.analysis.statistics.for_study(STUDY.name)

    def claims(self) -> Mapping[Claim, Sequence[float]]:
        return claims(STUDY, self._curves, self._settings.compared_sizes)

    def part(self, verdicts: Mapping[Claim, ClaimVerdict]) -> Part:
        curves = self._curves
        verdicts_by_comparison = study_verdicts(verdicts, STUDY.name)
        all_findings = [
            findings(panel, verdicts_by_comparison, self._settings, self._levels)
            for panel in curves.panels
            if panel.is_pingpong
        ]
        groups = [group for group in all_findings if any(finding.evidence for finding in group)]
        blocks: list[Block] = [Paragraph(_question(curves.arms))]
        if groups:
            blocks += [
                Heading(3, "What the study says, and what we find"),
                study_table(groups),
                Paragraph(_outcome_text(self._settings, self._levels.equivalence_margin)),
                *(
                    finding_table(curves, number, statement_findings)
                    for number, statement_findings in enumerate(zip(*groups, strict=True), 1)
                ),
            ]
        blocks += tables.wan_tables(curves, curves.panels)
        picture = None
        margin = self._levels.equivalence_margin
        by_setting = groupby(curves.panels, key=lambda panel: panel.setting)
        for number, (setting, group) in enumerate(by_setting, 1):
            panels = list(group)
            ratios = ratio_gallery(f"netpipe-{number}-ratio", curves, panels, margin)
            rates = bandwidth_gallery(f"netpipe-{number}-bandwidth", curves, panels)
            galleries = [ratios, rates] if ratios else [rates]
            picture = picture or galleries.pop(0)
            blocks += [
                Heading(3, setting),
                *galleries,
                *self._tables(panels, verdicts_by_comparison),
            ]
        blocks += tables.reference_blocks(self._data, curves)
        level_text = "Every interval is an exact rank interval of the median over launches, at "
        blocks += [
            Heading(3, "How to read these numbers"),
            Items(((level_text, curves.level, "."), *((text,) for text in _READING))),
            Paragraph(tables.buffers(curves.panels), is_note=True),
        ]
        if names := ", ".join(curves.unknown_variants):
            text = ("Variants that are not the study's, kept in the bundle and not shown: ", names)
            blocks.append(Paragraph(text, is_note=True))
        return Part(
            anchor="netpipe",
            title="NetPIPE: what does Boost.MPI cost over raw MPI?",
            blocks=tuple(blocks),
            answers=() if len(curves.arms) == 1 else overall(all_findings),
            panel_answers=tuple(map(panel_answer, groups)) if len(groups) > 1 else (),
            verdicts=(verdict_table(groups),) if groups else (),
            picture=picture,
        )

    def _tables(
        self, panels: Sequence[Panel], verdicts: Mapping[Comparison, ClaimVerdict]
    ) -> Iterator[Block]:
        curves = self._curves
        ratio_panels = [
            panel for panel in panels if not curves.rows(curves.statement_ratios, panel).is_empty()
        ]
        if ratio_panels:
            yield tables.ratios(curves, ratio_panels, verdicts, self._settings.compared_sizes)
        yield tables.rates(curves, panels)
        if panels[0].is_pingpong:
            yield tables.latency(curves, panels)
        yield tables.convergence(curves, panels)
        if lines := tables.early_ends(curves, panels):
            yield Fold("Curves that end early, and why", (text_items(*lines),))


def _outcome_text(settings: Thresholds, margin: float) -> Text:
    return (
        Strong("agrees"),
        ": every compared size shows it, or every one of those measured, which are then named; ",
        Strong("differs"),
        ": at least one size shows the contrary (for the better: less is lost than in the study); ",
        Strong(OPEN),
        ": the intervals are too wide for either. “On par” means that the whole interval of the "
        f"ratio lies within {units.percent(margin)} of 1; “slower” that it excludes 1, by more "
        "than the minimum effect, after correction for false discoveries; “suffers greatly” that "
        f"it lies below {settings.great_loss:g}. What the study says about datatypes and "
        "serializing concerns many bytes, so it is tested from "
        f"{units.size(settings.many_bytes)} on.",
    )


def _question(arms: Mapping[str, Arm]) -> Text:
    """What the study ran, and which `arms` were measured here."""
    names = ", ".join(arm.title for arm in arms.values())
    if set(arms) == set(PUBLISHED_MEGABITS):
        here = "the same five, on this machine, interleaved in random order inside each launch"
    elif len(arms) == 1:
        here = f"{names} alone, on this machine"
    else:
        here = f"{names}, on this machine, interleaved in random order inside each launch"
    return (
        "The Boost.MPI study (D. Gregor and M. Troyer, 2005-2007) ran NetPIPE in five variants: "
        "raw MPI, Boost.MPI, both again with a derived datatype of one byte, and Boost.MPI "
        f"serializing an object for every byte. Here {'is' if len(arms) == 1 else 'are'} {here}.",
    )


_READING = (
    "Bandwidth is message bytes over half-round-trip time, in MB/s (10⁶ bytes/s). Each launch "
    "gives its median; the curve is the median over launches, the band its exact rank "
    "confidence interval. Fewer launches than its level needs, 6 for 95 %: no interval.",
    "A ratio is formed within a launch, from its two medians, before anything is summarised "
    "over launches. So it is paired: a slow launch slows both sides of it.",
    "The study's figure labels its axis “MB/s”. Its 1.4 at 1 byte would then be a half round "
    "trip of 0.7 µs, which no network of 2005 reached; in NetPIPE's own unit, Mbit/s of 2²⁰ "
    "bits, it is 5.4 µs. So we read the figure as Mbit/s and convert it to MB/s here.",
    "n½ is the smallest message that reaches half of the peak bandwidth, interpolated on the "
    "log-log curve.",
    "Warm-up messages are sent before each point, discarded, and counted under Convergence.",
)

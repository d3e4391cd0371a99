"""The section of a study in the report: its own, and what follows from its arms.

A study whose launches interleave arms needs only its declaration: figures, claims, tables and
sentences follow from its `arms`, `contrasts` and metrics, metric by metric.  The names of the
first metric's values are those of the arms; other metrics are named beside them.  A section of its
own treats its `metrics`; what follows from its `more_metrics` comes after.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Protocol

from roundtrip import units
from roundtrip.content.blocks import (
    Answer,
    Block,
    Column,
    Gallery,
    Heading,
    Paragraph,
    ReportSection,
    StatusColour,
    Table,
    make_answer,
)
from roundtrip.content.data import BundleData
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.studies import display, findings
from roundtrip.studies.derivation import (
    derived_metrics,
    describe_metric,
    display_unit,
    metric_suffix,
    study_module_attribute,
)
from roundtrip.studies.findings import ArmClaim, PointVerdict, arm_claim_verdicts
from roundtrip.studies.panel import CasePanels, Panel
from roundtrip.study import Claim, Contrast, Study
from roundtrip.units import UNPRINTED_UNITS


class Section(Protocol):
    """What the report needs from a study, or from the comparison of toolchains."""

    def ratios_by_claim(self) -> Mapping[Claim, Sequence[float]]:
        """The ratios to be judged, by claim: one for each launch, or round."""

    def report_section(self, verdicts: Mapping[Claim, ClaimVerdict]) -> ReportSection:
        """The section of the report, given the verdicts on the claims of `ratios_by_claim`."""


def find_section(study: Study, data: BundleData) -> Section | None:
    """The study's section; None if the bundle has no completed launch of the study."""
    if data.study_launches(study.name).is_empty():
        return None
    make = study_module_attribute(study, "section", "Section")
    own: Section | None = make(data) if make else None
    metrics = derived_metrics(study, own)
    return DerivedSection(study, data, metrics, own) if metrics else own


class DerivedSection:
    """What follows from the arms of a study, after its `own` section: each metric, in order."""

    def __init__(
        self, study: Study, data: BundleData, metrics: Sequence[str], own: Section | None
    ) -> None:
        self._study, self._own = study, own
        self._metrics = [_MetricSection(study, data, metric) for metric in metrics]

    def ratios_by_claim(self) -> Mapping[Claim, Sequence[float]]:
        claims = dict(self._own.ratios_by_claim()) if self._own else {}
        for one in self._metrics:
            claims |= one.ratios_by_claim()
        return claims

    def report_section(self, verdicts: Mapping[Claim, ClaimVerdict]) -> ReportSection:
        study = self._study
        if self._own:
            part, heading = self._own.report_section(verdicts), "Other metrics"
        else:
            method = (Paragraph((study.method,)),) if study.method else ()
            title = f"{study.title}: {study.question}"
            part, heading = ReportSection(study.name, title, method), "In numbers"
        picture = part.answer_gallery
        blocks: list[Block] = [*part.blocks, Heading(3, heading)]
        answers, panel_answers = [*part.answers], [*part.panel_answers]
        for one in self._metrics:
            own_verdicts = arm_claim_verdicts(verdicts, study, one.metric)
            blocks += one.blocks(own_verdicts)
            answers += one.answers(own_verdicts)
            panel_answers += one.panel_answers(own_verdicts)
            if picture and one.is_measured:
                blocks.append(one.gallery())
            elif one.is_measured:
                picture = one.gallery()
        return replace(
            part,
            blocks=tuple(blocks),
            answers=tuple(answers),
            panel_answers=tuple(panel_answers),
            answer_gallery=picture,
            warnings=(*part.warnings, *(one.warning for one in self._metrics if one.warning)),
        )


#: Maximum settings with an answer of their own.
_MAX_ANSWERED_SETTINGS = 4


class _MetricSection:
    """One metric of a study: its arms in each panel, and their contrasts."""

    def __init__(self, study: Study, data: BundleData, metric: str) -> None:
        self._study, self.metric = study, metric
        self._panels = CasePanels(data, study.name, metric)
        has_sizes = self._panels.launch_values["size_bytes"].max()
        self._sizes = data.analysis.compared_sizes(study) if has_sizes else (0,)
        arms = study.arms.items()
        self._arms = {name: arm for name, arm in arms if arm.metric in ("", metric)}
        self._contrasts = study.contrasts_of(metric)
        self._quantity = describe_metric(metric)
        self._suffix = metric_suffix(study, metric)
        self._unit = display_unit(metric)
        self._scale = units.conversion_factor(self._panels.unit, self._unit)

    def ratios_by_claim(self) -> Mapping[Claim, Sequence[float]]:
        return findings.ratios_by_arm_claim(
            self._study, self._panels, self._sizes, "cost", self.metric
        )

    @property
    def is_measured(self) -> bool:
        """Whether a launch has a value of the metric."""
        return bool(self._panels.panels)

    @property
    def warning(self) -> str:
        """Names the measured variants that are no arms, and so left out; "" without one."""
        variants = self._panels.launch_values["variant"].unique().sort()
        if not (others := [name for name in variants if name not in self._arms]):
            return ""
        lack = f"study {self._study.name} declares no arm {', '.join(others)} of {self.metric}"
        return f"{lack}, and its section leaves it out; right: {', '.join(self._arms)}"

    def blocks(self, verdicts: Mapping[ArmClaim, ClaimVerdict]) -> Iterator[Block]:
        """The values of all arms, then the verdicts, if arms are contrasted."""
        if not self.is_measured:
            yield Paragraph((f"{self._quantity}: no launch has a value.",), is_note=True)
            return
        unit = "" if self._unit in UNPRINTED_UNITS else f" in {self._unit}"
        caption = f"{self._quantity}{unit}, median over launches."
        yield display.interval_table(self._panels, caption, self._arms, self._unit)
        if self._contrasts:
            yield self._verdict_table(verdicts)

    def answers(self, verdicts: Mapping[ArmClaim, ClaimVerdict]) -> list[Answer]:
        """An answer for each contrast and setting, or each contrast if settings are many."""
        panels_by_setting: dict[str, list[Panel]] = defaultdict(list)
        for panel in self._panels.panels:
            panels_by_setting[panel.setting_title].append(panel)
        count = len(panels_by_setting)
        if not 0 < count <= _MAX_ANSWERED_SETTINGS:
            panels_by_setting = {f"{count} settings": [*self._panels.panels]}
        answers = []
        for contrast, (setting, panels) in product(self._contrasts, panels_by_setting.items()):
            name = f"{setting[0].upper()}{setting[1:]}: " if count > 1 and setting else ""
            answers.append(Answer((f"{name}{self._cost_sentence(contrast, panels, verdicts)}.",)))
        return answers

    def panel_answers(self, verdicts: Mapping[ArmClaim, ClaimVerdict]) -> list[Answer]:
        """An answer for each panel: values, and a sentence on each contrast."""
        return [self._panel_answer(panel, verdicts) for panel in self._panels.panels]

    def _verdict_table(self, verdicts: Mapping[ArmClaim, ClaimVerdict]) -> Table:
        cells = []
        for contrast, panel in product(self._contrasts, self._panels.panels):
            arm, base = (self._arms[name].title for name in (contrast.arm, contrast.base))
            name = f"{arm} against {base}{self._suffix}: {panel.title}"
            for column, size in zip(self._sizes, self._panel_sizes(panel), strict=True):
                verdict = verdicts.get(self._arm_claim(panel, contrast, size))
                row = name if column == size else f"{name}, {units.size_text(size)}"
                cells.append(((row,), column, display.verdict_cell(verdict, base_name=base)))
        caption = (
            "Speed of one arm over that of the other, in the same launch: above 1, the first is "
            "faster."
        )
        return display.grid_table(
            self._with_metric_name(caption),
            ("Arms, toolchain and placement",),
            {size: Column(units.size_text(size) if size else "Ratio") for size in self._sizes},
            cells,
        )

    def _with_metric_name(self, text: str) -> str:
        """``Bandwidth: <text>``; the text alone if the metric is the study's first."""
        return f"{self._quantity}: {text[0].lower()}{text[1:]}" if self._suffix else text

    def _cost_sentence(
        self,
        contrast: Contrast,
        panels: Sequence[Panel],
        verdicts: Mapping[ArmClaim, ClaimVerdict],
    ) -> str:
        points = [
            PointVerdict(panel.title, size, verdicts.get(self._arm_claim(panel, contrast, size)))
            for panel in panels
            for size in self._panel_sizes(panel)
        ]
        note = f" ({self._quantity.lower()})" if self._suffix else ""
        arm, base = (self._arms[name].title for name in (contrast.arm, contrast.base))
        return findings.cost_sentence(f"{arm}{note}", base, points, names_sizes=True)

    def _panel_answer(self, panel: Panel, verdicts: Mapping[ArmClaim, ClaimVerdict]) -> Answer:
        intervals = self._panels.intervals
        size = min(self._panels.panel_rows(intervals, panel)["size_bytes"].to_list())
        interval_by_arm = {
            arm.title: self._panels.interval_at(intervals, panel, variant=name, size_bytes=size)
            for name, arm in self._arms.items()
        }
        values = ", ".join(
            f"{title} {units.interval_text(interval, self._scale)}"
            for title, interval in interval_by_arm.items()
            if interval
        )
        lines = [self._cost_sentence(contrast, (panel,), verdicts) for contrast in self._contrasts]
        unit = "" if self._unit in UNPRINTED_UNITS else f" {self._unit}"
        at = f" at {units.size_text(size)}" if size else ""
        text = f": {values}{unit}{at}. {''.join(f'{line}. ' for line in lines)}".rstrip()
        colour: StatusColour = "plain" if all(interval_by_arm.values()) else "warn"
        return make_answer(f"{panel.title}{self._suffix}", text, colour)

    def gallery(self) -> Gallery:
        """A figure of the metric for each panel."""
        frame = display.curve_rows(self._panels.intervals, self._scale)
        panels, name = self._panels, self._study.name
        name += f"-{panels.metric.replace('_', '-')}" if self._suffix else ""
        drawings = display.panel_drawings(name, panels, frame, self._arms, panels.panels)
        has_sizes = frame["size_bytes"].n_unique() > 1
        draw = display.curve_figures_over_size if has_sizes else display.dot_figures
        marks = "bands" if has_sizes else "lines"
        caption = self._with_metric_name(
            f"Median over launches; {marks} are {{level}} rank intervals."
        )
        figures = draw(drawings, self._quantity, self._quantity, self._unit)
        return Gallery(panels.level.fill_caption(caption), figures)

    def _panel_sizes(self, panel: Panel) -> Sequence[int]:
        """The compared sizes [bytes]: those of the study, or the largest if it names none."""
        rows = self._panels.panel_rows(self._panels.launch_values, panel)
        return self._sizes if any(self._sizes) else [max(rows["size_bytes"])]

    def _arm_claim(self, panel: Panel, contrast: Contrast, size: int) -> ArmClaim:
        return ArmClaim(self._study.name, panel.key, contrast, size)

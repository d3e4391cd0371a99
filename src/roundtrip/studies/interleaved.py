"""Defaults for a study whose launches interleave arms.

Such a study needs only its declaration: figures, claims, tables, sentences and facts follow from
its `arms`, `contrasts` and `metrics`, metric by metric.  The names of the first metric's values are
those of the arms; other metrics are named beside them.  A study that needs more has its own
`derived` or `section`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import (
    Answer,
    Block,
    Column,
    Gallery,
    Heading,
    Paragraph,
    Part,
    Table,
    Tone,
    answer,
)
from roundtrip.report.units import UNPRINTED_UNITS, Unit
from roundtrip.stats.summaries import OVER_LAUNCHES, Kind, Summary
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.studies import display, findings
from roundtrip.studies.derivation import METRICS, Facts, Pairing, Ratio, toolchain_speeds
from roundtrip.studies.findings import Comparison, VerdictAt, study_verdicts
from roundtrip.studies.panel import LAUNCH_SUMMARY, CasePanels, Panel, launch_medians
from roundtrip.studies.study import Claim, Contrast, Figure, Study

if TYPE_CHECKING:
    from roundtrip.report.data import Data

_DISPLAY_UNITS: dict[str, str] = {Unit.S: Unit.US, "1": Unit.PURE}


def display_unit(metric: str) -> str:
    """The unit in which values are printed: µs for times, otherwise the unit of the metric."""
    raw = METRICS[metric].unit
    return _DISPLAY_UNITS.get(raw, raw)


def describe_metric(metric: str) -> str:
    """The name of a metric in words: ``Operation time``."""
    return metric.replace("_", " ").capitalize()


def _suffix(study: Study, metric: str) -> str:
    """What names a metric after an arm: ``, bandwidth``; "" for the study's first."""
    return "" if metric == study.metrics[0] else f", {describe_metric(metric).lower()}"


def summary(study: Study, samples: pl.DataFrame) -> dict[str, Figure]:
    """The median of each arm in one launch, at the smallest and at the largest size: ``put_8B_us``.

    `samples` has the columns of samples.csv, of one case.
    """
    figures = {}
    for metric in study.metrics:
        unit = display_unit(metric)
        scale = units.scale(METRICS[metric].unit, unit)
        ascii_unit = "1" if unit == Unit.PURE else unit.replace("µ", "u")
        medians = launch_medians(samples.lazy(), metric, ["variant", "size_bytes"])
        ends = {medians["size_bytes"].min(), medians["size_bytes"].max()}
        name = (metric,) if metric != study.metrics[0] else ()
        for row in medians.filter(pl.col("size_bytes").is_in(ends)).iter_rows(named=True):
            size = [units.printable(units.size(row["size_bytes"])).replace(" ", "")]
            words = (row["variant"], *(size if row["size_bytes"] else ()), *name)
            key = "_".join((*words, ascii_unit.replace("/", "_per_"))).replace("-", "_")
            figures[key] = row["value"] * scale, ascii_unit
    return figures


def speeds(study: Study, samples: pl.LazyFrame, sizes: Sequence[int]) -> pl.DataFrame:
    """The values of each launch and arm at `sizes` (bytes): columns `derivation.SPEEDS`."""
    return pl.concat(_speeds(study, samples, metric, sizes) for metric in study.metrics)


def _speeds(study: Study, samples: pl.LazyFrame, metric: str, sizes: Sequence[int]) -> pl.DataFrame:
    medians = launch_medians(samples, metric, ["launch", "case", "variant", "size_bytes"])
    suffix = _suffix(study, metric)
    titles = {name: f"{arm.title}{suffix}" for name, arm in study.arms.items()}
    title = pl.col("variant").replace(titles)
    has_one_case = pl.col("case").n_unique().over("launch") == 1
    unit = display_unit(metric)
    return toolchain_speeds(
        medians.filter(pl.col("size_bytes").is_in(list(sizes))),
        pl.when(has_one_case).then(title).otherwise(pl.concat_str(title, pl.lit(", "), "case")),
        value=pl.col("value") * units.scale(METRICS[metric].unit, unit),
        unit=unit,
        lower_is_better=pl.lit(METRICS[metric].lower_is_better),
        size_bytes=pl.when(pl.col("size_bytes") > 0).then("size_bytes"),
        phase="measure",
        metric=metric,
    )


def facts(study: Study) -> Facts:
    """Facts for the audit: medians, and ratios within launches if the study contrasts arms."""
    summaries: list[Summary] = []
    ratios: list[Ratio] = []
    for metric in study.metrics:
        kind = Kind.COST if METRICS[metric].lower_is_better else Kind.RATE
        quantity = describe_metric(metric).lower()
        launch_summary = replace(LAUNCH_SUMMARY, kind=kind)
        summaries += [launch_summary, Summary(quantity, kind, "launches", OVER_LAUNCHES)]
        if study.contrasts_of(metric):
            name = f"{quantity} of two arms"
            ratios.append(Ratio(name, launch_summary, Pairing.LAUNCH, OVER_LAUNCHES))
    return Facts(
        summaries=tuple(dict.fromkeys(summaries)),
        ratios=tuple(ratios),
        build_columns=("mpi_library", "compiler", "compiler_flags"),
    )


class Section:
    """The part of the report: each metric of the study, in the order in which it declares them."""

    def __init__(self, study: Study, data: Data) -> None:
        self._study = study
        self._metrics = [_Metric(study, data, metric) for metric in study.metrics]

    def claims(self) -> Mapping[Claim, Sequence[float]]:
        return {claim: ratios for one in self._metrics for claim, ratios in one.claims().items()}

    def part(self, verdicts: Mapping[Claim, ClaimVerdict]) -> Part:
        study, picture = self._study, None
        own_verdicts = study_verdicts(verdicts, study.name)
        blocks: list[Block] = [Paragraph((study.method,))] if study.method else []
        blocks.append(Heading(3, "In numbers"))
        for one in self._metrics:
            blocks += one.blocks(own_verdicts)
            if picture and one.is_measured:
                blocks.append(one.picture())
            elif one.is_measured:
                picture = one.picture()
        return Part(
            anchor=study.name,
            title=f"{study.title}: {study.question}",
            blocks=tuple(blocks),
            answers=tuple(a for one in self._metrics for a in one.answers(own_verdicts)),
            panel_answers=tuple(
                a for one in self._metrics for a in one.panel_answers(own_verdicts)
            ),
            picture=picture,
        )


class _Metric:
    """The arms of a study that have one metric, in each panel, and their contrasts."""

    def __init__(self, study: Study, data: Data, metric: str) -> None:
        self._study = study
        self._panels = CasePanels(data, study.name, metric)
        self._sizes = study.sizes(data.analysis)
        self._arms = study.arms_of(metric)
        self._contrasts = study.contrasts_of(metric)
        self._quantity = describe_metric(metric)
        self._suffix = _suffix(study, metric)
        self._unit = display_unit(metric)
        self._scale = units.scale(self._panels.unit, self._unit)

    def claims(self) -> Mapping[Claim, Sequence[float]]:
        return findings.claims(self._study, self._panels, self._sizes, "cost", self._contrasts)

    @property
    def is_measured(self) -> bool:
        """Whether a launch has a value."""
        return bool(self._panels.panels)

    def blocks(self, verdicts: Mapping[Comparison, ClaimVerdict]) -> Iterator[Block]:
        """The values of all arms, then the verdicts, if arms are contrasted."""
        if not self.is_measured:
            yield Paragraph((f"{self._quantity}: no launch has a value.",), is_note=True)
            return
        unit = "" if self._unit in UNPRINTED_UNITS else f" in {self._unit}"
        caption = f"{self._quantity}{unit}, median over launches."
        yield display.interval_table(self._panels, caption, self._arms, self._unit)
        if self._contrasts:
            yield self._verdicts(verdicts)

    def answers(self, verdicts: Mapping[Comparison, ClaimVerdict]) -> list[Answer]:
        """A sentence on each contrast in all panels."""
        panels = self._panels.panels
        return [Answer((f"{self._line(one, panels, verdicts)}.",)) for one in self._contrasts]

    def panel_answers(self, verdicts: Mapping[Comparison, ClaimVerdict]) -> list[Answer]:
        """The values and the sentences of each panel."""
        return [self._answer(panel, verdicts) for panel in self._panels.panels]

    def _verdicts(self, verdicts: Mapping[Comparison, ClaimVerdict]) -> Table:
        rows = [
            (
                (f"{self._pair(contrast)}: {panel.label}",),
                {
                    size: display.verdict(verdict, base=self._arms[contrast.base].title)
                    for size in self._sizes
                    if (verdict := verdicts.get(self._comparison(panel, contrast, size)))
                },
            )
            for contrast in self._contrasts
            for panel in self._panels.panels
        ]
        caption = (
            "Speed of one arm over that of the other, in the same launch: above 1, the first is "
            "faster."
        )
        return display.grid(
            self._caption(caption),
            ("Arms, toolchain and placement",),
            {size: Column(units.size(size) if size else "Ratio") for size in self._sizes},
            rows,
        )

    def _caption(self, text: str) -> str:
        """The text, after the metric unless it is the study's first."""
        return f"{self._quantity}: {text[0].lower()}{text[1:]}" if self._suffix else text

    def _pair(self, contrast: Contrast) -> str:
        arm, base = (self._arms[name].title for name in (contrast.arm, contrast.base))
        return f"{arm} against {base}{self._suffix}"

    def _line(
        self,
        contrast: Contrast,
        panels: Sequence[Panel],
        verdicts: Mapping[Comparison, ClaimVerdict],
    ) -> str:
        points = [
            VerdictAt(panel.label, size, verdicts.get(self._comparison(panel, contrast, size)))
            for panel in panels
            for size in self._sizes
        ]
        note = f" ({self._quantity.lower()})" if self._suffix else ""
        arm, base = (self._arms[name].title for name in (contrast.arm, contrast.base))
        return findings.line(f"{arm}{note}", base, points)

    def _answer(self, panel: Panel, verdicts: Mapping[Comparison, ClaimVerdict]) -> Answer:
        intervals = self._panels.intervals
        size = min(self._panels.rows(intervals, panel)["size_bytes"].to_list())
        interval_by_arm = {
            arm.title: self._panels.interval_at(intervals, panel, variant=name, size_bytes=size)
            for name, arm in self._arms.items()
        }
        values = ", ".join(
            f"{title} {units.interval(interval, self._scale)}"
            for title, interval in interval_by_arm.items()
            if interval
        )
        lines = [self._line(contrast, (panel,), verdicts) for contrast in self._contrasts]
        unit = "" if self._unit in UNPRINTED_UNITS else f" {self._unit}"
        at = f" at {units.size(size)}" if size else ""
        text = f": {values}{unit}{at}. {''.join(f'{line}. ' for line in lines)}".rstrip()
        tone: Tone = "plain" if all(interval_by_arm.values()) else "warn"
        return answer(f"{panel.label}{self._suffix}", text, tone)

    def picture(self) -> Gallery:
        """A figure for each panel."""
        frame = display.curve_rows(self._panels.intervals, self._scale)
        panels, name = self._panels, self._study.name
        name += f"-{panels.metric.replace('_', '-')}" if self._suffix else ""
        drawings = [
            display.drawing(f"{name}-{number}", panel, panels.rows(frame, panel), self._arms)
            for number, panel in enumerate(panels.panels, 1)
        ]
        has_sizes = frame["size_bytes"].n_unique() > 1
        draw = display.curves_over_size if has_sizes else display.dots
        marks = "bands" if has_sizes else "lines"
        caption = self._caption(f"Median over launches; {marks} are {{level}} rank intervals.")
        figures = draw(drawings, self._quantity, self._quantity, self._unit)
        return Gallery(panels.level.caption(caption), figures)

    def _comparison(self, panel: Panel, contrast: Contrast, size: int) -> Comparison:
        return Comparison(self._study.name, panel.key, contrast, size)

"""Defaults for a study whose launches interleave arms and have one metric.

Such a study needs only its declaration: figures, claims, tables, sentences and facts follow from
its `arms`, its `contrasts` and its one metric.  A study that needs more has its own `derived` or
`section`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import Answer, Column, Gallery, Heading, Paragraph, Part, Table, answer
from roundtrip.report.units import Unit
from roundtrip.stats.summaries import OVER_LAUNCHES, Kind, Summary
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.studies import display, findings
from roundtrip.studies.derivation import METRICS, Facts, Pairing, Ratio, toolchain_speeds
from roundtrip.studies.findings import Comparison, VerdictAt, study_verdicts
from roundtrip.studies.panel import LAUNCH_SUMMARY, CasePanels, Panel, launch_medians
from roundtrip.studies.study import Claim, Contrast, Figure, Study

if TYPE_CHECKING:
    from roundtrip.report.data import Data


def display_unit(metric: str) -> str:
    """The unit in which values are printed: µs for times, otherwise the unit of the metric."""
    raw = METRICS[metric].unit
    return Unit.US if raw == Unit.S else raw


def describe_metric(metric: str) -> str:
    """The name of a metric in words: ``Operation time``."""
    return metric.replace("_", " ").capitalize()


def summary(samples: pl.DataFrame, metric: str) -> dict[str, Figure]:
    """The median of each arm in one launch, at the smallest and at the largest size: ``put_8B_us``.

    `samples` has the columns of samples.csv, of one case.
    """
    unit = display_unit(metric).replace("µ", "u")
    scale = units.scale(METRICS[metric].unit, display_unit(metric))
    medians = launch_medians(samples.lazy(), metric, ["variant", "size_bytes"])
    ends = {medians["size_bytes"].min(), medians["size_bytes"].max()}
    figures = {}
    for row in medians.filter(pl.col("size_bytes").is_in(ends)).iter_rows(named=True):
        size = [units.printable(units.size(row["size_bytes"])).replace(" ", "")]
        parts = [row["variant"], *(size if row["size_bytes"] else ()), unit.replace("/", "_per_")]
        figures["_".join(parts).replace("-", "_")] = row["value"] * scale, unit
    return figures


def speeds(study: Study, samples: pl.LazyFrame, metric: str, sizes: Sequence[int]) -> pl.DataFrame:
    """The value of each launch and arm at `sizes` (bytes): columns `derivation.SPEEDS`."""
    medians = launch_medians(samples, metric, ["launch", "case", "variant", "size_bytes"])
    title = pl.col("variant").replace({name: arm.title for name, arm in study.arms.items()})
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


def facts(study: Study, metric: str) -> Facts:
    """Facts for the audit: medians, and ratios within launches if the study contrasts arms."""
    kind = Kind.COST if METRICS[metric].lower_is_better else Kind.RATE
    quantity, launch_summary = describe_metric(metric).lower(), replace(LAUNCH_SUMMARY, kind=kind)
    ratio = Ratio(f"{quantity} of two arms", launch_summary, Pairing.LAUNCH, OVER_LAUNCHES)
    return Facts(
        summaries=(launch_summary, Summary(quantity, kind, "launches", OVER_LAUNCHES)),
        ratios=(ratio,) if study.contrasts else (),
        build_columns=("mpi_library", "compiler", "compiler_flags"),
    )


class Section:
    """All arms in each panel, and the contrasts that the study declares."""

    def __init__(self, study: Study, data: Data, metric: str) -> None:
        self._study = study
        self._panels = CasePanels(data, study.name, metric)
        self._sizes = study.sizes(data.analysis)
        self._quantity = describe_metric(metric)
        self._unit = display_unit(metric)
        self._scale = units.scale(self._panels.unit, self._unit)

    def claims(self) -> Mapping[Claim, Sequence[float]]:
        return findings.claims(self._study, self._panels, self._sizes, "cost")

    def part(self, verdicts: Mapping[Claim, ClaimVerdict]) -> Part:
        study, panels = self._study, self._panels
        own_verdicts = study_verdicts(verdicts, study.name)
        lines = [self._line(contrast, panels.panels, own_verdicts) for contrast in study.contrasts]
        caption = f"{self._quantity} in {self._unit}, median over launches."
        return Part(
            anchor=study.name,
            title=f"{study.title}: {study.question}",
            blocks=(
                *([Paragraph((study.method,))] if study.method else ()),
                Heading(3, "In numbers"),
                display.interval_table(panels, caption, study.arms, self._unit),
                *([self._verdicts(own_verdicts)] if study.contrasts else ()),
            ),
            answers=tuple(Answer((f"{line}.",)) for line in lines),
            panel_answers=tuple(self._answer(panel, own_verdicts) for panel in panels.panels),
            picture=self._picture(),
        )

    def _verdicts(self, verdicts: Mapping[Comparison, ClaimVerdict]) -> Table:
        arms = self._study.arms
        rows = [
            (
                (f"{arms[contrast.arm].title} against {arms[contrast.base].title}: {panel.label}",),
                {
                    size: display.verdict(verdict, base=arms[contrast.base].title)
                    for size in self._sizes
                    if (verdict := verdicts.get(self._comparison(panel, contrast, size)))
                },
            )
            for contrast in self._study.contrasts
            for panel in self._panels.panels
        ]
        return display.grid(
            "Speed of one arm over that of the other, in the same launch: above 1, the first is "
            "faster.",
            ("Arms, toolchain and placement",),
            {size: Column(units.size(size) if size else "Ratio") for size in self._sizes},
            rows,
        )

    def _line(
        self,
        contrast: Contrast,
        panels: Sequence[Panel],
        verdicts: Mapping[Comparison, ClaimVerdict],
    ) -> str:
        arms = self._study.arms
        points = [
            VerdictAt(panel.label, size, verdicts.get(self._comparison(panel, contrast, size)))
            for panel in panels
            for size in self._sizes
        ]
        return findings.line(arms[contrast.arm].title, arms[contrast.base].title, points)

    def _answer(self, panel: Panel, verdicts: Mapping[Comparison, ClaimVerdict]) -> Answer:
        intervals = self._panels.intervals
        size = min(self._panels.rows(intervals, panel)["size_bytes"].to_list())
        interval_by_arm = {
            arm.title: self._panels.interval_at(intervals, panel, variant=name, size_bytes=size)
            for name, arm in self._study.arms.items()
        }
        values = ", ".join(
            f"{title} {units.interval(interval, self._scale)}"
            for title, interval in interval_by_arm.items()
            if interval
        )
        lines = [self._line(contrast, (panel,), verdicts) for contrast in self._study.contrasts]
        at = f" at {units.size(size)}" if size else ""
        text = f": {values} {self._unit}{at}. {''.join(f'{line}. ' for line in lines)}".rstrip()
        return answer(panel.label, text, "plain" if all(interval_by_arm.values()) else "warn")

    def _picture(self) -> Gallery:
        frame = display.curve_rows(self._panels.intervals, self._scale)
        study, panels = self._study, self._panels
        drawings = [
            display.drawing(f"{study.name}-{number}", panel, panels.rows(frame, panel), study.arms)
            for number, panel in enumerate(panels.panels, 1)
        ]
        has_sizes = frame["size_bytes"].n_unique() > 1
        draw = display.curves_over_size if has_sizes else display.dots
        marks = "bands" if has_sizes else "lines"
        caption = f"Median over launches; {marks} are {{level}} rank intervals."
        figures = draw(drawings, self._quantity, self._quantity, self._unit)
        return Gallery(panels.level.caption(caption), figures)

    def _comparison(self, panel: Panel, contrast: Contrast, size: int) -> Comparison:
        return Comparison(self._study.name, panel.key, contrast, size)

"""The curves of the NetPIPE section: one panel for each toolchain and setting, and its figures.

The figures have the layout of the published one: log-log, one curve for each variant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from roundtrip import units
from roundtrip.content import labels
from roundtrip.content.blocks import Gallery
from roundtrip.content.data import BundleData
from roundtrip.content.plot import Axis, ReferenceLine, View
from roundtrip.measure.columns import setting_number
from roundtrip.stats.summaries import median_intervals
from roundtrip.studies import display, panel
from roundtrip.studies.derivation import ratios_within_launch
from roundtrip.studies.display import INTERVAL_COLUMNS, Drawing
from roundtrip.studies.netpipe import (
    ARMS,
    HALF_ROUND_TRIP,
    METRIC_BY_MODE,
    STUDY,
    Thresholds,
    derived,
    is_pingpong,
)
from roundtrip.studies.panel import CaseRow, Panels
from roundtrip.study import Arm
from roundtrip.units import Unit

_LAUNCH_COLUMNS = ["launch", "case_id"]
_TITLE_BY_MODE = {"pingpong": "Ping-pong", "stream": "Stream", "bidirectional": "Bidirectional"}
_TEXT_BY_BUFFERS = {
    "same": "send and receive share a buffer",
    "no-cache": "each message from memory not used recently",
}


@dataclass(frozen=True, kw_only=True)
class Panel(panel.Panel):
    """One toolchain in one setting; panels with the same text `setting` are shown together."""

    environ: str
    setting: str
    rtt_ms: float | None = None

    @property
    def case(self) -> str:
        """Mode and buffers, as in samples.csv."""
        return self.key[1]

    @property
    def is_pingpong(self) -> bool:
        return is_pingpong(self.case)

    @property
    def sort_key(self) -> tuple[Any, ...]:
        """Sort key of panels: measured before emulated, then ping-pong before other modes."""
        flags = bool(self.emulation_label), not self.is_pingpong
        return *flags, self.rtt_ms or 0.0, self.setting, self.environ, self.key


class NetPIPECurves(Panels[Panel]):
    """The NetPIPE launches of a bundle by panel: medians and intervals over the message size."""

    def __init__(self, data: BundleData) -> None:
        super().__init__(data, STUDY.name)
        self.samples = derived.time_samples(self.samples).filter(pl.col("phase") == "measure")
        self.settings = data.analysis.study_thresholds(Thresholds)
        self.levels = data.analysis.statistics.for_study(STUDY.name)

    def point_series_key(self, panel: Panel, variant: str, size: int) -> str:
        """The key of the history series of a variant at one size, in the metric of its mode."""
        metric = METRIC_BY_MODE.get(panel.case.partition("/")[0], HALF_ROUND_TRIP)
        names = {"variant": variant, "phase": "measure", "metric": metric}
        return self.history_series_key(panel, size, **names)

    @cached_property
    def all_launch_medians(self) -> pl.DataFrame:
        """`derived.launch_medians`, also of undeclared variants, and columns launch, case_id."""
        return derived.launch_medians(self.samples, _LAUNCH_COLUMNS)

    @cached_property
    def launch_values(self) -> pl.DataFrame:
        """The rows of `all_launch_medians` of the study's variants, without those of size 0."""
        is_known = pl.col("variant").is_in(list(ARMS))
        return self.all_launch_medians.filter(is_known & (pl.col("size_bytes") > 0))

    @cached_property
    def measured_arms(self) -> dict[str, Arm]:
        """The study's variants that were measured."""
        variants = set(self.launch_values["variant"])
        return {variant: arm for variant, arm in ARMS.items() if variant in variants}

    @property
    def unknown_variants(self) -> list[str]:
        """Variants in the samples that the study does not declare."""
        return sorted(set(self.all_launch_medians["variant"]) - set(ARMS))

    @cached_property
    def bandwidth_intervals(self) -> pl.DataFrame:
        """Intervals of the bandwidth [MB/s] over launches; columns as of `column_intervals`."""
        return self.column_intervals("bandwidth")

    @cached_property
    def time_intervals(self) -> pl.DataFrame:
        """Intervals of the half round trip [µs] over launches; columns as of `column_intervals`."""
        return self.column_intervals("seconds", 1e6)

    @cached_property
    def statement_ratio_intervals(self) -> pl.DataFrame:
        """Ratios of published statements (variants: short titles); columns: `column_intervals`."""
        ratios = [
            ratios_within_launch(self.launch_values, _LAUNCH_COLUMNS, statement.base)
            .filter(pl.col("variant") == statement.variant)
            .with_columns(variant=pl.lit(statement.short_title))
            for statement in derived.PUBLISHED_STATEMENTS
        ]
        keys = [*self.key_columns, "variant", "size_bytes"]
        return median_intervals(pl.concat(ratios), keys, "ratio", self.level)

    def _panel(self, row: CaseRow) -> Panel:
        place = panel.describe_partition(row)
        mode, _, buffers = row["case"].partition("/")
        exclusions = ("mode", "wan_rtt")  # in `case` and in `emulation_label`
        parameters = sorted(panel.check_parameters(row).items())
        rest = [value for name, value in parameters if name not in exclusions]
        words = [_TITLE_BY_MODE.get(mode, mode), _TEXT_BY_BUFFERS.get(buffers, buffers)]
        titles = (labels.TEXT_BY_PLACEMENT.get(value, value) for value in rest)
        return Panel(
            **self._panel_fields(row),
            setting_clauses=(*words, *titles, place, row["environ"]),
            environ=row["environ"],
            setting=", ".join(filter(None, (*words, *rest, place, row["emulation_label"]))),
            rtt_ms=setting_number(row["emulation"], "wan_rtt_ms"),
        )


_ARM_BY_STATEMENT = {
    statement.short_title: statement.arm for statement in derived.PUBLISHED_STATEMENTS
}
#: Smallest ratio in the first view of ratios, which shows what differs by a few percent.
_MIN_AXIS_RATIO = 0.75


def bandwidth_gallery(name: str, curves: NetPIPECurves, panels: Sequence[Panel]) -> Gallery:
    """A figure for each panel, and for ping-pong the study's; each has a view of the time."""
    published = {
        variant: curve
        for variant in curves.measured_arms
        if panels[0].is_pingpong and (curve := derived.published_curve(variant))
    }
    overlap = (
        " Wide pale lines are raw MPI, thin dark lines Boost.MPI: where they overlap, Boost.MPI "
        "costs nothing."
    )
    study = " The last panel is the study itself (2005), read off the published figure."
    caption = curves.level.fill_caption(
        "Bandwidth over message size, in the layout of the study's figure: log-log, one curve "
        "per variant, median over launches; bands are {level} rank "
        f"intervals.{overlap if len(curves.measured_arms) > 1 else ''} All panels share their "
        f"axes.{study if published else ''}"
    )
    drawings = _panel_drawings(name, curves, curves.bandwidth_intervals, panels, ARMS)
    times = _panel_drawings(name, curves, curves.time_intervals, panels, ARMS)
    if published:
        points = [(arm, *point) for arm, curve in published.items() for point in curve]
        drawings.append(_published_drawing(name, points, ARMS))
        time_points = [(arm, size, size / rate) for arm, size, rate in points]
        times.append(_published_drawing(name, time_points, ARMS))
    x = display.size_scale(drawings)
    decades = display.decade_range([drawing.frame for drawing in times])
    y = Axis("Time of a message", Unit.US, *decades, is_log=True)
    views = {drawing.name: (View("Time", x, y, drawing.curves),) for drawing in times}
    figures = display.curve_figures_over_size(
        drawings,
        "Bandwidth over message size",
        "Bandwidth",
        Unit.MB_S,
        display.decade_range([drawing.frame for drawing in drawings], 1.0),
        extra_views=lambda drawing: views[drawing.name],
    )
    return Gallery(caption, figures)


def ratio_gallery(name: str, curves: NetPIPECurves, panels: Sequence[Panel]) -> Gallery | None:
    """Ratios of the published statements, all on the same axes; None if nothing is compared.

    A figure for each panel, for ping-pong also one of published ratios.  A second view shows all
    ratios on a logarithmic axis.
    """
    ratios = curves.statement_ratio_intervals
    drawings = _panel_drawings(name, curves, ratios, panels, _ARM_BY_STATEMENT)
    drawings = [drawing for drawing in drawings if len(drawing.frame)]
    if not drawings:
        return None
    study = ""
    if panels[0].is_pingpong:
        study = " “The study” is its published figure (2005), read off by eye."
        published = []
        for statement in derived.PUBLISHED_STATEMENTS:
            base = dict(derived.published_curve(statement.base))
            for size, rate in derived.published_curve(statement.variant):
                published.append((statement.short_title, size, rate / base[size]))
        drawings.insert(2, _published_drawing(name, published, _ARM_BY_STATEMENT))
    highest = max(float(drawing.frame["median"].max()) for drawing in drawings)  # type: ignore[arg-type]
    x = display.size_scale(drawings)
    lowest, _ = display.decade_range([drawing.frame for drawing in drawings])
    title, top = "Ratio of bandwidths", min(2.0, max(1.25, 1.05 * highest))
    scales = {
        "Near 1": Axis(title, Unit.RATIO, _MIN_AXIS_RATIO, top, is_log=False),
        "All": Axis(title, Unit.RATIO, lowest, 2.0, is_log=True),
    }
    margin = curves.levels.equivalence_margin
    rules, strip = (ReferenceLine(1.0),), (1 / (1 + margin), 1 + margin)

    def views(drawing: Drawing) -> tuple[View, ...]:
        return tuple(
            View(name_, x, y, drawing.curves, reference_lines=rules, shaded_range=strip, width=260)
            for name_, y in scales.items()
        )

    caption = curves.level.fill_caption(
        "Ratios of bandwidth, paired within launches: 1 is no loss, and the shaded strip is “on "
        f"par”, within {units.percent_text(margin)} of 1; bands are {{level}} rank intervals over "
        f"launches. A curve below {_MIN_AXIS_RATIO:g} is marked ↓; “All” shows it, on a "
        f"logarithmic axis.{study}"
    )
    figures = display.drawing_figures(drawings, "Ratio of bandwidths over message size", views)
    return Gallery(caption, figures)


def _panel_drawings(
    name: str,
    curves: NetPIPECurves,
    frame: pl.DataFrame,
    panels: Sequence[Panel],
    arms: Mapping[str, Arm],
) -> list[Drawing]:
    def subtitle(panel: Panel) -> str:
        return f"{panel.environ}, {panel.launch_count_text}"

    return display.panel_drawings(name, curves, display.curve_rows(frame), arms, panels, subtitle)


def _published_drawing(
    name: str, points: Sequence[tuple[str, int, float]], arms: Mapping[str, Arm]
) -> Drawing:
    """A drawing of published curves, from (arm, bytes, value)."""
    columns = {"arm": pl.String, "x": pl.Int64, **dict.fromkeys(INTERVAL_COLUMNS, pl.Float64)}
    frame = pl.DataFrame([(*point, None, None) for point in points], columns, orient="row")
    return Drawing(
        f"{name}-study",
        "The study: Open MPI 1.1, InfiniBand, 2005",
        "read off the published figure, ±10 %; Mbit/s converted",
        frame,
        arms,
        is_published=True,
    )

"""The curves of the NetPIPE section: one panel for each toolchain and setting, and its figures.

The figures have the layout of the study's: log-log, one curve for each variant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from roundtrip.collect.columns import setting_number
from roundtrip.report import labels, units
from roundtrip.report.blocks import Cell, Figure, Text
from roundtrip.report.data import Data
from roundtrip.report.plot import Rule, Scale, View
from roundtrip.report.units import Level, Unit
from roundtrip.stats.summaries import median_intervals
from roundtrip.studies import display, panel
from roundtrip.studies.derivation import ratios_within_launch
from roundtrip.studies.display import INTERVAL, Drawing
from roundtrip.studies.netpipe import ARMS, STUDY, derived
from roundtrip.studies.panel import Panels, Row
from roundtrip.studies.study import BLUE, ORANGE, PURPLE, TEAL, Arm

_LAUNCH = ["launch", "case_id"]
_BY = ["case_id", "case", "variant", "size_bytes"]
_MODES = {"pingpong": "Ping-pong", "stream": "Stream", "bidirectional": "Bidirectional"}
_BUFFERS = {
    "same": "send and receive share a buffer",
    "no-cache": "each message from memory not touched lately",
}


@dataclass(frozen=True, kw_only=True)
class Panel(panel.Panel):
    """One toolchain in one setting; panels that are shown together have the same `setting`.

    `rtt_ms` is the round-trip time of an emulated WAN.
    """

    environ: str
    setting: str
    rtt_ms: float | None = None

    @property
    def case(self) -> str:
        """Mode and buffers, as in samples.csv."""
        return self.key[1]

    @property
    def is_pingpong(self) -> bool:
        """Whether it measures ping-pong, as the study did."""
        return self.case.startswith("pingpong/")

    @property
    def order(self) -> tuple[Any, ...]:
        """Sort key of panels: measured before emulated, then ping-pong before other modes."""
        flags = bool(self.kind), not self.is_pingpong
        return *flags, self.rtt_ms or 0.0, self.setting, self.environ, self.key


class Curves(Panels[Panel]):
    """The launch medians of a bundle, their intervals and their ratios."""

    def __init__(self, data: Data) -> None:
        super().__init__(data, STUDY.name)
        self.samples = derived.times(self.samples).filter(pl.col("phase") == "measure")

    @cached_property
    def all_medians(self) -> pl.DataFrame:
        """Launch medians of all variants, including those unknown to the study: columns of
        `derived.launch_medians` by launch and case_id.
        """
        return derived.launch_medians(self.samples, _LAUNCH)

    @cached_property
    def values(self) -> pl.DataFrame:
        """Launch medians of the study's variants at sizes above 0; columns of `all_medians`."""
        is_known = pl.col("variant").is_in(list(ARMS))
        return self.all_medians.filter(is_known & (pl.col("size_bytes") > 0))

    @cached_property
    def arms(self) -> dict[str, Arm]:
        """The study's variants that were measured."""
        variants = set(self.values["variant"].unique())
        return {variant: arm for variant, arm in ARMS.items() if variant in variants}

    @property
    def unknown_variants(self) -> list[str]:
        """Variants of the samples that the study does not have."""
        return sorted(set(self.all_medians["variant"].unique()) - set(ARMS))

    @cached_property
    def bandwidth(self) -> pl.DataFrame:
        """Interval of the bandwidth at each point: columns case_id, case, variant, size_bytes;
        median, low and high in MB/s; n.
        """
        return median_intervals(self.values, _BY, "bandwidth", self.level)

    @cached_property
    def seconds(self) -> pl.DataFrame:
        """Interval of the time, s, at each point; columns of `bandwidth`."""
        return median_intervals(self.values, _BY, "seconds", self.level)

    @cached_property
    def statement_ratios(self) -> pl.DataFrame:
        """Interval of the ratio of each of the study's statements at each point: columns of
        `bandwidth`, with the statement's short name as variant.
        """
        ratios = [
            ratios_within_launch(self.values, _LAUNCH, statement.base)
            .filter(pl.col("variant") == statement.variant)
            .with_columns(variant=pl.lit(statement.short))
            for statement in derived.STATEMENTS
        ]
        return median_intervals(pl.concat(ratios), _BY, "ratio", self.level)

    @cached_property
    def latency_tails(self) -> pl.DataFrame:
        """Tails of the latency at 1 byte, over the samples of all launches together: columns
        case_id, case, variant, samples; least, p50, p90 and p99 in seconds.
        """
        value = pl.col("value")
        return (
            self.samples.filter(pl.col("size_bytes") == 1)
            .group_by(*self.key_columns, "variant")
            .agg(
                samples=pl.len().cast(pl.Int64),
                least=value.min(),
                p50=value.quantile(0.50, "higher"),
                p90=value.quantile(0.90, "higher"),
                p99=value.quantile(0.99, "higher"),
            )
            .collect()
        )

    def cell(
        self,
        frame: pl.DataFrame,
        panel: Panel,
        variant: str,
        size: int,
        unit: Unit,
        scale: float = 1.0,
        fallback: Cell = display.NONE,
    ) -> Cell:
        """The interval in `frame` at one point, times `scale`, with the series of its time."""
        interval = self.interval_at(frame, panel, variant=variant, size_bytes=size)
        series = self.series_key(panel, variant, size)
        return display.value(interval, unit, scale, fallback, series=series)

    def series_key(self, panel: Panel, variant: str, size: int) -> str:
        """The series of the time at one point, which gives its bandwidth too, as `Cell.series`."""
        return self.series(panel, size, variant=variant, phase="measure")

    def _panel(self, row: Row) -> Panel:
        case, kind, place = row["case"], row["kind"], panel.place(row)
        mode, _, buffers = case.partition("/")
        exclusions = ("mode", "wan_rtt")  # in `case` and in `kind`
        parameters = sorted(panel.parameters(row).items())
        rest = [str(value) for key, value in parameters if key not in exclusions]
        parts = [_MODES.get(mode, mode), _BUFFERS.get(buffers, buffers), *rest]
        words = [labels.PLACEMENTS.get(value, value) for value in rest]
        setting = ", ".join(part for part in parts if part)
        return Panel(
            key=(row["case_id"], case),
            toolchain=row["toolchain"],
            kind=kind,
            launches=row["launches"],
            facts=(*parts[:2], *words, place, row["environ"]),
            environ=row["environ"],
            setting=f"{setting}, {place}" + (f", {kind}" if kind else ""),
            rtt_ms=setting_number(row["emulation"], "wan_rtt_ms"),
        )


#: A curve for each statement of the study; widths differ, so that overlapping curves are visible.
_STATEMENT_ARMS = dict(
    zip(
        (statement.short for statement in derived.STATEMENTS),
        (
            Arm("Boost.MPI / MPI", BLUE, 6.5, 5),
            Arm("Boost / MPI datatypes", ORANGE, 3.5, 4),
            Arm("MPI datatypes / bytes", TEAL, 1.4),
            Arm("Serialized / MPI", PURPLE),
        ),
        strict=True,
    )
)
#: Least and greatest upper end of an axis of ratios.
_TOPS = (1.25, 2.0)
#: Number of panels before the figure of the study itself.
_STUDY_POSITION = 2
_STUDY_TITLE = (
    "The study: Open MPI 1.1, InfiniBand, 2005",
    derived.PUBLISHED_SOURCE + "; Mbit/s converted",
)


def bandwidth_caption(curves: Curves, *, is_pingpong: bool) -> Text:
    """The caption of the figures of bandwidth; ping-pong has a figure of the study too."""
    overlap = (
        " Wide pale lines are raw MPI, thin dark lines Boost.MPI: where they lie on each other, "
        "the abstraction is free."
        if len(curves.arms) > 1
        else ""
    )
    study = (
        " The last panel is the study itself (2005), read off the published figure."
        if is_pingpong
        else ""
    )
    return curves.level.caption(
        "Bandwidth over message size, in the layout of the study's figure: log-log, one curve a "
        f"variant, median over launches; bands are {{level}} rank intervals.{overlap} All panels "
        f"share their axes.{study}"
    )


def ratio_caption(level: Level, margin: float, *, is_pingpong: bool) -> Text:
    """The caption of the figures of ratios, with intervals at `level`; ping-pong has a figure of
    the study too.
    """
    study = " “The study” is its own figure (2005), read off by eye." if is_pingpong else ""
    return level.caption(
        "Ratios of bandwidth, paired within launches: 1 is no loss, and the shaded strip is “on "
        f"par”, within {units.percent(margin)} of 1; bands are {{level}} rank intervals over "
        f"launches.{study}"
    )


def draw_bandwidth(name: str, curves: Curves, panels: Sequence[Panel]) -> tuple[Figure, ...]:
    """One figure for each panel, then for ping-pong the study's own; all with the same axes, and
    with the arms that were measured.

    A second view shows the time instead of the bandwidth.
    """
    seconds = curves.seconds.with_columns(pl.col(*INTERVAL) * 1e6)
    drawings = _drawings(name, curves, curves.bandwidth, panels, ARMS)
    times = _drawings(name, curves, seconds, panels, ARMS)
    if panels[0].is_pingpong:
        rates = {variant: derived.published_curve(variant) for variant in curves.arms}
        waits = {variant: [(n, n / rate) for n, rate in curve] for variant, curve in rates.items()}
        drawings.append(_study(f"{name}-study", rates, ARMS))
        times.append(_study(f"{name}-study", waits, ARMS))
    domain = display.decades([drawing.frame for drawing in drawings], 1.0)
    x, decades = display.size_scale(drawings), display.decades([drawing.frame for drawing in times])
    y = Scale("Time of a message", Unit.US, *decades, is_log=True)
    views = {drawing.name: (View("Time", x, y, drawing.curves),) for drawing in times}
    return display.curves_over_size(
        drawings,
        "Bandwidth over message size",
        "Bandwidth",
        Unit.MB_S,
        domain,
        extra_views=lambda drawing: views[drawing.name],
    )


def draw_ratio(
    name: str, curves: Curves, panels: Sequence[Panel], margin: float
) -> tuple[Figure, ...]:
    """The ratios of the study's statements: a figure for each panel, for ping-pong also one of
    the study, all with the same axes; () if nothing is compared.
    """
    drawings = [
        drawing
        for drawing in _drawings(name, curves, curves.statement_ratios, panels, _STATEMENT_ARMS)
        if len(drawing.frame)
    ]
    if not drawings:
        return ()
    if panels[0].is_pingpong:
        ratios = {
            statement.short: derived.published_ratios(statement) for statement in derived.STATEMENTS
        }
        drawings.insert(_STUDY_POSITION, _study(f"{name}-study", ratios, _STATEMENT_ARMS))
    highest = max(float(drawing.frame["median"].max()) for drawing in drawings)  # type: ignore[arg-type]
    top = min(_TOPS[1], max(_TOPS[0], 1.05 * highest))
    x, y = (
        display.size_scale(drawings),
        Scale("Ratio of bandwidths", Unit.RATIO, 0.0, top, is_log=False),
    )
    strip = 1 / (1 + margin), 1 + margin

    def views(drawing: Drawing) -> tuple[View, ...]:
        return (View("Ratio", x, y, drawing.curves, rules=(Rule(1.0),), strip=strip, width=260),)

    return display.panel_figures(drawings, "Ratio of bandwidths over message size", views)


def _drawings(
    name: str,
    curves: Curves,
    frame: pl.DataFrame,
    panels: Sequence[Panel],
    arms: Mapping[str, Arm],
) -> list[Drawing]:
    rows = display.curve_rows(frame)
    return [
        display.drawing(
            f"{name}-{number}",
            panel,
            curves.rows(rows, panel),
            arms,
            f"{panel.environ}, {panel.launch_count_text}",
        )
        for number, panel in enumerate(panels, 1)
    ]


def _study(
    name: str, points: Mapping[str, Sequence[tuple[int, float]]], arms: Mapping[str, Arm]
) -> Drawing:
    """The study's own curves, from (bytes, value) of each arm."""
    rows = [
        {"median": value, "arm": arm, "x": size}
        for arm, values in points.items()
        for size, value in values
    ]
    interval = dict.fromkeys(INTERVAL, pl.Float64)
    frame = pl.DataFrame(rows, schema={**interval, "arm": pl.String, "x": pl.Int64})
    return Drawing(name, *_STUDY_TITLE, frame, arms, is_published=True)

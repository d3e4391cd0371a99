"""The curves of the NetPIPE section: one panel for each toolchain and setting, and its figures.

The figures are laid out like the study's: log-log, one curve a variant.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from roundtrip.studies.derivation import within_launch
from roundtrip.studies.display import INTERVAL, Drawing
from roundtrip.studies.netpipe import ARMS, BASE, STUDY, derived
from roundtrip.studies.panel import Panels, Row

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
        """Whether it measures what the study measured."""
        return self.case.startswith("pingpong/")

    @property
    def order(self) -> tuple[Any, ...]:
        """Measured before emulated, and what the study measured before other modes."""
        measured_first = bool(self.kind), not self.is_pingpong
        return *measured_first, self.rtt_ms or 0.0, self.setting, self.environ, self.key


class Curves(Panels[Panel]):
    """Launch medians of a bundle, and what follows from them."""

    def __init__(self, data: Data) -> None:
        super().__init__(data, STUDY.name)
        self.samples = derived.times(self.samples).filter(pl.col("phase") == "measure")

    @cached_property
    def everything(self) -> pl.DataFrame:
        """Launch medians of all variants, those unknown to the study included: columns as of
        `derived.launch_medians` by launch and case_id.
        """
        return derived.launch_medians(self.samples, _LAUNCH)

    @cached_property
    def values(self) -> pl.DataFrame:
        """Launch medians of the study's variants at sizes above 0; columns of `everything`."""
        known = pl.col("variant").is_in(list(ARMS))
        return self.everything.filter(known & (pl.col("size_bytes") > 0))

    @property
    def unknown_variants(self) -> list[str]:
        """Variants that the samples have and the study does not."""
        return sorted(set(self.everything["variant"].unique()) - set(ARMS))

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
    def ratio(self) -> pl.DataFrame:
        """Interval of the ratio to raw MPI at each point; columns of `bandwidth`."""
        ratios = within_launch(self.values, _LAUNCH, BASE)
        return median_intervals(ratios, _BY, "ratio", self.level)

    @cached_property
    def first_byte(self) -> pl.DataFrame:
        """Tails of the latency over the samples at 1 byte of all launches together: columns
        case_id, case, variant, samples; least, p50, p90 and p99 in seconds.
        """
        value = pl.col("value")
        return (
            self.samples.filter(pl.col("size_bytes") == 1)
            .group_by(*self.by, "variant")
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
        otherwise: Cell = display.NONE,
    ) -> Cell:
        """The interval in `frame` at one point, times `scale`, with the series of its time."""
        interval = self.at(frame, panel, variant=variant, size_bytes=size)
        series = self.series_key(panel, variant, size)
        return display.value(interval, unit, scale, otherwise, series=series)

    def series_key(self, panel: Panel, variant: str, size: int) -> str:
        """The series of the time at one point, from which its bandwidth follows: `Cell.series`."""
        return self.series(panel, size, variant=variant, phase="measure")

    def _panel(self, row: Row) -> Panel:
        case, kind, place = row["case"], row["kind"], panel.place(row)
        mode, _, buffers = case.partition("/")
        known = ("mode", "wan_rtt")  # by the case, and as `kind`
        parameters = sorted(panel.parameters(row).items())
        rest = [str(value) for key, value in parameters if key not in known]
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


_NEAR = (0.75, 1.25)
_STUDY_TITLE = (
    "The study: Open MPI 1.1, InfiniBand, 2005",
    derived.PUBLISHED_SOURCE + "; Mbit/s converted",
)


def bandwidth_caption(level: Level) -> Text:
    """What the figures of bandwidth show, with intervals at `level`."""
    return level.within(
        "Bandwidth over message size, in the layout of the study's figure: log-log, one curve a "
        "variant, median over launches; bands are {level} rank intervals. Wide pale lines are "
        "raw MPI, thin dark lines Boost.MPI: where they lie on each other, the abstraction is "
        "free. All panels share their axes. The last panel is the study itself (2005), read off "
        "the published figure."
    )


def ratio_caption(level: Level, margin: float) -> Text:
    """What the ratio figures show, with intervals at `level`."""
    return level.within(
        "Bandwidth of each variant over that of raw MPI, paired within launches; bands are "
        "{level} rank intervals over launches. The shaded strip is “on par”, within "
        f"{units.percent(margin)} of 1. The axis shows what is close to 1: a curve that leaves it "
        "is marked ↓ or ↑, and a logarithmic axis, where a script runs, shows its whole range."
    )


def draw_bandwidth(
    name: str, curves: Curves, panels: Sequence[Panel], margin: float
) -> tuple[Figure, ...]:
    """One figure for each panel, and the study's own last; all with the same axes.

    A script offers the ratio to raw MPI in place of the bandwidth.
    """
    drawings = _drawings(name, curves, curves.bandwidth, panels)
    known = [one for one in _drawings(name, curves, curves.ratio, panels) if len(one.frame)]
    ratios = {one.name: view for one, view in zip(known, _ratio_views(known, margin), strict=True)}
    if panels[0].is_pingpong:
        drawings.append(Drawing(f"{name}-study", *_STUDY_TITLE, _study(), ARMS, is_published=True))
    domain = display.decades([one.frame for one in drawings], 1.0)

    def ratio_view(one: Drawing) -> tuple[View, ...]:
        return (ratios[one.name],) if one.name in ratios else ()

    return display.over_size(
        drawings, "Bandwidth over message size", "Bandwidth", Unit.MB_S, domain, more=ratio_view
    )


def draw_ratio(
    name: str, curves: Curves, panels: Sequence[Panel], margin: float
) -> tuple[Figure, ...]:
    """Ratio to raw MPI, one figure a panel; all with the same axes."""
    drawings = _drawings(name, curves, curves.ratio, panels)
    views = {
        one.name: view for one, view in zip(drawings, _ratio_views(drawings, margin), strict=True)
    }
    return display.each_panel(
        drawings, "Ratio to raw MPI over message size", lambda one: (views[one.name],)
    )


def _ratio_views(drawings: Sequence[Drawing], margin: float) -> list[View]:
    """Ratios close to 1; on a logarithmic axis the whole range of all drawings."""
    if not drawings:
        return []
    whole = display.decades([each.frame for each in drawings], 1.0)
    y = Scale("Ratio to raw MPI", Unit.RATIO, *_NEAR, is_log=False, otherwise=whole)
    x, strip = display.sizes(drawings), (1 / (1 + margin), 1 + margin)
    return [View("Ratio", x, y, one.curves, rules=(Rule(1.0),), strip=strip) for one in drawings]


def _drawings(
    name: str, curves: Curves, frame: pl.DataFrame, panels: Sequence[Panel]
) -> list[Drawing]:
    rows = display.curve_rows(frame)
    return [
        display.drawing(
            f"{name}-{number}",
            panel,
            curves.rows(rows, panel),
            ARMS,
            f"{panel.environ}, {panel.counted}",
        )
        for number, panel in enumerate(panels, 1)
    ]


def _study() -> pl.DataFrame:
    rows = [
        {"median": rate, "arm": variant, "x": size}
        for variant in ARMS
        for size, rate in derived.published_curve(variant)
    ]
    interval = dict.fromkeys(INTERVAL, pl.Float64)
    return pl.DataFrame(rows, schema={**interval, "arm": pl.String, "x": pl.Int64})

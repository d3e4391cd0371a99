"""Data and figures of the DDTBench section; a panel is a toolchain, placement and memory state.

The figures of each panel: packing overhead, as published, and the epochs of a round trip.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from roundtrip import units
from roundtrip.content.blocks import Figure, Gallery
from roundtrip.content.data import BundleData
from roundtrip.content.plot import Axis, Curve, CurvePoint, Plot, ReferenceLine, View, curve_points
from roundtrip.stats.summaries import median_intervals
from roundtrip.studies import display, panel
from roundtrip.studies.ddtbench import (
    ARMS,
    BUFFER_STATES,
    DDT,
    MANUAL,
    MANUAL_TUNED,
    MICRO_APPS,
    PACK_DDT,
    PACKING_METHODS,
    PUBLISHED_APP,
    REFERENCE,
    STUDY,
    derived,
)
from roundtrip.studies.derivation import largest_message_rows
from roundtrip.studies.display import INTERVAL_COLUMNS, Drawing
from roundtrip.studies.panel import CaseRow, Panels
from roundtrip.study import BLUE, TEAL
from roundtrip.units import Unit

_LAUNCH_COLUMNS = ["launch", "case_id", "panel"]
_POINT_COLUMNS = ["panel", "buffers", "app", "size_bytes", "variant"]
_TITLE_BY_PLACEMENT = {"shared-memory": "in one node", "one-per-node": "two nodes"}


@dataclass(frozen=True, kw_only=True)
class Panel(panel.Panel):
    """A toolchain in a placement, with a state of memory; it counts the launches of the micro-app
    that has the fewest."""

    @property
    def buffer_state(self) -> str:
        """The state of memory: a key of `BUFFER_STATES`."""
        return self.key[1]

    @property
    def sort_key(self) -> tuple[Any, ...]:
        """Sort key of panels: the published state of memory first."""
        return list(BUFFER_STATES).index(self.buffer_state), self.emulation_label, self.title


class DDTBenchData(Panels[Panel]):
    """The DDTBench launches of a bundle by panel, and their values."""

    key_columns = ("panel", "buffers")

    def __init__(self, data: BundleData) -> None:
        super().__init__(data, STUDY.name)
        key = ["system", "partition", "environ", "placement", "emulation_label"]
        self.launches = self.launches.with_columns(panel=pl.concat_str(key, separator="|"))
        self.samples = self.samples.join(self.launches.select("launch", "panel").lazy(), "launch")

    @cached_property
    def launch_values(self) -> pl.DataFrame:
        """`derived.launch_medians`, with columns launch, case_id and panel."""
        return derived.launch_medians(self.samples, _LAUNCH_COLUMNS)

    @cached_property
    def creation_intervals(self) -> pl.DataFrame:
        """Intervals of `derived.CREATION_EPOCHS`: columns panel, buffers, app, size_bytes, variant,
        phase; median, low, high [s]; n."""
        times = derived.creation_medians(self.samples, _LAUNCH_COLUMNS)
        return median_intervals(times, [*_POINT_COLUMNS, "phase"], "seconds", self.level)

    @cached_property
    def overhead_intervals(self) -> pl.DataFrame:
        """Interval of the overhead at each point of each panel: columns panel, buffers, app,
        size_bytes, variant; median, low and high as fractions; n.
        """
        is_packing = pl.col("variant").is_in(PACKING_METHODS)
        rows = self.launch_values.filter(is_packing & pl.col("overhead").is_not_null())
        return median_intervals(rows, _POINT_COLUMNS, "overhead", self.level)

    @cached_property
    def round_trip_intervals(self) -> pl.DataFrame:
        """Intervals of the round trip of all methods [s]; columns as of `overhead_intervals`."""
        return median_intervals(self.launch_values, _POINT_COLUMNS, "round_trip", self.level)

    def largest_message_rows(self, frame: pl.DataFrame, panel: Panel) -> pl.DataFrame:
        """The rows of `panel` with each micro-app's largest message, in the published order;
        all columns of `frame`, which needs app, size_bytes and variant.
        """
        rows = largest_message_rows(self.panel_rows(frame, panel), ["app"])
        numbers = dict(zip(MICRO_APPS, range(len(MICRO_APPS)), strict=True))
        order = pl.col("app").replace_strict(numbers, default=len(MICRO_APPS))
        return rows.sort(order, "app", "variant")

    def example_rows(self, panel: Panel) -> pl.DataFrame:
        """The rows of `overhead_intervals` of `PUBLISHED_APP` at its largest message."""
        return self.largest_message_rows(self.overhead_intervals, panel).filter(app=PUBLISHED_APP)

    def datatype_gains(self, panel: Panel, base: str) -> dict[tuple[str, int], list[float]]:
        """Gains of each launch at each micro-app's largest message, by (app, size in bytes)."""
        values = self.panel_rows(self.launch_values, panel)
        gains = derived.datatype_gains(values, _LAUNCH_COLUMNS, base)
        largest = largest_message_rows(gains, ["app"])
        groups = largest.group_by("app", "size_bytes").agg("ratio")
        return {(app, size): ratios for app, size, ratios in groups.sort("app").iter_rows()}

    def series_key(
        self,
        panel: Panel,
        app: str,
        size: int,
        variant: str = DDT,
        phase: str = derived.COMMUNICATION_EPOCH,
    ) -> str:
        """The key of the history series of one epoch of a method."""
        case = f"{app}/{panel.buffer_state}"
        return self.history_series_key(panel, size, case=case, variant=variant, phase=phase)

    @cached_property
    def refused_calls(self) -> pl.DataFrame:
        """Legal calls that an MPI library refused, once for each toolchain, with masked addresses.

        Columns: toolchain, mpi_library, finding_call, finding_error, methods (affected micro-apps
        and methods), finding_consequence; sorted.
        """
        finding = ["finding_call", "finding_error", "finding_consequence"]
        keys = ["toolchain", "mpi_library", *finding]
        app = pl.col("case").str.split("/").list.first()
        rows = self.points.drop_nulls(finding).join(self.launches, on="launch")
        return (
            rows.with_columns(
                pl.col("mpi_library").fill_null(""),
                pl.col("finding_error").str.replace_all("0x[0-9a-f]+", "0x…"),
                methods=pl.concat_str(app, "variant", separator=" "),
            )
            .group_by(keys)
            .agg(pl.col("methods").unique().sort().str.join(", "))
            .sort(keys)
            .select(*keys[:4], "methods", "finding_consequence")
        )

    def _row_per_panel(self) -> pl.DataFrame:
        counts = (
            self.launch_values.group_by("panel", "buffers", "app")
            .agg(launch_count=pl.col("launch").n_unique().cast(pl.Int64))
            .group_by("panel", "buffers")
            .agg(pl.col("launch_count").min())
        )
        return counts.join(self.launches.unique("panel", keep="first"), on="panel")

    def _panel(self, row: CaseRow) -> Panel:
        where = str(_TITLE_BY_PLACEMENT.get(row["placement"], row["placement"]))
        return Panel(**self._panel_fields(row), placement_text=where)


_COLOUR_BY_EPOCH = {"pack": BLUE, "communication": ("#b6bfca", "#4a5563"), "unpack": TEAL}
_SHORT_NAME_BY_METHOD = {
    MANUAL: "by hand",
    MANUAL_TUNED: "by hand, tuned",
    DDT: "datatypes",
    PACK_DDT: "MPI_Pack",
    REFERENCE: "contiguous",
}
#: Where the axis of overheads ends, in percent: values far below 0 would squeeze the others.
_MIN_DRAWN_OVERHEAD_PERCENT = -60.0
#: Name of the row of the study's own example, below our row.
_PUBLISHED_ROW_NAME = f"{PUBLISHED_APP}, study 2012"


def overhead_gallery(data: DDTBenchData, panels: Sequence[Panel]) -> Gallery:
    """A figure for each panel and the published values of `PUBLISHED_APP`, in two views: packing by
    hand and datatypes, and all methods."""
    caption = data.level.fill_caption(
        "Packing overhead in % of the round trip for each micro-app's largest message, as in the "
        "study's figure: median over launches, lines are {level} rank intervals. Below 0 the "
        "method was faster than the network with a buffer packed by hand. The axis ends at "
        f"{units.pure_number(_MIN_DRAWN_OVERHEAD_PERCENT, 2)} %, and triangles mark lower values. "
        "The row below ours has the two values that the study printed."
    )
    arms = {name: ARMS[name] for name in PACKING_METHODS}
    drawings = [
        display.panel_drawing(
            f"ddtbench-{panel.buffer_state}-{number}",
            panel,
            data.largest_message_rows(data.overhead_intervals, panel).select(
                pl.col(*INTERVAL_COLUMNS) * 100, "n", "app", arm="variant"
            ),
            arms,
            _panel_subtitle(panel),
        )
        for number, panel in enumerate(panels, 1)
    ]
    values = pl.concat([drawing.frame.select(INTERVAL_COLUMNS) for drawing in drawings])
    study = dict(zip((MANUAL, DDT), derived.PUBLISHED_NAS_LU_X_OVERHEADS, strict=True))
    low = max(_MIN_DRAWN_OVERHEAD_PERCENT, min(0.0, values.min().min_horizontal().item()))
    high = max(100.0 * study[MANUAL], values.max().max_horizontal().item())
    edge = 0.03 * (high - low)  # so that no dot is cut off
    title = "Overhead ({} of the round trip)"
    scale = Axis(
        title, Unit.PERCENT, max(_MIN_DRAWN_OVERHEAD_PERCENT, low - edge), high + edge, is_log=False
    )

    def views(drawing: Drawing) -> tuple[View, ...]:
        apps, frame = drawing.frame["app"].unique(maintain_order=True).to_list(), drawing.frame
        joined_rows: frozenset[int] = frozenset()
        if PUBLISHED_APP in apps:
            joined_rows = frozenset({apps.index(PUBLISHED_APP) + 1})
            apps.insert(apps.index(PUBLISHED_APP) + 1, _PUBLISHED_ROW_NAME)
            rows = [
                {"app": _PUBLISHED_ROW_NAME, "arm": arm, "median": 100 * part}
                for arm, part in study.items()
            ]
            frame = pl.concat([frame, pl.DataFrame(rows, schema=frame.schema)])
        return tuple(
            View(
                name,
                scale,
                None,
                _method_curves(frame, apps, methods),
                tuple(apps),
                (ReferenceLine(0.0),),
                bracketed_rows=joined_rows,
            )
            for name, methods in (
                ("By hand and datatypes", (MANUAL, DDT)),
                ("All methods", drawing.visible_arms),
            )
        )

    figures = display.drawing_figures(drawings, "Packing overhead of each micro-app", views)
    return Gallery(caption, figures)


def time_gallery(data: DDTBenchData, panels: Sequence[Panel]) -> Gallery:
    """One figure for each panel: its epochs, and a view of each time."""
    caption = data.level.fill_caption(
        "The parts of a round trip: median of each epoch on rank 0, then over launches, for each "
        "micro-app's largest message, in % of that micro-app's slowest method; beside each "
        "method, their sum in µs. Thin lines are {level} rank intervals of the whole round trip. "
        "The other rank's unpacking and packing are part of communication."
    )
    figures = tuple(
        Figure(
            f"ddtbench-{panel.buffer_state}-time-{number}",
            f"Time of a round trip by epoch: {panel.title}",
            Plot(panel.title, _panel_subtitle(panel), _time_views(data, panel)),
        )
        for number, panel in enumerate(panels, 1)
    )
    return Gallery(caption, figures)


def _panel_subtitle(panel: Panel) -> str:
    return f"{panel.launch_count_text} of each micro-app, {BUFFER_STATES[panel.buffer_state]}"


def _method_curves(
    frame: pl.DataFrame, apps: Sequence[str], methods: Collection[str]
) -> tuple[Curve, ...]:
    """A curve for each of `methods`, with a row for each app, from a `Drawing`'s rows with app."""
    numbers = {app: number for number, app in enumerate(apps)}
    rows = frame.with_columns(row=pl.col("app").replace_strict(numbers))
    return tuple(
        Curve(
            arm.title, arm.colour, curve_points(rows.filter(arm=name).iter_rows(named=True), "row")
        )
        for name, arm in ARMS.items()
        if name in methods
    )


def _time_views(data: DDTBenchData, panel: Panel) -> tuple[View, ...]:
    """A view of all epochs, of the round trip of each method, and of each epoch that takes time."""
    frames = {"Round trip": data.largest_message_rows(data.round_trip_intervals, panel)}
    values = data.largest_message_rows(data.launch_values, panel)
    for epoch in _COLOUR_BY_EPOCH:
        rows = values.filter(pl.col(epoch) > 0)
        frames[epoch.capitalize()] = median_intervals(rows, ["app", "variant"], epoch, data.level)
    frames_in_us = {
        name: frame.select("app", pl.col(*INTERVAL_COLUMNS) * 1e6, "n", arm="variant")
        for name, frame in frames.items()
        if frame.height
    }
    apps = frames_in_us["Round trip"]["app"].unique(maintain_order=True).to_list()
    low, high = display.decade_range(list(frames_in_us.values()))
    views = [_epoch_view(data, panel)]
    for name, frame in frames_in_us.items():
        scale = Axis(name, Unit.US, low, high, is_log=True)
        curves = _method_curves(frame, apps, set(frame["arm"]))
        views.append(View(name, scale, None, curves, tuple(apps)))
    return tuple(views)


def _epoch_view(data: DDTBenchData, panel: Panel) -> View:
    """A bar of epochs for each method of a micro-app, in % of that micro-app's slowest method.

    The interval at the first epoch is that of the whole round trip.
    """
    keys = ["app", "variant"]
    trips = data.largest_message_rows(data.round_trip_intervals, panel)
    ends = trips.select(*keys, pl.col("low", "high") * 1e6)
    values = data.largest_message_rows(data.launch_values, panel)
    epochs = values.group_by(keys, maintain_order=True)
    times = epochs.agg(pl.col(*_COLOUR_BY_EPOCH).median() * 1e6)
    sums = times.with_columns(total=pl.sum_horizontal(*_COLOUR_BY_EPOCH))
    medians = sums.join(ends, on=keys, how="left", maintain_order="left")
    names: list[str] = []
    heads: set[int] = set()
    bars_by_epoch: dict[str, list[CurvePoint]] = {epoch: [] for epoch in _COLOUR_BY_EPOCH}
    widest, order = 100.0, list(_SHORT_NAME_BY_METHOD)
    for (app,), methods in medians.group_by("app", maintain_order=True):
        heads.add(len(names))
        names.append(str(app))
        slowest: float = methods.select(pl.col("total").max()).item()
        for row in sorted(methods.to_dicts(), key=lambda row: order.index(row["variant"])):
            low, high = (
                None if row[end] is None else 100 * row[end] / slowest for end in ("low", "high")
            )
            for epoch, bars in bars_by_epoch.items():
                interval = (low, high) if epoch == "pack" else (None, None)
                bars.append((len(names), 100 * row[epoch] / slowest, *interval, None))
            widest = max(widest, high or 0.0)
            names.append(
                f"{_SHORT_NAME_BY_METHOD[row['variant']]}, {units.amount(row['total'], Unit.US)}"
            )
    curves = tuple(
        Curve(epoch, _COLOUR_BY_EPOCH[epoch], tuple(bars)) for epoch, bars in bars_by_epoch.items()
    )
    title = "Time ({} of the slowest method)"
    scale = Axis(title, Unit.PERCENT, 0.0, 1.02 * widest, is_log=False)
    return View(
        "Epochs", scale, None, curves, tuple(names), is_stacked=True, header_rows=frozenset(heads)
    )

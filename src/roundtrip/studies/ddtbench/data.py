"""Data and figures of the DDTBench section; a panel is a toolchain, placement and memory state.

The figures of each panel: packing overhead, as in the study, and the epochs of a round trip.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import Figure, Text
from roundtrip.report.data import Data
from roundtrip.report.plot import Curve, Point, Rule, Scale, View, points
from roundtrip.report.units import Level, Unit
from roundtrip.stats.summaries import median_intervals
from roundtrip.studies import display, panel
from roundtrip.studies.ddtbench import (
    APPS,
    ARMS,
    BUFFERS,
    DDT,
    EXAMPLE,
    MANUAL,
    PACK_DDT,
    PACKING_METHODS,
    REFERENCE,
    STUDY,
    TUNED,
    derived,
)
from roundtrip.studies.display import INTERVAL, Drawing
from roundtrip.studies.panel import Panels, Row
from roundtrip.studies.study import BLUE, TEAL, Arm

_LAUNCH = ["launch", "case_id", "panel"]
_BY = ["panel", "buffers", "app", "size_bytes", "variant"]
_ADDRESS = re.compile(r"0x[0-9a-f]+")
_PLACEMENTS = {"shared-memory": "in one node", "one-per-node": "two nodes"}


@dataclass(frozen=True, kw_only=True)
class Panel(panel.Panel):
    """A toolchain in a placement, with a state of memory between exchanges.

    `launches` is the smallest number of launches of a micro-app.
    """

    @property
    def buffers(self) -> str:
        """The state of memory: a key of `BUFFERS`."""
        return self.key[1]

    @property
    def order(self) -> tuple[Any, ...]:
        """Sort key of panels: the study's own state of memory first."""
        return list(BUFFERS).index(self.buffers), self.kind, self.label


@dataclass(frozen=True)
class Refusal:
    """A legal call that an MPI library refused, and the affected micro-apps and methods."""

    toolchain: str
    library: str
    call: str
    error: str
    consequence: str
    methods: tuple[str, ...]


class DdtData(Panels[Panel]):
    """The panels of a bundle, and the figures of its launches."""

    key_columns = ("panel", "buffers")

    def __init__(self, data: Data) -> None:
        super().__init__(data, STUDY.name)
        key = ["system", "partition", "environ", "placement", "kind"]
        self.launches = self.launches.with_columns(panel=pl.concat_str(key, separator="|"))
        self.samples = self.samples.join(self.launches.select("launch", "panel").lazy(), "launch")

    @cached_property
    def values(self) -> pl.DataFrame:
        """The columns of `derived.launch_figures`, by launch, case_id and panel."""
        return derived.launch_figures(self.samples, _LAUNCH)

    @cached_property
    def creations(self) -> pl.DataFrame:
        """Interval of the time of each epoch of `derived.CREATION` at each point: columns panel,
        buffers, app, size_bytes, variant, phase; median, low and high in seconds; n.
        """
        times = derived.creations(self.samples, _LAUNCH)
        return median_intervals(times, [*_BY, "phase"], "seconds", self.level)

    @cached_property
    def overheads(self) -> pl.DataFrame:
        """Interval of the overhead at each point of each panel: columns panel, buffers, app,
        size_bytes, variant; median, low and high as fractions; n.
        """
        rows = self.values.filter(pl.col("overhead").is_not_null())
        packing_rows = rows.filter(pl.col("variant").is_in(PACKING_METHODS))
        return median_intervals(packing_rows, _BY, "overhead", self.level)

    @cached_property
    def round_trips(self) -> pl.DataFrame:
        """Interval of the round trip of all methods, in seconds; columns of `overheads`."""
        return median_intervals(self.values, _BY, "round_trip", self.level)

    def largest_messages(self, frame: pl.DataFrame, panel: Panel) -> pl.DataFrame:
        """The rows of `panel` with each micro-app's largest message, in the study's order; all
        columns of `frame`, which needs app, size_bytes and variant.
        """
        rows = self.rows(frame, panel)
        top = rows.filter(pl.col("size_bytes") == pl.col("size_bytes").max().over("app"))
        order = pl.col("app").replace_strict(
            {app: i for i, app in enumerate(APPS)}, default=len(APPS)
        )
        return top.sort(order, "app", "variant")

    def gains(self, panel: Panel, base: str = MANUAL) -> dict[tuple[str, int], list[float]]:
        """Round trip by hand over that with datatypes, one per launch, by (app, size in bytes)."""
        gains = derived.gains(self.rows(self.values, panel), _LAUNCH, base)
        groups = gains.group_by("app", "size_bytes").agg("ratio").sort("app", "size_bytes")
        return {(app, size): ratios for app, size, ratios in groups.iter_rows()}

    def series_key(self, panel: Panel, app: str, size: int, variant: str, phase: str) -> str:
        """The series of one epoch of a method, as `Cell.series`."""
        case = f"{app}/{panel.buffers}"
        return self.series(panel, size, case=case, variant=variant, phase=phase)

    def datatype_series(self, panel: Panel, app: str, size: int) -> str:
        """The series of the round trip with datatypes, as `Cell.series`."""
        return self.series_key(panel, app, size, DDT, derived.UNPACKED)

    @cached_property
    def refusals(self) -> tuple[Refusal, ...]:
        """All refusals, once for each toolchain; addresses, which differ by launch, are masked."""
        methods_by_key: dict[tuple[str, str, str, str, str], set[str]] = {}
        finding = ["finding_call", "finding_error", "finding_consequence"]
        rows = self.points.drop_nulls(finding).join(self.launches, on="launch")
        columns = ["toolchain", pl.col("mpi_library").fill_null(""), *finding, "case", "variant"]
        for *fact, case, variant in rows.select(columns).iter_rows():
            toolchain, library, call, error, consequence = fact
            key = (toolchain, library, call, _ADDRESS.sub("0x…", error), consequence)
            methods_by_key.setdefault(key, set()).add(f"{case.split('/')[0]} {variant}")
        return tuple(
            Refusal(*key, tuple(sorted(methods_by_key[key]))) for key in sorted(methods_by_key)
        )

    def _panel_rows(self) -> pl.DataFrame:
        counts = (
            self.values.group_by("panel", "buffers", "app")
            .agg(launches=pl.col("launch").n_unique().cast(pl.Int64))
            .group_by("panel", "buffers")
            .agg(pl.col("launches").min())
        )
        return counts.join(self.launches.unique("panel", keep="first"), on="panel")

    def _panel(self, row: Row) -> Panel:
        return Panel(
            key=(row["panel"], row["buffers"]),
            toolchain=row["toolchain"],
            where=str(_PLACEMENTS.get(row["placement"], row["placement"])),
            kind=row["kind"],
            launches=row["launches"],
        )


def overhead_caption(level: Level) -> Text:
    """The caption of the figures of overheads, with intervals at `level`."""
    return level.caption(
        "Packing overhead in % of the round trip for each micro-app's largest message, as in the "
        "study's figure: median over launches, lines are {level} rank intervals. Below 0 the "
        "method was faster than the network was for a buffer packed by hand. The study printed "
        "two values, which stand in a row of their own."
    )


def time_caption(level: Level) -> Text:
    """The caption of the figures of times, with intervals at `level`."""
    return level.caption(
        "Where a round trip goes: median of each epoch on rank 0, then over launches, for each "
        "micro-app's largest message, in % of that micro-app's slowest method; beside each "
        "method, the three together in µs. Thin lines are {level} rank intervals of the whole "
        "round trip. The other rank's unpacking and packing are part of communication."
    )


_METHODS = {name: ARMS[name] for name in PACKING_METHODS}
_EPOCHS = {
    "pack": Arm("pack", BLUE),
    "communication": Arm("communication", ("#b6bfca", "#4a5563")),
    "unpack": Arm("unpack", TEAL),
}
_SHORT = {
    MANUAL: "by hand",
    TUNED: "by hand, tuned",
    DDT: "datatypes",
    PACK_DDT: "MPI_Pack",
    REFERENCE: "contiguous",
}


def draw_overhead(data: DdtData, panels: Sequence[Panel]) -> tuple[Figure, ...]:
    """One figure for each panel, with the study's own example: a view of packing by hand and of
    datatypes, and a view of all methods.
    """
    drawings = [
        _drawing(f"ddtbench-{panel.buffers}-{number}", panel, _percent(data, panel), _METHODS)
        for number, panel in enumerate(panels, 1)
    ]
    values = pl.concat([drawing.frame.select(INTERVAL) for drawing in drawings])
    low = min(0.0, values.min().min_horizontal().item())
    high = max(100.0 * derived.PUBLISHED_NAS_LU_X[0], values.max().max_horizontal().item())
    edge = 0.03 * (high - low)  # so that no dot is cut off
    title = "Overhead ({} of the round trip)"
    scale = Scale(title, Unit.PERCENT, low - edge, high + edge, is_log=False)

    def views(drawing: Drawing) -> tuple[View, ...]:
        apps, frame = drawing.frame["app"].unique(maintain_order=True).to_list(), drawing.frame
        if EXAMPLE in apps:
            apps.insert(apps.index(EXAMPLE) + 1, _STUDY)
            frame = pl.concat([frame, _study(frame.schema)])
        pair = {name: _METHODS[name] for name in (MANUAL, DDT)}
        return tuple(
            View(name, scale, None, _by_app(frame, apps, arms), tuple(apps), (Rule(0.0),))
            for name, arms in (
                ("By hand and datatypes", pair),
                ("All methods", drawing.visible_arms),
            )
        )

    return display.panel_figures(drawings, "Packing overhead of each micro-app", views)


#: Name of the row of the study's own example, below our row.
_STUDY = "the study, 2012"


def _study(schema: pl.Schema) -> pl.DataFrame:
    """The study's own example as rows of `schema`."""
    parts = zip((MANUAL, DDT), derived.PUBLISHED_NAS_LU_X, strict=True)
    rows = [{"app": _STUDY, "arm": arm, "median": 100 * part} for arm, part in parts]
    return pl.DataFrame(rows, schema=schema)


def draw_time(data: DdtData, panels: Sequence[Panel]) -> tuple[Figure, ...]:
    """One figure for each panel: its epochs, and a view of each time."""
    drawings = [
        _drawing(f"ddtbench-{panel.buffers}-time-{number}", panel, _epochs(data, panel), _EPOCHS)
        for number, panel in enumerate(panels, 1)
    ]
    panel_by_name = {drawing.name: panel for drawing, panel in zip(drawings, panels, strict=True)}

    def views(drawing: Drawing) -> tuple[View, ...]:
        return (_epoch_view(drawing), *_time_views(data, panel_by_name[drawing.name]))

    return display.panel_figures(drawings, "Time of a round trip by epoch", views)


def _drawing(name: str, panel: Panel, frame: pl.DataFrame, arms: dict[str, Arm]) -> Drawing:
    subtitle = f"{panel.launch_count_text} of each micro-app, {BUFFERS[panel.buffers]}"
    return display.drawing(name, panel, frame, arms, subtitle)


def _percent(data: DdtData, panel: Panel) -> pl.DataFrame:
    return data.largest_messages(data.overheads, panel).select(
        pl.col(*INTERVAL) * 100, "n", "app", arm="variant"
    )


def _by_app(frame: pl.DataFrame, apps: Sequence[str], arms: Mapping[str, Arm]) -> tuple[Curve, ...]:
    """A curve for each arm, a row for each app; columns app, arm, median, low, high and n."""
    rows = frame.with_columns(
        row=pl.col("app").replace_strict({app: row for row, app in enumerate(apps)})
    )
    return tuple(
        Curve(
            arm.title,
            arm.colour,
            points(rows.filter(pl.col("arm") == name).iter_rows(named=True), "row"),
        )
        for name, arm in arms.items()
    )


def _time_views(data: DdtData, panel: Panel) -> tuple[View, ...]:
    """A view of the round trip of each method, and of each epoch that takes time."""
    frames = {"Round trip": data.largest_messages(data.round_trips, panel)}
    values = data.largest_messages(data.values, panel)
    for epoch, arm in _EPOCHS.items():
        rows = values.filter(pl.col(epoch) > 0)
        frames[arm.title.capitalize()] = median_intervals(
            rows, ["app", "variant"], epoch, data.level
        )
    frames_in_us = {
        name: frame.select("app", pl.col(*INTERVAL) * 1e6, "n", arm="variant")
        for name, frame in frames.items()
        if frame.height
    }
    apps = frames_in_us["Round trip"]["app"].unique(maintain_order=True).to_list()
    low, high = display.decades(list(frames_in_us.values()))
    return tuple(
        View(
            name,
            Scale(name, Unit.US, low, high, is_log=True),
            None,
            _by_app(frame, apps, _methods_of(frame)),
            tuple(apps),
        )
        for name, frame in frames_in_us.items()
    )


def _methods_of(frame: pl.DataFrame) -> dict[str, Arm]:
    """The methods of a frame, the reference included."""
    names = set(frame["arm"])
    return {name: arm for name, arm in ARMS.items() if name in names}


def _epochs(data: DdtData, panel: Panel) -> pl.DataFrame:
    """Columns app, method, variant, arm (the epoch), us, order; low, high of the round trip."""
    values = data.largest_messages(data.values, panel)
    round_trips = data.largest_messages(data.round_trips, panel).select(
        "app", "variant", pl.col("low", "high") * 1e6, arm=pl.lit(next(iter(_EPOCHS)))
    )
    return (
        values.group_by("app", "variant", maintain_order=True)
        .agg(pl.col(*_EPOCHS).median() * 1e6)
        .unpivot(list(_EPOCHS), index=["app", "variant"], variable_name="arm", value_name="us")
        .with_columns(
            method=pl.col("variant").replace_strict(_SHORT),
            order=pl.col("arm").replace_strict({name: i for i, name in enumerate(_EPOCHS)}),
        )
        .join(round_trips, on=["app", "variant", "arm"], how="left", maintain_order="left")
    )


def _epoch_view(drawing: Drawing) -> View:
    """A bar of epochs for each method of a micro-app, in % of that micro-app's slowest method."""
    names: list[str] = []
    heads: set[int] = set()
    bars_by_epoch: dict[str, list[Point]] = {epoch: [] for epoch in drawing.arms}
    for (app,), methods in drawing.frame.group_by("app", maintain_order=True):
        heads.add(len(names))
        names.append(str(app))
        slowest = _total_times(methods).max()
        order = {method: number for number, method in enumerate(_SHORT.values())}
        rows = methods.with_columns(
            at=pl.col("method").replace_strict(order, return_dtype=pl.Int64)
        ).sort("at", "order", maintain_order=True)
        for (method,), epochs in rows.group_by("method", maintain_order=True):
            names.append(f"{method}, {units.amount(float(epochs['us'].sum()), Unit.US)}")
            for row in epochs.iter_rows(named=True):
                value, low, high = (
                    None if row[key] is None else 100 * row[key] / slowest
                    for key in ("us", "low", "high")
                )
                bars_by_epoch[row["arm"]].append((len(names) - 1, value or 0.0, low, high, None))
    curves = tuple(
        Curve(arm.title, arm.colour, tuple(bars_by_epoch[e])) for e, arm in drawing.arms.items()
    )
    widest = max(
        [100.0, *(p[3] for bars in bars_by_epoch.values() for p in bars if p[3] is not None)]
    )
    title = "Time ({} of the slowest method)"
    scale = Scale(title, Unit.PERCENT, 0.0, 1.02 * widest, is_log=False)
    return View(
        "Epochs", scale, None, curves, tuple(names), is_stacked=True, heads=frozenset(heads)
    )


def _total_times(methods: pl.DataFrame) -> Any:
    """The time of each method: the sum of its epochs."""
    return methods.group_by("method").agg(pl.col("us").sum())["us"]

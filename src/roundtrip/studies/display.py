"""Cells, tables and figures for all studies: values with intervals, verdicts, curves and dots.

Each panel has one figure, and all figures of a call share their axes.  A study passes rows of
medians and intervals, and the appearance of its arms::

    panels = CasePanels(data, "barrier", "operation_time")
    arms = {"mpi": Arm("MPI_Barrier", BLUE), "ring": Arm("Messages in a ring", ORANGE)}
    frame = display.curve_rows(panels.intervals, scale=1e6)
    drawings = [
        display.panel_drawing(f"barrier-{number}", panel, panels.panel_rows(frame, panel), arms)
        for number, panel in enumerate(panels.panels, 1)
    ]
    figures = display.dot_figures(drawings, "Time of a barrier", "Time", Unit.US)

For other figures, a study passes views of its own (`roundtrip.content.plot`) to `drawing_figures`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TypeVar

import polars as pl

from roundtrip import units
from roundtrip.content.blocks import (
    Cell,
    Column,
    Figure,
    InlineElement,
    RichText,
    StatusColour,
    Table,
    number_columns,
    text_cells,
    text_columns,
)
from roundtrip.content.plot import (
    CIRCLE,
    DIAMOND,
    SQUARE,
    TRIANGLE,
    Axis,
    Curve,
    Plot,
    View,
    curve_points,
)
from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies.panel import CasePanels, Panel, Panels, PanelT
from roundtrip.study import Arm
from roundtrip.units import Quantity, Unit

NO_VALUE_CELL = Cell(units.NO_VALUE, "muted")
NOT_MEASURED_CELL = Cell("not measured", "muted")
#: A ratio of rates below this is written as a factor ("3 times slower"), not as a percentage.
MAX_RATIO_AS_FACTOR = 0.5
ColumnKey = TypeVar("ColumnKey", bound=Hashable)


def interval_cell(
    interval: Interval | None,
    unit: str,
    scale: float = 1.0,
    fallback: Cell = NO_VALUE_CELL,
    base_name: str = "",
    series_key: str = "",
) -> Cell:
    """An interval times `scale`, or the `fallback`; the other parameters are as of `Quantity`."""
    if interval is None:
        return fallback
    return Cell(Quantity.from_interval(interval, unit, scale, base_name, series_key))


def point_cell(
    panels: Panels[PanelT], frame: pl.DataFrame, panel: PanelT, variant: str, size: int, unit: str
) -> Cell:
    """A cell with the interval of `frame` at one point of a panel, and the series of the point."""
    interval = panels.interval_at(frame, panel, variant=variant, size_bytes=size)
    series = panels.point_series_key(panel, variant, size)
    return interval_cell(interval, unit, fallback=NOT_MEASURED_CELL, series_key=series)


def percentile_cells(row: Mapping[str, float], percents: Iterable[int], scale: float) -> list[Cell]:
    """Cells, in µs, with the percentiles `percents` in a row of `panel.percentiles`."""
    times = (Quantity(value=row[f"p{p}"] * scale, unit=Unit.US, percentile=p) for p in percents)
    return [Cell(time) for time in times]


def verdict_cell(
    claim_verdict: ClaimVerdict | None, text: str = "", base_name: str = "", series_key: str = ""
) -> Cell:
    """A cell with a ratio, its interval, and its verdict or `text`; it links to `series_key`."""
    if claim_verdict is None:
        return NOT_MEASURED_CELL
    colour, text = claim_verdict.verdict.colour, text or describe_verdict(claim_verdict)
    ratio = Quantity.from_claim(claim_verdict.interval, base_name)
    return Cell(ratio, colour, text, series_key=series_key)


def describe_verdict(claim_verdict: ClaimVerdict) -> str:
    """Verdict; how many times slower if below `MAX_RATIO_AS_FACTOR`; the interval if open."""
    interval = claim_verdict.interval
    if claim_verdict.verdict is Verdict.SLOWER and interval.median < MAX_RATIO_AS_FACTOR:
        return units.speed_ratio_text(interval.median, interval.median)
    if claim_verdict.verdict is Verdict.CANNOT_TELL and interval.low and interval.high:
        return f"{units.speed_ratio_text(interval.low, interval.high)}, {claim_verdict.words}"
    return claim_verdict.words


def ratio_range_cell(ratios: Sequence[float], colour: StatusColour, text: str) -> Cell:
    """A cell with the smallest and the largest of `ratios`, and their verdict in `text`."""
    if not ratios:
        return NOT_MEASURED_CELL
    return Cell((*units.ratio_range(ratios), describe_slowdown(ratios)), colour, text)


def describe_slowdown(ratios: Sequence[float]) -> str:
    """`` (109 to 162 times slower)``; "" if no ratio is below `MAX_RATIO_AS_FACTOR`."""
    if min(ratios) >= MAX_RATIO_AS_FACTOR:
        return ""
    return f" ({units.speed_ratio_text(min(ratios), max(ratios))})"


def grid_table(
    caption: str | RichText,
    names: Sequence[str],
    columns: Mapping[ColumnKey, Column],
    cells: Iterable[tuple[tuple[str, ...], ColumnKey, Cell]],
    missing: Cell = NOT_MEASURED_CELL,
    caption_units: tuple[str, ...] = (),
) -> Table:
    """A table with text columns `names`, and `columns` by key; `missing` is for absent cells.

    Each of `cells` has the texts of its row, one for each of `names`, and the key of its column; a
    second cell of one row and column begins another row with these texts.
    """
    rows: list[tuple[tuple[str, ...], dict[ColumnKey, Cell]]] = []
    last_rows: dict[tuple[str, ...], dict[ColumnKey, Cell]] = {}
    for texts, key, cell in cells:
        if texts not in last_rows or key in last_rows[texts]:
            last_rows[texts] = {}
            rows.append((texts, last_rows[texts]))
        last_rows[texts][key] = cell
    table_rows = tuple(
        (*text_cells(*texts), *(row.get(key, missing) for key in columns)) for texts, row in rows
    )
    return Table(caption, (*text_columns(*names), *columns.values()), table_rows, caption_units)


def size_table(
    caption: str | RichText,
    names: Sequence[str],
    sizes: Sequence[int],
    rows: Iterable[tuple[Cell, ...]],
    base: str = "",
    last_name: str = "",
    caption_units: tuple[str, ...] = (),
) -> Table:
    """Text columns `names`, a column for each size [bytes] (0: "No message"), column `last_name`;
    `base` names the base of the ratios in the size columns."""
    size_names = [units.size_text(size) if size else "No message" for size in sizes]
    size_columns = (Column(name, "right", base_name=base) for name in size_names)
    columns = (*text_columns(*names), *size_columns, *([Column(last_name)] if last_name else []))
    return Table(caption, columns, tuple(rows), caption_units)


def statement_table(
    rows: Sequence[tuple[str, InlineElement | RichText, Cell]], note: RichText = ()
) -> Table:
    """Rows (published statement, published number, our finding); `note` ends the caption."""
    caption = "What the study says, and what we find. “Inferred”: derived from the study's words."
    return Table(
        (caption, *note),
        text_columns("The study says", "Its number", "We find"),
        tuple((Cell(words), Cell(number), finding) for words, number, finding in rows),
    )


def interval_table(
    panels: CasePanels, caption: str | RichText, arms: Mapping[str, Arm], unit: str
) -> Table:
    """A table of medians and intervals of all panels in `unit`, which the `caption` must name.

    With a single size, it has a row for each panel and a column for each of the `arms` (by name);
    otherwise a row for each panel and arm, and a column for each size.
    """
    sizes = sorted(set(panels.intervals["size_bytes"]))
    scale = units.conversion_factor(panels.unit, unit)

    def cell(panel: Panel, arm: str, size: int) -> Cell:
        interval = panels.interval_at(panels.intervals, panel, variant=arm, size_bytes=size)
        series_key = panels.point_series_key(panel, arm, size)
        return interval_cell(interval, unit, scale, series_key=series_key)

    rows: list[tuple[Cell, ...]] = []
    for panel in panels.panels:
        label, launches = Cell(panel.title), Cell(units.count(panel.launch_count))
        if len(sizes) == 1:
            rows.append((label, *(cell(panel, arm, sizes[0]) for arm in arms), launches))
            continue
        for name, arm in arms.items():
            cells = [cell(panel, name, size) for size in sizes]
            if any(one is not NO_VALUE_CELL for one in cells):
                rows.append((label, Cell(arm.title), *cells, launches))
    if len(sizes) == 1:
        value_columns = number_columns(*(arm.title for arm in arms.values()))
    else:
        value_columns = (Column("Arm"), *number_columns(*map(units.size_text, sizes)))
    columns = (Column("Toolchain and placement"), *value_columns, Column("Launches", "right"))
    caption_units = () if unit in units.UNPRINTED_UNITS else (unit,)
    return Table(caption, columns, tuple(rows), caption_units)


_POINT_SHAPES = (CIRCLE, SQUARE, TRIANGLE, DIAMOND)
#: Columns of a median and its interval.
INTERVAL_COLUMNS = ("median", "low", "high")
SIZE_AXIS_LABEL = "Message size"


@dataclass(frozen=True)
class Drawing:
    """A figure to be drawn: file name without suffix, title, rows, and arms in order.

    `frame` has the columns arm (a key of `arms`), median, low and high (null without an interval),
    for curves x, and n if it is known.  `is_published`: none of its values was measured here.
    """

    name: str
    title: str
    subtitle: str
    frame: pl.DataFrame
    arms: Mapping[str, Arm]
    is_published: bool = False

    @property
    def visible_arms(self) -> dict[str, Arm]:
        names = set(self.frame["arm"])
        return {name: arm for name, arm in self.arms.items() if name in names}

    def rows_of_arm(self, arm: str) -> pl.DataFrame:
        """The rows of one arm, with the columns of `frame`; for curves in the order of x."""
        rows = self.frame.filter(pl.col("arm") == arm)
        rows = rows.with_columns(pl.col(*INTERVAL_COLUMNS).cast(pl.Float64))
        return rows.sort("x", maintain_order=True) if "x" in rows.columns else rows

    @property
    def curves(self) -> tuple[Curve, ...]:
        shapes = dict(zip(self.arms, cycle(_POINT_SHAPES), strict=False))
        return tuple(
            Curve(
                arm.title,
                arm.colour,
                curve_points(self.rows_of_arm(name).iter_rows(named=True)),
                arm.line_width,
                arm.is_dashed,
                arm.shape or shapes[name],
                arm.point_radius,
                bound_name=arm.title if arm.is_upper_bound else "",
            )
            for name, arm in self.visible_arms.items()
        )


#: A function that makes the views of a drawing; the first view is shown first.
ViewMaker = Callable[[Drawing], tuple[View, ...]]


def curve_rows(intervals: pl.DataFrame, scale: float = 1.0, arm: str = "variant") -> pl.DataFrame:
    """Rows of a `Drawing` over size: `intervals` times `scale`, columns arm and x (bytes) added."""
    return intervals.with_columns(pl.col(*INTERVAL_COLUMNS) * scale, arm=arm, x="size_bytes")


def panel_drawing(
    name: str, panel: Panel, frame: pl.DataFrame, arms: Mapping[str, Arm], subtitle: str = ""
) -> Drawing:
    """A drawing of a panel's rows of `frame`; its default subtitle is the number of launches."""
    rows = frame.filter(pl.col("arm").is_in(list(arms)))
    return Drawing(name, panel.title, subtitle or panel.launch_count_text, rows, arms)


def panel_drawings(
    name: str,
    panels: Panels[PanelT],
    frame: pl.DataFrame,
    arms: Mapping[str, Arm],
    shown: Sequence[PanelT],
    subtitle: Callable[[PanelT], str] = lambda panel: "",
) -> list[Drawing]:
    """A `panel_drawing` ``<name>-1``, ... of each of the panels `shown`, from `frame`."""
    return [
        panel_drawing(f"{name}-{number}", panel, rows, arms, subtitle(panel))
        for number, panel in enumerate(shown, 1)
        for rows in [panels.panel_rows(frame, panel)]
    ]


def curve_figures_over_size(
    drawings: Sequence[Drawing],
    description: str,
    name: str,
    unit: str,
    domain: tuple[float, float] | None = None,
    size_name: str = SIZE_AXIS_LABEL,
    extra_views: ViewMaker = lambda drawing: (),
) -> tuple[Figure, ...]:
    """Curves of `name` in `unit` over message size, both logarithmic, with bands of intervals.

    `description` begins the text alternatives of the figures.  No row may have size 0, or a value
    <= 0.  `domain`: ends of the value axis, by default the powers of ten around all values.
    `extra_views` makes views of a drawing that follow the first one.
    """
    if not drawings:
        return ()
    x = size_scale(drawings, size_name)
    ends = domain or decade_range([drawing.frame for drawing in drawings])
    y = Axis(name, unit, *ends, is_log=True)

    def views(drawing: Drawing) -> tuple[View, ...]:
        return (View(name, x, y, drawing.curves), *extra_views(drawing))

    return drawing_figures(drawings, description, views)


def size_scale(drawings: Sequence[Drawing], name: str = SIZE_AXIS_LABEL) -> Axis:
    """A logarithmic axis from the smallest size of all drawings to the largest."""
    values = pl.concat([drawing.frame["x"] for drawing in drawings]).to_list()
    low, high = float(min(values)), float(max(values))
    ends = (low, high) if low < high else (low / 2, 2 * high)
    return Axis(name, Unit.BYTES, *ends, is_log=True)


def decade_range(frames: Sequence[pl.DataFrame], *reference_values: float) -> tuple[float, float]:
    """The powers of ten around all medians and bands, and around `reference_values`."""
    values = pl.concat([frame.select(INTERVAL_COLUMNS).cast(pl.Float64) for frame in frames])
    low = min(*reference_values, values.min().min_horizontal().item(), math.inf)
    high = max(*reference_values, values.max().max_horizontal().item(), -math.inf)
    first = math.floor(math.log10(low))
    return 10.0**first, 10.0 ** max(first + 1, math.ceil(math.log10(high)))


def dot_figures(
    drawings: Sequence[Drawing], description: str, name: str, unit: str
) -> tuple[Figure, ...]:
    """Dots for medians and lines for intervals, on an axis from 0 titled `name`, in `unit`."""
    if not drawings:
        return ()
    values = pl.concat([drawing.frame.select(INTERVAL_COLUMNS) for drawing in drawings])
    top = 1.05 * float(values.max().max_horizontal().item())
    scale = Axis(name, unit, 0.0, top, is_log=False)

    def views(drawing: Drawing) -> tuple[View, ...]:
        # One curve for each row: the row has the name of the arm, so that no legend repeats it.
        curves = tuple(
            Curve(arm.title, arm.colour, curve_points(rows.iter_rows(named=True), "row"))
            for row, (key, arm) in enumerate(drawing.visible_arms.items())
            for rows in [drawing.rows_of_arm(key).with_columns(row=pl.lit(row))]
        )
        names = tuple(arm.title for arm in drawing.visible_arms.values())
        return (View(name, scale, None, curves, names),)

    return drawing_figures(drawings, description, views)


def drawing_figures(
    drawings: Sequence[Drawing], description: str, views: ViewMaker
) -> tuple[Figure, ...]:
    """A figure of each drawing with its `views`; `description` begins its text alternative."""
    return tuple(
        Figure(
            drawing.name,
            f"{description}: {drawing.title}",
            Plot(drawing.title, drawing.subtitle, views(drawing), drawing.is_published),
        )
        for drawing in drawings
    )

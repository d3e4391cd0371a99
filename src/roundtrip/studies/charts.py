"""The figures of all studies: curves over size with bands, and dots with intervals.

There is one figure for each panel, and all figures of a call share their axes.  A study passes rows
of medians and intervals, and says how its arms look::

    arms = {"mpi": Arm("MPI_Barrier", BLUE), "ring": Arm("Messages in a ring", ORANGE)}
    frame = charts.rows(panels.intervals, scale=1e6)
    drawings = [
        drawing(f"barrier-{number}", panel, panels.of(frame, panel), arms)
        for number, panel in enumerate(panels.panels, 1)
    ]
    figures = dots(drawings, "Time of a barrier", "Time", Unit.US)

For anything else, a study makes its own views (`roundtrip.report.plot`) and calls `figures`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

import polars as pl

from roundtrip.report.blocks import Figure
from roundtrip.report.plot import (
    CIRCLE,
    DIAMOND,
    SQUARE,
    TRIANGLE,
    Curve,
    Plot,
    Scale,
    View,
    points,
)
from roundtrip.report.units import Unit
from roundtrip.studies.arms import Arm
from roundtrip.studies.panel import Panel

_SHAPES = (CIRCLE, SQUARE, TRIANGLE, DIAMOND)
#: Columns of a median and its interval.
INTERVAL = ("median", "low", "high")
SIZE = "Message size"


@dataclass(frozen=True)
class Drawing:
    """A figure to be drawn: file name without suffix, title, rows, and arms in order.

    `frame` has the columns arm (a key of `arms`), median, low and high (null without an interval),
    for curves x, and n where it is known.  `is_published`: none of it was measured here.
    """

    name: str
    title: str
    subtitle: str
    frame: pl.DataFrame
    arms: Mapping[str, Arm]
    is_published: bool = False

    @property
    def shown(self) -> dict[str, Arm]:
        """The arms that have rows."""
        there = set(self.frame["arm"])
        return {name: arm for name, arm in self.arms.items() if name in there}

    def of(self, arm: str) -> pl.DataFrame:
        """The rows of one arm, with the columns of `frame`; for curves in the order of x."""
        rows = self.frame.filter(pl.col("arm") == arm)
        rows = rows.with_columns(pl.col(*INTERVAL).cast(pl.Float64))
        return rows.sort("x", maintain_order=True) if "x" in rows.columns else rows

    @property
    def curves(self) -> tuple[Curve, ...]:
        """The arms over x."""
        shapes = dict(zip(self.arms, cycle(_SHAPES), strict=False))
        return tuple(
            Curve(
                arm.title,
                arm.colour,
                points(self.of(name).iter_rows(named=True)),
                arm.width,
                arm.is_dashed,
                arm.shape or shapes[name],
                arm.point,
                bound=arm.title if arm.is_bound else "",
            )
            for name, arm in self.shown.items()
        )


#: Makes the views of a drawing; the first one is shown first.
Views = Callable[[Drawing], tuple[View, ...]]


def rows(intervals: pl.DataFrame, scale: float = 1.0, arm: str = "variant") -> pl.DataFrame:
    """`intervals` as a drawing has them: median, low and high times `scale`, and the columns arm,
    of column `arm`, and x, of size_bytes.
    """
    return intervals.with_columns(pl.col(*INTERVAL) * scale, arm=arm, x="size_bytes")


def drawing(
    name: str, panel: Panel, frame: pl.DataFrame, arms: Mapping[str, Arm], subtitle: str = ""
) -> Drawing:
    """The arms' rows of `frame`, titled as the panel, with the number of its launches if nothing
    else is told.
    """
    known = frame.filter(pl.col("arm").is_in(list(arms)))
    return Drawing(name, panel.label, subtitle or panel.counted, known, arms)


def over_size(
    drawings: Sequence[Drawing],
    what: str,
    name: str,
    unit: str,
    domain: tuple[float, float] | None = None,
    size_name: str = SIZE,
    more: Views = lambda one: (),
) -> tuple[Figure, ...]:
    """Curves of `name` in `unit` over message size, both logarithmic, with bands of intervals.

    `what` names the figures for those who cannot see them.  No row may have size 0, or a value of 0
    or less.  `domain` are powers of ten, by default those around all values.  `more` views of a
    drawing follow the first.
    """
    if not drawings:
        return ()
    x = sizes(drawings, size_name)
    y = Scale(name, unit, *(domain or decades([one.frame for one in drawings])), is_log=True)
    return figures(drawings, what, lambda one: (View(name, x, y, one.curves), *more(one)))


def sizes(drawings: Sequence[Drawing], name: str = SIZE) -> Scale:
    """A logarithmic axis from the smallest size of all drawings to the largest."""
    values = pl.concat([one.frame["x"] for one in drawings]).to_list()
    low, high = float(min(values)), float(max(values))
    ends = (low, high) if low < high else (low / 2, 2 * high)
    return Scale(name, Unit.BYTES, *ends, is_log=True)


def decades(frames: Sequence[pl.DataFrame], *inside: float) -> tuple[float, float]:
    """The powers of ten around all medians and bands, and around the values of `inside`."""
    values = pl.concat([frame.select(pl.col(*INTERVAL).cast(pl.Float64)) for frame in frames])
    low = min(*inside, values.min().min_horizontal().item(), math.inf)
    high = max(*inside, values.max().max_horizontal().item(), -math.inf)
    first = math.floor(math.log10(low))
    return 10.0**first, 10.0 ** max(first + 1, math.ceil(math.log10(high)))


def dots(drawings: Sequence[Drawing], what: str, name: str, unit: str) -> tuple[Figure, ...]:
    """Figures of `name` in `unit` with a row for each arm, from 0 on.

    The median is a dot, its interval a line.
    """
    if not drawings:
        return ()
    values = pl.concat([one.frame.select(INTERVAL) for one in drawings])
    top = 1.05 * float(values.max().max_horizontal().item())
    scale = Scale(name, unit, 0.0, top, is_log=False)

    def views(one: Drawing) -> tuple[View, ...]:
        # One curve: each row has the name of its arm, so that no legend repeats it.
        curves = tuple(
            Curve(arm.title, arm.colour, points(of_arm.iter_rows(named=True), "row"))
            for row, (key, arm) in enumerate(one.shown.items())
            for of_arm in [one.of(key).with_columns(row=pl.lit(row))]
        )
        names = tuple(arm.title for arm in one.shown.values())
        return (View(name, scale, None, curves, names),)

    return figures(drawings, what, views)


def figures(drawings: Sequence[Drawing], what: str, views: Views) -> tuple[Figure, ...]:
    """One figure for each drawing, with its title."""
    return tuple(
        Figure(
            one.name,
            f"{what}: {one.title}",
            Plot(one.title, one.subtitle, views(one), one.is_published),
        )
        for one in drawings
    )

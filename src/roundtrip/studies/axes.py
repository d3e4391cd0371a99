"""Axes that the layers of a figure share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from roundtrip.report import figures
from roundtrip.report.figures import Theme
from roundtrip.report.plot import Scale

#: Columns of a median and its interval.
INTERVAL = ("median", "low", "high")


@dataclass(frozen=True)
class Axis:
    """Scale and axis that the layers of a chart share; values from `low` to `high`."""

    low: float
    high: float
    scale: Any
    axis: Any
    is_log: bool = True

    def x(self, field: str = "x:Q") -> Any:
        """The horizontal channel of `field`."""
        return alt.X(field, scale=self.scale, axis=self.axis)

    def y(self, field: str = "median:Q") -> Any:
        """The vertical channel of `field`."""
        return alt.Y(field, scale=self.scale, axis=self.axis)

    @property
    def plotted(self) -> Scale:
        """The same for the page's script."""
        return Scale(str(self.axis["title"]), self.low, self.high, self.is_log)

    def part(self, value: float) -> float:
        """Position on the axis from 0 to 1; values beyond an end get the position of that end."""
        ends = (self.low, self.high, min(max(value, self.low), self.high))
        low, high, at = map(math.log10, ends) if self.is_log else ends
        return (at - low) / (high - low)


def log_axis(domain: tuple[float, float], axis: Any) -> Axis:
    """A logarithmic axis that spans exactly `domain`."""
    return Axis(*domain, alt.Scale(type="log", domain=list(domain), nice=False), axis)


def linear_axis(domain: tuple[float, float], axis: Any) -> Axis:
    """A linear axis that spans exactly `domain`."""
    return Axis(*domain, alt.Scale(domain=list(domain), nice=False), axis, is_log=False)


def decade_axis(domain: tuple[float, float], title: str) -> Any:
    """A vertical axis with a label at each power of ten."""
    exponents = range(round(math.log10(domain[0])), round(math.log10(domain[1])) + 1)
    return figures.named_axis(
        title,
        values=[10.0**exponent for exponent in exponents],
        labelExpr="datum.value >= 1 ? replace(format(datum.value, ',d'), /,/g, '\u202f') "
        ": format(datum.value, '~g')",
    )


def decimal_sizes(theme: Theme, title: str) -> Any:
    """A horizontal axis of sizes that are powers of ten: 10, 1k, 1M."""
    return alt.Axis(
        title=title,
        values=[10.0**exponent for exponent in range(1, 9)],
        labelExpr="format(datum.value, '~s')",
        gridColor=theme.grid,
    )


def decades(frames: Sequence[pl.DataFrame], *inside: float) -> tuple[float, float]:
    """The powers of ten around all medians and bands, and around the values of `inside`."""
    values = pl.concat([frame.select(pl.col(*INTERVAL).cast(pl.Float64)) for frame in frames])
    low = min(*inside, values.min().min_horizontal().item(), math.inf)
    high = max(*inside, values.max().max_horizontal().item(), -math.inf)
    first = math.floor(math.log10(low))
    return 10.0**first, 10.0 ** max(first + 1, math.ceil(math.log10(high)))

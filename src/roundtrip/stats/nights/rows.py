"""Each series with what was found in it: steps, the levels between them, noise, slope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from roundtrip.stats.nights import levels, noise, steps, trend
from roundtrip.stats.nights.levels import Levels, Scatter
from roundtrip.stats.nights.series import Series
from roundtrip.stats.nights.settings import Settings


@dataclass(frozen=True)
class Row:
    """One series without holes; `night` are the places of its nights in the site's order."""

    values: np.ndarray
    night: np.ndarray
    node_set: np.ndarray
    steps: Sequence[steps.Found]
    levels: Levels
    line: trend.Line
    scatter: Scatter

    @property
    def level_begin(self) -> int:
        """Place of the first night of the present level."""
        return self.steps[-1].begin if self.steps else 0

    def is_drift(self, settings: Settings) -> bool:
        """Whether the row drifts, beside its steps."""
        return trend.is_drift(
            self.line, self.night, self.levels.residual, self.levels.group, settings
        )


def of(used: Series, settings: Settings) -> list[Row | None]:
    """Every row of `used` with its steps and noise; None where there are too few nights."""
    found = steps.find(used, settings)
    there = np.flatnonzero(used.lengths >= settings.baseline_least)
    rows = [_row(used, int(number), found[number], settings) for number in there]
    rows = _pooled(rows, lambda row: row.scatter, _with_scatter, settings)
    rows = _pooled(rows, lambda row: row.line.scatter, _with_line, settings)
    result: list[Row | None] = [None] * len(found)
    for number, row in zip(there, rows, strict=True):
        result[number] = _without_steps(row, settings) or row
    return result


def _row(used: Series, number: int, found: Sequence[steps.Found], settings: Settings) -> Row:
    length = int(used.lengths[number])
    values, night, sets = (
        cells[number, :length] for cells in (used.values, used.night, used.node_set)
    )
    of_row = levels.of(values, sets, [one.begin for one in found], settings)
    line = trend.fit(night, of_row.residual, of_row.group, settings)
    scatter = levels.raw_scatter(of_row.residual, settings)
    return Row(values, night, sets, found, of_row, line, scatter)


def _without_steps(row: Row, settings: Settings) -> Row | None:
    """The row as a mere drift, if that leaves no more of it unexplained than its steps do.

    A drift can look like a step before there are nights enough to see it go on.
    """
    if not row.steps:
        return None
    plain = levels.of(row.values, row.node_set, [], settings)
    line = trend.fit(row.night, plain.residual, plain.group, settings)
    line = replace(line, scatter=replace(line.scatter, phi=row.line.scatter.phi))
    scatter = replace(line.scatter, phi=row.scatter.phi)
    drift = Row(row.values, row.night, row.node_set, (), plain, line, scatter)
    left, left_by_steps = (np.nansum(one**2) for one in (line.residual, row.levels.residual))
    return drift if left <= left_by_steps and drift.is_drift(settings) else None


def _pooled(
    rows: Sequence[Row],
    scatter: Callable[[Row], Scatter],
    exchange: Callable[[Row, Scatter], Row],
    settings: Settings,
) -> list[Row]:
    """The rows with the autocorrelation of a `scatter` drawn towards that of the site."""
    raw = [scatter(row) for row in rows]
    phi = np.array([one.phi for one in raw])
    nights = np.array([one.nights for one in raw])
    drawn = noise.shrunk(phi, nights, noise.pool(phi, nights), settings.autocorrelation_most)
    return [
        exchange(row, replace(one, phi=float(of_row)))
        for row, one, of_row in zip(rows, raw, drawn, strict=True)
    ]


def _with_scatter(row: Row, scatter: Scatter) -> Row:
    return replace(row, scatter=scatter)


def _with_line(row: Row, scatter: Scatter) -> Row:
    return replace(row, line=replace(row.line, scatter=scatter))

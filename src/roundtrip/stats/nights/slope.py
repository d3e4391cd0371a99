"""The trend test before a step is told: is it a step, or a stretch of a slow drift?

A drift makes the newest nights differ from those before, as a step does.  Two questions tell them
apart.  Do the nights before the step rise or fall already?  Then the step must exceed its threshold
beside a straight line through all nights.  Whether they do or not: is there something of a step
left beside that line?  The line is fitted by least squares to winsorised residuals, with the
variance that it has under AR(1) noise.
"""

from __future__ import annotations

import numpy as np

from roundtrip.stats.nights import noise
from roundtrip.stats.nights.settings import Settings
from roundtrip.stats.nights.window import Window


class Slopes:
    """Lines through nights of a window, one a candidate for a step; `rows` are the candidates'.

    `variance` in units of the scale squared, `phi` and `dof` have one value a candidate.
    """

    def __init__(
        self,
        window: Window,
        rows: np.ndarray,
        variance: np.ndarray,
        phi: np.ndarray,
        dof: np.ndarray,
    ) -> None:
        self._window, self._rows, self._dof = window, rows, dof
        self._variance = variance * noise.inflation(phi)

    def are_steps(
        self,
        begin: int,
        ends: np.ndarray,
        statistic: np.ndarray,
        threshold: np.ndarray,
        settings: Settings,
    ) -> np.ndarray:
        """Mask: nights `begin` to `ends` (indices of the window's sums) differ by a step.

        `statistic` is on the scale of a normal deviate, and above `threshold`.
        """
        at = np.full(ends.shape, begin - self._window.first)
        start = np.maximum(at - settings.baseline_most, self._window.level_first[self._rows])
        start = np.clip(start, 0, at)
        trend, _ = self._line(start, at)
        line, spread = self._line(start, ends)
        before, after = self._count(start, at), self._count(at, ends)
        later = self._time(at, ends) - self._time(start, at)
        alike = later * np.sqrt(before * after / (before + after) / np.maximum(spread, 1e-9))
        alike = np.minimum(alike, 0.999)
        beside = np.sign(statistic) * (statistic - alike * line) / np.sqrt(1 - alike**2)
        is_trend = np.abs(trend) >= settings.trend_threshold
        steps: np.ndarray = beside >= np.where(is_trend, threshold, settings.beside_trend)
        return steps

    def _line(self, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(statistics of the slopes from `start` to `end`, sums of squares of the times)."""
        n, sums = self._count(start, end), self._window
        time = self._over(sums.times, start, end)
        of_times = self._over(sums.times_squared, start, end) - time**2 / n
        together = self._over(sums.times_residual, start, end)
        together -= time * self._over(sums.total, start, end) / n
        t = together / np.sqrt(self._variance * np.maximum(of_times, 1e-9))
        return noise.to_normal(t, self._dof), of_times

    def _count(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        return np.asarray(np.maximum(self._over(self._window.count, start, end), 1.0))

    def _time(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Mean times of the nights that count."""
        return np.asarray(self._over(self._window.times, start, end) / self._count(start, end))

    def _over(self, sums: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Sums over the nights from `start` to `end`, and over the node sets if there are any."""
        over = sums[self._rows, ..., end] - sums[self._rows, ..., start]
        return np.asarray(over if over.ndim == 1 else over.sum(axis=1))

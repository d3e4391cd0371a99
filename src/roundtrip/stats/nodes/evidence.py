"""How likely launches of healthy nodes alone would look so bad: an exact sum of clipped scores.

A launch counts as no farther than some limit from the middle, so that one disturbed launch, or a
few, convict nobody.  What the sum of n scores of healthy launches is distributed like follows from
the scores of the healthy launches themselves, by n-fold convolution: no shape is assumed, and
heavy, skewed or two-peaked noise raises what is asked for.  Two scores are added to theirs, one at
either limit, as permutation tests count the observed value (B. Phipson and G. K. Smyth, Statistical
Applications in Genetics and Molecular Biology 9, 2010).  Narrow limits suit heavy tails, and wide
ones noise of two peaks: several are tried, and the least probability counts that many times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import scipy

#: Steps from the middle to a limit.
_STEPS = 50
#: No effect farther off is asked for, in steps.
_FARTHEST = 3 * _STEPS
#: Sums this many standard deviations above the mean are computed exactly.
_EXACT = 2.0


@dataclass(frozen=True)
class Scores:
    """Scores of healthy launches; `healthy` is what is left of them, on the log scale.

    `sd` is their scatter, `clips` are limits in standard deviations.
    """

    healthy: np.ndarray
    sd: float
    clips: Sequence[float]

    def p(self, left: np.ndarray) -> float:
        """The probability that as many healthy launches have a sum as high as those of `left`."""
        return min(1.0, len(self.clips) * min(one.p(left) for one in self._limited))

    def seen(self, count: int, p: float, power: float) -> float | None:
        """The effect by which `count` launches give `p` with this power; None if none does."""
        found = [one.seen(count, p / len(self.clips), power) for one in self._limited]
        return min((one for one in found if one is not None), default=None)

    @cached_property
    def _limited(self) -> tuple[Limited, ...]:
        return tuple(Limited(self.healthy, self.sd * clip) for clip in self.clips)


class Limited:
    """Scores with one limit, on the log scale."""

    def __init__(self, healthy: np.ndarray, limit: float) -> None:
        self._step = limit / _STEPS
        self._steps = np.arange(-_STEPS, _STEPS + 1)
        scores = np.r_[self._of(healthy), -_STEPS, _STEPS]
        self._one = np.bincount(scores + _STEPS, minlength=self._steps.size) / scores.size
        self._mean = float(self._one @ self._steps)
        self._sd = float(np.sqrt(self._one @ (self._steps - self._mean) ** 2))
        self._tails = cache(self._tails_of)

    def p(self, left: np.ndarray) -> float:
        """As `Scores.p`."""
        total, count = int(self._of(left).sum()), left.size
        z = (total - count * self._mean) / (self._sd * np.sqrt(count))
        if z < _EXACT:
            return float(scipy.special.ndtr(-z))
        return float(self._tails(count)[total + count * _STEPS])

    def seen(self, count: int, p: float, power: float) -> float | None:
        """As `Scores.seen`: an effect moves every score by as much, up to the limit."""
        at = np.flatnonzero(self._tails(count) <= p)
        if not at.size:
            return None
        wanted = (at[0] - count * _STEPS) / count
        for shift in range(_FARTHEST):
            moved = np.minimum(self._steps + shift, _STEPS)
            mean = float(self._one @ moved)
            sd = float(np.sqrt(self._one @ (moved - mean) ** 2))
            if mean - float(scipy.special.ndtri(power)) * sd / np.sqrt(count) >= wanted:
                return float(shift * self._step)
        return None

    def _of(self, left: np.ndarray) -> np.ndarray:
        steps: np.ndarray = np.rint(np.clip(left / self._step, -_STEPS, _STEPS))
        return steps.astype(np.int64)

    def _tails_of(self, count: int) -> np.ndarray:
        """P(sum >= s) for every sum s of `count` scores, the lowest first."""
        found, power, rest = np.ones(1), self._one, count
        while rest:
            if rest & 1:
                found = scipy.signal.convolve(found, power)
            rest >>= 1
            power = scipy.signal.convolve(power, power) if rest else power
        # The fast transform leaves errors of 1e-16, of either sign.
        return np.cumsum(np.maximum(found, 0.0)[::-1])[::-1]

"""The number of launches that a campaign needs, and the time that each should measure.

**Number.**  The strongest evidence that n launches can give is that their ratios all lie on one
side of 1: the exact two-sided signed-rank p is then 2 / 2^n, and no larger difference makes it
smaller.  Benjamini-Hochberg multiplies the p of the only true claim among m by m.  So the number is
planned for the worst case: *a single true claim among m must be able to reach the level*, m 2^(1-n)
< level.  With fewer launches, claims reach the level only together: k of m must have the smallest
p, such that 2^(1-n) m / k < level.  In addition, n launches must give an interval.  The recommended
number is at least the first one whose interval excludes the smallest and the largest value.  With 8
launches the interval at 95 % is min..max, so that one launch can spoil it; with 9 it reaches from
rank 2 to rank 8.

**Length.**  The model is in logarithms, so that all spreads are relative.  The median of launch i
is

    y_i = mu + b_i + w_i,   var(b_i) = between,   var(w_i) = within / seconds of measuring,

where b differs from launch to launch (placement, memory, other users) and more samples in one
launch would average w out.  `within` is estimated from non-overlapping blocks of a launch's samples
in time order, so that autocorrelated samples do not count as independent (batch means: G. S.
Fishman, Principles of Discrete Event Simulation, 1978).  `between` is the rest of the variance of
launch medians, at least 0.  With an overhead of c seconds per launch, N launches that measure for m
seconds take T = N (c + m) and have var = (between + within / m) / N.  For a given T the variance is
smallest at m = sqrt(c within / between) (the classic allocation of two-stage sampling: W. G.
Cochran, Sampling Techniques, 3rd ed. 1977, section 10.6).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import count

import numpy as np
import scipy

from roundtrip.stats.settings import Levels
from roundtrip.stats.summaries import lower_rank

#: The least time that a launch measures, s.
_MIN_LAUNCH_S = 1.0


class Decidability(Enum):
    """The claims of a family that can reach the level: each alone, several together, or none."""

    ALONE = "alone"
    TOGETHER = "together"
    UNDERPOWERED = "underpowered"


def min_p(launches: int) -> float:
    """The smallest two-sided p that `launches` ratios can give in a signed-rank or a sign test."""
    return float(2.0 ** (1 - launches)) if launches > 0 else 1.0


def decidability(launches: int, claims: int, levels: Levels) -> Decidability:
    """The claims of a family of `claims` that can reach the level with `launches` launches."""
    floor = min_p(launches)
    if not lower_rank(launches, levels.confidence_level) or floor >= levels.false_discovery_level:
        return Decidability.UNDERPOWERED
    return (
        Decidability.ALONE
        if claims * floor < levels.false_discovery_level
        else Decidability.TOGETHER
    )


def min_launches(claims: int, levels: Levels) -> int:
    """The fewest launches with which a single claim among `claims` can reach the level."""
    return next(
        n for n in count(1) if decidability(n, max(1, claims), levels) is Decidability.ALONE
    )


def recommended_launches(claims: int, levels: Levels) -> int:
    """At least `min_launches`, and enough that a single launch cannot spoil the interval."""
    inner = next(n for n in count(1) if lower_rank(n, levels.confidence_level) > 1)
    return max(inner, min_launches(claims, levels))


def joint_claims_needed(launches: int, claims: int, levels: Levels) -> int | None:
    """How many of `claims` need the smallest p for a verdict; None if no number is enough."""
    if decidability(launches, claims, levels) is Decidability.UNDERPOWERED:
        return None
    floor = min_p(launches)
    return next(k for k in count(1) if floor * claims / k < levels.false_discovery_level)


#: Fewest samples of a launch, and fewest launches, for any estimate.
MIN_SAMPLES, MIN_LAUNCHES = 6, 3
#: Ratio of the variance of a median to that of a mean, for normal values.
_MEDIAN_VARIANCE_RATIO = math.pi / 2


@dataclass(frozen=True)
class VarianceComponents:
    """Variances of the logarithm of a launch's median.

    `in_launch` is the variance from the samples of one launch that measures for `seconds`;
    `between` is the variance from launch to launch.
    """

    in_launch: float
    between: float
    seconds: float
    launches: int

    @property
    def within(self) -> float:
        """Variance of the median of a launch that measures for one second."""
        return self.in_launch * self.seconds


@dataclass(frozen=True)
class LaunchPlan:
    """A plan: `launches` of `seconds` each, and the relative `half_width` that they give."""

    launches: int
    seconds: float
    half_width: float


def variance_components(
    samples: Sequence[Sequence[float]], seconds: float
) -> VarianceComponents | None:
    """Return variance components from the samples of each launch; None if there are too few.

    `samples`: positive times of each launch, in time order.  Each launch measured for `seconds`.
    Launches with fewer than MIN_SAMPLES are left out, and MIN_LAUNCHES are needed.
    """
    logs = [np.log(times) for times in samples if len(times) >= MIN_SAMPLES]
    if len(logs) < MIN_LAUNCHES or seconds <= 0:
        return None
    in_launch = float(np.mean([_variance_of_median(launch_logs) for launch_logs in logs]))
    median_variance = float(np.var([np.median(launch_logs) for launch_logs in logs], ddof=1))
    return VarianceComponents(in_launch, max(0.0, median_variance - in_launch), seconds, len(logs))


def normality_p(values: Sequence[float]) -> float | None:
    """The p-value of a test for normality (S. S. Shapiro and M. B. Wilk, Biometrika 52, 1965).

    None for fewer than 3 values, or if all are equal.
    """
    if len(values) < MIN_LAUNCHES or min(values) == max(values):
        return None
    return float(scipy.stats.shapiro(values).pvalue)


def half_width(parts: VarianceComponents, launches: int, seconds: float, level: float) -> float:
    """Expected relative half-width of the interval of the median over launches; inf for one launch.

    A normal approximation for the comparison of plans, not the reported interval.
    """
    if launches < 2:
        return math.inf
    variance = _MEDIAN_VARIANCE_RATIO * (parts.between + parts.within / seconds) / launches
    return float(math.expm1(scipy.stats.t.ppf((1 + level) / 2, launches - 1) * math.sqrt(variance)))


def allocate(
    parts: VarianceComponents, total: float, overhead: float, level: float, fewest_launches: int
) -> LaunchPlan:
    """Return the plan that gives the narrowest interval in `total` seconds.

    Each launch has an `overhead` [s], in which it does not measure, and measures for at least
    `_MIN_LAUNCH_S`.  The plan has at least `fewest_launches`.
    """
    fewest, plans = fewest_launches, []
    for n in range(fewest, max(fewest, int(total / (overhead + _MIN_LAUNCH_S))) + 1):
        length = total / n - overhead
        if length >= _MIN_LAUNCH_S or (n == fewest and length > 0):
            plans.append(LaunchPlan(n, length, half_width(parts, n, length, level)))
    if not plans:
        width = half_width(parts, fewest, _MIN_LAUNCH_S, level)
        return LaunchPlan(fewest, _MIN_LAUNCH_S, width)
    return min(plans, key=lambda plan: plan.half_width)


def _variance_of_median(logs: np.ndarray) -> float:
    """The variance of a launch's median, estimated from the medians of about sqrt(n) blocks."""
    count = max(3, math.isqrt(logs.size))
    blocks = np.array_split(logs, count)
    return float(np.var([np.median(block) for block in blocks], ddof=1)) / count

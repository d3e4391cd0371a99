"""The median of launches and its exact rank confidence interval.

Let x(1) <= ... <= x(n) be independent with median m, of any distribution.  The number of values
below m is binomial B(n, 1/2) (ties only widen the interval), so

    P( x(l) <= m <= x(n+1-l) ) >= 1 - 2 P(B <= l-1),

and l is the largest rank for which the right side is at least the level.  For n < 6 there is no
such rank at 95 %: then there is no interval.

Literature: W. J. Conover, Practical Nonparametric Statistics, 3rd ed. 1999, section 3.2; used for
benchmark data by T. Hoefler and R. Belli, Scientific Benchmarking of Parallel Computing Systems,
SC 2015, section 3.1.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import polars as pl
import scipy

from roundtrip.stats.summaries import MEDIAN

#: How values of several launches become one, wherever an interval stands.
OVER_LAUNCHES = MEDIAN


@dataclass(frozen=True)
class Interval:
    """Median of `n` launches; `low` and `high` are None where there is no interval at `level`."""

    median: float
    low: float | None
    high: float | None
    n: int
    level: float | None = field(default=None, compare=False)

    @property
    def exists(self) -> bool:
        """Whether there are enough launches for an interval."""
        return self.low is not None

    def within(self, low: float, high: float) -> bool:
        """Whether the whole interval lies in [low, high]; False if there is none."""
        return (
            self.low is not None and self.high is not None and low <= self.low <= self.high <= high
        )

    def excludes(self, value: float) -> bool:
        """Whether the interval lies wholly on one side of `value`; False if there is none."""
        return self.low is not None and self.high is not None and not self.low <= value <= self.high


@cache
def lower_rank(n: int, level: float) -> int:
    """Rank l (1-based) of the interval's lower end; 0 if n values give no interval at `level`.

    Parameters
    ----------
    n
        Number of launches.
    level
        Confidence level, in (0, 1).
    """
    # ppf is the smallest k with P(B <= k) >= alpha/2, so that P(B <= k-1) < alpha/2: l = k.
    return int(scipy.stats.binom.ppf((1 - level) / 2, n, 0.5)) if n > 0 else 0


def median_interval(values: Sequence[float], level: float) -> Interval:
    """Median of `values`, one for each launch, and its rank interval, in their unit.

    ValueError for no values or a NaN.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    if not ordered.size or np.isnan(ordered).any():
        raise ValueError("needs at least one value, and no NaN")
    rank = lower_rank(ordered.size, level)
    low, high = (float(ordered[rank - 1]), float(ordered[-rank])) if rank else (None, None)
    half = ordered.size // 2
    median = ordered[half] if ordered.size % 2 else (ordered[half - 1] + ordered[half]) / 2
    return Interval(float(median), low, high, ordered.size, level)


def median_intervals(
    frame: pl.DataFrame, by: Sequence[str], value: str, level: float
) -> pl.DataFrame:
    """`median_interval` of column `value` for every group.

    Columns: those of `by`, then median, low, high (null without an interval) and n.
    """
    groups = frame.group_by(by).agg(
        median=OVER_LAUNCHES.of(pl.col(value)),
        n=pl.len().cast(pl.Int64),
        ordered=pl.col(value).sort(),
    )
    return with_ends(groups, level).select(*by, "median", "low", "high", "n").sort(by)


def with_ends(groups: pl.DataFrame, level: float) -> pl.DataFrame:
    """`groups` with columns low and high, the rank interval; null without an interval.

    Columns n, the number of values of a group, and ordered, a list of these in their order.
    """
    counts = groups["n"].unique().to_list()
    ranks = pl.DataFrame(
        {"n": counts, "rank": [lower_rank(n, level) for n in counts]},
        schema={"n": pl.Int64, "rank": pl.Int64},
    )
    rank = pl.when(pl.col("rank") > 0).then(pl.col("rank"))
    return groups.join(ranks, on="n").with_columns(
        low=pl.col("ordered").list.get(rank - 1), high=pl.col("ordered").list.get(-rank)
    )

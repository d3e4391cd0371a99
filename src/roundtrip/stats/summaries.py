"""Summary statistics, and the exact rank confidence interval of a median of launches.

Statistics are objects: the one that computes a number also names it in the report.  Which statistic
suits which kind of value: T. Hoefler and R. Belli, Scientific Benchmarking of Parallel Computing
Systems, SC 2015, rules 3 (costs and rates), 4 (ratios) and 6 (normal theory).

The interval (SC 2015, section 3.1.3; W. J. Conover, Practical Nonparametric Statistics, 3rd ed.
1999, section 3.2).  Let x(1) <= ... <= x(n) be independent with median m, of any distribution.  The
number of values below m is binomial B(n, 1/2) (ties only widen the interval), so

    P( x(l) <= m <= x(n+1-l) ) >= 1 - 2 P(B <= l-1),

and l is the largest rank for which the right side is at least the level.  For n < 6 there is no
such rank at 95 %, and so no interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from itertools import count

import numpy as np
import polars as pl

#: Relative error of a sum of probabilities: where one equals alpha/2, rounding must not decide.
_RELATIVE_ROUNDING = 1e-9


class ValueKind(StrEnum):
    """The kind of a value: time, work over time, ratio of two values of one kind, or count."""

    COST = "cost"
    RATE = "rate"
    RATIO = "ratio"
    COUNT = "count"


@dataclass(frozen=True)
class Statistic:
    """A statistic with its `name` in words, meaningful for values of the `valid_kinds`.

    `function` computes it from a column; None if it is computed elsewhere.  `is_normal`: it
    misleads unless values are normally distributed.
    """

    name: str
    valid_kinds: frozenset[ValueKind]
    function: Callable[[pl.Expr], pl.Expr] | None = None
    is_normal: bool = False

    def aggregate(self, values: pl.Expr) -> pl.Expr:
        """The statistic of a column; ValueError if it has no function."""
        if self.function is None:
            raise ValueError(f"the {self.name} is not computed from a column")
        return self.function(values)


MEDIAN = Statistic("median", frozenset(ValueKind), pl.Expr.median)
MINIMUM = Statistic("least", frozenset(ValueKind), pl.Expr.min)
MAXIMUM = Statistic("largest", frozenset(ValueKind), pl.Expr.max)
PERCENTILES = Statistic("percentiles", frozenset(ValueKind))
SUM = Statistic("sum", frozenset({ValueKind.COST, ValueKind.COUNT}), pl.Expr.sum)
MEAN = Statistic("arithmetic mean", frozenset({ValueKind.COST, ValueKind.COUNT}), pl.Expr.mean)
RATIO_OF_TOTALS = Statistic("total work over total time", frozenset({ValueKind.RATE}))
GEOMETRIC_MEAN = Statistic(
    "geometric mean", frozenset({ValueKind.RATIO}), lambda column: column.log().mean().exp()
)
MEDIAN_SLOPE = Statistic("median of pairwise slopes", frozenset({ValueKind.COST}))
STANDARD_DEVIATION = Statistic(
    "standard deviation", frozenset({ValueKind.COST}), pl.Expr.std, is_normal=True
)


@dataclass(frozen=True)
class Summary:
    """A summary of `quantity`, a value of `kind`, over `population` by `statistic`.

    `diagnostic`: the column beside a normal-theory statistic that tells whether values are normal;
    "" if there is none.
    """

    quantity: str
    kind: ValueKind
    population: str
    statistic: Statistic
    diagnostic: str = ""

    def aggregate(self, column: str) -> pl.Expr:
        """The summary of a column; ValueError if its statistic has no function."""
        return self.statistic.aggregate(pl.col(column))

    def __str__(self) -> str:
        return f"{self.quantity}: {self.statistic.name} over {self.population}"


#: Ratio of a normal distribution's standard deviation to its median absolute deviation.
SD_PER_MAD = 1.4826


def robust_sd(values: np.ndarray) -> float:
    """Standard deviation of one or more values, from their median absolute deviation."""
    return SD_PER_MAD * float(np.median(np.abs(values - np.median(values))))


#: The statistic over launches of every number that has an interval.
LAUNCH_STATISTIC = MEDIAN


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

    def is_above(self, value: float) -> bool:
        """Whether the whole interval lies above `value`; False if there is none."""
        return self.low is not None and self.low > value

    def is_below(self, value: float) -> bool:
        """Whether the whole interval lies below `value`; False if there is none."""
        return self.high is not None and self.high < value

    def excludes(self, value: float) -> bool:
        """Whether the interval lies wholly on one side of `value`; False if there is none."""
        return self.is_above(value) or self.is_below(value)


@cache
def lower_rank(n: int, level: float) -> int:
    """Rank l (1-based) of the interval's lower end; 0 if n values give no interval at `level`.

    `n` counts launches; `level` is in (0, 1).
    """
    if n < 1:
        return 0
    # The smallest k with P(B <= k) >= alpha/2, so that P(B <= k-1) < alpha/2: l = k.  By sums of
    # logarithms, because scipy.special takes longer to load than a command to answer.
    successes = np.arange(1, n + 1)
    log_counts = np.cumsum(np.log((n + 1 - successes) / successes))
    cdf = np.cumsum(np.exp(np.concatenate([[0.0], log_counts]) - n * math.log(2)))
    return int(np.searchsorted(cdf * (1 + _RELATIVE_ROUNDING), (1 - level) / 2))


@cache
def min_launches_for_interval(level: float) -> int:
    """The fewest launches whose median has an interval at `level`: 6 at 95 %."""
    return next(n for n in count(1) if lower_rank(n, level))


def median_interval(values: Sequence[float], level: float) -> Interval:
    """Median of `values`, one per launch, and its rank interval; ValueError for none or a NaN."""
    sorted_values = np.sort(np.asarray(values, dtype=float))
    if not sorted_values.size or np.isnan(sorted_values).any():
        raise ValueError("needs at least one value, and no NaN")
    rank = lower_rank(sorted_values.size, level)
    low, high = sorted_values[[rank - 1, -rank]].tolist() if rank else (None, None)
    middle = sorted_values[[(sorted_values.size - 1) // 2, sorted_values.size // 2]].mean()
    return Interval(float(middle), low, high, sorted_values.size, level)


def median_intervals(
    frame: pl.DataFrame, by: Sequence[str], value: str, level: float
) -> pl.DataFrame:
    """`median_interval` of each group: columns `by`, median, low, high (null without one) and n."""
    groups = frame.group_by(by).agg(
        median=LAUNCH_STATISTIC.aggregate(pl.col(value)),
        n=pl.len().cast(pl.Int64),
        ordered=pl.col(value).sort(),
    )
    return with_interval_columns(groups, level).select(*by, "median", "low", "high", "n").sort(by)


def with_interval_columns(groups: pl.DataFrame, level: float) -> pl.DataFrame:
    """`groups` with two more columns, low and high: the rank interval, null without one.

    `groups` has the columns n, the number of values, and ordered, their sorted list.
    """
    ranks = {n: lower_rank(n, level) or None for n in groups["n"].unique().to_list()}
    rank = pl.col("n").replace_strict(ranks, default=None, return_dtype=pl.Int64)
    low, high = (pl.col("ordered").list.get(index) for index in (rank - 1, -rank))
    return groups.with_columns(low=low, high=high)

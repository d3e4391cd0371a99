"""How several values become one, as objects: what forms a number is what the report says of it.

Which statistic suits which kind of value: T. Hoefler and R. Belli, Scientific Benchmarking of
Parallel Computing Systems, SC 2015, rules 3 (costs and rates), 4 (ratios) and 6 (normal theory).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import polars as pl


class Kind(StrEnum):
    """Of a value: time, work over time, one over another of its kind, a number of things."""

    COST = "cost"
    RATE = "rate"
    RATIO = "ratio"
    COUNT = "count"


@dataclass(frozen=True)
class Statistic:
    """`name` in words; `suits` are the kinds of which it means something.

    `formed` makes it of a column; None where it is formed elsewhere, as by another's program.
    `is_normal`: it says what it seems to say only of values that are normally distributed.
    """

    name: str
    suits: frozenset[Kind]
    formed: Callable[[pl.Expr], pl.Expr] | None = None
    is_normal: bool = False

    def of(self, values: pl.Expr) -> pl.Expr:
        """The statistic of a column; ValueError if it is not formed of one."""
        if self.formed is None:
            raise ValueError(f"the {self.name} is not formed of a column")
        return self.formed(values)


MEDIAN = Statistic("median", frozenset(Kind), pl.Expr.median)
LEAST = Statistic("least", frozenset(Kind), pl.Expr.min)
LARGEST = Statistic("largest", frozenset(Kind), pl.Expr.max)
PERCENTILES = Statistic("percentiles", frozenset(Kind))
SUM = Statistic("sum", frozenset({Kind.COST, Kind.COUNT}), pl.Expr.sum)
MEAN = Statistic("arithmetic mean", frozenset({Kind.COST, Kind.COUNT}), pl.Expr.mean)
HARMONIC_MEAN = Statistic("harmonic mean", frozenset({Kind.RATE}))
TOTAL = Statistic("total work over total time", frozenset({Kind.RATE}))
GEOMETRIC_MEAN = Statistic(
    "geometric mean", frozenset({Kind.RATIO}), lambda column: column.log().mean().exp()
)
SLOPE = Statistic("median of pairwise slopes", frozenset({Kind.COST}))
DEVIATION = Statistic("standard deviation", frozenset({Kind.COST}), pl.Expr.std, is_normal=True)


@dataclass(frozen=True)
class Summary:
    """`what` is summarised, of which kind, over what, by which statistic.

    `diagnostic`: the column of a table beside a normal-theory statistic that tells whether values
    are normal; "" without one.
    """

    what: str
    kind: Kind
    over: str
    statistic: Statistic
    diagnostic: str = ""

    @property
    def suits(self) -> bool:
        """Whether the statistic means something of this kind of value."""
        return self.kind in self.statistic.suits

    def formed(self, column: str) -> pl.Expr:
        """The summary of a column; ValueError if its statistic is not formed of one."""
        return self.statistic.of(pl.col(column))

    def __str__(self) -> str:
        return f"{self.what}: {self.statistic.name} over {self.over}"

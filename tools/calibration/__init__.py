"""False alarms and power of the detection: simulations with fixed seeds.

A table yields lines to print, and an estimate for each row, with its demand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scipy.stats import binomtest

_LEVEL = 0.95


@dataclass(frozen=True)
class Demand:
    """The largest (`is_most`) or the smallest share of events in a row that meets the demand."""

    share: float
    is_most: bool = False


@dataclass(frozen=True)
class Estimate:
    """The number of `events` of the kind `row` in independent `trials`."""

    row: str
    events: int
    trials: int
    demand: Demand | None = None

    @property
    def verdict(self) -> str:
        """``failed``, ``met`` or ``cannot be told``; "" if nothing is demanded.

        A demand fails only if the exact 95 % interval of the estimate lies wholly on its wrong
        side.  With too few series, the verdict is ``cannot be told``, not a failure by chance.
        """
        if self.demand is None:
            return ""
        low, high = interval(self.events, self.trials)
        if (low > self.demand.share) if self.demand.is_most else (high < self.demand.share):
            return "failed"
        is_met = high <= self.demand.share if self.demand.is_most else low >= self.demand.share
        return "met" if is_met else "cannot be told"


#: A line to print, or an estimate that may have a demand.
Output = str | Estimate


def failures(estimates: Sequence[Estimate]) -> Iterator[str]:
    """One line for each demand that failed."""
    for estimate in estimates:
        if estimate.demand and estimate.verdict == "failed":
            low, high = interval(estimate.events, estimate.trials)
            yield (
                f"demand failed: {estimate.row}: {estimate.events} of {estimate.trials}, "
                f"{estimate.events / estimate.trials:.2%} [{low:.2%}, {high:.2%}]; demanded: "
                f"{'at most' if estimate.demand.is_most else 'at least'} "
                f"{estimate.demand.share:.2%}"
            )


def summary(estimates: Sequence[Estimate]) -> str:
    """Return the numbers of demands that are met, cannot be told, and failed."""
    counts = Counter(estimate.verdict for estimate in estimates)
    verdicts = ("met", "cannot be told", "failed")
    return f"demands: {', '.join(f'{counts[verdict]} {verdict}' for verdict in verdicts)}"


def interval(events: int, trials: int) -> tuple[float, float]:
    """Exact 95 % interval of a share: C. J. Clopper and E. S. Pearson, Biometrika 26, 1934."""
    low, high = binomtest(events, trials).proportion_ci(_LEVEL, method="exact")
    return float(low), float(high)

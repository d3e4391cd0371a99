"""False alarms and power of the detection: simulations with fixed seeds.

A table is an iterator of lines to print and of an estimate for each row, with its demand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scipy.stats import binomtest

_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Demand:
    """A limit of the share of events in a row: a maximum if `is_maximum`, else a minimum."""

    share: float
    is_maximum: bool = False


@dataclass(frozen=True)
class Estimate:
    """A row of a table: `events`, such as false alarms, among independent `trials`."""

    row: str
    events: int
    trials: int
    demand: Demand | None = None

    @property
    def verdict(self) -> str:
        """``failed``, ``met`` or ``undecided``; "" if nothing is demanded.

        A demand fails only if the exact 95 % interval of the estimate lies wholly on its wrong
        side.  With too few series, the verdict is ``undecided``, not a failure by chance.
        """
        if self.demand is None:
            return ""
        low, high = share_interval(self.events, self.trials)
        if (low > self.demand.share) if self.demand.is_maximum else (high < self.demand.share):
            return "failed"
        is_met = high <= self.demand.share if self.demand.is_maximum else low >= self.demand.share
        return "met" if is_met else "undecided"


#: A line to print, or an estimate that may have a demand.
TableOutput = str | Estimate


def failure_lines(estimates: Sequence[Estimate]) -> Iterator[str]:
    """One line for each demand that failed."""
    for estimate in estimates:
        if estimate.demand and estimate.verdict == "failed":
            low, high = share_interval(estimate.events, estimate.trials)
            yield (
                f"demand failed: {estimate.row}: {estimate.events} of {estimate.trials}, "
                f"{estimate.events / estimate.trials:.2%} [{low:.2%}, {high:.2%}]; demanded: "
                f"{'at most' if estimate.demand.is_maximum else 'at least'} "
                f"{estimate.demand.share:.2%}"
            )


def describe_demands(estimates: Sequence[Estimate]) -> str:
    """Return how many demands are met, undecided and failed: ``demands: 3 met, ...``."""
    counts = Counter(estimate.verdict for estimate in estimates)
    verdicts = ("met", "undecided", "failed")
    return f"demands: {', '.join(f'{counts[verdict]} {verdict}' for verdict in verdicts)}"


def share_interval(events: int, trials: int) -> tuple[float, float]:
    """Return the exact 95 % interval of a share, by Clopper and Pearson (Biometrika 26, 1934)."""
    low, high = binomtest(events, trials).proportion_ci(_CONFIDENCE, method="exact")
    return float(low), float(high)

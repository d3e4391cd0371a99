"""What is demanded of the detection, by row of the tables, and which demands an estimate fails.

A demand fails only where the exact 95 % interval of the estimate lies wholly on its wrong side.  So
few series cannot fail it by chance: they cannot tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tools.calibration import counts, failing, nodes
from tools.calibration.estimates import Estimate
from tools.calibration.models import MODELS


@dataclass(frozen=True)
class Demand:
    """The share of trials that a row may have at most, or must have at least."""

    share: float
    is_most: bool = False

    def verdict(self, estimate: Estimate) -> str:
        """``failed``, ``met`` or ``cannot be told``."""
        low, high = counts.interval(estimate.events, estimate.trials)
        if (low > self.share) if self.is_most else (high < self.share):
            return "failed"
        met = high <= self.share if self.is_most else low >= self.share
        return "met" if met else "cannot be told"


#: By row.  Steps are in standard deviations from night to night.
DEMANDS: Mapping[str, Demand] = {
    **{
        f"false alarms, {model}, {nights} nights": Demand(most / counts.SITE, is_most=True)
        for model, (_, limits) in MODELS.items()
        for nights, most in zip(counts.LENGTHS, limits, strict=True)
    },
    "power, Gauss, +2 sd, 10 of 100 nights": Demand(0.88),
    "power, Gauss, +2 sd, 10 of 365 nights": Demand(0.80),
    "power, Gauss, +5 sd, 3 of 100 nights": Demand(0.80),
    "power, Gauss, +10 sd, 2 of 100 nights": Demand(0.95),
    **{
        f"false alarms, Gauss, {change}": Demand(1 / counts.SITE, is_most=True)
        for change in counts.SPREADS
    },
    "real: obvious steps found": Demand(0.92),
    "real: of these, with another within 60 nights before": Demand(0.88),
    "real: alarms unsupported": Demand(0.01, is_most=True),
    "real: shuffled quiet stretches with an alarm": Demand(1 / counts.SITE, is_most=True),
    # A naming lasts for nights, so runs are counted: 0.001 a night is [nodes]'s rate.
    **{
        f"a node named in {nodes.NIGHTS} quiet nights, {noise}": Demand(
            0.001 * nodes.NIGHTS, is_most=True
        )
        for noise in nodes.NOISES
    },
    **{f"nodes falsely called flaky, {name}": Demand(0.01, is_most=True) for name in failing.SITES},
    **{
        f"named within two nights, {name}, {noise}": Demand(0.95)
        for noise in nodes.NOISES
        for name, _ in nodes.PLANTED.values()
        # Of two peaks, one is as far off as these nodes: nothing is promised.
        if noise != "two peaks" or name == "0.5 % loss"
    },
}


def failures(estimates: Sequence[Estimate]) -> Iterator[str]:
    """One line for each demand that failed."""
    for one in estimates:
        demand = DEMANDS.get(one.row)
        if demand and demand.verdict(one) == "failed":
            low, high = counts.interval(one.events, one.trials)
            yield (
                f"demand failed: {one.row}: {one.events} of {one.trials}, "
                f"{one.events / one.trials:.2%} [{low:.2%}, {high:.2%}]; demanded: "
                f"{'at most' if demand.is_most else 'at least'} {demand.share:.2%}"
            )


def summary(estimates: Sequence[Estimate]) -> str:
    """How many demands are met, failed, or cannot be told from so few series."""
    of = Counter(DEMANDS[one.row].verdict(one) for one in estimates if one.row in DEMANDS)
    told = ", ".join(f"{of[verdict]} {verdict}" for verdict in ("met", "cannot be told", "failed"))
    return f"demands: {told}"

"""What is demanded of the detection, by row of the tables, and which demands an estimate fails.

A demand fails only where the exact 95 % interval of the estimate lies wholly on its wrong side.  So
few series cannot fail it by chance: they cannot tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from roundtrip.bench.calibration import nodes, quiet
from roundtrip.bench.calibration.estimates import Estimate
from roundtrip.bench.calibration.models import DEMANDED

LENGTHS = (90, 365)


@dataclass(frozen=True)
class Demand:
    """The share of trials that a row may have at most, or must have at least."""

    share: float
    is_most: bool = False

    def verdict(self, estimate: Estimate) -> str:
        """``failed``, ``met`` or ``cannot be told``."""
        low, high = quiet.interval(estimate.events, estimate.trials)
        if (low > self.share) if self.is_most else (high < self.share):
            return "failed"
        met = high <= self.share if self.is_most else low >= self.share
        return "met" if met else "cannot be told"


#: By row.  Steps are in standard deviations from night to night, as in the table of power.
DEMANDS: Mapping[str, Demand] = {
    **{
        f"false alarms, {model}, {nights} nights": Demand(1 / 500, is_most=True)
        for nights in LENGTHS
        for model in DEMANDED
    },
    "power, Gaussian, 10 of 90 nights, +2 sd": Demand(0.90),
    "power, AR(1) 0.3, 10 of 90 nights, +2 sd": Demand(0.45),
    "power, Gaussian, 10 of 90 nights, +5 sd": Demand(0.95),
    "power, AR(1) 0.3, 10 of 90 nights, +5 sd": Demand(0.95),
    # 90 and 180 nights of such a drift are too few to tell it from noise every time.
    "a drift, +5 % a year, 365 nights": Demand(0.95),
    # A naming lasts for nights, so runs are counted: 0.001 a night is [nodes]'s rate.
    **{
        f"a node named in {nodes.NIGHTS} quiet nights, {noise}": Demand(
            0.001 * nodes.NIGHTS, is_most=True
        )
        for noise in nodes.NOISES
    },
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
            low, high = quiet.interval(one.events, one.trials)
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

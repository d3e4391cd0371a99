"""What detection over nights is held to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Settings:
    """Table ``[history]`` of analysis.toml, which says what each key means.

    Counts are nights that were measured and not left out; deviations are in standard deviations
    of a series from night to night.
    """

    baseline_least: int
    baseline_most: int
    segment_least: int
    step_least: int
    step_most: int
    clip_sd: float
    spread_least: float
    autocorrelation_most: float
    schedule_nights: tuple[int, ...]
    schedule_thresholds: tuple[float, ...]
    short_step_penalty: float
    trend_threshold: float
    beside_trend: float
    spike_sd: float
    spike_history_least: int
    spike_history_most: int
    spike_run: int
    spike_run_most: int
    node_set_nights: int
    node_sets_most: int
    drift_nights: int
    drift_threshold: float
    drift_margin: float
    confidence_level: float
    false_discovery_level: float
    news_nights: int
    sight_nights: int
    sight_power: float

    def threshold(self, nights: np.ndarray | float, length: np.ndarray | float) -> np.ndarray:
        """What the statistic of `length` new nights must exceed after `nights` of history.

        The schedule is linear in log(nights), and constant beyond its ends.  Windows shorter than
        `sight_nights` are held to more: there are many of them, and the steps that they can show
        are large (L. Duembgen and V. G. Spokoiny, Annals of Statistics 29, 2001).
        """
        import numpy as np  # a command that only reads thresholds need not load it

        base = np.interp(np.log(nights), np.log(self.schedule_nights), self.schedule_thresholds)
        short = np.log(np.maximum(self.sight_nights / np.asarray(length, dtype=float), 1.0))
        return np.sqrt(base**2 + 2 * self.short_step_penalty * short)

    def lengths(self) -> np.ndarray:
        """How many newest nights are compared with those before: each number to 10, then fewer."""
        import numpy as np  # as above

        wanted = [*range(1, 11), 12, 14, 17, 20, 25, 30, 40, 50, 60, 75, 90, 120]
        return np.array([one for one in wanted if self.step_least <= one <= self.step_most])

    def faults(self) -> Iterator[tuple[str, str]]:
        """(key, what would be right) of every value that makes no sense beside the others."""
        for key in ("confidence_level", "false_discovery_level", "sight_power"):
            if not 0 < getattr(self, key) < 1:
                yield key, "must lie between 0 and 1"
        if not self.autocorrelation_most < 1:
            yield "autocorrelation_most", "must lie below 1"
        for key in ("clip_sd", "spread_least", "spike_sd"):
            if not getattr(self, key) > 0:
                yield key, "must be above 0"
        for least, key in _ORDERED:
            low = least if isinstance(least, int) else getattr(self, least)
            if getattr(self, key) < low or getattr(self, key) != int(getattr(self, key)):
                yield key, f"must be a whole number, at least {low} ({least})"
        nights = self.schedule_nights
        if list(nights) != sorted(set(nights)) or nights[0] < 1:
            yield "schedule_nights", "must rise, from 1 or more"
        if len(self.schedule_thresholds) != len(nights):
            yield "schedule_thresholds", "needs as many values as schedule_nights"


#: (the least value or the key that holds it, key), all whole numbers.
_ORDERED: tuple[tuple[int | str, str], ...] = (
    (8, "baseline_least"),
    ("baseline_least", "baseline_most"),
    (4, "segment_least"),
    (2, "step_least"),
    ("step_least", "step_most"),
    (8, "spike_history_least"),
    ("spike_history_least", "spike_history_most"),
    (1, "spike_run_most"),
    ("spike_run_most", "spike_run"),
    (2, "node_set_nights"),
    (1, "node_sets_most"),
    (8, "drift_nights"),
    (1, "news_nights"),
    ("step_least", "sight_nights"),
)

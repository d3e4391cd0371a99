"""What the search for sick nodes is held to."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

#: Keys that are probabilities or shares.
_SHARES = (
    "false_discovery_level",
    "sight_power",
    "failures_least",
    "failures_level",
    "failures_night_level",
)


@dataclass(frozen=True)
class Settings:
    """Table ``[nodes]`` of analysis.toml, which says what each key means."""

    minimum_effect: float
    minimum_tail: float
    false_discovery_level: float
    launches_least: int
    partners_least: int
    nodes_least: int
    windows_nights: tuple[int, ...]
    clips_sd: tuple[float, ...]
    spread_least: float
    own_spread_sd: float
    small_bytes: int
    large_bytes: int
    sight_power: float
    failures_least: float = 0.03
    failures_level: float = 0.001
    failures_night_level: float = 0.03

    def least(self, is_tail: bool) -> float:
        """The smallest effect that is named, on the log scale."""
        return math.log1p(self.minimum_tail if is_tail else self.minimum_effect)

    def faults(self) -> Iterator[tuple[str, str]]:
        """(key, what would be right) of every value that makes no sense beside the others."""
        for key in _SHARES:
            if not 0 < getattr(self, key) < 1:
                yield key, "must lie between 0 and 1"
        if not self.spread_least > 0:
            yield "spread_least", "must be above 0"
        if list(self.clips_sd) != sorted(set(self.clips_sd)) or not self.clips_sd[0] > 0:
            yield "clips_sd", "must rise, from above 0"
        for key, low in (("launches_least", 2), ("partners_least", 1), ("nodes_least", 3)):
            if getattr(self, key) < low or getattr(self, key) != int(getattr(self, key)):
                yield key, f"must be a whole number, at least {low}"
        nights = self.windows_nights
        if list(nights) != sorted(set(nights)) or nights[0] < 1:
            yield "windows_nights", "must rise, from 1 or more"
        if not self.large_bytes > self.small_bytes:
            yield "large_bytes", "must be above small_bytes"

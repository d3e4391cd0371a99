"""What a claim has to reach."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Levels:
    """Confidence level of intervals, false-discovery level, minimum effect, equivalence margin."""

    confidence_level: float
    false_discovery_level: float
    minimum_effect: float
    equivalence_margin: float

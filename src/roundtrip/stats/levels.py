"""What a claim has to reach."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Levels:
    """What a claim is held to: table ``[statistics]`` of analysis.toml, fractions of 1.

    `confidence_level` of intervals, `false_discovery_level` for q, `minimum_effect` for faster and
    slower, `equivalence_margin` for on par.  `advised_launches`, a count: no fewer are advised.
    """

    confidence_level: float
    false_discovery_level: float
    minimum_effect: float
    equivalence_margin: float
    advised_launches: int = 9

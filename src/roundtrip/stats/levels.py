"""What a claim has to reach."""

from __future__ import annotations

from roundtrip.model import Count, Limit, Share, Table


class Levels(Table):
    """What a claim is held to: table ``[statistics]`` of analysis.toml, fractions of 1.

    `confidence_level` of intervals, `false_discovery_level` for q, `minimum_effect` for faster and
    slower, `equivalence_margin` for on par.  `advised_launches`, a count: no fewer are advised.
    """

    confidence_level: Share
    false_discovery_level: Share
    minimum_effect: Limit
    equivalence_margin: Limit
    advised_launches: Count = 9

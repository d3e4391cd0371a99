"""What claims and searches are held to: tables of analysis.toml, which says what each key means."""

from __future__ import annotations

import math
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from roundtrip.model import Count, Limit, Limits, Positive, Share, Sizes, Table


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


def _rising(values: Any) -> Any:
    if list(values) != sorted(set(values)) or not values[0] > 0:
        raise PydanticCustomError("rising", "must rise, from above 0")
    return values


class NodeSettings(Table):
    """Table ``[nodes]`` of analysis.toml, which says what each key means."""

    minimum_effect: Limit
    minimum_tail: Limit
    false_discovery_level: Share
    launches_least: Annotated[Count, Field(ge=2)]
    partners_least: Annotated[Count, Field(ge=1)]
    nodes_least: Annotated[Count, Field(ge=3)]
    windows_nights: Annotated[Sizes, AfterValidator(_rising)]
    clips_sd: Annotated[Limits, AfterValidator(_rising)]
    spread_least: Positive
    own_spread_sd: Limit
    small_bytes: Count
    large_bytes: Count
    sight_power: Share
    failures_least: Share = 0.03
    failures_level: Share = 0.001
    failures_night_level: Share = 0.03

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.large_bytes <= self.small_bytes:
            raise PydanticCustomError("order", "large_bytes must be above small_bytes")
        return self

    def least(self, is_tail: bool) -> float:
        """The smallest effect that is named, on the log scale."""
        return math.log1p(self.minimum_tail if is_tail else self.minimum_effect)

"""Thresholds for claims, nights and nodes: tables of analysis.toml, which explains each key."""

from __future__ import annotations

import math
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from roundtrip.model import Count, Positive, Share, Sizes, StrictRecord, Threshold, Thresholds

#: A threshold that no change point reaches; finite, so that thresholds can be compared.
UNREACHABLE_THRESHOLD = 1e6
#: Keys of [history]: (lower bound, key).
_ORDERED_KEY_PAIRS = (
    ("newest_sd", "newest_sd_most"),
    ("segment_least", "incident_nights"),
    ("incident_nights", "plain_nights"),
    ("segment_least", "sight_nights"),
)


def _fraction_table_validator(owners: str) -> BeforeValidator:
    """Validate fractions by name of `owners`, such as "a study"; return sorted pairs."""

    def pairs(fractions: Any) -> Any:
        if not isinstance(fractions, dict):
            return fractions
        for name, value in fractions.items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not 0 <= value < 1:
                message = "{name} must be a number from 0 to 1, under the name of {owners}"
                raise PydanticCustomError("fractions", message, {"name": name, "owners": owners})
        return tuple(sorted((name, float(value)) for name, value in fractions.items()))

    return BeforeValidator(pairs)


#: Pairs (name, fraction), written as a table.
_NamedFractions = tuple[tuple[str, float], ...]


class Levels(StrictRecord):
    """What a claim is held to: table ``[statistics]`` of analysis.toml, fractions of 1.

    `confidence_level` of intervals, `false_discovery_level` for q, `minimum_effect` for faster and
    slower, `equivalence_margin` for on par.  `advised_launches`, a count: no fewer are advised.
    """

    confidence_level: Share
    false_discovery_level: Share
    minimum_effect: Threshold
    equivalence_margin: Threshold
    advised_launches: Count
    #: Pairs (STUDY, margin that replaces equivalence_margin for all claims of the study).
    equivalence_margins: Annotated[_NamedFractions, _fraction_table_validator("a study")] = ()

    def for_study(self, study: str) -> Levels:
        """What the claims of a study are held to: the same, with the margin of the study."""
        margin = dict(self.equivalence_margins).get(study, self.equivalence_margin)
        return self.model_copy(update={"equivalence_margin": margin})


def _validate_rising(values: Any) -> Any:
    if list(values) != sorted(set(values)) or not values[0] > 0:
        raise PydanticCustomError("rising", "must rise, from above 0")
    return values


class NodeSettings(StrictRecord):
    """Table ``[nodes]`` of analysis.toml, which says what each key means."""

    minimum_effect: Threshold
    minimum_tail: Threshold
    false_discovery_level: Share
    launches_least: Annotated[Count, Field(ge=2)]
    partners_least: Annotated[Count, Field(ge=1)]
    nodes_least: Annotated[Count, Field(ge=3)]
    windows_nights: Annotated[Sizes, AfterValidator(_validate_rising)]
    clips_sd: Annotated[Thresholds, AfterValidator(_validate_rising)]
    spread_least: Positive
    own_spread_sd: Threshold
    small_bytes: Count
    large_bytes: Count
    sight_power: Share
    failures_least: Share
    failures_level: Share
    failures_night_level: Share

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.large_bytes <= self.small_bytes:
            raise PydanticCustomError("order", "large_bytes must be above small_bytes")
        return self

    def min_effect(self, is_tail: bool) -> float:
        """The smallest effect that is reported, on the log scale."""
        return math.log1p(self.minimum_tail if is_tail else self.minimum_effect)


class NightSettings(StrictRecord):
    """Table ``[history]`` of analysis.toml, which says what each key means.

    Counts are nights that were measured and not left out; evidence is in standard normal deviates.
    """

    minimum_effect: Threshold
    nights_least: Annotated[Count, Field(ge=8)]
    segment_least: Annotated[Count, Field(ge=2)]
    evidence: Positive
    evidence_length: Threshold
    evidence_memory: Threshold
    evidence_short: Threshold
    evidence_newest: Thresholds
    separation_least: Share
    plain_sd: Positive
    plain_nights: Count
    plain_cost: Threshold
    incident_nights: Count
    clip_sd: Positive
    spread_least: Positive
    white_share: Share
    share_weight: Threshold
    mode_evidence: Threshold
    node_set_nights: Annotated[Count, Field(ge=2)]
    node_sets_most: Annotated[Count, Field(ge=1)]
    drift_nights: Annotated[Count, Field(ge=8)]
    drift_evidence: Threshold
    newest_sd: Positive
    newest_sd_most: Threshold
    newest_share: Share
    flapping_level: Share
    flapping_nights: Annotated[Count, Field(ge=3)]
    confidence_level: Share
    news_nights: Annotated[Count, Field(ge=1)]
    sight_nights: Count
    sight_power: Share
    #: Pairs (STUDY or 'STUDY METRIC', least effect that replaces minimum_effect).
    minimum_effects: Annotated[
        _NamedFractions,
        _fraction_table_validator("a study, or of a study and a metric: 'STUDY METRIC'"),
    ] = ()

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        for least, key in _ORDERED_KEY_PAIRS:
            if getattr(self, key) < getattr(self, least):
                message = "{key} must be at least {least}, which is {low}"
                context = {"key": key, "least": least, "low": getattr(self, least)}
                raise PydanticCustomError("order", message, context)
        return self

    def min_effect(self, study: str, metric: str) -> float:
        """The least relative effect that is reported for a metric of a study."""
        effects = dict(self.minimum_effects)
        return effects.get(f"{study} {metric}", effects.get(study, self.minimum_effect))

    def threshold(
        self, nights: int, shorter_segment: int, *, is_newest: bool, is_autocorrelated: bool
    ) -> float:
        """Return the evidence that a change point in a series of `nights` nights needs.

        `shorter_segment`: length of the shorter adjacent segment; `UNREACHABLE_THRESHOLD` if too
        short. Short segments need more evidence: there are many of them, and they show only large
        changes (L. Duembgen and V. G. Spokoiny, Annals of Statistics 29, 2001).  `is_newest`:
        `evidence_newest` applies to a short segment.  `is_autocorrelated`: nights are
        autocorrelated.
        """
        base = self.evidence + self.evidence_length * max(0.0, math.log(nights / 100))
        base += self.evidence_memory if is_autocorrelated else 0.0
        log_ratio = math.log(max(1.0, self.sight_nights / shorter_segment))
        bar = math.sqrt(max(base, 0.0) ** 2 + 2 * self.evidence_short * log_ratio)
        if shorter_segment >= self.segment_least:
            return bar
        place = shorter_segment - 2
        if is_newest and 0 <= place < len(self.evidence_newest):
            return max(bar, self.evidence_newest[place])
        return UNREACHABLE_THRESHOLD

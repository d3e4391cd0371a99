"""What detection over nights is held to."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

#: Evidence that no change point has: finite, so that of several the weakest is known.
NEVER = 1e6


@dataclass(frozen=True)
class Settings:
    """Table ``[history]`` of analysis.toml, which says what each key means.

    Counts are nights that were measured and not left out; evidence is in standard normal deviates.
    """

    minimum_effect: float
    nights_least: int
    segment_least: int
    evidence: float
    evidence_length: float
    evidence_memory: float
    evidence_short: float
    evidence_newest: tuple[float, ...]
    separation_least: float
    plain_sd: float
    plain_nights: int
    plain_cost: float
    incident_nights: int
    clip_sd: float
    spread_least: float
    white_share: float
    share_weight: float
    mode_evidence: float
    node_set_nights: int
    node_sets_most: int
    drift_nights: int
    drift_evidence: float
    newest_sd: float
    newest_sd_most: float
    newest_share: float
    flapping_level: float
    flapping_nights: int
    confidence_level: float
    news_nights: int
    sight_nights: int
    sight_power: float
    #: (name of a study, or of a study and a metric; the least effect in place of minimum_effect).
    minimum_effects: tuple[tuple[str, float], ...] = ()

    def least(self, study: str, metric: str) -> float:
        """The least effect, relative, that is told of a metric of a study."""
        effects = dict(self.minimum_effects)
        return effects.get(f"{study} {metric}", effects.get(study, self.minimum_effect))

    def threshold(self, nights: int, shorter: int, *, is_newest: bool, has_memory: bool) -> float:
        """The evidence that a change point of a series of `nights` nights needs.

        `shorter` is the length of the shorter of the two segments beside it; `NEVER` where it is
        too short to be told.  Short segments are held to more: there are many of them, and the
        changes that they can show are large (L. Duembgen and V. G. Spokoiny, Annals of Statistics
        29, 2001).  `has_memory`: nights resemble those before, whose law is known less well.
        """
        base = self.evidence + self.evidence_length * max(0.0, math.log(nights / 100))
        base += self.evidence_memory if has_memory else 0.0
        short = math.log(max(1.0, self.sight_nights / shorter))
        bar = math.sqrt(max(base, 0.0) ** 2 + 2 * self.evidence_short * short)
        if shorter >= self.segment_least:
            return bar
        place = shorter - 2
        if is_newest and 0 <= place < len(self.evidence_newest):
            return max(bar, self.evidence_newest[place])
        return NEVER

    def faults(self) -> Iterator[tuple[str, str]]:
        """(key, what would be right) of every value that makes no sense beside the others."""
        for key in (
            "confidence_level",
            "sight_power",
            "white_share",
            "newest_share",
            "flapping_level",
            "separation_least",
        ):
            if not 0 < getattr(self, key) < 1:
                yield key, "must lie between 0 and 1"
        for key in ("clip_sd", "spread_least", "evidence", "plain_sd", "newest_sd"):
            if not getattr(self, key) > 0:
                yield key, "must be above 0"
        if self.newest_sd_most < self.newest_sd:
            yield "newest_sd_most", "must be at least newest_sd"
        for least, key in _ORDERED:
            low = least if isinstance(least, int) else getattr(self, least)
            if getattr(self, key) < low or getattr(self, key) != int(getattr(self, key)):
                yield key, f"must be a whole number, at least {low} ({least})"


#: (the least value or the key that holds it, key), all whole numbers.
_ORDERED: tuple[tuple[int | str, str], ...] = (
    (8, "nights_least"),
    (2, "segment_least"),
    ("segment_least", "incident_nights"),
    ("incident_nights", "plain_nights"),
    (2, "node_set_nights"),
    (1, "node_sets_most"),
    (8, "drift_nights"),
    (3, "flapping_nights"),
    (1, "news_nights"),
    ("segment_least", "sight_nights"),
)

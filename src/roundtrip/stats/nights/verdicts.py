"""The history of the nights of one series, and the verdict on its newest nights.

Nights are counted from 0, in the order of the site's nights, including nights that were left out.
All ratios are of raw values to the level before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from roundtrip.stats.verdicts import VerdictColour

#: A median of 0 has no logarithm.  It counts as this share of the least other median of its series,
#: as values below a limit of detection do (R. W. Hornung, L. D. Reed, Appl. Occup. Environ. Hyg. 5,
#: 1990).
ZERO_SHARE = 2**-0.5
#: A level has returned if its distance from the old one is at most this share of the change.
_MAX_RETURN_SHARE = 0.35
#: A change point at most so many nights from a reported one is the same, moved.
_MAX_SAME_STEP_NIGHTS = 10


class Verdict(StrEnum):
    """Verdicts on a series, in the order in which series are listed.

    `predicate` follows "3 of 40 series"; `explanation` says what it means, "" if pages say more.
    """

    colour: VerdictColour
    predicate: str
    explanation: str

    WORSE_LAST_NIGHT = "worse last night", "bad"
    REGRESSED = "regressed", "bad"
    FLAPPING = "flapping", "bad", "flap", "bad nights recur more often than before"
    DRIFTING = "drifting", "warn", "drift", "they change slowly, so no step is claimed"
    RECOVERED = "recovered", "good"
    IMPROVED = "improved", "good"
    WANDERING = (
        *("wandering", "warn", "wander"),
        "their level moves slowly up and down, so no step is claimed",
    )
    TOO_FEW_NIGHTS = "too few nights", "muted"
    NO_VALUE = (
        *("no value last night", "muted", "have no value last night"),
        "not measured, disturbed, left out, or on nodes without comparable earlier nights",
    )
    UNCHANGED = "unchanged", "muted"

    def __new__(
        cls, word: str, colour: VerdictColour, predicate: str = "", explanation: str = ""
    ) -> Verdict:
        """A verdict that is its `word`."""
        verdict = str.__new__(cls, word)
        verdict._value_, verdict.colour = word, colour
        verdict.predicate, verdict.explanation = predicate, explanation
        return verdict

    @property
    def is_judged(self) -> bool:
        """Whether the newest nights could be judged."""
        return self not in (Verdict.TOO_FEW_NIGHTS, Verdict.NO_VALUE)

    @property
    def is_undecided(self) -> bool:
        """Whether it is open if the series changed."""
        return not self.is_judged or self in (Verdict.DRIFTING, Verdict.WANDERING)

    @property
    def is_listed(self) -> bool:
        """Whether ``roundtrip history`` lists the series without ``--all``."""
        return self not in (Verdict.UNCHANGED, Verdict.WANDERING, Verdict.TOO_FEW_NIGHTS)


@dataclass(frozen=True)
class Step:
    """A change of level that began at `night`: `ratio` is the new level over the level before.

    `low` and `high`: its interval.  `evidence`, with the sign of the change, is above `threshold`
    in absolute value; `nights`: used nights of the new level.
    """

    night: int
    ratio: float
    low: float
    high: float
    evidence: float
    threshold: float
    nights: int

    def is_effect(self, min_effect: float) -> bool:
        """Whether the interval excludes 1 and the change is at least the least effect."""
        return abs(self.ratio - 1) >= min_effect and not self.low <= 1 <= self.high


@dataclass(frozen=True)
class StepRevision:
    """A change point that was reported after the night before and no longer exists.

    `new_step` is the change point that replaces it; None if it is withdrawn, for the `reason`.
    """

    old_step: Step
    new_step: Step | None
    reason: str = ""


@dataclass(frozen=True)
class Segment:
    """The nights between two change points, from `begin` to `end` (exclusive).

    `level` is their median in the unit of the series.
    """

    begin: int
    end: int
    level: float


@dataclass(frozen=True)
class Incident:
    """Nights `first` to `last` at `ratio` times the level, which then returned."""

    first: int
    last: int
    ratio: float


@dataclass(frozen=True)
class LevelDrift:
    """A slow change: the level in a year over the level today, with its interval."""

    yearly_ratio: float
    low: float
    high: float

    def is_effect(self, min_effect: float) -> bool:
        """Whether the interval excludes 1 and the change in a year is at least the least effect."""
        return abs(self.yearly_ratio - 1) >= min_effect and not self.low <= 1 <= self.high


@dataclass(frozen=True)
class NewestNight:
    """The newest night and its prediction from the nights before: ratios to their level.

    `low` and `high` bound the prediction of one night without a change.
    """

    ratio: float
    low: float
    high: float
    is_outside: bool


@dataclass(frozen=True)
class Flapping:
    """Odd nights that come and go: `share` of the newest `nights`, `share_before` of those before.

    `ratio` is the median of odd nights over the level.
    """

    nights: int
    share: float
    share_before: float
    ratio: float


@dataclass(frozen=True)
class ModeShares:
    """A change of the share of nights that a series spends in the higher of two modes.

    `after` is the share of the newest `nights`, `before` that of earlier nights, fractions of 1.
    The higher mode is `ratio` (above 1) times the lower.
    """

    nights: int
    before: float
    after: float
    ratio: float


@dataclass(frozen=True)
class SeriesHistory:
    """Change points, segments and incidents of one series, oldest first, and its newest nights.

    `detectable_step` is the least relative step that `sight_nights` new nights show with
    probability `sight_power`; None with too few nights.  `reason` says what is missing for a
    verdict.  A level is news for `news_nights`.  `nights_without_value` counts the newest nights of
    the site without a value of the series that counts.  `mode_shares` is a change of the shares of
    two modes, which is no change point.  `previous_history` is the history as reported after the
    night before.
    """

    nights_used: int
    steps: tuple[Step, ...] = ()
    segments: tuple[Segment, ...] = ()
    incidents: tuple[Incident, ...] = ()
    drift: LevelDrift | None = None
    is_wandering: bool = False
    newest_night: NewestNight | None = None
    flapping: tuple[Flapping, ...] = ()
    detectable_step: float | None = None
    reason: str = ""
    min_effect: float = 0.0
    news_nights: int = 14
    nights_without_value: int = 0
    mode_shares: ModeShares | None = None
    previous_history: SeriesHistory | None = None

    lower_is_better: bool = True

    @property
    def spikes(self) -> tuple[int, ...]:
        """The nights of all incidents."""
        return tuple(n for odd in self.incidents for n in range(odd.first, odd.last + 1))

    def newest_step(self, accepted_night: int = -1) -> Step | None:
        """The newest change point that is an effect and began after night `accepted_night`."""
        for step in reversed(self.steps):
            if step.is_effect(self.min_effect) and step.night > accepted_night:
                return step
        return None

    def is_new_step(self, step: Step) -> bool:
        """Whether the level after `step` is not older than `news_nights`."""
        end = self.segments[-1].end if self.segments else step.night + step.nights
        return end + self.nights_without_value - step.night <= self.news_nights

    def unreversed_steps(self, accepted_night: int = -1) -> tuple[Step, ...]:
        """Change points for the worse after `accepted_night` that no later level reversed."""
        result: list[Step] = []
        for index, step in enumerate(self.steps):
            is_worse = (step.ratio > 1) == self.lower_is_better and step.is_effect(self.min_effect)
            ratio_since = math.prod(later.ratio for later in self.steps[index:])
            is_back = _has_returned(ratio_since, step.ratio, self.min_effect)
            if is_worse and step.night > accepted_night and not is_back:
                result.append(step)
        return tuple(result)

    @property
    def revisions(self) -> tuple[StepRevision, ...]:
        """Effects reported after the night before that moved or are gone, oldest first."""
        if self.previous_history is None:
            return ()
        old_steps, new_steps = self.previous_history._effect_steps(), self._effect_steps()
        free_steps = [new_steps[place] for place in new_steps.keys() - old_steps.keys()]
        result = []
        for place in sorted(old_steps.keys() - new_steps.keys()):
            old_step = old_steps[place]
            candidates = [step for step in free_steps if (step.ratio > 1) == (old_step.ratio > 1)]
            distances = {
                (abs(each.night - old_step.night), each.night): each for each in candidates
            }
            nearest = min(distances, default=None)
            if nearest is None or nearest[0] > _MAX_SAME_STEP_NIGHTS:
                result.append(StepRevision(old_step, None, self._withdrawal_reason(old_step)))
            else:
                new_step = distances[nearest]
                free_steps.remove(new_step)
                result.append(StepRevision(old_step, new_step))
        return tuple(result)

    def _effect_steps(self) -> dict[tuple[int, bool], Step]:
        """The change points that are effects, by night and direction."""
        effects = (step for step in self.steps if step.is_effect(self.min_effect))
        return {(step.night, step.ratio > 1): step for step in effects}

    def _withdrawal_reason(self, old_step: Step) -> str:
        """Why a change point that was reported before is withdrawn."""
        if any(incident.first <= old_step.night <= incident.last for incident in self.incidents):
            return "the level returned, so these nights are an incident"
        place = old_step.night, old_step.ratio > 1
        if place in {(step.night, step.ratio > 1) for step in self.steps}:
            return "it no longer exceeds the minimum effect"
        if self.drift is not None:
            return "a drift explains these nights better"
        if self.is_wandering:
            return "the level wanders"
        return "the newest night weakens its evidence below the threshold"

    def recovered_night(self) -> NewestNight | None:
        """The night before, if it was reported as worse and last night shows no sign of it."""
        previous = self.previous_history
        if previous is None or self.newest_night is None:
            return None
        if not previous.is_worse_last_night():
            return None
        start = previous.segments[-1].end - 1 - _MAX_SAME_STEP_NIGHTS
        later = [step for step in self.steps if step.night > start]
        has_step = any((step.ratio > 1) == self.lower_is_better for step in later)
        return None if self.is_worse_last_night() or has_step else previous.newest_night

    def worse_flapping(self) -> Flapping | None:
        """Flapping for the worse; None if there is none."""
        flaps = (odd for odd in self.flapping if (odd.ratio > 1) == self.lower_is_better)
        return next(flaps, None)

    def worse_mode(self, accepted_night: int = -1) -> ModeShares | None:
        """The share of the worse of two modes, if it changed after night `accepted_night`.

        `ratio` is the worse mode over the other.
        """
        shares = self.mode_shares
        if shares is None or self.segments[-1].end - shares.nights <= accepted_night:
            return None
        if self.lower_is_better:
            return shares
        return ModeShares(shares.nights, 1 - shares.before, 1 - shares.after, 1 / shares.ratio)

    def is_worse_last_night(self) -> bool:
        """Whether the newest night is worse than predicted, by at least the least effect."""
        if self.newest_night is None or not self.newest_night.is_outside:
            return False
        change = self.newest_night.ratio - 1
        return (change > 0) == self.lower_is_better and abs(change) >= self.min_effect

    def verdict(self, accepted_night: int = -1) -> Verdict:
        """The verdict on the newest nights; change points up to `accepted_night` are the baseline.

        The newest night takes precedence, then change points for the worse, then flapping,
        then change points for the better.  One for the better that is no news hides neither a drift
        nor that last night lacks a value.
        """
        is_new = not self.segments or self.segments[-1].end - 1 > accepted_night
        if is_new and self.is_worse_last_night():
            return Verdict.WORSE_LAST_NIGHT
        step = self.newest_step(accepted_night)
        if step is not None and (step.ratio > 1) == self.lower_is_better:
            return Verdict.REGRESSED
        flapping = self.worse_flapping()
        if flapping and self.segments[-1].end - flapping.nights > accepted_night:
            return Verdict.FLAPPING
        shares = self.worse_mode(accepted_night)
        if shares and shares.after > shares.before:
            return Verdict.FLAPPING
        is_unclear = self.drift is not None or bool(self.reason) or self.nights_without_value > 0
        if step is not None and (self.is_new_step(step) or not is_unclear):
            return Verdict.RECOVERED if self._reverses_earlier_step(step) else Verdict.IMPROVED
        if shares:
            return Verdict.IMPROVED
        if self.drift is not None:
            return Verdict.DRIFTING
        if self.reason:
            return Verdict.TOO_FEW_NIGHTS
        if self.nights_without_value:
            return Verdict.NO_VALUE
        return Verdict.WANDERING if self.is_wandering else Verdict.UNCHANGED

    def _reverses_earlier_step(self, step: Step) -> bool:
        """Whether a change point returned to the level before an earlier, opposite one."""
        position = self.steps.index(step)
        for index in range(position - 1, -1, -1):
            earlier = self.steps[index]
            ratio_since = math.prod(later.ratio for later in self.steps[index : position + 1])
            is_opposite = (earlier.ratio > 1) != (step.ratio > 1)
            if is_opposite and earlier.is_effect(self.min_effect):
                return _has_returned(ratio_since, earlier.ratio, self.min_effect)
        return False


def _has_returned(ratio: float, change: float, min_effect: float) -> bool:
    """Whether a level at `ratio` times that before a `change` (a ratio) is back at that."""
    room = max(_MAX_RETURN_SHARE * abs(math.log(change)), math.log1p(min_effect))
    return abs(math.log(ratio)) <= room

"""Ratios of launches that are near each other in time, exact p-values and verdicts on them.

Pairs.  A machine drifts: launch medians had a standard deviation of 14 % and a lag-1
autocorrelation of 0.7, while launches side by side drift together.  So launches are paired by
round.  The order in a round is random, so that without a difference each ratio is as likely to be r
as 1/r, whatever the drift.  The signed-rank test assumes this.  It does not hold for two blocks,
one after the other.  ``python -m tools.bench aa`` measures how often one toolchain under two names
looks different from itself.

"Faster" and "slower" need an interval that excludes 1, *and* a median beyond the minimum effect,
*and* a q-value (Benjamini-Hochberg over all claims of its family) below the level.  "On par" is a
claim of its own, not the absence of another: the whole interval must lie within the equivalence
margin (the confidence-interval form of two one-sided tests: D. J. Schuirmann, J. Pharmacokinetics
and Biopharmaceutics 15, 1987).  Margins are symmetric for a ratio: 1/(1+d) .. 1+d.

Signed-rank test: under the null the signs of log(ratio) are independent coin tosses given their
absolute values, so the null distribution of the rank sum is known exactly, ties or not (F.
Wilcoxon, Individual Comparisons by Ranking Methods, Biometrics Bulletin 1, 1945).  It assumes that
log(ratio) is symmetric about its median.

Families.  The correction (Y. Benjamini and Y. Hochberg, J. R. Statist. Soc. B 57, 1995) bounds the
share of false claims among all claims that are tested together.  One family of all claims would do
harm in two ways: the few questions of a study would need launches for hundreds of others, and many
obvious differences ("370 times slower") would make doubtful ones pass.  So each family is corrected
separately.  The study's definition assigns claims to families before there are data.  When to
combine tests: B. Efron, Simultaneous Inference: When Should Hypothesis Testing Problems Be
Combined?, Annals of Applied Statistics 2, 2008.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from itertools import pairwise
from operator import attrgetter
from typing import Literal, TypeVar

import numpy as np

from roundtrip.stats.planning import min_launches, min_p
from roundtrip.stats.settings import Levels
from roundtrip.stats.summaries import Interval, median_interval

KeyT = TypeVar("KeyT", bound=Hashable)
#: The colour of a verdict on a page and in a terminal.
VerdictColour = Literal["good", "bad", "warn", "muted"]


@dataclass(frozen=True)
class RoundLaunch:
    """A launch and its round; `started` is in UTC, ISO 8601, or "" if unknown."""

    launch: str
    round: int
    started: str = ""


@dataclass(frozen=True)
class Pairing:
    """Pairs (launch of the first case, launch of the second), in the order of `round_numbers`.

    `rounds` counts the rounds with a launch of either case, `first_count` the pairs in which the
    first case started first.  `refusal` says why there are no pairs; it is "" if there are some.
    """

    pairs: tuple[tuple[str, str], ...]
    rounds: int
    first_count: int = 0
    refusal: str = ""
    round_numbers: tuple[int, ...] = ()


def double_round_ratios(ratios: Mapping[int, float]) -> list[float]:
    """Geometric means of the positive `ratios` of rounds 1 and 2, 3 and 4, ..., if both exist."""
    return [
        math.sqrt(ratios[number] * ratios[number + 1])
        for number in sorted(ratios)
        if number % 2 and number + 1 in ratios
    ]


def pair_by_round(
    first_launches: Sequence[RoundLaunch], second_launches: Sequence[RoundLaunch]
) -> Pairing:
    """Pair the launches of two cases that shared a round; refuse if they shared none.

    Rounds that overlap in time are refused too: they come from two campaigns in one tree.
    """
    first, second = (
        # The first launch of a round counts.
        {
            launch.round: launch
            for launch in sorted(launches, key=attrgetter("started", "launch"), reverse=True)
        }
        for launches in (first_launches, second_launches)
    )
    rounds = len(first.keys() | second.keys())
    numbers = sorted(first.keys() & second.keys())
    if not numbers:
        ranges = f"one in {_describe_rounds(first)}, the other in {_describe_rounds(second)}"
        reason = f"no round launched both ({ranges}): what was not interleaved cannot be compared"
        return Pairing((), rounds, refusal=reason)
    spans = [sorted((first[number].started, second[number].started)) for number in numbers]
    for (number, span), (_, next_span) in pairwise(zip(numbers, spans, strict=True)):
        if span[0] and next_span[0] and span[1] > next_span[0]:
            reason = (
                f"round {number} was not over when the next one began: launches that share a "
                "number were not interleaved, and cannot be compared"
            )
            return Pairing((), rounds, refusal=reason)
    return Pairing(
        tuple((first[number].launch, second[number].launch) for number in numbers),
        rounds,
        sum(first[number].started < second[number].started for number in numbers),
        round_numbers=tuple(numbers),
    )


def _describe_rounds(rounds: Iterable[int]) -> str:
    numbers = sorted(rounds)
    if len(numbers) < 2:
        return f"round {numbers[0]}" if numbers else "no round"
    return f"rounds {numbers[0]} to {numbers[-1]}"


def signed_rank_p(ratios: Sequence[float]) -> float:
    """Two-sided exact Wilcoxon signed-rank p-value of "the median of log(ratio) is 0".

    `ratios`: positive, one per launch.  Ratios of exactly 1 have no sign and are left out; if none
    remain, p is 1.
    """
    logs = np.log(np.asarray(ratios, dtype=float))
    logs = logs[logs != 0]
    _, place, count = np.unique(np.abs(logs), return_inverse=True, return_counts=True)
    ranks = (2 * np.cumsum(count) - count + 1)[place]  # ties share their mean rank; all are doubled
    return _exact_p(int(ranks[logs > 0].sum()), tuple(np.sort(ranks).tolist()))


@cache
def _exact_p(rank_sum: int, ranks: tuple[int, ...]) -> float:
    # Cached: campaigns of many toolchains ask for the same few sums repeatedly.
    chances = np.ones(1)  # of each sum: a rank counts with probability 1/2
    for rank in ranks:
        chances = (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0))) / 2
    least_sum = min(rank_sum, chances.size - 1 - rank_sum)
    return min(1.0, 2 * float(chances[: least_sum + 1].sum()))


def q_values(p_values: Sequence[float]) -> list[float]:
    """Benjamini-Hochberg adjusted p-values, in the order given; [] for []."""
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p)
    scaled_p = p[order] * p.size / np.arange(1, p.size + 1)
    q = np.empty(p.size)
    q[order] = np.minimum.accumulate(scaled_p[::-1])[::-1]
    return [float(value) for value in q]


class Verdict(StrEnum):
    """The verdict on a ratio of rates, in the words of all reports; above 1 is faster.

    `is_difference`: whether one side is faster.  A loss has the colour of a loss, however large it
    is and whether or not a study expected it.
    """

    colour: VerdictColour
    is_difference: bool

    FASTER = "faster", "good", True
    SLOWER = "slower", "bad", True
    ON_PAR = "on par", "good", False
    CANNOT_TELL = "open", "warn", False

    def __new__(cls, word: str, colour: VerdictColour, is_difference: bool) -> Verdict:
        """A verdict that is its `word`."""
        verdict = str.__new__(cls, word)
        verdict._value_ = word
        verdict.colour, verdict.is_difference = colour, is_difference
        return verdict


class Family(StrEnum):
    """Families of claims; claims of one family are corrected together."""

    #: The study's own questions.  They are few, and launches are planned for them.
    PRIMARY = "primary"
    #: All other claims of a study within its launches.
    SECONDARY = "secondary"
    #: Comparisons of toolchains, between launches of one round.
    TOOLCHAINS = "between toolchains"


@dataclass(frozen=True)
class ClaimVerdict:
    """The verdict on a claim and its basis: the interval over launches, p and q.

    `family_size` counts the claims of its family, with this one.  If only launches are lacking,
    `launches_needed` launches decide it; else it is None.  If the interval is too wide, about
    `extra_launches` more make it narrow enough; it is None if unknown or very large.
    `minimum_effect` is the least effect of "faster" and "slower", a fraction of 1.
    """

    interval: Interval
    p: float
    q: float
    verdict: Verdict
    family_size: int = 1
    launches_needed: int | None = None
    extra_launches: int | None = None
    minimum_effect: float = 0.0

    @property
    def missing_launches(self) -> int | None:
        """The number of further launches for a verdict, exact or approximate; None if unknown."""
        if self.launches_needed is None:
            return self.extra_launches
        return self.launches_needed - self.interval.n

    @property
    def words(self) -> str:
        """``open: 6 launches cannot reach the level among 14 claims; 10 would``, or the verdict."""
        if self.launches_needed is None:
            n = self.extra_launches
            more = f": about {n} more launch{'es' * (n != 1)} would decide" if n else ""
            return f"{self.verdict}{more}"
        n = self.interval.n
        lack = f"cannot reach the level among {self.family_size} claims"
        if not self.interval.exists:
            lack = "gives no interval" if n == 1 else "give no interval"
        launches = f"{n} launch{'es' * (n != 1)}"
        return f"{self.verdict}: {launches} {lack}; {self.launches_needed} would"


def decide_claim(interval: Interval, q: float, levels: Levels) -> Verdict:
    """The verdict on one ratio, from its interval and its q."""
    if interval.excludes(1.0) and q < levels.false_discovery_level:
        if interval.median >= 1 + levels.minimum_effect:
            return Verdict.FASTER
        if interval.median <= 1 / (1 + levels.minimum_effect):
            return Verdict.SLOWER
    margin = 1 + levels.equivalence_margin
    return Verdict.ON_PAR if interval.within(1 / margin, margin) else Verdict.CANNOT_TELL


def judge(
    claims: Mapping[KeyT, Sequence[float]],
    levels: Levels,
    family: Callable[[KeyT], Hashable] | None = None,
    study: Callable[[KeyT], str] | None = None,
) -> dict[KeyT, ClaimVerdict]:
    """Judge all claims of a report, each family separately; verdicts in the order of `claims`.

    `claims` has the positive ratios of each claim, one per launch, formed within the launch or the
    round.  A claim with too few launches for an interval takes no part in the correction: its p and
    q are 1.  Without `family`, all claims are one family.  Each is held to the levels of its
    `study`; without it, to the common ones.
    """
    tests = median_interval, signed_rank_p
    verdicts = judge_families(claims, levels, family, study, *tests)
    return {
        key: _with_advice(claim, levels.for_study(study(key)) if study else levels)
        for key, claim in verdicts.items()
    }


def judge_families(
    claims: Mapping[KeyT, Sequence[float]],
    levels: Levels,
    family: Callable[[KeyT], Hashable] | None,
    study: Callable[[KeyT], str] | None,
    interval: Callable[[Sequence[float], float], Interval],
    p_value: Callable[[Sequence[float]], float],
) -> dict[KeyT, ClaimVerdict]:
    """Judge claims without advice; `interval` and `p_value` are functions of a claim's ratios."""
    families: dict[Hashable, list[KeyT]] = defaultdict(list)
    for key in claims:
        families[family(key) if family else None].append(key)
    verdicts: dict[KeyT, ClaimVerdict] = {}
    for keys in families.values():
        intervals = {key: interval(claims[key], levels.confidence_level) for key in keys}
        p_of = {key: p_value(claims[key]) for key in keys if intervals[key].exists}
        q_of = dict(zip(p_of, q_values(list(p_of.values())), strict=True))
        for key in keys:
            p, q = p_of.get(key, 1.0), q_of.get(key, 1.0)
            own_levels = levels.for_study(study(key)) if study else levels
            verdicts[key] = ClaimVerdict(
                intervals[key],
                p,
                q,
                decide_claim(intervals[key], q, own_levels),
                len(keys),
                minimum_effect=levels.minimum_effect,
            )
    return {key: verdicts[key] for key in claims}


def _with_advice(verdict: ClaimVerdict, levels: Levels) -> ClaimVerdict:
    """`verdict`, with the number of launches that would decide the claim if it is open."""
    interval = verdict.interval
    if verdict.verdict is not Verdict.CANNOT_TELL:
        return verdict
    is_least_p = verdict.p <= min_p(interval.n) * (1 + 1e-9)
    is_clear = decide_claim(interval, 0.0, levels) is not Verdict.CANNOT_TELL
    if not interval.exists or (is_least_p and is_clear):
        return replace(verdict, launches_needed=min_launches(verdict.family_size, levels))
    # With a clear interval, q depends on the other claims too.
    return (
        verdict if is_clear else replace(verdict, extra_launches=_extra_launches(interval, levels))
    )


#: No advice is given if the total number of launches would exceed this multiple of those made.
_MAX_LAUNCHES_FACTOR = 10


def _extra_launches(interval: Interval, levels: Levels) -> int | None:
    """Estimate from the interval's width, which shrinks with the square root of launches."""
    if interval.low is None or interval.high is None:
        return None
    low, median, high = map(math.log, (interval.low, interval.median, interval.high))
    margin = math.log1p(levels.equivalence_margin) - abs(median)
    effect = abs(median) if abs(median) >= math.log1p(levels.minimum_effect) else 0.0
    room, width = max(margin, effect), max(high - median, median - low)
    if room * math.sqrt(_MAX_LAUNCHES_FACTOR) < width:
        return None
    return max(1, math.ceil(interval.n * ((width / room) ** 2 - 1)))

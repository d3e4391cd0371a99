"""What may be said of a ratio: faster, slower, on par, or cannot tell.

"Faster" and "slower" need an interval that excludes 1, *and* a median beyond the minimum effect,
*and* a q-value (Benjamini-Hochberg over all claims of its family) below the level.  "On par" is a
claim of its own, not the lack of another: the whole interval must lie within the equivalence
margin (the confidence-interval form of two one-sided tests: D. J. Schuirmann, J. Pharmacokinetics
and Biopharmaceutics 15, 1987).  Margins are symmetric for a ratio: 1/(1+d) .. 1+d.

Families.  The correction bounds the share of false claims among all claims that are tested
together.  One family of all claims would do harm in two ways: the few questions of a study would
need launches for hundreds of others, and many obvious differences ("370 times slower") would make
doubtful ones pass.  So each family is corrected by itself.  The study's definition says which claim
is in which family, before there are data.  When to combine tests: B. Efron, Simultaneous Inference:
When Should Hypothesis Testing Problems Be Combined?, Annals of Applied Statistics 2, 2008.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from roundtrip.stats.levels import Levels
from roundtrip.stats.planning import fewest_launches, least_p
from roundtrip.stats.significance import q_values, signed_rank_p
from roundtrip.stats.summaries import Interval, median_interval

Key = TypeVar("Key", bound=Hashable)


class Verdict(StrEnum):
    """What is said of a ratio of rates; above 1 is faster."""

    FASTER = "faster"
    SLOWER = "slower"
    ON_PAR = "on par"
    CANNOT_TELL = "cannot tell"


class Family(StrEnum):
    """Claims that are corrected together."""

    #: The study's own question.  There are few, and launches are planned for them.
    PRIMARY = "primary"
    #: All other claims that a study makes inside its launches.
    SECONDARY = "secondary"
    #: Toolchain against toolchain, between launches of one round.
    TOOLCHAINS = "between toolchains"


@dataclass(frozen=True)
class Judged:
    """The verdict on a claim and what it rests on: the interval over launches, p and q.

    `claims` is the size of the family, this claim included.  `would_do` is the number of launches
    that would give a verdict, where too few launches are the only reason for none; else None.
    """

    interval: Interval
    p: float
    q: float
    verdict: Verdict
    claims: int = 1
    would_do: int | None = None

    @property
    def words(self) -> str:
        """The verdict, and how many launches would give one where they were too few.

        Example: "cannot tell: 6 launches cannot reach the level among 14 claims; 10 would".
        """
        if self.would_do is None:
            return str(self.verdict)
        n = self.interval.n
        launches = f"{n} launch" if n == 1 else f"{n} launches"
        lack = f"cannot reach the level among {self.claims} claims"
        if not self.interval.exists:
            lack = f"{'gives' if n == 1 else 'give'} no interval"
        return f"{self.verdict}: {launches} {lack}; {self.would_do} would"


def decide(interval: Interval, q: float, levels: Levels) -> Verdict:
    """The verdict on one ratio with this interval and this q."""
    if interval.excludes(1.0) and q < levels.false_discovery_level:
        if interval.median >= 1 + levels.minimum_effect:
            return Verdict.FASTER
        if interval.median <= 1 / (1 + levels.minimum_effect):
            return Verdict.SLOWER
    margin = 1 + levels.equivalence_margin
    return Verdict.ON_PAR if interval.within(1 / margin, margin) else Verdict.CANNOT_TELL


def judge(
    claims: Mapping[Key, Sequence[float]],
    levels: Levels,
    family: Callable[[Key], Hashable] | None = None,
) -> dict[Key, Judged]:
    """Judge all claims of a report, each family together; in the order of `claims`.

    Parameters
    ----------
    claims
        For each claim its positive ratios, one for each launch, formed within the launch or the
        round.  A claim with too few launches for an interval gets none and takes no part in the
        correction: its p and q are 1.
    levels
        What a claim must reach.
    family
        The family of a claim; without it, all claims are one family.
    """
    families: dict[Hashable, list[Key]] = defaultdict(list)
    for key in claims:
        families[family(key) if family else None].append(key)
    judged: dict[Key, Judged] = {}
    for keys in families.values():
        judged |= _judge({key: claims[key] for key in keys}, levels)
    return {key: judged[key] for key in claims}


def _judge(claims: Mapping[Key, Sequence[float]], levels: Levels) -> dict[Key, Judged]:
    """One family."""
    intervals = {
        key: median_interval(ratios, levels.confidence_level) for key, ratios in claims.items()
    }
    testable = [key for key, interval in intervals.items() if interval.exists]
    p_values = [signed_rank_p(claims[key]) for key in testable]
    p_of = dict(zip(testable, p_values, strict=True))
    q_of = dict(zip(testable, q_values(p_values), strict=True))
    return {
        key: _judged(interval, p_of.get(key, 1.0), q_of.get(key, 1.0), len(claims), levels)
        for key, interval in intervals.items()
    }


def _judged(interval: Interval, p: float, q: float, claims: int, levels: Levels) -> Judged:
    verdict = decide(interval, q, levels)
    would_do = None
    if verdict is Verdict.CANNOT_TELL:
        at_the_floor = p <= least_p(interval.n) * (1 + 1e-9)
        would_speak = decide(interval, 0.0, levels) is not Verdict.CANNOT_TELL
        if not interval.exists or (at_the_floor and would_speak):
            would_do = fewest_launches(claims, levels)
    return Judged(interval, p, q, verdict, claims, would_do)

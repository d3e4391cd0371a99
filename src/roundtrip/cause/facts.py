"""Which of several facts made it slower: randomised group tests with all old and all new beside.

Each round launches "all old", "all new", and a pair of mixed arms: a set of facts, drawn by one
fair coin for each fact, in which these facts are new, and its complement.  d is the log ratio of
the two.  If a fact has no effect, its coin is independent of d, whatever the other facts do, alone
or together, and whatever the noise: nobody can expect to gain by bets on coin times d, which is
what `stats.sequential` bets on.  So each round asks of all facts at once, every launch counts for
every fact, and a fact is named falsely with a probability of at most its part of `ERROR`, at any
round.  What the facts named before contribute to d is subtracted first, as estimated from earlier
rounds: that is known before the coin, so it costs no validity.

Two facts whose coins were the same, or opposite, in each pair so far show the same evidence:
neither is named before their coins differ.  To wait costs no validity.

The complement keeps the effects of single facts clear of effects that only two facts together
have: of "both or nothing" each fact shows half of the step.

Facts that were named are then confirmed in fresh rounds: all old, all new, only they new, all but
they new.  The search ends when they are proven to explain `MOST` of the step.  Of several, each is
launched alone, which tells effects that add up from one that needs all of them, or any.

Bernoulli designs of group testing: Atia and Saligrama, Boolean compressed sensing and noisy group
testing, IEEE Trans. Inf. Theory 58, 2012.  Foldover: Box and Wilson, On the experimental attainment
of optimum conditions, J. R. Statist. Soc. B 13, 1951.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from roundtrip.cause.questions import (
    ERROR,
    LEAST_ROUNDS,
    PATIENCE,
    Question,
    Search,
    Span,
    bar,
    is_above,
    is_look,
    is_within,
    ratio,
    share,
)
from roundtrip.stats.sequential import Floats, log_wealth
from roundtrip.stats.summaries import Interval

#: Share of the step that named facts must be proven to explain.
MOST = 2 / 3
#: Parts of `ERROR`: naming facts, confirming them, telling how they act together, and saying that
#: the step is not there any more.
_NAMING, _CONFIRMING, _RELATION, _ABSENT = (part * ERROR for part in (0.4, 0.2, 0.2, 0.2))
#: Evidence from which on the effect of a fact is subtracted from what is bet on others.
_LIKELY = 1.0
#: Estimated share of the step from which on named facts are confirmed, in place of a search for
#: more.
_WORTH = 0.6

Facts = frozenset[str]
#: Rounds after which how several facts act is left open: their sum may lie between two answers.
_MOST_ALONE = 16
#: Mixed pairs in a round.
SPLITS = 2
#: Launches of a round that screens facts.
LAUNCHES_A_ROUND = 2 + 2 * SPLITS


class Kind(StrEnum):
    """What a round of launches is to show."""

    SCREEN = "which facts"
    CONFIRM = "whether these"
    ALONE = "each alone"


class Ending(StrEnum):
    """How a search ended."""

    FOUND = "found"
    ABSENT = "no step"
    UNKNOWN = "cannot tell"


class Relation(StrEnum):
    """How several facts act."""

    ADD = "each adds its part"
    TOGETHER = "only together"
    ANY = "any of them suffices"
    UNKNOWN = "cannot tell how they act together"


@dataclass(frozen=True)
class Causes:
    """What a search over facts found: the `named` ones, and which `share` of the step they explain.

    `alone`: the share of each when it alone is new.  `step`: all new over all old, in times.
    `lead` orders all facts by evidence, with the share that each seems to have.
    """

    ending: Ending
    named: tuple[str, ...]
    share: Span | None
    step: Interval | None
    relation: Relation | None = None
    alone: tuple[tuple[str, Span], ...] = ()
    lead: tuple[tuple[str, Span], ...] = ()
    launches: int = 0


@dataclass
class _Seen:
    """The rounds of a search, by what they were to show; the facts that are `named` so far."""

    facts: Sequence[str]
    named: tuple[str, ...] = ()
    steps: list[float] = field(default_factory=list)
    coins: list[list[int]] = field(default_factory=list)
    splits: list[float] = field(default_factory=list)
    #: For each split: the effect of each fact as it shows there, and the step beside it.
    effects: list[list[float]] = field(default_factory=list)
    screened: list[float] = field(default_factory=list)
    #: What the named facts do not explain, and the step beside it.
    rests: list[float] = field(default_factory=list)
    confirmed: list[float] = field(default_factory=list)
    is_confirmed: bool = False
    #: The effect of each named fact alone, and of all of them.
    singles: list[list[float]] = field(default_factory=list)
    together: list[float] = field(default_factory=list)
    launches: int = 0
    evidence: Floats = field(default_factory=lambda: np.zeros(0))

    def look(self) -> bool:
        """Judge each fact anew, if it is time to."""
        if is_due := is_look(len(self.splits)):
            self.evidence = log_wealth(np.asarray(self.effects).T, np.zeros(1))[:, 0, -1]
        return is_due

    def strong(self, error: float) -> list[str]:
        """The facts with an effect, but those that no pair sets apart from another one of them."""
        found = np.flatnonzero(self.evidence >= bar(error))
        coins = np.asarray(self.coins, dtype=int).reshape(-1, len(self.facts))[:, found]
        alike = (np.abs(coins.T @ coins) == len(coins)).sum(axis=1)
        return [self.facts[at] for at in found[alike == 1].tolist()]

    def forget(self, named: tuple[str, ...]) -> None:
        """Other facts are named: what was to confirm the earlier ones says nothing of them."""
        self.named, self.is_confirmed = named, False
        self.rests, self.confirmed, self.singles, self.together = [], [], [], []

    def add_split(self, coins: list[int], split: float) -> None:
        """Add a mixed pair; what likely facts contribute to it follows from the earlier ones."""
        known = self._known()
        whole = float(np.dot(coins, known))
        pairs = zip(coins, known, strict=True)
        self.effects.append([coin * (split - whole + coin * own) for coin, own in pairs])
        self.coins.append(coins)
        self.splits.append(split)

    def _known(self) -> Floats:
        """The effects of the likely facts, by least squares; 0 of the others."""
        known = np.zeros(len(self.facts))
        likely = np.flatnonzero(self.evidence >= _LIKELY)
        if likely.size and len(self.splits) > likely.size:
            columns = np.asarray(self.coins, dtype=float)[:, likely]
            known[likely] = np.linalg.lstsq(columns, np.asarray(self.splits), rcond=None)[0]
        return known


def find_causes(facts: Sequence[str], step: float, seed: int) -> Search[Causes]:
    """Search for the facts that made the step: log ratio `step` in times, positive if slower.

    Its arms are sets of facts that are new.  `seed` draws the coins.
    """
    old, new = Facts(), frozenset(facts)
    seen, sign = _Seen(facts), math.copysign(1.0, step)
    named: tuple[str, ...] = ()
    named_before = number = failed = 0
    while True:
        if seen.look():
            found = seen.strong(_NAMING / len(facts))
            if more := [fact for fact in found if fact not in named]:
                named, named_before = (*named, *more), named_before + 1
                seen.forget(named)
        if not named and is_within(seen.steps, abs(step) / 2, _ABSENT):
            return _causes(Ending.ABSENT, seen, sign)
        kind = _next(seen, _CONFIRMING / 2**named_before, sign)
        if kind is None:
            return _causes(Ending.FOUND, seen, sign)
        number += 1
        coins = [_coins(len(facts), f"{seed} {number} {split}") for split in range(SPLITS)]
        answer = yield Question(kind, (old, new, *_arms(kind, seen, coins)))
        failed = 0 if answer and answer.complete() else failed + 1
        if answer is None or failed > PATIENCE * len(facts):
            return _causes(Ending.UNKNOWN, seen, sign)
        seen.launches += answer.launches
        if values := answer.complete():
            _add(seen, kind, values, coins)


def _coins(count: int, seed: str) -> list[int]:
    drawn = random.Random(seed)  # noqa: S311  no secret
    return [drawn.choice((-1, 1)) for _ in range(count)]


def _arms(kind: Kind, seen: _Seen, coins: Sequence[Sequence[int]]) -> list[Facts]:
    """What is launched besides all old and all new."""
    new, named = frozenset(seen.facts), frozenset(seen.named)
    if kind is Kind.ALONE:
        return [named, *(frozenset([one]) for one in seen.named)]
    chosen = [named]
    if kind is Kind.SCREEN:
        chosen = [
            frozenset(fact for fact, coin in zip(seen.facts, drawn, strict=True) if coin > 0)
            for drawn in coins
        ]
    return [arm for one in chosen for arm in (one, new - one)]


def _add(seen: _Seen, kind: Kind, values: Sequence[float], coins: Sequence[list[int]]) -> None:
    old, new, *others = values
    seen.steps.append(new - old)
    if kind is Kind.SCREEN:
        for at, drawn in enumerate(coins):
            seen.add_split(drawn, others[2 * at] - others[2 * at + 1])
            seen.screened.append(new - old)
    elif kind is Kind.CONFIRM:
        only, without = others
        seen.rests.append((new - only + without - old) / 2)
        seen.confirmed.append(new - old)
    else:
        together, *alone = others
        seen.singles.append([one - old for one in alone])
        seen.together.append(together - old)


def _next(seen: _Seen, error: float, sign: float) -> Kind | None:
    """What the next round is to show; None if all is."""
    named = seen.named
    if not named:
        return Kind.SCREEN
    if len(named) < len(seen.facts):
        rests, steps = sign * np.asarray(seen.rests), sign * np.asarray(seen.confirmed)
        if not seen.is_confirmed:
            seen.is_confirmed = is_above((1 - MOST) * steps - rests, 0.0, error)
        if not seen.is_confirmed:
            is_few = len(seen.rests) < max(LEAST_ROUNDS, len(seen.steps) // 4)
            likely = is_few or np.median(rests) <= (1 - _WORTH) * np.median(steps)
            return Kind.CONFIRM if likely else Kind.SCREEN
    is_open = len(named) > 1 and len(seen.singles) < _MOST_ALONE
    if is_open and _relation(seen, sign) is Relation.UNKNOWN:
        return Kind.ALONE
    return None


def _relation(seen: _Seen, sign: float) -> Relation:
    """How the named facts act: the sum of each alone against all of them together."""
    if not seen.singles:
        return Relation.UNKNOWN
    alone = sign * np.asarray(seen.singles).sum(axis=1)
    together = sign * np.asarray(seen.together)
    error = _RELATION / 2
    if is_above(together / 2 - alone, 0.0, error):
        return Relation.TOGETHER
    if is_above(alone - 1.5 * together, 0.0, error):
        return Relation.ANY
    if is_above(alone - together / 2, 0.0, error) and is_above(1.5 * together - alone, 0.0, error):
        return Relation.ADD
    return Relation.UNKNOWN


def _lead(seen: _Seen) -> tuple[tuple[str, Span], ...]:
    """By fact, the share of the step that its splits show, the most evident first."""
    if not seen.effects:
        return ()
    effects, level = np.asarray(seen.effects), ERROR / len(seen.facts)
    order = np.argsort(-seen.evidence, kind="stable")
    return tuple((seen.facts[at], share(effects[:, at], seen.screened, level)) for at in order)


def _causes(ending: Ending, seen: _Seen, sign: float) -> Causes:
    named = seen.named
    explained: Span | None = None
    if named and len(named) == len(seen.facts):
        explained = Span(1.0, 1.0, 1.0)
    elif seen.rests:
        rest = share(seen.rests, seen.confirmed, ERROR)
        low, high = (None if one is None else 1 - one for one in (rest.high, rest.low))
        explained = Span(1 - rest.middle, low, high)
    singles = np.asarray(seen.singles)
    alone = tuple(
        (fact, share(singles[:, at], seen.together, ERROR))
        for at, fact in enumerate(named)
        if seen.singles
    )
    return Causes(
        ending,
        named,
        explained,
        ratio(seen.steps),
        _relation(seen, sign) if len(named) > 1 else None,
        alone,
        _lead(seen),
        seen.launches,
    )

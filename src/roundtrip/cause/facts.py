"""Finds which of several facts slowed a series, by randomised group tests.

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
they new.  The search ends when they are proven to explain `EXPLAINED_SHARE` of the step.  Of
several, each is launched alone, which tells effects that add up from one that needs all of them, or
any.

The step now may be another one than the nights showed.  Facts explain it only if all new is proven
to be off all old by more than half of the step of the nights, in the same direction; if it is
proven not to be, the step cannot be reproduced, whatever effects were found.

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

from roundtrip.cause import questions
from roundtrip.cause.questions import ERROR, Question, Search, Span, is_above, ratio, share
from roundtrip.stats.sequential import Floats, log_wealth
from roundtrip.stats.summaries import Interval

#: Share of the step that named facts must be proven to explain.
EXPLAINED_SHARE = 2 / 3
#: Parts of `ERROR`: to name facts, to confirm them, to decide how they combine, and to decide
#: whether the step still exists: only one of these two answers can be wrong.
_NAMING_ERROR, _CONFIRMING_ERROR, _RELATION_ERROR, _STEP_ERROR = (
    part * ERROR for part in (0.4, 0.2, 0.2, 0.2)
)
#: Evidence from which the effect of a fact is subtracted before the bets on other facts.
_MIN_LIKELY_EVIDENCE = 1.0
#: Estimated share of the step from which named facts are confirmed; below it, more are searched.
_MIN_CONFIRM_SHARE = 0.6

NewFacts = frozenset[str]
#: Maximum number of rounds to decide how facts combine: their sum may lie between two answers.
_MAX_SINGLE_FACT_ROUNDS = 16
#: Mixed pairs in a round.
MIXED_PAIRS_A_ROUND = 2
#: Launches of a round that screens facts.
LAUNCHES_A_ROUND = 2 + 2 * MIXED_PAIRS_A_ROUND


class RoundPurpose(StrEnum):
    """The purpose of a round of launches."""

    SCREEN = "which facts"
    CONFIRM = "whether these"
    ALONE = "each alone"
    STEP = "whether the step is still there"


class Ending(StrEnum):
    """How a search ended."""

    FOUND = "found"
    ABSENT = "no step"
    UNKNOWN = "cannot tell"


class Relation(StrEnum):
    """How several facts combine."""

    ADD = "each adds its part"
    TOGETHER = "only together"
    ANY = "any of them suffices"
    UNKNOWN = "cannot tell how they act together"


@dataclass(frozen=True)
class Causes:
    """The result of a search over facts: the `causes`, and the `share` of the step they explain.

    `share`: None unless the step is proven to be reproduced.  `single_shares`: the share of each
    cause when only it is new.  `step`: the ratio of the times of all new and all old.  `ranking`:
    all facts by evidence, each with its estimated share.  `effects`: the ratio of the times with
    each cause new and old.
    """

    ending: Ending
    causes: tuple[str, ...]
    share: Span | None
    step: Interval | None
    relation: Relation | None = None
    single_shares: tuple[tuple[str, Span], ...] = ()
    ranking: tuple[tuple[str, Span], ...] = ()
    launches: int = 0
    effects: tuple[tuple[str, Interval], ...] = ()


@dataclass
class _SearchState:
    """The rounds of a search so far, by their purpose, and the facts named so far."""

    facts: Sequence[str]
    named_facts: tuple[str, ...] = ()
    steps: list[float] = field(default_factory=list)
    is_step_reproduced: bool = False
    coins: list[list[int]] = field(default_factory=list)
    splits: list[float] = field(default_factory=list)
    #: For each split: its estimate of the effect of each fact, and the step of its round.
    effects: list[list[float]] = field(default_factory=list)
    screen_steps: list[float] = field(default_factory=list)
    #: For each confirming round: the effect that the named facts do not explain, and the step.
    residuals: list[float] = field(default_factory=list)
    confirm_steps: list[float] = field(default_factory=list)
    is_confirmed: bool = False
    #: For each round of single facts: the effect of each named fact alone, and of all together.
    single_effects: list[list[float]] = field(default_factory=list)
    joint_effects: list[float] = field(default_factory=list)
    launches: int = 0
    evidence: Floats = field(default_factory=lambda: np.zeros(0))

    def strong_facts(self, error: float) -> list[str]:
        """Facts with an effect, except those whose coins equal or mirror those of another one."""
        indices = np.flatnonzero(self.evidence >= questions.evidence_threshold(error))
        coins = np.asarray(self.coins, dtype=int).reshape(-1, len(self.facts))[:, indices]
        matches = (np.abs(coins.T @ coins) == len(coins)).sum(axis=1)
        return [self.facts[index] for index in indices[matches == 1].tolist()]

    def add_split(self, coins: list[int], split: float) -> None:
        """Add a mixed pair; the contribution of likely facts, by least squares over earlier pairs,
        is subtracted."""
        effects = np.zeros(len(self.facts))
        indices = np.flatnonzero(self.evidence >= _MIN_LIKELY_EVIDENCE)
        if indices.size and len(self.splits) > indices.size:
            columns = np.asarray(self.coins, dtype=float)[:, indices]
            effects[indices] = np.linalg.lstsq(columns, np.asarray(self.splits), rcond=None)[0]
        total = float(np.dot(coins, effects))
        pairs = zip(coins, effects, strict=True)
        self.effects.append([coin * (split - total + coin * effect) for coin, effect in pairs])
        self.coins.append(coins)
        self.splits.append(split)


def find_causes(facts: Sequence[str], step: float, seed: int) -> Search[Causes]:
    """Ask for measurements until the causes of a step are known; `step` is its log ratio of times,
    positive if slower.

    An arm is a set of facts: these have their new value, all others the old one.  `seed`: the seed
    of the coins.
    """
    old, new = NewFacts(), frozenset(facts)
    state, sign = _SearchState(facts), math.copysign(1.0, step)
    namings = number = failures = 0
    while True:
        if questions.is_evaluation_due(len(state.splits)):
            state.evidence = log_wealth(np.asarray(state.effects).T, np.zeros(1))[:, 0, -1]
            strong_facts = state.strong_facts(_NAMING_ERROR / len(facts))
            if new_facts := [fact for fact in strong_facts if fact not in state.named_facts]:
                namings += 1
                state.named_facts = (*state.named_facts, *new_facts)
                # What was to confirm the earlier facts says nothing of these.
                state.residuals, state.confirm_steps, state.is_confirmed = [], [], False
                state.single_effects, state.joint_effects = [], []
        steps, half = sign * np.asarray(state.steps), abs(step) / 2
        if is_above(-steps, -half, _STEP_ERROR):
            return _result(Ending.ABSENT, state, sign)
        state.is_step_reproduced = state.is_step_reproduced or is_above(steps, half, _STEP_ERROR)
        kind = _next_kind(state, _CONFIRMING_ERROR / 2**namings, sign)
        if kind is None:
            return _result(Ending.FOUND, state, sign)
        number += 1
        coins = []
        for split in range(MIXED_PAIRS_A_ROUND):
            rng = random.Random(f"{seed} {number} {split}")  # noqa: S311  no secret
            coins.append([rng.choice((-1, 1)) for _ in facts])
        answer = yield Question(kind, (old, new, *_arms_of_round(kind, state, coins)))
        failures = 0 if answer and answer.complete_values() else failures + 1
        if answer is None or failures > questions.MAX_FAILED_ROUNDS * len(facts):
            return _result(Ending.UNKNOWN, state, sign)
        state.launches += answer.launches
        if values := answer.complete_values():
            _append_round(state, kind, values, coins)


def _arms_of_round(
    kind: RoundPurpose, state: _SearchState, coins: Sequence[Sequence[int]]
) -> list[NewFacts]:
    """The arms of a round besides all old and all new."""
    new, named_facts = frozenset(state.facts), frozenset(state.named_facts)
    if kind is RoundPurpose.STEP:
        return []
    if kind is RoundPurpose.ALONE:
        return [named_facts, *(frozenset([fact]) for fact in state.named_facts)]
    if kind is RoundPurpose.CONFIRM:
        return [named_facts, new - named_facts]
    arms: list[NewFacts] = []
    for draw in coins:
        heads = NewFacts(fact for fact, coin in zip(state.facts, draw, strict=True) if coin > 0)
        arms += [heads, new - heads]
    return arms


def _append_round(
    state: _SearchState, kind: RoundPurpose, values: Sequence[float], coins: Sequence[list[int]]
) -> None:
    """Append a round: its log times, in the order of `_arms_of_round`, and its `coins`."""
    old, new, *others = values
    state.steps.append(new - old)
    if kind is RoundPurpose.SCREEN:
        for index, draw in enumerate(coins):
            state.add_split(draw, others[2 * index] - others[2 * index + 1])
            state.screen_steps.append(new - old)
    elif kind is RoundPurpose.CONFIRM:
        named_only, others_only = others
        state.residuals.append((new - named_only + others_only - old) / 2)
        state.confirm_steps.append(new - old)
    elif kind is RoundPurpose.ALONE:
        joint_effect, *single_effects = others
        state.single_effects.append([value - old for value in single_effects])
        state.joint_effects.append(joint_effect - old)


def _next_kind(state: _SearchState, error: float, sign: float) -> RoundPurpose | None:
    """The purpose of the next round; None if the search is complete."""
    named_facts = state.named_facts
    if not named_facts:
        return RoundPurpose.SCREEN
    if len(named_facts) < len(state.facts):
        residuals = sign * np.asarray(state.residuals)
        steps = sign * np.asarray(state.confirm_steps)
        if not state.is_confirmed:
            state.is_confirmed = is_above((1 - EXPLAINED_SHARE) * steps - residuals, 0.0, error)
        if not state.is_confirmed:
            is_few = len(state.residuals) < max(questions.MIN_ROUNDS, len(state.steps) // 4)
            is_likely = is_few or np.median(residuals) <= (1 - _MIN_CONFIRM_SHARE) * np.median(
                steps
            )
            return RoundPurpose.CONFIRM if is_likely else RoundPurpose.SCREEN
    is_open = len(named_facts) > 1 and len(state.single_effects) < _MAX_SINGLE_FACT_ROUNDS
    if is_open and _relation_of_named_facts(state, sign) is Relation.UNKNOWN:
        return RoundPurpose.ALONE
    return None if state.is_step_reproduced else RoundPurpose.STEP


def _relation_of_named_facts(state: _SearchState, sign: float) -> Relation:
    """How the named facts combine: compares the sum of single effects with the joint effect."""
    if not state.single_effects:
        return Relation.UNKNOWN
    single_sum = sign * np.asarray(state.single_effects).sum(axis=1)
    joint_effect = sign * np.asarray(state.joint_effects)
    error = _RELATION_ERROR / 2
    if is_above(joint_effect / 2 - single_sum, 0.0, error):
        return Relation.TOGETHER
    if is_above(single_sum - 1.5 * joint_effect, 0.0, error):
        return Relation.ANY
    is_much = is_above(single_sum - joint_effect / 2, 0.0, error)
    is_little = is_above(1.5 * joint_effect - single_sum, 0.0, error)
    return Relation.ADD if is_much and is_little else Relation.UNKNOWN


def _rank_facts(state: _SearchState) -> tuple[tuple[str, Span], ...]:
    """Each fact with its share of the step by the splits, strongest evidence first."""
    if not state.effects:
        return ()
    effects, level = np.asarray(state.effects), ERROR / len(state.facts)
    order = np.argsort(-state.evidence, kind="stable")
    return tuple(
        (state.facts[index], share(effects[:, index], state.screen_steps, level)) for index in order
    )


def _result(ending: Ending, state: _SearchState, sign: float) -> Causes:
    named_facts = state.named_facts
    span: Span | None = None
    if not state.is_step_reproduced or ending is Ending.ABSENT:
        pass  # a share of another step explains nothing
    elif named_facts and len(named_facts) == len(state.facts):
        span = Span(1.0, 1.0, 1.0)
    elif state.residuals:
        residual = share(state.residuals, state.confirm_steps, ERROR)
        low, high = (None if end is None else 1 - end for end in (residual.high, residual.low))
        span = Span(1 - residual.middle, low, high)
    single_effects = np.asarray(state.single_effects)
    shares = tuple(
        (fact, share(single_effects[:, index], state.joint_effects, ERROR))
        for index, fact in enumerate(named_facts)
        if state.single_effects
    )
    split_effects = np.asarray(state.effects)
    effects = (
        (fact, ratio(split_effects[:, state.facts.index(fact)].tolist())) for fact in named_facts
    )
    return Causes(
        ending,
        named_facts,
        span,
        ratio(state.steps),
        _relation_of_named_facts(state, sign) if len(named_facts) > 1 else None,
        shares,
        _rank_facts(state),
        state.launches,
        tuple((fact, effect) for fact, effect in effects if effect),
    )

"""Questions of a search to launches, their answers, and the sequential tests that judge them.

A search is a generator: it yields a `Question`, a round of launches, gets the `Answer`, and returns
what it found.  It is a pure function of the answers, so that a search that was interrupted goes on
by reading its recorded answers again.  None in place of an answer ends it: the time is over.
`simulate` answers by simulated launches, which shows how many a search needs and how often it errs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from roundtrip.stats import sequential
from roundtrip.stats.sequential import Floats, log_wealth
from roundtrip.stats.summaries import Interval

#: Probability of a wrong statement in a whole search, at whatever round it stops.
ERROR = 0.05
#: Number of rounds with a failed launch that a search accepts for one question.
MAX_FAILED_ROUNDS = 3
#: Fewer rounds decide nothing.
MIN_ROUNDS = 4


@dataclass(frozen=True)
class Question:
    """A round of purpose `kind`: a launch of each arm, in random order; an arm may occur twice."""

    kind: str
    arms: tuple[Hashable, ...]


@dataclass(frozen=True)
class Answer:
    """The logarithms of the times of a question's arms; None for a failed launch.

    `unbuilt`: the reason for each arm that cannot be built; then nothing was launched.
    """

    values: Sequence[float | None]
    unbuilt: Mapping[Hashable, str] = field(default_factory=dict)

    @property
    def launches(self) -> int:
        return sum(value is not None for value in self.values)

    def complete_values(self) -> list[float] | None:
        """All values; None if one is missing."""
        values = [value for value in self.values if value is not None]
        return values if len(values) == len(self.values) and not self.unbuilt else None


Result = TypeVar("Result")
Search = Generator[Question, Answer | None, Result]


def run(search: Search[Result], answer: Callable[[Question], Answer | None]) -> Result:
    """Run a search to its end, each question answered by `answer`; return its result."""
    question = next(search)
    while True:
        reply = answer(question)
        try:
            question = search.send(reply)
        except StopIteration as stop:
            result: Result = stop.value
            return result


@dataclass(frozen=True)
class Span:
    """An estimate and its anytime-valid interval; its ends are None after too few rounds."""

    middle: float
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{100 * self.middle:.0f} %"
        return f"{100 * self.middle:.0f} % [{100 * self.low:.0f}, {100 * self.high:.0f}]"


def is_evaluation_due(rounds: int) -> bool:
    """Whether to judge after `rounds` rounds: each one from 4 to 20, then fewer and fewer."""
    return rounds >= MIN_ROUNDS and rounds % max(1, rounds // 10) == 0


def evidence(logs: Sequence[float] | Floats, at: float = 0.0) -> float:
    """The log wealth of bets on the signs of `logs` - `at`, after the last of `logs`."""
    values = np.asarray(logs, dtype=float)
    return float(log_wealth(values, np.array([at]))[0, -1]) if values.size else 0.0


def evidence_threshold(error: float) -> float:
    """The evidence that chance exceeds at any time with a probability of at most `error`."""
    return -math.log(error)


def is_above(logs: Sequence[float] | Floats, at: float, error: float) -> bool:
    """Whether the true value of `logs` is proven to be above `at`."""
    if not is_evaluation_due(len(logs)) or float(np.median(logs)) <= at:
        return False
    return evidence(logs, at) >= evidence_threshold(error)


def is_within(logs: Sequence[float] | Floats, margin: float, error: float) -> bool:
    """Whether the true value of `logs` is proven to be nearer to 0 than `margin`."""
    return is_above(logs, -margin, error) and is_above(-np.asarray(logs), -margin, error)


def share(part: Sequence[float] | Floats, whole: Sequence[float] | Floats, error: float) -> Span:
    """The ratio of `part` to `whole`, which have one value for each round.

    Like Fieller's interval, it holds the shares s for which part - s whole may be centred at 0.
    """
    parts, wholes = np.asarray(part, dtype=float), np.asarray(whole, dtype=float)
    size = float(np.median(wholes)) if wholes.size else 0.0
    if not size:
        return Span(math.nan, None, None)
    middle = float(np.median(parts)) / size
    grid = np.arange(-1.0, 2.005, 0.01)
    if parts.size < MIN_ROUNDS:
        return Span(middle, None, None)
    wealth = log_wealth(parts - grid[:, None] * wholes, np.zeros(1))[:, 0, -1]
    shares = grid[wealth < evidence_threshold(error)]
    if not shares.size or shares[0] == grid[0] or shares[-1] == grid[-1]:
        return Span(middle, None, None)
    low, high = float(shares[0]), float(shares[-1])
    return Span(min(max(middle, low), high), low, high)


def ratio(logs: Sequence[float]) -> Interval | None:
    """The median ratio of the log ratios `logs`, and its interval; None without any."""
    return sequential.interval(np.exp(logs).tolist(), 1 - ERROR) if len(logs) else None


#: The noise of a number of successive launches.
DrawNoise = Callable[[np.random.Generator, int], Floats]


def normal(spread: float) -> DrawNoise:
    """Normal noise of standard deviation `spread`."""
    return lambda rng, count: spread * rng.standard_normal(count)


def simulate(
    search: Search[Result],
    effect: Callable[[Hashable], float],
    noise: DrawNoise,
    rng: np.random.Generator,
    budget: int = 2000,
) -> Result:
    """Run a search to its end or for at most `budget` launches; return its result.

    `effect`: the logarithm of the time of an arm, without noise.
    """
    launch_count = 0

    def answer(question: Question) -> Answer | None:
        nonlocal launch_count
        launch_count += len(question.arms)
        values = rng.permutation(noise(rng, len(question.arms)))
        values += [effect(arm) for arm in question.arms]
        return None if launch_count > budget else Answer(values.tolist())

    return run(search, answer)

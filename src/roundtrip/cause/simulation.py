"""Searches with simulated launches, to estimate their number of launches and their error rate."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol

import numpy as np

from roundtrip.cause.questions import Answer, Result, Search
from roundtrip.stats.sequential import Floats

#: The logarithm of the time of an arm, without noise.
Effect = Callable[[Hashable], float]


class Noise(Protocol):
    """Returns the noise of `count` successive launches; `begin`: a new search begins."""

    def __call__(self, rng: np.random.Generator, count: int, begin: bool = False) -> Floats: ...


def normal(spread: float) -> Noise:
    """Normal noise of standard deviation `spread`."""

    def noise(rng: np.random.Generator, count: int, begin: bool = False) -> Floats:
        return spread * rng.standard_normal(count)

    return noise


def simulate(
    search: Search[Result],
    effect: Effect,
    noise: Noise,
    rng: np.random.Generator,
    budget: int = 2000,
) -> Result:
    """Run a search to its end or for at most `budget` launches; return its result."""
    launch_count = 0
    question = next(search)
    while True:
        count = len(question.arms)
        values = rng.permutation(noise(rng, count)) + [effect(arm) for arm in question.arms]
        launch_count += count
        try:
            question = search.send(None if launch_count > budget else Answer(values.tolist()))
        except StopIteration as stop:
            result: Result = stop.value
            return result

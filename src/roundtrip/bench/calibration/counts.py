"""False alarms on quiet models, and the power to tell steps, counted on simulated sites."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from roundtrip.bench.calibration.models import MODELS, SD
from roundtrip.stats.nights.judge import judge
from roundtrip.stats.nights.settings import Settings
from roundtrip.stats.nights.verdicts import SeriesHistory

#: Series that are judged together, as those of one campaign are.
SITE = 500
LENGTHS = (90, 365)
#: (nights, size in deviations, new nights): the steps whose power is counted.
STEPS = (
    (100, 2, 10),
    (365, 2, 10),
    (100, 3, 10),
    (100, 5, 1),
    (100, 5, 3),
    (100, 10, 2),
    (365, 5, 3),
    (365, 10, 2),
)
#: One series in so many has the step; it is told at its place within so many nights.
_CHANGED, _NEAR = 5, 5
_LEVEL = 0.95


@dataclass(frozen=True)
class Task:
    """One simulated site; `seed` and `number` tell its random numbers.

    Every fifth series has `size` deviations more in its newest `new` nights, if these are any.
    """

    model: str
    nights: int
    series: int
    seed: int
    number: int
    settings: Settings
    size: float = 0.0
    new: int = 0

    @property
    def changed(self) -> np.ndarray:
        """Which series have the step."""
        return np.asarray((np.arange(self.series) % _CHANGED == 0) & (self.new > 0))

    def judged(self) -> list[SeriesHistory]:
        """What is known of each of its series."""
        key = [self.seed, list(MODELS).index(self.model), self.nights, self.number]
        model, _ = MODELS[self.model]
        values = model(np.random.default_rng(key), self.series, self.nights)
        values[self.changed, self.nights - self.new :] += self.size
        logs = SD * values
        return judge(logs, np.full(logs.shape, -1), self.settings)


@dataclass(frozen=True)
class Counted:
    """Of `series`: how many have a change point, and how many stand out in the newest night."""

    series: int
    steps: int
    worse: int


def quiet(task: Task) -> Counted:
    """What is said of a site where nothing changed."""
    every = task.judged()
    worse = sum(one.is_worse_last_night(lower_is_better=True) for one in every)
    return Counted(task.series, sum(bool(one.steps) for one in every), worse)


def power(task: Task) -> Counted:
    """Of the series with a step: how many are told it at its place, and as worse last night."""
    changed = [one for one, is_its in zip(task.judged(), task.changed, strict=True) if is_its]
    begin = task.nights - task.new
    found = [
        any(step.ratio > 1 and abs(step.night - begin) <= _NEAR for step in one.steps)
        for one in changed
    ]
    worse = sum(one.is_worse_last_night(lower_is_better=True) for one in changed)
    return Counted(len(changed), sum(found), worse)


def false_alarms(
    series: int, seed: int, settings: Settings, processes: int
) -> Iterator[tuple[str, int, Counted]]:
    """(model, nights, what was counted) of every model and length, `series` each."""
    with ProcessPoolExecutor(processes) as pool:
        for model in MODELS:
            for nights in LENGTHS:
                sites = (Task(model, nights, *one, settings) for one in _sites(series, seed))
                yield model, nights, _sum(list(pool.map(quiet, sites)))


def powers(
    series: int, seed: int, settings: Settings, processes: int
) -> Iterator[tuple[str, tuple[int, int, int], Counted]]:
    """(model, step, what was counted) for each of `STEPS`, one series in five with the step."""
    with ProcessPoolExecutor(processes) as pool:
        for model in ("Gauss", "AR(1) 0.3"):
            for nights, size, new in STEPS:
                sites = (
                    Task(model, nights, *one, settings, size, new) for one in _sites(series, seed)
                )
                yield model, (nights, size, new), _sum(list(pool.map(power, sites)))


def _sites(series: int, seed: int) -> Iterator[tuple[int, int, int]]:
    """Number of series, seed and number of each site, with `series` in all."""
    for number, first in enumerate(range(0, series, SITE)):
        yield min(SITE, series - first), seed, number


def interval(events: int, trials: int) -> tuple[float, float]:
    """Exact 95 % interval of a share: C. J. Clopper and E. S. Pearson, Biometrika 26, 1934."""
    tail = (1 - _LEVEL) / 2
    low = float(beta.ppf(tail, events, trials - events + 1)) if events else 0.0
    high = float(beta.ppf(1 - tail, events + 1, trials - events)) if events < trials else 1.0
    return low, high


def _sum(parts: Sequence[Counted]) -> Counted:
    return Counted(
        sum(one.series for one in parts),
        sum(one.steps for one in parts),
        sum(one.worse for one in parts),
    )

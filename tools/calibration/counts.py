"""False alarms on quiet models, and the power to tell steps, counted on simulated sites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import beta

from roundtrip.stats.nights.judge import judge
from roundtrip.stats.nights.settings import Settings
from roundtrip.stats.nights.verdicts import SeriesHistory
from tools.calibration.models import MODELS, SD

#: Series that are judged together, as those of one campaign are.
SITE = 500
LENGTHS = (90, 365)
#: Quiet series are looked at after each of these nights, as a site looks at them.
LOOKS = tuple(range(12, 92, 2))
#: One series in so many has the step; it is told at its place within so many nights.
_CHANGED, _NEAR = 5, 5
_LEVEL = 0.95


@dataclass(frozen=True)
class Change:
    """What is planted in the newest `new` of `nights` nights of one series in five.

    A "step" adds `size` standard deviations; a "level" is that of all new nights, whatever they
    were; a "spread" makes them scatter `size` times as far, around the same level.
    """

    nights: int
    size: float
    new: int
    kind: Literal["step", "level", "spread"] = "step"

    def __str__(self) -> str:
        what = {
            "step": f"+{self.size} sd",
            "level": f"to a level at {self.size} sd",
            "spread": f"spread times {self.size}",
        }[self.kind]
        return f"{what}, {self.new} of {self.nights} nights"

    def plant(self, rng: np.random.Generator, values: np.ndarray) -> None:
        """Change the newest nights of `values` [series, nights]."""
        newest = values[:, self.nights - self.new :]
        if self.kind == "step":
            newest += self.size
        elif self.kind == "spread":
            newest *= self.size
        else:
            newest[:] = self.size + rng.standard_normal(newest.shape)


#: By model: the changes that are counted, in standard deviations from night to night.
CHANGES: dict[str, tuple[Change, ...]] = {
    **{
        model: (
            Change(100, 2, 10),
            Change(365, 2, 10),
            Change(100, 3, 10),
            Change(100, 5, 1),
            Change(100, 5, 2),
            Change(100, 5, 3),
            Change(100, 10, 2),
            Change(365, 5, 3),
            Change(365, 10, 2),
        )
        for model in ("Gauss", "AR(1) 0.3")
    },
    "weekday": (Change(100, 2, 10), Change(100, 5, 3), Change(100, 5, 10)),
    "two modes": (
        Change(100, 10, 1, "level"),
        Change(100, 10, 2, "level"),
        Change(100, 10, 5, "level"),
    ),
}
#: A change of spread alone is no step: any that is said of these is false.
SPREADS = tuple(Change(100, 4, new, "spread") for new in (3, 12, 40))


@dataclass(frozen=True)
class Task:
    """One simulated site; `seed` and `number` say its random numbers."""

    model: str
    nights: int
    series: int
    seed: int
    number: int
    settings: Settings
    change: Change | None = None

    @property
    def changed(self) -> np.ndarray:
        """Which series have the change."""
        return np.asarray((np.arange(self.series) % _CHANGED == 0) & (self.change is not None))

    def logs(self) -> np.ndarray:
        """Its nights [series, nights]."""
        key = [self.seed, list(MODELS).index(self.model), self.nights, self.number]
        model, _ = MODELS[self.model]
        rng = np.random.default_rng(key)
        values = model(rng, self.series, self.nights)
        if self.change:
            changed = values[self.changed]
            self.change.plant(rng, changed)
            values[self.changed] = changed
        return SD * values

    def judged(self, nights: int | None = None) -> list[SeriesHistory]:
        """What is known of each of its series, after so many nights; all by default."""
        logs = self.logs()[:, :nights]
        return judge(logs, np.full(logs.shape, -1), self.settings)


@dataclass(frozen=True)
class Counted:
    """Of `series`: how many have a change point, stand out in the newest night, or either."""

    series: int
    steps: int
    worse: int
    either: int = 0


def quiet(task: Task) -> Counted:
    """What is said of a site where nothing changed."""
    every = task.judged()
    worse = sum(one.is_worse_last_night(lower_is_better=True) for one in every)
    return Counted(task.series, sum(bool(one.steps) for one in every), worse)


def looks(task: Task) -> Counted:
    """What was said of a site where nothing changed, after any of the nights of `LOOKS`."""
    every = [task.judged(nights) for nights in LOOKS]
    steps = [any(one.steps for one in of_series) for of_series in zip(*every, strict=True)]
    worse = [
        any(one.is_worse_last_night(lower_is_better=True) for one in of_series)
        for of_series in zip(*every, strict=True)
    ]
    return Counted(task.series, sum(steps), sum(worse))


def power(task: Task) -> Counted:
    """Of the series with a change: how many are said to have it at its place, or are worse.

    Of a change of spread: how many have a change point anywhere.
    """
    changed = [one for one, is_its in zip(task.judged(), task.changed, strict=True) if is_its]
    if not task.change:
        return Counted(0, 0, 0)
    begin = task.nights - task.change.new
    is_spread = task.change.kind == "spread"
    found = [
        any(
            is_spread or (step.ratio > 1 and abs(step.night - begin) <= _NEAR) for step in one.steps
        )
        for one in changed
    ]
    worse = [one.is_worse_last_night(lower_is_better=True) for one in changed]
    either = sum(map(any, zip(found, worse, strict=True)))
    return Counted(len(changed), sum(found), sum(worse), either)


def false_alarms(
    series: int, seed: int, settings: Settings, processes: int
) -> Iterator[tuple[str, int, Counted]]:
    """(model, nights, what was counted) of every model and length, `series` each."""
    with ProcessPoolExecutor(processes) as pool:
        for model in MODELS:
            for nights in LENGTHS:
                sites = (Task(model, nights, *one, settings) for one in _sites(series, seed))
                yield model, nights, _sum(list(pool.map(quiet, sites)))


def alarms_at_looks(
    series: int, seed: int, settings: Settings, processes: int
) -> Iterator[tuple[str, Counted]]:
    """(model, what was counted) of every model, `series` each, looked at again and again."""
    with ProcessPoolExecutor(processes) as pool:
        for model in MODELS:
            sites = (Task(model, LOOKS[-1], *one, settings) for one in _sites(series, seed))
            yield model, _sum(list(pool.map(looks, sites)))


def powers(
    changes: Mapping[str, Sequence[Change]],
    series: int,
    seed: int,
    settings: Settings,
    processes: int,
) -> Iterator[tuple[str, Change, Counted]]:
    """(model, change, what was counted), one series in five with the change."""
    with ProcessPoolExecutor(processes) as pool:
        for model, of_model in changes.items():
            for change in of_model:
                sites = (
                    Task(model, change.nights, *one, settings, change)
                    for one in _sites(series, seed)
                )
                yield model, change, _sum(list(pool.map(power, sites)))


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
        sum(one.either for one in parts),
    )

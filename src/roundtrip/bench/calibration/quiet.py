"""False alarms in series without any change: counted over all nightly looks, in many processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from roundtrip.bench.calibration.models import MODELS
from roundtrip.stats.nights.judge import judge
from roundtrip.stats.nights.looks import alarms
from roundtrip.stats.nights.settings import Settings

#: Series that are judged together, as those of one campaign are.
SITE = 500
#: Of so many sites, one is also judged as a whole: drifts and newest nights.
_JUDGED_EACH = 8
_LEVEL = 0.95


@dataclass(frozen=True)
class Task:
    """One simulated site: `number` and `seed` tell its random numbers."""

    model: str
    nights: int
    series: int
    seed: int
    number: int
    settings: Settings


@dataclass(frozen=True)
class Counted:
    """Of `series`: how many were told a step in any look; of `judged`, a drift, and an odd night.

    Drifts and newest nights are those of the last look.
    """

    series: int
    steps: int
    judged: int
    drifts: int
    outside: int


def rng_of(seed: int, model: str, nights: int, number: int) -> np.random.Generator:
    """The random numbers of a site: no two models, lengths or sites share any."""
    return np.random.default_rng([seed, list(MODELS).index(model), nights, number])


def count(task: Task) -> Counted:
    """Simulate a site and look at it after every night."""
    rng = rng_of(task.seed, task.model, task.nights, task.number)
    logs, nodes = MODELS[task.model](rng, task.series, task.nights)
    steps = sum(bool(one) for one in alarms(logs, nodes, task.settings))
    if task.number % _JUDGED_EACH:
        return Counted(task.series, steps, 0, 0, 0)
    told = judge(logs, nodes, task.settings)
    drifts = sum(one.drift is not None for one in told)
    outside = sum(bool(one.newest and one.newest.is_outside) for one in told)
    return Counted(task.series, steps, task.series, drifts, outside)


def tasks(model: str, nights: int, series: int, seed: int, settings: Settings) -> Iterator[Task]:
    """Sites of `SITE` series, `series` in all."""
    for number, first in enumerate(range(0, series, SITE)):
        yield Task(model, nights, min(SITE, series - first), seed, number, settings)


def counted(
    models: Sequence[str], nights: int, series: int, seed: int, settings: Settings, processes: int
) -> Iterator[tuple[str, Counted]]:
    """(model, what was counted) of each of `models`, with `series` each."""
    with ProcessPoolExecutor(processes) as pool:
        for model in models:
            parts = list(pool.map(count, tasks(model, nights, series, seed, settings)))
            sums = zip(
                *((p.series, p.steps, p.judged, p.drifts, p.outside) for p in parts), strict=True
            )
            yield model, Counted(*(sum(column) for column in sums))


def interval(events: int, trials: int) -> tuple[float, float]:
    """Exact 95 % interval of a share: C. J. Clopper and E. S. Pearson, Biometrika 26, 1934."""
    tail = (1 - _LEVEL) / 2
    low = float(beta.ppf(tail, events, trials - events + 1)) if events else 0.0
    high = float(beta.ppf(1 - tail, events + 1, trials - events)) if events < trials else 1.0
    return low, high

"""Quiet series: the kinds of noise that thresholds are held to.

Each model makes logarithms of nightly medians [series, nights] and the numbers of their node sets,
-1 where they are not known.  The standard deviation is 1 % (of the innovations, where a night
resembles the last one), 2 % for the log-normal model.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import signal

Rng = np.random.Generator
Table = tuple[np.ndarray, np.ndarray]
Model = Callable[[Rng, int, int], Table]

SD = 0.01
_WARM_UP = 60
_RESEMBLANCE = {"AR(1) 0.3": 0.3, "AR(1) 0.5": 0.5}


def gaussian(rng: Rng, series: int, nights: int) -> Table:
    """Independent and normal."""
    return _anywhere(rng.normal(0, SD, (series, nights)))


def lognormal(rng: Rng, series: int, nights: int) -> Table:
    """Independent and skewed."""
    return _anywhere(np.expm1(rng.normal(0, 2 * SD, (series, nights))))


def resembling(phi: float) -> Model:
    """AR(1): a night is `phi` times the last one, and normal noise."""

    def model(rng: Rng, series: int, nights: int) -> Table:
        noise = rng.normal(0, SD, (series, nights + _WARM_UP))
        return _anywhere(signal.lfilter([1.0], [1.0, -phi], noise, axis=1)[:, _WARM_UP:])

    return model


def spiked(rng: Rng, series: int, nights: int) -> Table:
    """Normal, and +30 % in 5 % of the nights."""
    logs, nodes = gaussian(rng, series, nights)
    return logs + 0.30 * (rng.random(logs.shape) < 0.05), nodes


def sticky(rng: Rng, series: int, nights: int) -> Table:
    """Normal, and +4 % on a slow node: it is used in 20 % of the nights, three in a row on average.

    The node set is known.
    """
    slow = np.empty((series, nights), dtype=int)
    state = rng.random(series) < 0.2
    leave = 1 / 3
    for night in range(nights):
        chance = rng.random(series)
        state = np.where(state, chance >= leave, chance < leave / 4)
        slow[:, night] = state
    return rng.normal(0, SD, slow.shape) + 0.04 * slow, slow


def heavy(rng: Rng, series: int, nights: int) -> Table:
    """Student's t with 4 degrees of freedom, scaled to 1 %."""
    return _anywhere(SD / np.sqrt(2) * rng.standard_t(4, (series, nights)))


def mixed(rng: Rng, series: int, nights: int) -> Table:
    """A third each of independent series and of AR(1) with 0.3 and 0.5, in one site."""
    logs = np.empty((series, nights))
    for first, phi in enumerate((0.0, 0.3, 0.5)):
        rows = logs[first::3]
        logs[first::3] = resembling(phi)(rng, len(rows), nights)[0]
    return _anywhere(logs)


def _anywhere(logs: np.ndarray) -> Table:
    return logs, np.full(logs.shape, -1)


#: What the thresholds promise is for each of these.
DEMANDED: dict[str, Model] = {
    "Gaussian": gaussian,
    "log-normal": lognormal,
    **{name: resembling(phi) for name, phi in _RESEMBLANCE.items()},
    "5 % spikes": spiked,
    "sticky node": sticky,
}
#: Shown beside them; nothing is promised.
BESIDE: dict[str, Model] = {"Student t4": heavy, "mixed site": mixed}
MODELS = {**DEMANDED, **BESIDE}


def deviation(model: str) -> float:
    """Standard deviation from night to night, in `SD`; of a spiked model, between the spikes."""
    return float((1 - _RESEMBLANCE.get(model, 0.0) ** 2) ** -0.5)

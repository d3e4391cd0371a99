"""The newest night beside what the nights before predict of one night."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from roundtrip.stats.nights import noise
from roundtrip.stats.nights.levels import Scatter
from roundtrip.stats.nights.settings import Settings
from roundtrip.stats.nights.told import Newest


@dataclass(frozen=True)
class Prediction:
    """Of one night, in logarithms over the level: what is expected, and what came (`value`)."""

    value: float
    centre: float
    error: float
    dof: float

    @property
    def p(self) -> float:
        """Two-sided p-value of a night as far off as this one."""
        return float(2 * stats.t.sf(abs(self.value - self.centre) / self.error, self.dof))


def predict(value: float, before: float, scatter: Scatter, settings: Settings) -> Prediction:
    """The best linear prediction of an AR(1) night (Box and Jenkins, 1970, section 5.1).

    `value` and `before` are the distances of the newest night and of the one before from the level
    of the nights before both; an odd night before counts no more than `clip_sd`.
    """
    bound = settings.clip_sd * scatter.sd
    phi, n = scatter.phi, max(scatter.nights, 2)
    of_level = float(noise.inflation(np.asarray(phi))) / n
    error = scatter.sd * math.sqrt(1 - phi**2 + (1 - phi) ** 2 * of_level)
    centre = phi * min(max(before, -bound), bound)
    return Prediction(value, centre, error, scatter.freedom)


def together(predictions: Sequence[Prediction], settings: Settings) -> list[Newest]:
    """What is said of each newest night; `is_outside` controls false discoveries over all series.

    Y. Benjamini and Y. Hochberg, J. R. Statist. Soc. B 57, 1995.
    """
    if not predictions:
        return []
    q = stats.false_discovery_control([one.p for one in predictions], method="bh")
    told = []
    for one, of_one in zip(predictions, q, strict=True):
        half = one.error * float(stats.t.ppf((1 + settings.confidence_level) / 2, one.dof))
        low, high = math.exp(one.centre - half), math.exp(one.centre + half)
        is_outside = bool(of_one < settings.false_discovery_level)
        told.append(Newest(math.exp(one.value), low, high, is_outside))
    return told

"""Self-normalised MOSUM: means of neighbouring windows; no noise needs to be estimated.

Windows that move through the nights: B. Eichinger and C. Kirch, Bernoulli 24, 2018; their lengths
differ as in A. Meier, C. Kirch and H. Cho, J. Stat. Softw. 97(8), 2021.  The difference is divided
by how far the partial sums wander inside both windows, which dependence makes larger, too:
X. Shao and X. Zhang, J. Am. Stat. Assoc. 105, 2010.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from roundtrip.bench.calibration.rivals.given import looks
from roundtrip.stats.nights.series import Series
from roundtrip.stats.nights.settings import Settings

#: Nights of the newer window; the older one has up to `BEFORE`.  Lengths near that of the step that
#: is planted favour it: more of them raise its thresholds.
WINDOWS = (8, 10, 14)
BEFORE = 80


def self_normalised(series: Series, settings: Settings) -> np.ndarray:
    """Evidence [series, nights, windows]: the root of Shao and Zhang's statistic, with a sign.

    It is divided by its usual size, which depends on the lengths of both windows.  Nights are not
    winsorised: what is far off enters the denominator, too.
    """
    evidence = np.zeros((*series.values.shape, len(WINDOWS)))
    for look in looks(series, replace(settings, clip_sd=np.inf)):
        old = look.off[:, max(0, look.at - BEFORE) : look.at]
        before = old.shape[1]
        for which, after in enumerate(WINDOWS):
            if look.begin + after > series.values.shape[1]:
                break
            new = look.off[:, look.at : look.at + after]
            wander = _wander(old) + _wander(new[:, ::-1])
            usual = 6 * before * after / (before**2 + after**2)
            change = (new.mean(axis=1) - old.mean(axis=1)) * before * after
            both = before + after
            told = change / np.sqrt(usual * both * np.where(wander > 0, wander, np.inf))
            night = look.begin + after - 1
            there = look.is_there(look.at + after - 1)
            evidence[there, night, which] = told[there]
    return evidence


def _wander(nights: np.ndarray) -> np.ndarray:
    """Sum of the squares of the partial sums of `nights` [series, nights] about their mean."""
    sums = np.cumsum(nights - nights.mean(axis=1, keepdims=True), axis=1)
    return np.asarray((sums**2).sum(axis=1))

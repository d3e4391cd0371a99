"""How a series scatters from night to night: spread, and how much a night resembles the last one.

The noise is taken as AR(1): e_t = phi e_(t-1) + innovation.  Its variance and phi come from
residuals that are winsorised (P. J. Huber, Robust Statistics, 1981, section 1.7), so that few odd
nights count little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: MAD, and mean absolute deviation, of a normal distribution to its standard deviation.
MAD, MEAN_DEVIATION = 1.4826, 1.2533
#: What is believed of a site of which few series are known: phi, its spread among series, and from
#: how many series on their own word counts more.
_USUAL_PHI, _USUAL_SPREAD, _WORTH = 0.25, 0.2, 8
#: Two standard errors of the square of a MAD of n values, relative and times sqrt(n): series count
#: as unlike only when they surely are.
_DOUBT = 4.7


def median(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Median along the last axis over the cells in `where`; NaN where there are none."""
    if not values.shape[-1]:
        return np.full(values.shape[:-1], np.nan)
    ordered = np.sort(np.where(where, values, np.inf), axis=-1)
    count = where.sum(axis=-1)
    middle = np.stack([np.maximum(count - 1, 0) // 2, np.minimum(count // 2, where.shape[-1] - 1)])
    found = np.take_along_axis(ordered, np.moveaxis(middle, 0, -1), -1)
    return np.asarray(np.where(count > 0, found.sum(axis=-1) / 2, np.nan))


def spread(residuals: np.ndarray, where: np.ndarray, least: float) -> np.ndarray:
    """Robust standard deviation along the last axis over the cells in `where`; at least `least`.

    It is that of the MAD.  Where half of the values are equal, as a coarse clock makes them, the
    MAD is near 0, and half of what the mean deviation says is used.
    """
    size = np.where(where, np.abs(residuals), 0.0)
    count = np.maximum(where.sum(axis=-1), 1)
    middle = np.nan_to_num(median(size, where))
    coarse = 0.5 * MEAN_DEVIATION * size.sum(axis=-1) / count
    return np.asarray(np.maximum(np.maximum(MAD * middle, coarse), least))


@dataclass(frozen=True)
class Pool:
    """What all series of a site say of phi together: its centre, and its variance among them."""

    centre: float
    variance: float


def unbiased(phi: np.ndarray, nights: np.ndarray) -> np.ndarray:
    """Lag-1 autocorrelation of `nights` without its bias of -(1 + 4 phi) / nights.

    F. H. C. Marriott and J. A. Pope, Biometrika 41, 1954; M. G. Kendall, ibid.
    """
    return np.asarray((phi * nights + 1) / np.maximum(nights - 3, 1))


def pool(phi: np.ndarray, nights: np.ndarray) -> Pool:
    """Pool of the unbiased `phi` of the rows of a site, each from `nights`; robust to few rows."""
    rows = phi.size
    centre = float(np.median(phi)) if rows else _USUAL_PHI
    error = float(np.median(_error(centre, nights))) if rows else 0.0
    seen = (MAD * float(np.median(np.abs(phi - centre)))) ** 2 if rows else 0.0
    seen *= max(1 - _DOUBT / np.sqrt(rows), 0.0) if rows else 0.0
    share = rows**2 / (rows**2 + _WORTH**2)
    return Pool(
        share * centre + (1 - share) * _USUAL_PHI,
        share * max(seen - error, 0.0) + (1 - share) * _USUAL_SPREAD**2,
    )


def shrunk(phi: np.ndarray, nights: np.ndarray, of: Pool, most: float) -> np.ndarray:
    """Each row's phi drawn towards the pool by how little its nights tell; within [0, `most`].

    The empirical Bayes estimate of B. Efron and C. Morris, J. Am. Stat. Assoc. 70, 1975, and its
    standard error above that: to believe too little in resemblance makes false alarms.
    """
    error = _error(of.centre, nights)
    weight = of.variance / (of.variance + error)
    safe = of.centre + (phi - of.centre) * weight + np.sqrt(weight * error)
    return np.asarray(np.clip(safe, 0.0, most))


def of_mean(phi: np.ndarray, nights: np.ndarray) -> np.ndarray:
    """Variance of the mean of consecutive `nights` with AR(1) noise of variance 1.

    (1 + 2 sum_(j<n) (1 - j/n) phi^j) / n: G. E. P. Box and G. M. Jenkins, Time Series Analysis,
    1970, section 5.3, in closed form.
    """
    rest = 1 - phi
    whole = 1 + 2 * phi / rest - 2 * phi * (1 - phi**nights) / (nights * rest**2)
    return np.asarray(whole / nights)


def of_step(phi: np.ndarray, nights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Variance of the generalised least squares estimate of a step, with noise of variance 1.

    The step is estimated from the innovations of `nights` since its beginning: the first shows it
    whole, each other (1 - phi) of it.  Also: by how much an error of the level before enters.
    """
    rest = 1 - phi
    information = 1 + (nights - 1) * rest**2
    enters = rest * (1 + (nights - 1) * rest) / information
    return np.asarray((1 - phi**2) / information), np.asarray(enters)


def inflation(phi: np.ndarray) -> np.ndarray:
    """By how much AR(1) noise inflates the variance of a mean of many nights."""
    return np.asarray((1 + phi) / (1 - phi))


def bias(phi: np.ndarray, nights: np.ndarray, means: np.ndarray) -> np.ndarray:
    """What a variance about `means` fitted levels is multiplied by, to be right under AR(1) noise.

    The fitted levels follow the noise by more than those of independent nights do.
    """
    left = np.maximum(nights - means * inflation(phi), 0.5 * nights)
    return np.asarray(np.maximum(nights - means, 1) / left)


def freedom(phi: np.ndarray, nights: np.ndarray) -> np.ndarray:
    """Degrees of freedom of a variance from `nights` of AR(1) noise: M. S. Bartlett, 1935."""
    return np.asarray(np.maximum(nights * (1 - phi**2) / (1 + phi**2) - 1, 3.0))


def to_normal(t: np.ndarray, dof: np.ndarray) -> np.ndarray:
    """Student's t on the scale of a normal deviate: D. L. Wallace, Ann. Math. Stat. 30, 1959."""
    scale = (8 * dof + 1) / (8 * dof + 3)
    return np.asarray(np.sign(t) * scale * np.sqrt(dof * np.log1p(t * t / dof)))


def _error(phi: float, nights: np.ndarray) -> np.ndarray:
    """Variance of `unbiased`: M. S. Bartlett, Suppl. J. R. Statist. Soc. 8, 1946."""
    return np.asarray((1 - min(phi * phi, 0.7)) * nights / np.maximum(nights - 3, 1) ** 2)

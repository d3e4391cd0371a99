"""The least step that a series would show: its own noise against its own threshold."""

from __future__ import annotations

import numpy as np
from scipy import stats

from roundtrip.stats.nights import noise
from roundtrip.stats.nights.levels import Scatter
from roundtrip.stats.nights.settings import Settings


def would_see(scatter: Scatter, nights: int, level_nights: int, settings: Settings) -> float:
    """Relative step that `sight_nights` new nights show with probability `sight_power`.

    `nights` is the length of the history then, `level_nights` (at least 1) the number of those that
    say the present level.  It is that of one look at all new nights; a scan, which also looks from
    other beginnings, sees slightly smaller steps.
    """
    phi, new = np.asarray(scatter.phi), np.asarray(settings.sight_nights)
    of_step, enters = noise.of_step(phi, new)
    variance = of_step + noise.inflation(phi) / level_nights * enters**2
    t = _as_student(float(settings.threshold(nights, new)), scatter.freedom)
    wanted = t + float(stats.norm.ppf(settings.sight_power))
    return float(np.expm1(wanted * scatter.sd * np.sqrt(variance)))


def _as_student(z: float, dof: float) -> float:
    """The t that `noise.to_normal` maps to `z`."""
    scale = (8 * dof + 1) / (8 * dof + 3)
    return float(np.sqrt(dof * np.expm1((z / scale) ** 2 / dof)))

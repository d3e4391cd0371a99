"""Exact p-values for "the ratio is 1", and control of false discoveries.

Signed-rank test: under the null the signs of log(ratio) are independent coin tosses given their
absolute values, so the null distribution of the rank sum is known exactly (F. Wilcoxon, Individual
Comparisons by Ranking Methods, Biometrics Bulletin 1, 1945).  Assumes that log(ratio) is
symmetric about its median.  Done by SciPy.

False discoveries: Y. Benjamini and Y. Hochberg, Controlling the False Discovery Rate, J. R.
Statist. Soc. B 57, 1995.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import scipy

#: Up to here the null distribution with ties is enumerated, 2^n sign patterns.
_ENUMERATED = 14


def signed_rank_p(ratios: Sequence[float]) -> float:
    """Two-sided exact Wilcoxon signed-rank p-value of "the median of log(ratio) is 0".

    Parameters
    ----------
    ratios
        One positive ratio for each launch.  Ratios of exactly 1 have no sign and are left out; if
        none is left, p is 1.
    """
    logs = np.log(np.asarray(ratios, dtype=float))
    logs = logs[logs != 0]
    if not logs.size:
        return 1.0
    if np.unique(np.abs(logs)).size == logs.size:
        above = np.argsort(np.argsort(np.abs(logs)))[logs > 0] + 1
        return _exact_p(int(above.sum()), logs.size)
    is_few = logs.size <= _ENUMERATED
    method: object = scipy.stats.PermutationMethod(n_resamples=np.inf) if is_few else "approx"
    return float(scipy.stats.wilcoxon(logs, method=method).pvalue)


@cache
def _exact_p(rank_sum: int, count: int) -> float:
    """The p-value of a sum of the ranks above 1, of so many ratios without ties.

    Campaigns of many toolchains ask for the same few sums again and again.
    """
    signed, left = [], rank_sum
    for rank in range(count, 0, -1):  # some ratios with this sum: the largest ranks first
        is_above = rank <= left
        signed.append(float(rank if is_above else -rank))
        left -= rank if is_above else 0
    return float(scipy.stats.wilcoxon(signed, method="exact").pvalue)


def q_values(p_values: Sequence[float]) -> list[float]:
    """Benjamini-Hochberg adjusted p-values, in the order given; [] for []."""
    if not p_values:
        return []
    return [float(q) for q in scipy.stats.false_discovery_control(p_values, method="bh")]

"""Summaries of rates that keep their meaning: never the arithmetic mean of MB/s.

The rate of a whole is its total work over its total time.  If every part did the same work that
is the harmonic mean of the parts' rates (T. Hoefler and R. Belli, SC 2015, rule 3).
"""

from __future__ import annotations

from collections.abc import Sequence

from roundtrip.stats import summaries

#: What `total_rate` forms.
TOTAL_RATE = summaries.TOTAL


def total_rate(work: Sequence[float], times: Sequence[float]) -> float:
    """sum(work) / sum(times): the rate of the whole, in the unit of work per second.

    ValueError for no amounts, a different number of times, a negative amount or a time <= 0.

    Parameters
    ----------
    work
        Amounts done, >= 0 (bytes).
    times
        Times they took, > 0 (seconds), as many.
    """
    if len(work) != len(times) or not work or min(times) <= 0 or min(work) < 0:
        raise ValueError("needs as many amounts >= 0 as times > 0, and at least one")
    return sum(work) / sum(times)

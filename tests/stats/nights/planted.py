"""Series of nights whose truth is known: noise of a known kind, and what is planted in it."""

from __future__ import annotations

import numpy as np

from roundtrip.collect import analysis
from roundtrip.stats.nights.judge import judge
from roundtrip.stats.nights.told import Told

SETTINGS = analysis.default().history
SD = 0.01


def quiet(series: int, nights: int, seed: int = 1) -> np.ndarray:
    """Logarithms [series, nights]: normal, with a standard deviation of 1 %."""
    return np.random.default_rng(seed).normal(0, SD, (series, nights))


def told(logs: np.ndarray, nodes: np.ndarray | None = None) -> list[Told]:
    """What is told of `logs`; the nodes are not known unless given."""
    return judge(logs, np.full(logs.shape, -1) if nodes is None else nodes, SETTINGS)

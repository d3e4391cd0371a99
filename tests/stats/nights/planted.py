"""Series of nights whose truth is known: noise of a known kind, and what is planted in it."""

import numpy as np

from roundtrip.measure import analysis
from roundtrip.stats.nights.judge import judge_nights
from roundtrip.stats.nights.verdicts import SeriesHistory, Verdict

SETTINGS = analysis.default_settings().history
SD = 0.01


def quiet(series: int, nights: int, seed: int = 1) -> np.ndarray:
    """Logarithms [series, nights]: normal, with a standard deviation of 1 %."""
    return np.random.default_rng(seed).normal(0, SD, (series, nights))


def judged(logs: np.ndarray, nodes: np.ndarray | None = None) -> list[SeriesHistory]:
    """What is known of each of `logs`; the nodes are not known unless given."""
    return judge_nights(logs, np.full(logs.shape, -1) if nodes is None else nodes, SETTINGS)


def verdicts(logs: np.ndarray) -> list[Verdict]:
    """The verdict on each of `logs`; lower is better."""
    return [history.verdict() for history in judged(logs)]


def step_nights(logs: np.ndarray, nodes: np.ndarray | None = None) -> list[list[int]]:
    """The nights at which the change points of each of `logs` begin."""
    return [[step.night for step in history.steps] for history in judged(logs, nodes)]

"""Thresholds for the noise of one site: how often quiet nights like its own would raise an alarm.

What is left of each series without its spikes, steps and node sets is cut into blocks of
consecutive nights, which are put together again at random: quiet series with the distribution and
the autocorrelation of the site (moving block bootstrap: H. R. Kuensch, Annals of Statistics 17,
1989).  The evidence that a change point needs is raised until the promised rate is kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import polars as pl

from roundtrip.errors import UserError
from roundtrip.history import judged
from roundtrip.stats.nights.judge import explain
from roundtrip.stats.nights.series import rows
from roundtrip.stats.nights.settings import Settings

#: Fewer nights say too little of noise.
FEWEST = 40
#: At most one false alarm in so many series, and how many simulated series are judged together.
PROMISED = 500
#: By how much the evidence is raised at a time, and at most.
_RISE, _MOST = 0.2, 3.0


@dataclass(frozen=True)
class Noise:
    """One series: standard deviation from night to night, lag-1 autocorrelation, and counts.

    `residual` holds what is left, in the order of nights.
    """

    name: judged.Names
    sd: float
    phi: float
    incidents: int
    node_sets: int
    steps: int
    residual: np.ndarray


@dataclass(frozen=True)
class Calibration:
    """`false` of `simulated` series have a change point, `kept` of them at this `evidence`.

    The simulated histories have `nights` nights.
    """

    nights: int
    simulated: int
    false: int
    kept: int
    evidence: float


def noises(nights: pl.DataFrame, settings: Settings) -> list[Noise]:
    """The noise of each series with nights enough; `nights` has the columns `NIGHTS`."""
    names, logs, nodes = judged.table(nights)
    result = []
    every = list(rows(logs, nodes, settings))
    for name, parts in zip(names, explain(every, settings), strict=True):
        if not parts or parts[-1].series.nights < FEWEST:
            continue
        part = parts[-1]
        levels = np.split(part.series.values, part.fit.points)
        rest = np.concatenate([level - level.mean() for level in levels])
        squares = float(rest @ rest)
        alike = float(rest[1:] @ rest[:-1]) / squares if squares else 0.0
        away = part.series.raw - part.series.values
        for one in part.series.excursions:
            away[one.begin : one.end] = 0.0
        result.append(
            Noise(
                name,
                part.fit.sd * part.series.spread,
                alike,
                len(part.series.excursions),
                int(np.unique(part.row.node_set).size),
                len(part.fit.points),
                (rest + away) * part.series.spread,
            )
        )
    return result


def calibrate(
    found: list[Noise], nights: int, series: int, seed: int, settings: Settings
) -> Calibration:
    """Simulate `series` histories of `nights` nights, and raise the evidence as far as needed.

    UserError if no series has nights enough, or if no evidence keeps the rate.
    """
    if not found:
        raise UserError(f"no series has {FEWEST} nights that count: too few to say what is noise")
    rng = np.random.default_rng(seed)
    sites = [
        _simulated(found, min(PROMISED, series - first), nights, rng)
        for first in range(0, series, PROMISED)
    ]
    false = _count(sites, settings)
    kept, rise = false, 0.0
    while kept * PROMISED > series:
        rise += _RISE
        if rise > _MOST:
            raise UserError("no evidence keeps the rate: the noise of this site is no noise")
        kept = _count(sites, _raised(settings, rise))
    return Calibration(nights, series, false, kept, _raised(settings, rise).evidence)


def text_with(evidence: float, text: str) -> str:
    """The analysis.toml `text` with this evidence."""
    return re.sub(r"(?m)^evidence = [0-9.]+", f"evidence = {evidence:.1f}", text)


def _simulated(
    found: list[Noise], series: int, nights: int, rng: np.random.Generator
) -> np.ndarray:
    logs = np.empty((series, nights))
    for number in range(series):
        residual = found[int(rng.integers(len(found)))].residual
        block = min(residual.size // 2, max(10, round(3 * residual.size ** (1 / 3))))
        starts = rng.integers(0, residual.size - block + 1, -(-nights // block))
        places = (starts[:, None] + np.arange(block)).ravel()[:nights]
        logs[number] = residual[places]
    return logs


def _count(sites: list[np.ndarray], settings: Settings) -> int:
    return sum(
        any(part.fit.points for part in parts)
        for logs in sites
        for parts in explain(list(rows(logs, np.full(logs.shape, -1), settings)), settings)
    )


def _raised(settings: Settings, rise: float) -> Settings:
    return settings.model_copy(update={"evidence": round(settings.evidence + rise, 6)})

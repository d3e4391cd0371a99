"""Thresholds for the noise of one site: how often quiet nights like its own would raise an alarm.

What is left of each series without its spikes, steps and node sets is cut into blocks of
consecutive nights, which are put together again at random: quiet series with the distribution and
the autocorrelation of the site (moving block bootstrap: H. R. Kuensch, Annals of Statistics 17,
1989).  The schedule of thresholds is raised until they keep the rate that is promised.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from roundtrip.errors import UserError
from roundtrip.history import judged
from roundtrip.stats.nights import rows, spikes
from roundtrip.stats.nights.looks import alarms
from roundtrip.stats.nights.series import pack
from roundtrip.stats.nights.settings import Settings

#: Fewer nights say too little of noise.
FEWEST = 40
#: At most one false alarm in so many series, and how many simulated series are judged together.
PROMISED = 500
#: By how much the schedule is raised at a time, and at most.
_RISE, _MOST = 0.1, 2.0


@dataclass(frozen=True)
class Noise:
    """One series: standard deviation from night to night, lag-1 autocorrelation, spikes, node sets.

    `residual` holds what is left, in the order of nights.
    """

    name: judged.Names
    sd: float
    phi: float
    spikes: int
    node_sets: int
    steps: int
    residual: np.ndarray


@dataclass(frozen=True)
class Calibration:
    """`false` of `simulated` series are told a step by the present schedule, `kept` by `schedule`.

    The simulated histories have `nights` nights.
    """

    nights: int
    simulated: int
    false: int
    kept: int
    schedule: tuple[float, ...]


def noises(nights: pl.DataFrame, settings: Settings) -> list[Noise]:
    """The noise of each series with nights enough; `nights` has the columns `NIGHTS`."""
    names, logs, nodes = judged.table(nights)
    packed = pack(logs, nodes, settings.node_sets_most)
    alone = spikes.find(packed, settings)
    result = []
    for number, row in enumerate(rows.of(packed.keep(~alone), settings)):
        if row is None or row.values.size < FEWEST:
            continue
        left = row.line.residual if row.is_drift(settings) else row.levels.residual
        left = left[np.isfinite(left)]
        if left.size < FEWEST:
            continue
        sets = np.unique(row.node_set[row.node_set >= 0]).size
        result.append(
            Noise(
                names[number],
                row.scatter.sd,
                row.scatter.phi,
                int(alone[number].sum()),
                int(sets),
                len(row.steps),
                left,
            )
        )
    return result


def calibrate(
    found: list[Noise], nights: int, series: int, seed: int, settings: Settings
) -> Calibration:
    """Simulate `series` histories of `nights` nights, and raise the schedule as far as needed.

    UserError if no series has nights enough, or if no schedule keeps the rate.
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
            raise UserError("no schedule keeps the rate: the noise of this site is no noise")
        kept = _count(sites, _raised(settings, rise))
    schedule = _raised(settings, rise).schedule_thresholds
    return Calibration(nights, series, false, kept, schedule)


def text_with(schedule: tuple[float, ...], text: str) -> str:
    """The analysis.toml `text` with this schedule of thresholds."""
    line = f"schedule_thresholds = [{', '.join(f'{value:.1f}' for value in schedule)}]"
    return re.sub(r"(?m)^schedule_thresholds = \[[^\]]*\]", line, text)


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
        bool(one) for logs in sites for one in alarms(logs, np.full(logs.shape, -1), settings)
    )


def _raised(settings: Settings, rise: float) -> Settings:
    schedule = tuple(round(value + rise, 6) for value in settings.schedule_thresholds)
    return replace(settings, schedule_thresholds=schedule)

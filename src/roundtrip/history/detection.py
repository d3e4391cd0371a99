"""Detection on the table of a history: verdicts on its series, their noise, and calibration."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from roundtrip.errors import UserError
from roundtrip.history.night_rows import SERIES
from roundtrip.stats.nights.judge import fit_windows, judge_nights
from roundtrip.stats.nights.series import series_rows
from roundtrip.stats.nights.verdicts import ZERO_SHARE, SeriesHistory
from roundtrip.stats.settings import NightSettings

#: The values of the columns of `SERIES`.
SeriesNames = tuple[Any, ...]


def histories(nights: pl.DataFrame, settings: NightSettings) -> dict[SeriesNames, SeriesHistory]:
    """Return the history of each series, in the order of names; `nights` has the columns `NIGHTS`.

    Each has its `previous_history`, the state before the newest night.  It is computed anew: no
    reported state is stored.
    """
    names, logs, nodes = series_table(nights)
    study, metric = (list(SERIES).index(name) for name in ("study", "metric"))
    effects = [settings.min_effect(series[study], series[metric]) for series in names]
    tables = logs, nodes, np.array(effects), night_days(nights)
    arrays = [table.tobytes() for table in tables]
    directions = nights.group_by(SERIES.keys()).agg(pl.col("lower_is_better").first())
    lower_is_better = tuple(directions.sort(SERIES.keys())["lower_is_better"])
    judged = _judge_histories(*arrays, lower_is_better, logs.shape, settings)
    return dict(zip(names, judged, strict=True))


@lru_cache(maxsize=2)
def _judge_histories(
    logs: bytes,
    nodes: bytes,
    least_effects: bytes,
    days: bytes,
    lower_is_better: tuple[bool, ...],
    shape: tuple[int, ...],
    settings: NightSettings,
) -> tuple[SeriesHistory, ...]:
    """Cached: the confirmation, the report and the page of a night judge the same values."""
    values = np.frombuffer(logs).reshape(shape)
    sets = np.frombuffer(nodes, int).reshape(shape)
    effects, starts = np.frombuffer(least_effects), np.frombuffer(days)

    def judge(count: int) -> list[SeriesHistory]:
        """The histories as of night `count`."""
        histories = judge_nights(
            values[:, :count], sets[:, :count], settings, effects, starts[:count]
        )
        pairs = zip(histories, lower_is_better, strict=True)
        return [replace(history, lower_is_better=is_lower) for history, is_lower in pairs]

    if shape[1] <= settings.nights_least:
        return tuple(judge(shape[1]))
    pairs = zip(judge(shape[1]), judge(shape[1] - 1), strict=True)
    return tuple(replace(current, previous_history=previous) for current, previous in pairs)


def series_table(nights: pl.DataFrame) -> tuple[list[SeriesNames], np.ndarray, np.ndarray]:
    """Return (series, logarithms of medians, numbers of node sets), both arrays [series, nights].

    All nights of the history are counted from 0, including nights that a series lacks.  For a night
    with several node sets, the one with the most launches counts, of those that are not left out if
    there are any.
    """
    series = nights.select(SERIES.keys()).unique().sort(SERIES.keys())
    counted_medians = pl.col("median").filter(pl.col("left_out") == "", pl.col("median") > 0)
    is_count = (counted_medians == counted_medians.round()).all()
    zero_value = pl.when(is_count).then(1.0).otherwise(counted_medians.min()) * ZERO_SHARE
    days = nights.select("night").unique().sort("night")
    sets = nights.select("nodes").unique().sort("nodes")
    rows = (
        nights.sort(*SERIES, "night", pl.col("left_out") != "", -pl.col("launches"), "nodes")
        .unique([*SERIES, "night"], keep="first", maintain_order=True)
        .join(series.with_row_index("row"), on=list(SERIES), nulls_equal=True)
        .join(days.with_row_index("column"), on="night")
        .join(sets.with_row_index("set"), on="nodes")
        .with_columns(
            log=pl.when(pl.col("left_out") == "").then(
                pl.max_horizontal("median", zero_value.over(*SERIES)).log()
            ),
            set=pl.when(pl.col("nodes") == "").then(-1).otherwise(pl.col("set").cast(pl.Int64)),
        )
    )
    cells = (rows["row"].to_numpy(), rows["column"].to_numpy())
    logs = np.full((series.height, days.height), np.nan)
    nodes = np.full(logs.shape, -1)
    logs[cells] = rows["log"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    nodes[cells] = rows["set"].to_numpy()
    return series.rows(), logs, nodes


def night_days(nights: pl.DataFrame) -> np.ndarray:
    """Start of each night of the history [nights], in days, with the usual time of day as noon.

    Otherwise, runs that begin at about midnight would be on different days.
    """
    starts = nights.select(pl.col("night").unique().sort().str.to_datetime("%Y-%m-%dT%H:%M:%SZ"))
    days = starts["night"].dt.epoch("s").to_numpy() / 86400
    angle = np.angle(np.exp(2j * np.pi * days).mean()) if days.size else 0.0
    return np.asarray(days - angle / (2 * np.pi) + 0.5)


#: Fewest nights for an estimate of the noise.
MIN_NIGHTS = 40
#: At most one false alarm in so many series; also the number of simulated series per call.
SERIES_PER_FALSE_ALARM = 500
#: Steps in which the evidence is raised, and the most by which it is raised.
_EVIDENCE_STEP, _MAX_EVIDENCE_RISE = 0.2, 3.0


@dataclass(frozen=True)
class SeriesNoise:
    """Noise of a series: standard deviation from night to night, lag-1 autocorrelation, and counts.

    `residuals` are the deviations from the levels, in the order of nights.
    """

    name: SeriesNames
    sd: float
    phi: float
    incidents: int
    node_sets: int
    steps: int
    residuals: np.ndarray


@dataclass(frozen=True)
class EvidenceCalibration:
    """`false_alarms` in simulated series; `remaining_alarms` at the raised threshold `evidence`."""

    false_alarms: int
    remaining_alarms: int
    evidence: float


def measure_noise(nights: pl.DataFrame, settings: NightSettings) -> list[SeriesNoise]:
    """The noise of each series with enough nights; `nights` has the columns `NIGHTS`."""
    names, logs, nodes = series_table(nights)
    result = []
    all_rows = list(series_rows(logs, nodes, settings, night_days(nights)))
    for name, windows in zip(names, fit_windows(all_rows, settings), strict=True):
        if not windows or windows[-1].series.nights < MIN_NIGHTS:
            continue
        window = windows[-1]
        levels = np.split(window.series.values, window.fit.change_points)
        rest = np.concatenate([level - level.mean() for level in levels])
        squares = float(rest @ rest)
        deviations = window.series.raw - window.series.values
        for excursion in window.series.excursions:
            deviations[excursion.begin : excursion.end] = 0.0
        result.append(
            SeriesNoise(
                name,
                window.fit.sd * window.series.spread,
                float(rest[1:] @ rest[:-1]) / squares if squares else 0.0,
                len(window.series.excursions),
                int(np.unique(window.row.node_set).size),
                len(window.fit.change_points),
                (rest + deviations) * window.series.spread,
            )
        )
    return result


def calibrate(
    noises: list[SeriesNoise], nights: int, series: int, seed: int, settings: NightSettings
) -> EvidenceCalibration:
    """Simulate `series` histories of `nights` nights, and raise the evidence as far as needed.

    UserError if no series has enough nights, or if no evidence keeps the rate of false alarms.
    """
    if not noises:
        raise UserError(
            f"no series has {MIN_NIGHTS} nights that count: too few to say what is noise"
        )
    rng = np.random.default_rng(seed)
    sites = [
        _simulate_nights(noises, min(SERIES_PER_FALSE_ALARM, series - first), nights, rng)
        for first in range(0, series, SERIES_PER_FALSE_ALARM)
    ]
    false_alarms = _count_alarms(sites, settings)
    alarms, rise = false_alarms, 0.0
    while alarms * SERIES_PER_FALSE_ALARM > series:
        rise += _EVIDENCE_STEP
        if rise > _MAX_EVIDENCE_RISE:
            raise UserError("no evidence keeps the rate: the noise of this site is no noise")
        alarms = _count_alarms(sites, _raise_evidence(settings, rise))
    return EvidenceCalibration(false_alarms, alarms, _raise_evidence(settings, rise).evidence)


def replace_evidence(evidence: float, text: str) -> str:
    """The `text` of an analysis.toml with this evidence."""
    line = f"evidence = {evidence:.1f}"
    new_text, count = re.subn(r"(?m)^evidence *= *[0-9.]+", line, text)
    if not count:
        new_text, count = re.subn(r"(?m)^(\[history\].*)$", rf"\1\n{line}", text)
    return new_text if count else f"{text}\n[history]\n{line}\n"


def _simulate_nights(
    noises: list[SeriesNoise], series: int, nights: int, rng: np.random.Generator
) -> np.ndarray:
    logs = np.empty((series, nights))
    for number in range(series):
        residuals = noises[int(rng.integers(len(noises)))].residuals
        block = min(residuals.size // 2, max(10, round(3 * residuals.size ** (1 / 3))))
        starts = rng.integers(0, residuals.size - block + 1, -(-nights // block))
        places = (starts[:, None] + np.arange(block)).ravel()[:nights]
        logs[number] = residuals[places]
    return logs


def _count_alarms(sites: list[np.ndarray], settings: NightSettings) -> int:
    return sum(
        any(window.fit.change_points for window in windows)
        for logs in sites
        for windows in fit_windows(
            list(series_rows(logs, np.full(logs.shape, -1), settings)), settings
        )
    )


def _raise_evidence(settings: NightSettings, rise: float) -> NightSettings:
    return settings.model_copy(update={"evidence": round(settings.evidence + rise, 6)})

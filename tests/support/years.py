"""A generator of histories: nights of many series with steps, drifts, spikes and slow nodes.

Seeded.  The verdict on a series is known: it was planted, and no detector takes part.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from roundtrip.content.series import split_series
from roundtrip.history.night_rows import NIGHTS, PROVENANCE, SERIES
from roundtrip.measure import analysis
from roundtrip.report.pages import history
from roundtrip.stats.nights.verdicts import Incident, LevelDrift, NewestNight, SeriesHistory, Step
from support.nights import VARIANTS, start_time

ENVIRONS = ("openmpi41-boost181", "mpich40-boost181")
NODES = ("node17+node18", "node17+node21")


@dataclass(frozen=True)
class PlantedChanges:
    """Changes of a series: a ratio from `step_night` on, a factor a year, nights with spikes."""

    ratio: float = 1.0
    step_night: int = 0
    yearly_drift: float = 1.0
    spikes: tuple[int, ...] = ()


def make_history(series: int = 20, nights: int = 90, seed: int = 1) -> history.HistoryPage:
    """Return a history; of ten series one regresses, one improves, one drifts, one has a spike."""
    rng = np.random.default_rng(seed)
    truths = [_planted_changes(number, nights) for number in range(series)]
    names = [_series_names(number) for number in range(series)]
    frames = [_night_rows(names[n], truths[n], nights, rng) for n in range(series)]
    frame = pl.concat(frames)
    histories = {
        tuple(entry.identity.values()): _expected_history(
            truths[names.index(entry.identity)], nights
        )
        for entry in split_series(frame)
    }
    return history.HistoryPage(
        "nightly",
        "odin",
        frame,
        _provenance(nights),
        histories,
        analysis.default_settings().history,
    )


def _planted_changes(number: int, nights: int) -> PlantedChanges:
    step = max(2, nights - 12)
    return {
        0: PlantedChanges(ratio=1.08 + 0.001 * number, step_night=step),
        1: PlantedChanges(ratio=0.93, step_night=step - 5),
        2: PlantedChanges(yearly_drift=1.1),
        3: PlantedChanges(spikes=(nights // 2,)),
    }.get(number % 10, PlantedChanges())


def _series_names(number: int) -> dict[str, Any]:
    variant, index = VARIANTS[number % 5], number // 5
    environ, size = ENVIRONS[index % 2], index // 2
    case = f"NetPIPE/mode=pingpong,placement=one-per-node@odin:ib+{environ}"
    values = (case, "netpipe", "pingpong", variant, 1 << (size % 22), f"{size // 22}" * (size > 21))
    return dict(zip(SERIES, (*values, "half_round_trip_time", "s"), strict=True))


def _night_rows(
    names: Mapping[str, Any], truth: PlantedChanges, nights: int, rng: np.random.Generator
) -> pl.DataFrame:
    days = np.arange(nights)
    level = 2e-6 * (1 + names["size_bytes"] / 4096)
    values = level * np.exp(0.01 * rng.standard_normal(nights))
    values *= truth.yearly_drift ** (days / 365.25)
    values[days >= truth.step_night] *= truth.ratio
    values[list(truth.spikes)] *= 1.5
    disturbances = rng.integers(0, 3, nights)
    width = np.abs(0.006 * rng.standard_normal((2, nights)))
    reasons = np.where(rng.random(nights) < 0.03, "disturbed", "")
    return pl.DataFrame(
        {
            "night": [start_time(index) for index in range(nights)],
            "digest": [f"{index:064x}" for index in range(nights)],
            **{name: [value] * nights for name, value in names.items()},
            "nodes": [NODES[int(is_second)] for is_second in rng.random(nights) < 0.3],
            "launches": 9 - disturbances,
            "disturbed": disturbances,
            "median": values,
            "low": values * (1 - width[0]),
            "high": values * (1 + width[1]),
            "lower_is_better": [True] * nights,
            "left_out": reasons,
            "foreign": [False] * nights,
        },
        schema=NIGHTS,
    )


def _provenance(nights: int) -> pl.DataFrame:
    def facts(index: int) -> list[tuple[str, str, str]]:
        is_new = index >= max(2, nights - 12)
        return [
            ("", "kernel", "6.1.0-31" if index < nights // 2 else "6.1.0-32"),
            (ENVIRONS[0], "UCX", "1.17.0" if is_new else "1.16.0"),
            ("node17", "firmware", "20.31.1014"),
        ]

    rows = [
        (start_time(index), f"{index:064x}", *fact)
        for index in range(nights)
        for fact in facts(index)
    ]
    return pl.DataFrame(rows, schema=PROVENANCE, orient="row")


def _expected_history(truth: PlantedChanges, nights: int) -> SeriesHistory:
    if truth.yearly_drift != 1.0:
        drift = LevelDrift(truth.yearly_drift, truth.yearly_drift - 0.01, truth.yearly_drift + 0.01)
        return SeriesHistory(nights, drift=drift, detectable_step=0.031)
    if truth.ratio != 1.0:
        margin = 0.01 * truth.ratio
        ends = (truth.ratio - margin, truth.ratio + margin)
        evidence = 30 * (truth.ratio - 1) + 4
        step = Step(truth.step_night, truth.ratio, *ends, evidence, 4.3, nights - truth.step_night)
        return SeriesHistory(nights, (step,), detectable_step=0.029)
    newest_night = NewestNight(1.002, 0.97, 1.03, is_outside=False)
    incidents = tuple(Incident(spike, spike, 1.5) for spike in truth.spikes)
    return SeriesHistory(
        nights, incidents=incidents, newest_night=newest_night, detectable_step=0.031
    )

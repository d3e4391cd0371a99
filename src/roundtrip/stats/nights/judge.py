"""What the nights of many series tell: spikes, then steps that no drift explains, then drifts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from roundtrip.stats.nights import levels, newest, power, rows, spikes
from roundtrip.stats.nights.rows import Row
from roundtrip.stats.nights.series import Series, pack
from roundtrip.stats.nights.settings import Settings
from roundtrip.stats.nights.told import Drift, Newest, Step, Told

_NIGHTS_A_YEAR = 365.25


def judge(logs: np.ndarray, nodes: np.ndarray, settings: Settings) -> list[Told]:
    """What is told of each series, after the newest of its nights.

    Parameters
    ----------
    logs
        [series, nights] natural logarithms of nightly medians; NaN (or infinite): not measured, or
        left out of detection.
    nodes
        Integers of the same shape: the number of the node set, -1 where it is not known.
    settings
        Thresholds.

    All series of a site belong in one call: they share what is known of autocorrelation, and the
    newest nights are corrected for their number.
    """
    logs = np.asarray(logs, dtype=float)
    nodes = np.asarray(nodes)
    if logs.ndim != 2 or logs.shape != nodes.shape:
        raise ValueError(f"logs {logs.shape} and nodes {nodes.shape}: two equal tables are needed")
    packed = pack(logs, nodes, settings.node_sets_most)
    alone = spikes.find(packed, settings)
    used = packed.keep(~alone)
    found = rows.of(used, settings)
    predictions = _predictions(packed, found, settings)
    told_newest = newest.together(list(predictions.values()), settings)
    of_newest = dict(zip(predictions, told_newest, strict=True))
    return [
        _told(
            row,
            int(used.lengths[number]),
            packed.night[number, alone[number]],
            of_newest.get(number),
            settings,
        )
        for number, row in enumerate(found)
    ]


def _predictions(
    packed: Series, found: Sequence[Row | None], settings: Settings
) -> dict[int, newest.Prediction]:
    """Of the newest night of each row, spike or not, if its node set is known."""
    predictions = {}
    for number, row in enumerate(found):
        length = int(packed.lengths[number])
        if row is None:
            continue
        last = row.values.size - (row.night[-1] == packed.night[number, length - 1])
        node_set = packed.node_set[number, length - 1]
        same = (row.node_set[:last] == node_set) & (np.arange(last) >= row.level_begin)
        if node_set < 0 or same.sum() < settings.segment_least:
            continue
        level = float(np.median(row.values[:last][same][-settings.baseline_most :]))
        value = float(packed.values[number, length - 1]) - level
        before = row.levels.residual[last - 1]
        predictions[number] = newest.predict(
            value, float(np.nan_to_num(before)), row.scatter, settings
        )
    return predictions


def _told(
    row: Row | None, used: int, alone: np.ndarray, of_newest: Newest | None, settings: Settings
) -> Told:
    spiked = tuple(int(night) for night in alone)
    if row is None:
        needed = settings.baseline_least + settings.step_least
        return Told(used, spikes=spiked, why=f"{used} nights, and {needed} are needed")
    told = tuple(_step(row, which, settings) for which in range(len(row.steps)))
    recent = None
    if told and used - 1 - row.steps[-1].told < settings.news_nights:
        recent = told[-1]
    level = min(used - row.level_begin, settings.baseline_most)
    sees = power.would_see(row.scatter, used + settings.sight_nights, level, settings)
    return Told(
        used,
        told,
        recent,
        _drift(row, settings),
        spiked,
        of_newest,
        sees,
        _why(row, settings),
    )


def _step(row: Row, which: int, settings: Settings) -> Step:
    one = row.steps[which]
    size = levels.size(
        row.values, row.node_set, row.levels, which + 1, row.scatter, settings.confidence_level
    )
    ratio, low, high = (math.exp(value) for value in size)
    night = int(row.night[one.begin])
    return Step(night, ratio, low, high, one.statistic, one.threshold, one.nights)


def _drift(row: Row, settings: Settings) -> Drift | None:
    if not row.is_drift(settings):
        return None
    half = row.line.scatter.quantile(settings.confidence_level) * row.line.error
    year = (row.line.slope, row.line.slope - half, row.line.slope + half)
    return Drift(*(math.exp(_NIGHTS_A_YEAR * slope) for slope in year))


def _why(row: Row, settings: Settings) -> str:
    """What keeps the newest nights from being compared, "" if nothing does."""
    needed = settings.baseline_least + settings.step_least
    if row.values.size < needed:
        return f"{row.values.size} nights, and {needed} are needed"
    recent = row.node_set[-settings.step_least :]
    known = [
        number >= 0
        and (row.node_set[: -settings.step_least] == number).sum() >= settings.node_set_nights
        for number in recent
    ]
    if not any(known):
        return f"the newest {len(known)} nights ran on nodes that no earlier nights compare with"
    return ""

"""What detection finds in real series, which nobody annotated, by mechanical rules.

A step is obvious if the medians of 15 nights on either side differ by more than 6 robust standard
deviations and by more than 2 %, and 13 of 15 nights on either side are clear of the other level.
An alarm is unsupported if the area under the ROC curve between the 20 nights on either side, cut at
the neighbouring alarms, is below 0.65.  A stretch of 100 nights without an alarm has no order that
matters: any step in it is false once it is shuffled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
from polars.exceptions import PolarsError

from roundtrip.errors import UserError
from roundtrip.stats.nights.judge import judge
from roundtrip.stats.nights.modes import MAD
from roundtrip.stats.nights.segments import separation
from roundtrip.stats.nights.settings import Settings
from roundtrip.stats.nights.verdicts import SeriesHistory
from tools.calibration.estimates import Estimate, Told

_WINDOW, _CLEAR, _SDS, _LEAST, _FLOOR = 15, 13, 6.0, 0.02, 0.002
_BESIDE, _UNSUPPORTED = 20, 0.65
_NEAR, _ANOTHER = 7, 60
_STRETCH, _MOST = 100, 600
_COLUMNS = ("source", "series", "night", "value")


def load(file: Path) -> dict[str, dict[str, np.ndarray]]:
    """By source and series, logarithms in the order of the nights.

    UserError unless `file` is parquet with the columns source, series, night and value (above 0).
    """
    try:
        frame = pl.read_parquet(file, columns=list(_COLUMNS))
    except (OSError, PolarsError) as error:
        right = f"right is parquet with the columns {', '.join(_COLUMNS)}"
        raise UserError(f"no table of nights: {right}", file) from error
    if not frame["value"].dtype.is_numeric() or not (frame["value"] > 0).all():
        raise UserError("each value must be a number above 0", file)
    sources: dict[str, dict[str, np.ndarray]] = {}
    ordered = frame.sort("source", "series", "night")
    for one in ordered.partition_by("source", "series", maintain_order=True):
        source, series = map(str, one.select("source", "series").row(0))
        sources.setdefault(source, {})[series] = np.log(one["value"].to_numpy())
    return sources


def lines(
    sources: Mapping[str, Mapping[str, np.ndarray]], settings: Settings, seed: int
) -> Iterator[Told]:
    """What is found in the series of each source, each source judged as a site."""
    rng = np.random.default_rng(seed)
    hits = total = near_hits = near_total = alarms = unsupported = stretches = shuffled = 0
    for source, named in sources.items():
        series = list(named.values())
        found = _points(series, settings)
        stretched: list[np.ndarray] = []
        for values, points in zip(series, found, strict=True):
            steps = list(obvious(values))
            is_hit = [any(abs(step - one) <= _NEAR for one in points) for step in steps]
            is_near = [any(0 < step - other <= _ANOTHER for other in steps) for step in steps]
            hits, total = hits + sum(is_hit), total + len(steps)
            near_hits += sum(a and b for a, b in zip(is_hit, is_near, strict=True))
            near_total += sum(is_near)
            alarms += len(points)
            unsupported += sum(_support(values, at, points) < _UNSUPPORTED for at in points)
            stretched += [rng.permutation(one) for one in _quiet(values, points)]
        stretched = stretched[: max(0, _MOST - stretches)]
        stretches += len(stretched)
        shuffled += sum(bool(one) for one in _points(stretched, settings))
        yield f"  {source}: {len(series)} series, {sum(map(len, found))} change points"
    for row, events, trials in (
        ("real: obvious steps found", hits, total),
        ("real: of these, with another within 60 nights before", near_hits, near_total),
        ("real: alarms unsupported", unsupported, alarms),
        ("real: shuffled quiet stretches with an alarm", shuffled, stretches),
    ):
        share = f"{events / trials:.1%}" if trials else "none"
        yield f"{row}: {events} of {trials}, {share}"
        if trials:
            yield Estimate(row, events, trials)


def obvious(values: np.ndarray) -> Iterator[int]:
    """Where the steps are that anyone sees at a glance, the clearest first."""
    score = np.zeros(values.size)
    for at in range(_WINDOW, values.size - _WINDOW + 1):
        before, after = values[at - _WINDOW : at], values[at : at + _WINDOW]
        low, high = float(np.median(before)), float(np.median(after))
        spread = max(_spread(before), _spread(after), _FLOOR)
        size = high - low
        if abs(size) <= max(_SDS * spread, _LEAST):
            continue
        clear = [
            int(np.sum(np.sign(size) * off > 3 * spread)) for off in (after - low, high - before)
        ]
        if min(clear) >= _CLEAR:
            score[at] = abs(size) / spread + sum(clear)
    while score.max(initial=0) > 0:
        at = int(score.argmax())
        yield at
        score[max(0, at - _WINDOW) : at + _WINDOW] = 0


def _points(series: Sequence[np.ndarray], settings: Settings) -> list[list[int]]:
    return [[step.night for step in one.steps] for one in judged(series, settings)]


def judged(series: Sequence[np.ndarray], settings: Settings) -> list[SeriesHistory]:
    """What is known of series of any lengths, logarithms, that are judged as one site."""
    if not series:
        return []
    logs = np.full((len(series), max(map(len, series))), np.nan)
    for row, values in zip(logs, series, strict=True):
        row[: values.size] = values
    return judge(logs, np.full(logs.shape, -1), settings)


def _support(values: np.ndarray, at: int, points: Sequence[int]) -> float:
    low = max([one for one in points if one < at - 2], default=0)
    high = min([one for one in points if one > at + 2], default=values.size)
    before, after = values[max(low, at - _BESIDE) : at], values[at : min(high, at + _BESIDE)]
    return separation(before, after) if min(before.size, after.size) >= 3 else 0.5


def _quiet(values: np.ndarray, points: Sequence[int]) -> Iterator[np.ndarray]:
    """Stretches without a change point."""
    bounds = [0, *points, values.size]
    for low, high in pairwise(bounds):
        for begin in range(low + 3, high - 3 - _STRETCH + 1, _STRETCH):
            yield values[begin : begin + _STRETCH]


def _spread(values: np.ndarray) -> float:
    return MAD * float(np.median(np.abs(values - np.median(values))))

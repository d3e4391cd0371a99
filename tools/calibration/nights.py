"""False alarms on quiet series, and the power to detect changes, counted on simulated sites.

A model of noise generates a table [series, nights] in units of its standard deviation from night to
night, which is 1 % of the level (2 % if its name says so).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from scipy import signal

from roundtrip.stats.nights.judge import judge_nights
from roundtrip.stats.nights.verdicts import SeriesHistory
from roundtrip.stats.settings import NightSettings
from tools.calibration import Demand, Estimate, Output, interval

Rng = np.random.Generator
Model = Callable[[Rng, int, int], np.ndarray]

SEED, SD = 70_000, 0.01
_WARM_UP = 600
#: Series that are judged together, as in one campaign.
SITE = 500
LENGTHS = (90, 365)
#: Nights after which quiet series are judged, as at a site.
LOOKS = tuple(range(12, 92, 2))
#: One series in this many has the step; a detection is at its place within this many nights.
_CHANGED, _NEAR = 5, 5


def gauss(rng: Rng, series: int, nights: int) -> np.ndarray:
    """Independent and normal."""
    return rng.standard_normal((series, nights))


def autoregressive(phi: float) -> Model:
    """AR(1): a night is `phi` times the last one, plus normal noise."""

    def model(rng: Rng, series: int, nights: int) -> np.ndarray:
        noise = rng.standard_normal((series, nights + _WARM_UP)) * np.sqrt(1 - phi**2)
        return np.asarray(signal.lfilter([1.0], [1.0, -phi], noise, axis=1)[:, _WARM_UP:])

    return model


def fractional(d: float) -> Model:
    """ARFIMA(0, d, 0), truncated: noise with long memory."""

    def model(rng: Rng, series: int, nights: int) -> np.ndarray:
        lag = np.arange(1, _WARM_UP)
        weights = np.concatenate([[1], np.cumprod((lag - 1 + d) / lag)])
        noise = rng.standard_normal((series, nights + _WARM_UP))
        values = signal.fftconvolve(noise, weights[None], axes=1)[:, _WARM_UP : _WARM_UP + nights]
        return np.asarray(values / np.sqrt((weights**2).sum()))

    return model


def sticky(rng: Rng, series: int, nights: int) -> np.ndarray:
    """Two modes, 5 deviations apart, each for 5 nights in a row on average (a sticky node)."""
    moves = rng.random((series, nights)) > 0.8
    moves[:, 0] = rng.random(series) < 0.5
    return np.asarray(gauss(rng, series, nights) + 5 * (np.cumsum(moves, axis=1) % 2))


def weekday(rng: Rng, series: int, nights: int) -> np.ndarray:
    """Two nights of seven are 2 deviations off."""
    day = (np.arange(nights)[None] + rng.integers(0, 7, (series, 1))) % 7
    return np.asarray(gauss(rng, series, nights) + 2 * (day >= 5))


def season(rng: Rng, series: int, nights: int) -> np.ndarray:
    """A sine wave with a period of a year and an amplitude of 1.5 deviations."""
    phase = np.arange(nights)[None] / 365 + rng.random((series, 1))
    return np.asarray(gauss(rng, series, nights) + 1.5 * np.sin(2 * np.pi * phase))


def quantised(grid: float) -> Model:
    """Normal, rounded to a grid of `grid` deviations."""

    def model(rng: Rng, series: int, nights: int) -> np.ndarray:
        place = rng.random((series, 1))
        return np.asarray(grid * np.round(gauss(rng, series, nights) / grid + place))

    return model


def bursts(rng: Rng, series: int, nights: int) -> np.ndarray:
    """Three times the spread for a week, every 40 nights on average."""
    starts = rng.random((series, nights)) < 1 / 40
    burst_mask = signal.lfilter(np.ones(7), [1.0], starts.astype(float), axis=1) > 0.5
    return np.asarray(np.where(burst_mask, 3.0, 1.0) * gauss(rng, series, nights))


def incidents(rng: Rng, series: int, nights: int) -> np.ndarray:
    """Two to four nights, 6 deviations off, every 90 nights on average."""
    values = gauss(rng, series, nights)
    for row, night in zip(*np.nonzero(rng.random((series, nights)) < 1 / 90), strict=True):
        values[row, night : night + rng.integers(2, 5)] += 6
    return values


#: By name: the model, and how many of `SITE` quiet series may have a change point after `LENGTHS`.
MODELS: dict[str, tuple[Model, tuple[int, int]]] = {
    "Gauss": (gauss, (1, 2)),
    # Skewed, with twice the spread.
    "log-normal 2 %": (lambda *table: np.asarray(np.expm1(2 * SD * gauss(*table)) / SD), (1, 2)),
    # 3 degrees of freedom, of variance 1.
    "Student t3": (lambda rng, *shape: rng.standard_t(3, shape) / np.sqrt(3), (1, 2)),
    "AR(1) 0.3": (autoregressive(0.3), (1, 2)),
    "AR(1) 0.5": (autoregressive(0.5), (1, 2)),
    "ARFIMA 0.3": (fractional(0.3), (1, 2)),
    "weekday": (weekday, (1, 2)),
    "quantised, 1 sd": (quantised(1.0), (1, 2)),
    "quantised, 3 sd": (quantised(3.0), (1, 2)),
    # Each night in one of two modes, 5 deviations apart.
    "two modes": (lambda rng, *shape: gauss(rng, *shape) + 5 * (rng.random(shape) < 0.5), (1, 2)),
    "sticky node": (sticky, (1, 2)),
    "ARFIMA 0.45": (fractional(0.45), (5, 5)),
    "bursts": (bursts, (5, 5)),
    "season": (season, (5, 5)),
    # One night of ten is 6 deviations off.
    "rare mode": (lambda rng, *shape: gauss(rng, *shape) + 6 * (rng.random(shape) < 0.1), (5, 5)),
    "incidents": (incidents, (2, 2)),
}


@dataclass(frozen=True)
class Change:
    """A change in the newest `new` of `nights` nights of one series in five.

    A "step" adds `size` standard deviations; a "level" replaces the new nights by noise around
    `size`; a "spread" multiplies their spread by `size`, around the same level.
    """

    nights: int
    size: float
    new: int
    kind: Literal["step", "level", "spread"] = "step"

    def __str__(self) -> str:
        effect = {
            "step": f"+{self.size} sd",
            "level": f"to a level at {self.size} sd",
            "spread": f"spread times {self.size}",
        }[self.kind]
        return f"{effect}, {self.new} of {self.nights} nights"

    def plant(self, rng: Rng, values: np.ndarray) -> None:
        """Change the newest nights of `values` [series, nights]."""
        newest = values[:, self.nights - self.new :]
        if self.kind == "step":
            newest += self.size
        elif self.kind == "spread":
            newest *= self.size
        else:
            newest[:] = self.size + rng.standard_normal(newest.shape)


_STEPS = (
    *((100, 2, 10), (365, 2, 10), (100, 3, 10), (100, 5, 1), (100, 5, 2)),
    *((100, 5, 3), (100, 10, 2), (365, 5, 3), (365, 10, 2)),
)
#: By model: the changes whose detection is counted, in standard deviations from night to night.
CHANGES: Mapping[str, Sequence[Change]] = {
    "Gauss": [Change(*fields) for fields in _STEPS],
    "AR(1) 0.3": [Change(*fields) for fields in _STEPS],
    "weekday": [Change(100, 2, 10), Change(100, 5, 3), Change(100, 5, 10)],
    "two modes": [Change(100, 10, new, "level") for new in (1, 2, 5)],
}
#: A change of spread is no step: every change point in these is false.
SPREADS = [Change(100, 4, new, "spread") for new in (3, 12, 40)]
#: The demanded power.
_POWER = {
    "Gauss, +2 sd, 10 of 100 nights": 0.88,
    "Gauss, +2 sd, 10 of 365 nights": 0.80,
    "Gauss, +5 sd, 3 of 100 nights": 0.80,
    "Gauss, +10 sd, 2 of 100 nights": 0.95,
}


@dataclass(frozen=True)
class Task:
    """One simulated site; `seed` and `number` determine its random numbers."""

    model: str
    nights: int
    series: int
    seed: int
    number: int
    settings: NightSettings
    change: Change | None = None

    @property
    def change_mask(self) -> np.ndarray:
        """Mask of the series with the change."""
        return np.asarray((np.arange(self.series) % _CHANGED == 0) & (self.change is not None))

    def logs(self) -> np.ndarray:
        """Return the logarithms of all nights [series, nights]."""
        key = [self.seed, list(MODELS).index(self.model), self.nights, self.number]
        model, _ = MODELS[self.model]
        rng = np.random.default_rng(key)
        values = model(rng, self.series, self.nights)
        if self.change:
            selection = values[self.change_mask]
            self.change.plant(rng, selection)
            values[self.change_mask] = selection
        return SD * values

    def histories(self, nights: int | None = None) -> list[SeriesHistory]:
        """Judge each series of the site after `nights` nights, by default after all."""
        logs = self.logs()[:, :nights]
        return judge_nights(logs, np.full(logs.shape, -1), self.settings)


@dataclass(frozen=True)
class Counts:
    """Numbers of series: all, with a change point, worse in the newest night, with either."""

    series: int
    steps: int
    worse: int
    either: int = 0


def alarms(task: Task, looks: Sequence[int | None] = (None,)) -> Counts:
    """Count the alarms on an unchanged site after any night in `looks`; None: the last night."""
    by_series = list(zip(*(task.histories(nights) for nights in looks), strict=True))
    step_count = sum(any(history.steps for history in histories) for histories in by_series)
    worse_count = sum(any(map(_is_worse, histories)) for histories in by_series)
    return Counts(task.series, step_count, worse_count)


def count_detections(task: Task) -> Counts:
    """Count the series with a change that have a change point at its place, or are worse.

    For a change of spread, count change points at any place.
    """
    histories = [
        history
        for history, is_changed in zip(task.histories(), task.change_mask, strict=True)
        if is_changed
    ]
    if not task.change:
        return Counts(0, 0, 0)
    begin, is_spread = task.nights - task.change.new, task.change.kind == "spread"
    is_found = [
        any(
            is_spread or (step.ratio > 1 and abs(step.night - begin) <= _NEAR)
            for step in history.steps
        )
        for history in histories
    ]
    is_worse = [_is_worse(history) for history in histories]
    either_count = sum(map(any, zip(is_found, is_worse, strict=True)))
    return Counts(len(histories), sum(is_found), sum(is_worse), either_count)


def _is_worse(history: SeriesHistory) -> bool:
    return history.is_worse_last_night(lower_is_better=True)


def false_alarms(series: int, processes: int, settings: NightSettings) -> Iterator[Output]:
    """Yield by model and length the quiet series with a change point after the last night."""
    yield f"false alarms, {series} quiet series a model and length, after the last night:"
    with ProcessPoolExecutor(processes) as pool:
        for model, (_, limits) in MODELS.items():
            for nights, limit in zip(LENGTHS, limits, strict=True):
                counts = _total(pool.map(alarms, _sites(series, model, nights, settings)))
                low, high = (SITE * end for end in interval(counts.steps, counts.series))
                yield (
                    f"  {model:<16} {nights:4d} nights: "
                    f"{SITE * counts.steps / counts.series:6.2f} in 500 series "
                    f"[{low:.2f}, {high:.2f}] have a change point; "
                    f"{SITE * counts.worse / counts.series:.2f} are worse last night"
                )
                row, demand = f"false alarms, {model}, {nights} nights", Demand(limit / SITE, True)
                yield Estimate(row, counts.steps, counts.series, demand)


def alarms_at_looks(series: int, processes: int, settings: NightSettings) -> Iterator[Output]:
    """Yield by model the quiet series with an alarm at any look."""
    yield f"alarms at any of {len(LOOKS)} looks, {series} quiet series a model:"
    with ProcessPoolExecutor(processes) as pool:
        for model in MODELS:
            sites = _sites(series, model, LOOKS[-1], settings)
            counts = _total(pool.map(partial(alarms, looks=LOOKS), sites))
            yield (
                f"  {model:<16} {counts.steps} of {counts.series} have had a change point; "
                f"{counts.worse} were worse last night"
            )
            yield Estimate(f"alarms at any look, {model}", counts.steps, counts.series)


def power(series: int, processes: int, settings: NightSettings) -> Iterator[Output]:
    """Yield by model and change the detected share of changed series, one series in five."""
    with ProcessPoolExecutor(processes) as pool:

        def count(model: str, change: Change) -> Counts:
            sites = _sites(series, model, change.nights, settings, change)
            return _total(pool.map(count_detections, sites))

        yield f"power, {series} series a row, a change in one of five:"
        for model, change in (
            (model, change) for model, changes in CHANGES.items() for change in changes
        ):
            counts, row = count(model, change), f"{model}, {change}"
            step_share, worse_share, either_share = (
                part / counts.series for part in (counts.steps, counts.worse, counts.either)
            )
            yield (
                f"  {row:<48} change point {step_share:6.1%}; worse last night {worse_share:6.1%}; "
                f"either {either_share:6.1%}"
            )
            demand = Demand(_POWER[row]) if row in _POWER else None
            yield Estimate(f"power, {row}", counts.steps, counts.series, demand)
        yield f"changes of spread alone, {series} series a row, a change in one of five:"
        for change in SPREADS:
            counts, row = count("Gauss", change), f"Gauss, {change}"
            yield f"  {row}: {counts.steps} of {counts.series} have a change point"
            demand = Demand(1 / SITE, True)
            yield Estimate(f"false alarms, {row}", counts.steps, counts.series, demand)


def _sites(
    series: int, model: str, nights: int, settings: NightSettings, change: Change | None = None
) -> Iterator[Task]:
    """Yield sites with `series` series in total."""
    for number, first in enumerate(range(0, series, SITE)):
        yield Task(model, nights, min(SITE, series - first), SEED, number, settings, change)


def _total(parts: Iterable[Counts]) -> Counts:
    rows = [(counts.series, counts.steps, counts.worse, counts.either) for counts in parts]
    return Counts(*(sum(column) for column in zip(*rows, strict=True)))

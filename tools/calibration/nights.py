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
from roundtrip.stats.nights.verdicts import ZERO_SHARE, SeriesHistory
from roundtrip.stats.settings import NightSettings
from tools.calibration import Demand, Estimate, TableOutput, share_interval

Rng = np.random.Generator
Model = Callable[[Rng, int, int], np.ndarray]

SEED, SD = 70_000, 0.01
_WARM_UP_NIGHTS = 600
#: Series that are judged together, as in one campaign.
SITE_SERIES = 500
LENGTHS_NIGHTS = (90, 365)
#: Nights after which quiet series are judged, as at a site.
JUDGED_NIGHTS = tuple(range(12, 92, 2))
#: One series in this many has the change; a detection counts within so many nights of it.
_CHANGED_EVERY, _MATCH_NIGHTS = 5, 5


def gauss(rng: Rng, series: int, nights: int) -> np.ndarray:
    """Independent normal values."""
    return rng.standard_normal((series, nights))


def autoregressive(phi: float) -> Model:
    """Return the model AR(1): a night is `phi` times the last one, plus normal noise."""

    def model(rng: Rng, series: int, nights: int) -> np.ndarray:
        noise = rng.standard_normal((series, nights + _WARM_UP_NIGHTS)) * np.sqrt(1 - phi**2)
        return np.asarray(signal.lfilter([1.0], [1.0, -phi], noise, axis=1)[:, _WARM_UP_NIGHTS:])

    return model


def long_memory(d: float) -> Model:
    """Return the model ARFIMA(0, d, 0), truncated: noise whose correlation decays slowly."""

    def model(rng: Rng, series: int, nights: int) -> np.ndarray:
        lag = np.arange(1, _WARM_UP_NIGHTS)
        weights = np.concatenate([[1], np.cumprod((lag - 1 + d) / lag)])
        noise = rng.standard_normal((series, nights + _WARM_UP_NIGHTS))
        values = signal.fftconvolve(noise, weights[None], axes=1)[
            :, _WARM_UP_NIGHTS : _WARM_UP_NIGHTS + nights
        ]
        return np.asarray(values / np.sqrt((weights**2).sum()))

    return model


def sticky_modes(rng: Rng, series: int, nights: int) -> np.ndarray:
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
    """Return the model of normal values that a clock rounds to steps of `grid` deviations."""

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


def poisson(mean: float) -> Model:
    """Return the model of counts (Poisson), of which some are 0."""

    def model(rng: Rng, series: int, nights: int) -> np.ndarray:
        values = rng.poisson(mean, (series, nights))
        return np.asarray(np.log(np.maximum(values, ZERO_SHARE)) / SD)

    return model


#: By name: the model; and how many of `SITE_SERIES` quiet series may have a change point after
#: each of `LENGTHS_NIGHTS`.
MODEL_AND_LIMITS_BY_NAME: dict[str, tuple[Model, tuple[int, int]]] = {
    "Gauss": (gauss, (1, 2)),
    # Skewed, with twice the spread.
    "log-normal 2 %": (lambda *table: np.asarray(np.expm1(2 * SD * gauss(*table)) / SD), (1, 2)),
    # 3 degrees of freedom, of variance 1.
    "Student t3": (lambda rng, *shape: rng.standard_t(3, shape) / np.sqrt(3), (1, 2)),
    "AR(1) 0.3": (autoregressive(0.3), (1, 2)),
    "AR(1) 0.5": (autoregressive(0.5), (1, 2)),
    "ARFIMA 0.3": (long_memory(0.3), (1, 2)),
    "weekday": (weekday, (1, 2)),
    "quantised, 1 sd": (quantised(1.0), (1, 2)),
    "quantised, 3 sd": (quantised(3.0), (1, 2)),
    # Each night in one of two modes, 5 deviations apart.
    "two modes": (lambda rng, *shape: gauss(rng, *shape) + 5 * (rng.random(shape) < 0.5), (1, 2)),
    "sticky node": (sticky_modes, (1, 2)),
    "ARFIMA 0.45": (long_memory(0.45), (5, 5)),
    "bursts": (bursts, (5, 5)),
    "season": (season, (5, 5)),
    # One night of ten is 6 deviations off.
    "rare mode": (lambda rng, *shape: gauss(rng, *shape) + 6 * (rng.random(shape) < 0.1), (5, 5)),
    "incidents": (incidents, (2, 2)),
    "counts": (poisson(1.0), (5, 5)),
    "rare counts": (poisson(0.05), (5, 5)),
}


@dataclass(frozen=True)
class Change:
    """A change in the newest `new_nights` of `nights` nights of one series in five.

    A "step" adds `size` standard deviations; a "level" replaces the new nights by noise around
    `size`; a "spread" multiplies their spread by `size`, around the same level.
    """

    nights: int
    size: float
    new_nights: int
    change_kind: Literal["step", "level", "spread"] = "step"

    def __str__(self) -> str:
        effect = {
            "step": f"+{self.size} sd",
            "level": f"to a level at {self.size} sd",
            "spread": f"spread times {self.size}",
        }[self.change_kind]
        return f"{effect}, {self.new_nights} of {self.nights} nights"

    def plant(self, rng: Rng, values: np.ndarray) -> None:
        """Change the newest nights of `values` [series, nights]."""
        newest = values[:, self.nights - self.new_nights :]
        if self.change_kind == "step":
            newest += self.size
        elif self.change_kind == "spread":
            newest *= self.size
        else:
            newest[:] = self.size + rng.standard_normal(newest.shape)


_STEPS = (
    *((100, 2, 10), (365, 2, 10), (100, 3, 10), (100, 5, 1), (100, 5, 2)),
    *((100, 5, 3), (100, 10, 2), (365, 5, 3), (365, 10, 2)),
)
#: By model: the changes whose detection is counted, in standard deviations from night to night.
CHANGES_BY_MODEL: Mapping[str, Sequence[Change]] = {
    "Gauss": [Change(*fields) for fields in _STEPS],
    "AR(1) 0.3": [Change(*fields) for fields in _STEPS],
    "weekday": [Change(100, 2, 10), Change(100, 5, 3), Change(100, 5, 10)],
    "two modes": [Change(100, 10, new, "level") for new in (1, 2, 5)],
}
#: A change of spread is no step: every change point in these is false.
SPREAD_CHANGES = [Change(100, 4, new, "spread") for new in (3, 12, 40)]
#: The demanded power.
_MIN_POWER_BY_ROW = {
    "Gauss, +2 sd, 10 of 100 nights": 0.88,
    "Gauss, +2 sd, 10 of 365 nights": 0.80,
    "Gauss, +5 sd, 3 of 100 nights": 0.80,
    "Gauss, +10 sd, 2 of 100 nights": 0.95,
}


@dataclass(frozen=True)
class SimulatedSite:
    """One simulated site; `seed` and `number` determine its random numbers."""

    model: str
    nights: int
    series: int
    seed: int
    site_number: int
    settings: NightSettings
    change: Change | None = None

    @property
    def change_mask(self) -> np.ndarray:
        """Mask of the series with the change."""
        return np.asarray(
            (np.arange(self.series) % _CHANGED_EVERY == 0) & (self.change is not None)
        )

    def logs(self) -> np.ndarray:
        """Generate the logarithms of all nights [series, nights], with the change."""
        model_number = list(MODEL_AND_LIMITS_BY_NAME).index(self.model)
        key = [self.seed, model_number, self.nights, self.site_number]
        model, _ = MODEL_AND_LIMITS_BY_NAME[self.model]
        rng = np.random.default_rng(key)
        values = model(rng, self.series, self.nights)
        if self.change:
            selection = values[self.change_mask]
            self.change.plant(rng, selection)
            values[self.change_mask] = selection
        return SD * values

    def judge(self, nights: int | None = None) -> list[SeriesHistory]:
        """Generate the site, and judge each series after `nights` nights, by default after all."""
        logs = self.logs()[:, :nights]
        return judge_nights(logs, np.full(logs.shape, -1), self.settings)


@dataclass(frozen=True)
class SeriesCounts:
    """Numbers of series: all, with a change point, worse in the newest night, with one of both."""

    series: int
    steps: int
    worse: int
    step_or_worse: int = 0


def count_alarms(
    site: SimulatedSite, judged_nights: Sequence[int | None] = (None,)
) -> SeriesCounts:
    """Count the unchanged series with an alarm after any of `judged_nights`; None: the last."""
    by_series = list(zip(*(site.judge(nights) for nights in judged_nights), strict=True))
    step_count = sum(any(history.steps for history in histories) for histories in by_series)
    worse_count = sum(
        any(map(SeriesHistory.is_worse_last_night, histories)) for histories in by_series
    )
    return SeriesCounts(site.series, step_count, worse_count)


def count_detections(site: SimulatedSite) -> SeriesCounts:
    """Count, of the changed series, those with a change point within a few nights of it, for a
    change of spread anywhere, and those worse last night."""
    histories = [
        history
        for history, is_changed in zip(site.judge(), site.change_mask, strict=True)
        if is_changed
    ]
    if not site.change:
        return SeriesCounts(0, 0, 0)
    begin, is_spread = site.nights - site.change.new_nights, site.change.change_kind == "spread"
    is_found = [
        any(
            is_spread or (step.ratio > 1 and abs(step.night - begin) <= _MATCH_NIGHTS)
            for step in history.steps
        )
        for history in histories
    ]
    is_worse = [history.is_worse_last_night() for history in histories]
    either_count = sum(map(any, zip(is_found, is_worse, strict=True)))
    return SeriesCounts(len(histories), sum(is_found), sum(is_worse), either_count)


def false_alarms(series: int, processes: int, settings: NightSettings) -> Iterator[TableOutput]:
    """Yield by model and length the quiet series with a change point after the last night."""
    yield f"false alarms, {series} quiet series a model and length, after the last night:"
    with ProcessPoolExecutor(processes) as pool:
        for model, (_, limits) in MODEL_AND_LIMITS_BY_NAME.items():
            for nights, limit in zip(LENGTHS_NIGHTS, limits, strict=True):
                counts = _sum_counts(
                    pool.map(count_alarms, _sites(series, model, nights, settings))
                )
                low, high = (
                    SITE_SERIES * end for end in share_interval(counts.steps, counts.series)
                )
                yield (
                    f"  {model:<16} {nights:4d} nights: "
                    f"{SITE_SERIES * counts.steps / counts.series:6.2f} in 500 series "
                    f"[{low:.2f}, {high:.2f}] have a change point; "
                    f"{SITE_SERIES * counts.worse / counts.series:.2f} are worse last night"
                )
                row = f"false alarms, {model}, {nights} nights"
                demand = Demand(limit / SITE_SERIES, True)
                yield Estimate(row, counts.steps, counts.series, demand)


def alarms_on_repeated_judging(
    series: int, processes: int, settings: NightSettings
) -> Iterator[TableOutput]:
    """Yield by model the quiet series that have an alarm after any of `JUDGED_NIGHTS`."""
    yield f"alarms at any of {len(JUDGED_NIGHTS)} looks, {series} quiet series a model:"
    with ProcessPoolExecutor(processes) as pool:
        for model in MODEL_AND_LIMITS_BY_NAME:
            sites = _sites(series, model, JUDGED_NIGHTS[-1], settings)
            counts = _sum_counts(
                pool.map(partial(count_alarms, judged_nights=JUDGED_NIGHTS), sites)
            )
            yield (
                f"  {model:<16} {counts.steps} of {counts.series} have had a change point; "
                f"{counts.worse} were worse last night"
            )
            yield Estimate(f"alarms at any look, {model}", counts.steps, counts.series)


def power(series: int, processes: int, settings: NightSettings) -> Iterator[TableOutput]:
    """Yield by model and change the detected share of changed series, one series in five."""
    with ProcessPoolExecutor(processes) as pool:

        def count(model: str, change: Change) -> SeriesCounts:
            sites = _sites(series, model, change.nights, settings, change)
            return _sum_counts(pool.map(count_detections, sites))

        yield f"power, {series} series a row, a change in one of five:"
        for model, change in (
            (model, change) for model, changes in CHANGES_BY_MODEL.items() for change in changes
        ):
            counts, row = count(model, change), f"{model}, {change}"
            step_share, worse_share, either_share = (
                part / counts.series for part in (counts.steps, counts.worse, counts.step_or_worse)
            )
            yield (
                f"  {row:<48} change point {step_share:6.1%}; worse last night {worse_share:6.1%}; "
                f"either {either_share:6.1%}"
            )
            demand = Demand(_MIN_POWER_BY_ROW[row]) if row in _MIN_POWER_BY_ROW else None
            yield Estimate(f"power, {row}", counts.steps, counts.series, demand)
        yield f"changes of spread alone, {series} series a row, a change in one of five:"
        for change in SPREAD_CHANGES:
            counts, row = count("Gauss", change), f"Gauss, {change}"
            yield f"  {row}: {counts.steps} of {counts.series} have a change point"
            demand = Demand(1 / SITE_SERIES, True)
            yield Estimate(f"false alarms, {row}", counts.steps, counts.series, demand)


def _sites(
    series: int, model: str, nights: int, settings: NightSettings, change: Change | None = None
) -> Iterator[SimulatedSite]:
    """Yield sites with `series` series in total."""
    for number, first in enumerate(range(0, series, SITE_SERIES)):
        yield SimulatedSite(
            model, nights, min(SITE_SERIES, series - first), SEED, number, settings, change
        )


def _sum_counts(parts: Iterable[SeriesCounts]) -> SeriesCounts:
    rows = [(counts.series, counts.steps, counts.worse, counts.step_or_worse) for counts in parts]
    return SeriesCounts(*(sum(column) for column in zip(*rows, strict=True)))

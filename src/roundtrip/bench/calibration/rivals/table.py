"""False alarms and power of each rival at the rate that the package's own detection is held to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from roundtrip.bench.calibration import quiet
from roundtrip.bench.calibration.models import DEMANDED, MODELS, SD, deviation
from roundtrip.bench.calibration.planted import Planted
from roundtrip.bench.calibration.quiet import SITE, rng_of
from roundtrip.bench.calibration.rivals import edetectors, mosum
from roundtrip.bench.calibration.rivals.given import used
from roundtrip.stats.nights import looks
from roundtrip.stats.nights.series import Series
from roundtrip.stats.nights.settings import Settings

NIGHTS, NEW = 90, 10
#: (model, size in sd) of the steps whose power is shown.
CASES = [("Gaussian", 2.0), ("Gaussian", 5.0), ("AR(1) 0.3", 2.0), ("AR(1) 0.3", 5.0)]
#: The models of `DEMANDED`, and a drift.
_HEADS = ("Gaussian", "log-normal", "AR .3", "AR .5", "5 % spikes", "sticky node", "drift")
#: Drift of a year, as a logarithm a night: what a detector without a trend test takes for a step.
_DRIFT = np.log(1.05) / 365.25

Rival = Callable[[Series, Settings], np.ndarray]
#: "1/alpha" rows follow those that begin with "e-".
RIVALS: dict[str, Rival] = {
    "e-SR, increments": edetectors.shiryaev_roberts,
    "e-CUSUM, increments": edetectors.cusum,
    "e-SR, levels kept": edetectors.frozen,
    "self-norm. MOSUM": mosum.self_normalised,
}


@dataclass(frozen=True)
class Site:
    """One simulated site: `step` is added since night `NIGHTS` - `NEW`, `drift` in every night."""

    model: str
    series: int
    seed: int
    number: int
    step: float = 0.0
    drift: float = 0.0

    def logs(self) -> tuple[np.ndarray, np.ndarray]:
        """As `roundtrip.stats.nights.judge.judge` takes them."""
        rng = rng_of(self.seed, self.model, NIGHTS, self.number)
        logs, nodes = MODELS[self.model](rng, self.series, NIGHTS)
        logs[:, NIGHTS - NEW :] += self.step
        return logs + self.drift * np.arange(NIGHTS), nodes


def sites_of(
    model: str, series: int, seed: int, step: float = 0.0, drift: float = 0.0
) -> list[Site]:
    """Sites of `SITE` series, `series` in all."""
    return [
        Site(model, min(SITE, series - first), seed, number, step, drift)
        for number, first in enumerate(range(0, series, SITE))
    ]


def most(settings: Settings, site: Site) -> dict[str, np.ndarray]:
    """By rival, the greatest evidence [series, scales] of all nights, in either direction.

    For a step: of the nights since it began, upwards.
    """
    series = used(*site.logs(), settings)
    counted = series.night >= (NIGHTS - NEW if site.step else 0)
    found = {}
    for name, rival in RIVALS.items():
        evidence = rival(series, settings)
        size = evidence if site.step else np.abs(evidence)
        found[name] = np.where(counted[..., None], size, 0.0).max(axis=1)
    return found


@dataclass
class Runs:
    """Simulations of `series` series a case, in `processes`."""

    series: int
    settings: Settings
    pool: ProcessPoolExecutor

    def most(
        self, model: str, seed: int, step: float = 0.0, drift: float = 0.0
    ) -> dict[str, np.ndarray]:
        """`most` over all sites of a case."""
        sites = sites_of(model, self.series, seed, step, drift)
        parts = list(self.pool.map(partial(most, self.settings), sites))
        return {name: np.concatenate([part[name] for part in parts]) for name in RIVALS}


def limits(quiet_runs: list[np.ndarray], allowed: int) -> np.ndarray:
    """The thresholds [scales] that at most `allowed` series of each run exceed.

    The scales of a rival share its alarms evenly: each is first held to the rate alone, then all
    are raised by one factor.
    """

    def least(runs: list[np.ndarray]) -> np.ndarray:
        return np.asarray(np.max([np.sort(run, axis=0)[-1 - allowed] for run in runs], axis=0))

    each = least(quiet_runs)
    return np.asarray(each * least([(run / each).max(axis=1) for run in quiet_runs]))


def alarms(run: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """Mask of the series of a run whose evidence is above the limit on any scale."""
    return np.asarray((run > limit).any(axis=1))


def lines(series: int, seed: int, processes: int, settings: Settings) -> Iterator[str]:
    """The table, line by line; thresholds come from `seed` + 3, all counts from other seeds."""
    own = Own(series, processes, seed, settings)
    allowed = min(max(own.alarms(seed + 3)), series // SITE)
    yield (
        f"{NIGHTS} nights, {series} series a cell: alarms in {SITE} quiet series, in {SITE} with "
        f"+5 % a year (drift), and power for a step that began {NEW} nights ago"
    )
    yield (
        f"seeds: {seed} alarms, {seed + 1} power, {seed + 2} drift, {seed + 3} thresholds: on "
        f"each model at most {SITE * allowed / series:.2f} in {SITE}, as ours on its worst"
    )
    heads = [*_HEADS, *(f"{'AR .3 ' * ('AR' in model)}+{size:g} sd" for model, size in CASES)]
    yield f"  {'':<29}{'limit':>6}" + "".join(f"{head:>12}" for head in heads)
    without = replace(settings, trend_threshold=np.inf, beside_trend=-np.inf)
    yield own.line("ours")
    yield replace(own, settings=without).line("ours, no trend test")
    with ProcessPoolExecutor(processes) as pool:
        runs = Runs(series, settings, pool)
        tuned = [runs.most(model, seed + 3) for model in DEMANDED]
        calm = [runs.most(model, seed) for model in DEMANDED]
        calm.append(runs.most("Gaussian", seed + 2, drift=_DRIFT))
        steps = [runs.most(m, seed + 1, step=size * deviation(m) * SD) for m, size in CASES]
    watched = SITE * (NIGHTS - settings.baseline_least)
    for name in RIVALS:
        chosen = {name: limits([run[name] for run in tuned], allowed)}
        if name.startswith("e-"):
            chosen[f"{name}, 1/alpha"] = np.array([np.log(watched)])
        for title, limit in chosen.items():
            rates, powers = (
                [float(np.mean(alarms(run[name], limit))) for run in runs] for runs in (calm, steps)
            )
            yield _line(title, float(limit.max()), rates, powers)
    yield f"1/alpha = {watched}: the nights that are watched in {SITE} series"


@dataclass(frozen=True)
class Own:
    """The package's own detection, on the series that the rivals are given."""

    series: int
    processes: int
    seed: int
    settings: Settings

    def alarms(self, seed: int) -> list[int]:
        """Series of each model that are told a step in any look."""
        counted = quiet.counted(
            list(DEMANDED), NIGHTS, self.series, seed, self.settings, self.processes
        )
        return [of.steps for _, of in counted]

    def line(self, name: str) -> str:
        """Its line of the table."""
        rates = [alarms / self.series for alarms in self.alarms(self.seed)]
        sites = sites_of("Gaussian", self.series, self.seed + 2, drift=_DRIFT)
        drifting = [steps for site in sites for steps in looks.alarms(*site.logs(), self.settings)]
        rates.append(float(np.mean([bool(steps) for steps in drifting])))
        planted = Planted(self.series, self.seed + 1, self.settings)
        powers = [planted.power(model, NIGHTS, NEW, size) for model, size in CASES]
        return _line(name, float(self.settings.threshold(NIGHTS, NEW)), rates, powers)


def _line(name: str, limit: float, rates: list[float], powers: list[float]) -> str:
    cells = [f"{SITE * rate:12.2f}" for rate in rates] + [f"{power:12.1%}" for power in powers]
    return f"  {name:<29}{limit:6.2f}" + "".join(cells)

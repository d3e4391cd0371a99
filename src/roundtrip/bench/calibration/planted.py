"""What is found of what was planted: power, delay, place, and what is made of drifts and spikes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from roundtrip.bench.calibration.estimates import Estimate
from roundtrip.bench.calibration.estimates import Told as Line
from roundtrip.bench.calibration.models import MODELS, SD, deviation
from roundtrip.bench.calibration.quiet import SITE, rng_of
from roundtrip.stats.nights.judge import judge
from roundtrip.stats.nights.settings import Settings
from roundtrip.stats.nights.told import Told

_NEAR = (1, 3, 5)


class Planted:
    """`series` simulated series a case, with a seed of their own."""

    def __init__(self, series: int, seed: int, settings: Settings) -> None:
        self._series, self._seed, self._settings = series, seed, settings

    def told(
        self, model: str, nights: int, plant: Callable[[np.ndarray, np.random.Generator], None]
    ) -> list[Told]:
        """What is told of series that `plant` has changed in place."""
        answers: list[Told] = []
        for number, first in enumerate(range(0, self._series, SITE)):
            rng = rng_of(self._seed, model, nights, number)
            logs, nodes = MODELS[model](rng, min(SITE, self._series - first), nights)
            plant(logs, rng)
            answers += judge(logs, nodes, self._settings)
        return answers

    def power(self, model: str, nights: int, new: int, size: float) -> float:
        """Share of series that are told a step upwards that began near the `new` newest nights.

        `size` is in standard deviations of the series from night to night.
        """
        begin = nights - new

        def plant(logs: np.ndarray, _: np.random.Generator) -> None:
            logs[:, begin:] += size * deviation(model) * SD

        answers = self.told(model, nights, plant)
        found = [
            any(step.ratio > 1 and abs(step.night - begin) <= 10 for step in one.steps)
            for one in answers
        ]
        return float(np.mean(found))

    def lines(self) -> Iterator[Line]:
        """One sentence for each further case, and the numbers of drifts."""
        yield from self._places()
        yield from self._two()
        yield from self._gaps()
        yield from self._newest()
        yield from self._drift()
        yield from self._spike()

    def _places(self) -> Iterator[str]:
        for size in (2, 5):

            def plant(logs: np.ndarray, _: np.random.Generator, size: int = size) -> None:
                logs[:, 180:] += size * SD

            answers = self.told("Gaussian", 365, plant)
            found = [one.steps for one in answers if one.steps]
            off = np.array([min(abs(s.night - 180) for s in steps) for steps in found])
            near = ", ".join(f"{np.mean(off <= n):.1%} within {n}" for n in _NEAR)
            more = np.mean([len(steps) > 1 for steps in found])
            told = np.array([steps[0].nights for steps in found])
            yield (
                f"+{size} sd at night 180 of 365, Gaussian: {len(found) / len(answers):.1%} found; "
                f"nights off its place: {near}; told after {np.median(told):.0f} nights "
                f"(median; 90 % after {np.quantile(told, 0.9):.0f}); {more:.1%} with a second step"
            )

    def _two(self) -> Iterator[str]:
        def plant(logs: np.ndarray, _: np.random.Generator) -> None:
            logs[:, 60:] += 4 * SD
            logs[:, 100:] -= 4 * SD

        answers = self.told("Gaussian", 140, plant)
        both = [
            len(one.steps) == 2
            and abs(one.steps[0].night - 60) <= 3
            and abs(one.steps[1].night - 100) <= 3
            for one in answers
        ]
        yield f"+4 sd at night 60 and back at night 100 of 140: {np.mean(both):.1%} as two steps"

    def _gaps(self) -> Iterator[str]:
        for share in (0.1, 0.3):

            def plant(logs: np.ndarray, rng: np.random.Generator, share: float = share) -> None:
                logs[:, 100:] += 3 * SD
                logs[rng.random(logs.shape) < share] = np.nan

            answers = self.told("Gaussian", 120, plant)
            found = np.mean([bool(one.steps) for one in answers])
            yield f"+3 sd in the last 20 of 120 nights, {share:.0%} not measured: {found:.1%} found"

    def _newest(self) -> Iterator[str]:
        for size in (5, 8):
            for new in (1, 4):

                def plant(
                    logs: np.ndarray, _: np.random.Generator, size: int = size, new: int = new
                ) -> None:
                    logs[::10, -new:] += size * SD

                answers = self.told("Gaussian", 90, plant)
                odd = [bool(one.steps or (one.newest and one.newest.is_outside)) for one in answers]
                changed = np.arange(len(odd)) % SITE % 10 == 0
                yield (
                    f"+{size} sd since {new} night(s) in a tenth of the series: a step or "
                    f"an odd newest night in {np.mean(np.array(odd)[changed]):.1%} of these, "
                    f"{np.mean(np.array(odd)[~changed]):.2%} of the others"
                )

    def _drift(self) -> Iterator[Line]:
        for nights in (90, 180, 365):

            def plant(logs: np.ndarray, _: np.random.Generator, nights: int = nights) -> None:
                logs += np.log(1.05) * np.arange(nights) / 365.25

            answers = self.told("Gaussian", nights, plant)
            drifts = sum(one.drift is not None for one in answers)
            steps = np.mean([bool(one.steps) for one in answers])
            share = drifts / len(answers)
            yield f"+5 % a year, {nights} nights: a drift in {share:.1%}, a step in {steps:.1%}"
            yield Estimate(f"a drift, +5 % a year, {nights} nights", drifts, len(answers))

    def _spike(self) -> Iterator[str]:
        def plant(logs: np.ndarray, _: np.random.Generator) -> None:
            logs[:, 70] += 0.3

        answers = self.told("Gaussian", 90, plant)
        named = np.mean([one.spikes == (70,) for one in answers])
        steps = np.mean([bool(one.steps) for one in answers])
        yield f"+30 % in night 70 of 90: named as a spike in {named:.1%}, a step in {steps:.1%}"

"""``python -m roundtrip.bench.calibration``: false alarms, power and delays of detection.

The thresholds are those of the package.  Nothing here tunes them: they were fixed on other seeds.
With ``--rivals``: other detectors beside it instead, at the same rate of false alarms.
Exit status: 0 no demand (``demands.py``) failed; 1 one did; 2 bad input.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence

from roundtrip.bench.calibration import demands, nodes, quiet
from roundtrip.bench.calibration.estimates import Estimate, Told
from roundtrip.bench.calibration.models import DEMANDED, MODELS, deviation
from roundtrip.bench.calibration.planted import Planted
from roundtrip.bench.calibration.rivals import table
from roundtrip.collect import analysis
from roundtrip.stats.nights.settings import Settings

SEED = 40_000
#: Four seeds from here on; none of them chose what the rivals are set to.
RIVALS_SEED = 30_000
_SIZES = (1, 2, 3, 5)
#: New nights, by the length of history.
_NEW = {90: (5, 10, 20), 365: (10,)}


def false_alarms(series: int, processes: int, settings: Settings) -> Iterator[Told]:
    """The table of false alarms, line by line, and its numbers."""
    for nights in demands.LENGTHS:
        yield f"{nights} nights, {series} quiet series a model; in any of the nightly looks:"
        for model, of in quiet.counted(list(MODELS), nights, series, SEED, settings, processes):
            low, high = (quiet.SITE * share for share in quiet.interval(of.steps, of.series))
            mark = "" if model in DEMANDED else " (nothing is promised)"
            yield (
                f"  {model:<12} {of.steps:4d} steps: {quiet.SITE * of.steps / of.series:5.2f} in "
                f"500 series [{low:.2f}, {high:.2f}]; of {of.judged} at the last look: "
                f"{of.drifts} drifts, {of.outside} odd nights{mark}"
            )
            yield Estimate(f"false alarms, {model}, {nights} nights", of.steps, of.series)


def power(series: int, settings: Settings) -> Iterator[Told]:
    """The table of power and its numbers: one line a model, length and number of new nights."""
    planted = Planted(series, SEED + 1, settings)
    yield f"power, {series} series a cell: a step of so many sd from night to night"
    yield f"  {'':<12} {'nights':>6} {'new':>4} " + "".join(f"{f'+{s} sd':>8}" for s in _SIZES)
    for nights in demands.LENGTHS:
        for model in ("Gaussian", "AR(1) 0.3", "AR(1) 0.5", "5 % spikes"):
            for new in _NEW[nights]:
                cells = [planted.power(model, nights, new, size) for size in _SIZES]
                row = "".join(f"{cell:8.1%}" for cell in cells)
                yield f"  {model:<12} {nights:6d} {new:4d} {row}"
                for size, cell in zip(_SIZES, cells, strict=True):
                    name = f"power, {model}, {new} of {nights} nights, +{size} sd"
                    yield Estimate(name, round(cell * series), series)
    share = planted.power("AR(1) 0.3", 90, 10, 2 / deviation("AR(1) 0.3"))
    yield f"  AR(1) 0.3, innovations of 1 %, +2 %, 10 of 90 nights: {share:.1%}"
    yield "other changes:"
    for line in planted.lines():
        yield f"  {line}" if isinstance(line, str) else line


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables asked for, and each demand that failed; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m roundtrip.bench.calibration")
    parser.add_argument("--series", type=int, default=20_000, help="quiet series a model")
    parser.add_argument("--processes", type=int, default=2)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--only", choices=["alarms", "power", "nodes"])
    shown.add_argument("--rivals", action="store_true", help="other detectors beside ours")
    asked = parser.parse_args(arguments)
    for option in ("series", "processes"):
        if getattr(asked, option) < 1:
            print(f"--{option} {getattr(asked, option)}: must be at least 1", file=sys.stderr)
            return 2
    only = "rivals" if asked.rivals else asked.only
    made = tables(asked.series, asked.processes)
    counted: list[Estimate] = []
    for name in [only] if only else ["alarms", "power", "nodes"]:
        for told in made[name]():
            if isinstance(told, Estimate):
                counted.append(told)
            else:
                print(told, flush=True)
    failed = list(demands.failures(counted))
    for line in [*failed, *([] if asked.rivals else [demands.summary(counted)])]:
        print(line, flush=True)
    return 1 if failed else 0


def tables(series: int, processes: int) -> dict[str, Callable[[], Iterator[Told]]]:
    """What makes each table, by its name, for `series` quiet series a model."""
    thresholds = analysis.default()
    settings = thresholds.history
    few = max(quiet.SITE, series // 20)
    nights = max(nodes.NIGHTS, series // 200)
    return {
        "alarms": lambda: false_alarms(series, processes, settings),
        "power": lambda: power(few, settings),
        "nodes": lambda: nodes.lines(nights, processes, thresholds.nodes),
        "rivals": lambda: table.lines(series, RIVALS_SEED, processes, settings),
    }


if __name__ == "__main__":
    sys.exit(main())

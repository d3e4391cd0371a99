"""``python -m roundtrip.bench.calibration``: false alarms, power and delays of detection.

The thresholds are those of the package.  Nothing here tunes them: they were fixed on other seeds.
With ``--rivals``: other detectors beside it instead, at the same rate of false alarms.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from roundtrip.bench.calibration import quiet
from roundtrip.bench.calibration.models import DEMANDED, MODELS, deviation
from roundtrip.bench.calibration.planted import Planted
from roundtrip.bench.calibration.rivals import table
from roundtrip.collect import analysis
from roundtrip.stats.nights.settings import Settings

SEED = 20_000
#: Four seeds from here on; none of them chose what the rivals are set to.
RIVALS_SEED = 30_000
_LENGTHS = (90, 365)
_SIZES = (1, 2, 3, 5)
#: New nights, by the length of history.
_NEW = {90: (5, 10, 20), 365: (10,)}


def false_alarms(series: int, processes: int, settings: Settings) -> Iterator[str]:
    """The table of false alarms, line by line."""
    for nights in _LENGTHS:
        yield f"{nights} nights, {series} quiet series a model; in any of the nightly looks:"
        for model, of in quiet.counted(list(MODELS), nights, series, SEED, settings, processes):
            low, high = (quiet.SITE * share for share in quiet.interval(of.steps, of.series))
            mark = "" if model in DEMANDED else " (nothing is promised)"
            yield (
                f"  {model:<12} {of.steps:4d} steps: {quiet.SITE * of.steps / of.series:5.2f} in "
                f"500 series [{low:.2f}, {high:.2f}]; of {of.judged} at the last look: "
                f"{of.drifts} drifts, {of.outside} odd nights{mark}"
            )


def power(series: int, settings: Settings) -> Iterator[str]:
    """The table of power: one line a model, length and number of new nights."""
    planted = Planted(series, SEED + 1, settings)
    yield f"power, {series} series a cell: a step of so many sd from night to night"
    yield f"  {'':<12} {'nights':>6} {'new':>4} " + "".join(f"{f'+{s} sd':>8}" for s in _SIZES)
    for nights in _LENGTHS:
        for model in ("Gaussian", "AR(1) 0.3", "AR(1) 0.5", "5 % spikes"):
            for new in _NEW[nights]:
                cells = [planted.power(model, nights, new, size) for size in _SIZES]
                row = "".join(f"{cell:8.1%}" for cell in cells)
                yield f"  {model:<12} {nights:6d} {new:4d} {row}"
    share = planted.power("AR(1) 0.3", 90, 10, 2 / deviation("AR(1) 0.3"))
    yield f"  AR(1) 0.3, innovations of 1 %, +2 %, 10 of 90 nights: {share:.1%}"
    yield "other changes:"
    yield from (f"  {line}" for line in planted.lines())


def main() -> int:
    """Print the tables asked for; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m roundtrip.bench.calibration")
    parser.add_argument("--series", type=int, default=20_000, help="quiet series a model")
    parser.add_argument("--processes", type=int, default=2)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--only", choices=["alarms", "power"])
    shown.add_argument("--rivals", action="store_true", help="other detectors beside ours")
    asked = parser.parse_args()
    settings = analysis.default().history
    few = max(quiet.SITE, asked.series // 20)
    tables = {
        "alarms": lambda: false_alarms(asked.series, asked.processes, settings),
        "power": lambda: power(few, settings),
        "rivals": lambda: table.lines(asked.series, RIVALS_SEED, asked.processes, settings),
    }
    only = "rivals" if asked.rivals else asked.only
    for name in [only] if only else ["alarms", "power"]:
        for line in tables[name]():
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

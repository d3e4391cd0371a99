"""``python -m tools.calibration``: false alarms and power of detection over nights.

The thresholds are those of the package.  Nothing here tunes them: they were fixed on other seeds.
With ``--real FILE``: also what is found in real series.
Exit status: 0 no demand (``demands.py``) failed; 1 one did; 2 bad input.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from roundtrip.collect import analysis
from roundtrip.errors import UserError
from roundtrip.stats.nights.settings import Settings
from tools.calibration import counts, demands, failing, nodes, real
from tools.calibration.estimates import Estimate, Told

SEED = 70_000


def false_alarms(series: int, processes: int, settings: Settings) -> Iterator[Told]:
    """The table of false alarms, line by line, and its numbers."""
    yield f"false alarms, {series} quiet series a model and length, after the last night:"
    for model, nights, counted in counts.false_alarms(series, SEED, settings, processes):
        low, high = (counts.SITE * one for one in counts.interval(counted.steps, counted.series))
        yield (
            f"  {model:<16} {nights:4d} nights: "
            f"{counts.SITE * counted.steps / counted.series:6.2f} in 500 series "
            f"[{low:.2f}, {high:.2f}] have a change point; "
            f"{counts.SITE * counted.worse / counted.series:.2f} are worse last night"
        )
        yield Estimate(f"false alarms, {model}, {nights} nights", counted.steps, counted.series)


def alarms_at_looks(series: int, processes: int, settings: Settings) -> Iterator[Told]:
    """Of each model, how many quiet series had an alarm on any morning, and its numbers."""
    yield f"alarms at any of {len(counts.LOOKS)} looks, {series} quiet series a model:"
    for model, counted in counts.alarms_at_looks(series, SEED, settings, processes):
        yield (
            f"  {model:<16} {counted.steps} of {counted.series} have had a change point; "
            f"{counted.worse} were worse last night"
        )
        yield Estimate(f"alarms at any look, {model}", counted.steps, counted.series)


def power(series: int, processes: int, settings: Settings) -> Iterator[Told]:
    """The table of power, one line a model and change, and its numbers."""
    yield f"power, {series} series a row, a change in one of five:"
    for model, change, counted in counts.powers(counts.CHANGES, series, SEED, settings, processes):
        row = f"power, {model}, {change}"
        found, worse, either = (
            one / counted.series for one in (counted.steps, counted.worse, counted.either)
        )
        yield (
            f"  {row[7:]:<48} change point {found:6.1%}; worse last night {worse:6.1%}; "
            f"either {either:6.1%}"
        )
        yield Estimate(row, counted.steps, counted.series)
    yield f"changes of spread alone, {series} series a row, a change in one of five:"
    spreads = {"Gauss": counts.SPREADS}
    for model, change, counted in counts.powers(spreads, series, SEED, settings, processes):
        yield f"  {model}, {change}: {counted.steps} of {counted.series} have a change point"
        yield Estimate(f"false alarms, {model}, {change}", counted.steps, counted.series)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables asked for, and each demand that failed; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.calibration")
    parser.add_argument("--series", type=int, default=20_000, help="quiet series a model")
    parser.add_argument("--processes", type=int, default=2)
    groups = ["alarms", "looks", "power", "nodes", "failing", "real"]
    parser.add_argument("--only", choices=groups)
    parser.add_argument("--real", type=Path, help="parquet with source, series, night, value")
    asked = parser.parse_args(arguments)
    for option in ("series", "processes"):
        if getattr(asked, option) < 1:
            print(f"--{option} {getattr(asked, option)}: must be at least 1", file=sys.stderr)
            return 2
    if asked.only == "real" and not asked.real:
        print("--only real: needs --real FILE", file=sys.stderr)
        return 2
    made = tables(asked.series, asked.processes, asked.real)
    counted: list[Estimate] = []
    try:
        for name in [asked.only] if asked.only else list(made):
            for told in made[name]():
                if isinstance(told, Estimate):
                    counted.append(told)
                else:
                    print(told, flush=True)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    failed = list(demands.failures(counted))
    for line in [*failed, demands.summary(counted)]:
        print(line, flush=True)
    return 1 if failed else 0


def tables(
    series: int, processes: int, file: Path | None = None
) -> dict[str, Callable[[], Iterator[Told]]]:
    """What makes each table, by its name, for `series` quiet series a model."""
    thresholds = analysis.default()
    settings = thresholds.history
    few = max(counts.SITE, series // 20)
    looked = max(1, series // 5)
    nights = max(nodes.NIGHTS, series // 200)
    made: dict[str, Callable[[], Iterator[Told]]] = {
        "alarms": lambda: false_alarms(series, processes, settings),
        "looks": lambda: alarms_at_looks(looked, processes, settings),
        "power": lambda: power(few, processes, settings),
        "nodes": lambda: nodes.lines(nights, processes, thresholds.nodes),
        "failing": lambda: failing.lines(nights, processes, thresholds.nodes),
    }
    if file:
        made["real"] = lambda: real.lines(real.load(file), settings, SEED)
    return made


if __name__ == "__main__":
    sys.exit(main())

"""``python -m tools.calibration``: false alarms and power of detection over nights.

The thresholds are those of the package.  Nothing here tunes them: they were fixed on other seeds.
With ``--real FILE``, also detections in real series.
Exit status: 0 no demand failed; 1 one did; 2 bad input.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from roundtrip.errors import UserError
from roundtrip.measure import analysis
from tools.calibration import (
    Estimate,
    TableOutput,
    describe_demands,
    failure_lines,
    nights,
    nodes,
    real,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the requested tables, and each demand that failed; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.calibration")
    parser.add_argument("--series", type=int, default=20_000, help="quiet series a model")
    parser.add_argument("--processes", type=int, default=2)
    groups = ["alarms", "looks", "power", "nodes", "failing", "real"]
    parser.add_argument("--only", choices=groups)
    parser.add_argument("--real", type=Path, help="parquet with source, series, night, value")
    options = parser.parse_args(arguments)
    for option in ("series", "processes"):
        if getattr(options, option) < 1:
            print(f"--{option} {getattr(options, option)}: must be at least 1", file=sys.stderr)
            return 2
    if options.only == "real" and not options.real:
        print("--only real: needs --real FILE", file=sys.stderr)
        return 2
    computations = tables(options.series, options.processes, options.real)
    estimates: list[Estimate] = []
    try:
        for name in [options.only] if options.only else list(computations):
            for output in computations[name]():
                if isinstance(output, Estimate):
                    estimates.append(output)
                else:
                    print(output, flush=True)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    problems = list(failure_lines(estimates))
    for line in [*problems, describe_demands(estimates)]:
        print(line, flush=True)
    return 1 if problems else 0


def tables(
    series: int, processes: int, file: Path | None = None
) -> dict[str, Callable[[], Iterator[TableOutput]]]:
    """Return the computation of each table, by name, for `series` quiet series a model."""
    thresholds = analysis.default_settings()
    power_series, repeated_series = max(nights.SITE_SERIES, series // 20), max(1, series // 5)
    quiet_nights = max(nodes.NIGHTS, series // 200)
    computations: dict[str, Callable[[], Iterator[TableOutput]]] = {
        "alarms": lambda: nights.false_alarms(series, processes, thresholds.history),
        "looks": lambda: nights.alarms_on_repeated_judging(
            repeated_series, processes, thresholds.history
        ),
        "power": lambda: nights.power(power_series, processes, thresholds.history),
        "nodes": lambda: nodes.slow_nodes(quiet_nights, processes, thresholds.nodes),
        "failing": lambda: nodes.flaky_nodes(quiet_nights, processes, thresholds.nodes),
    }
    if file:
        computations["real"] = lambda: real.detection_counts(
            real.read_series(file), thresholds.history, nights.SEED
        )
    return computations


if __name__ == "__main__":
    sys.exit(main())

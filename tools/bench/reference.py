"""Our raw-MPI variant against NetPIPE 3.7.2 on the same MPI: 1-byte latency, peak bandwidth."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from roundtrip.stats.summaries import median_interval
from roundtrip.studies.netpipe import output as netpipe_output
from roundtrip.studies.netpipe.output import Point, Schedule
from tools.bench import programs
from tools.bench.programs import Pair

RUNS = 9
LEVEL = 0.95
_RANGES = ((1, 1), (131072, 8 << 20))  # bytes: where the latency is, and where the peak can be


def measure() -> Iterator[str]:
    """Ratios ours / NetPIPE over pairs of runs, each pair in random order."""
    for pair in programs.PAIRS:
        netpipe = programs.ours(pair)
        latencies: list[float] = []
        peaks: list[float] = []
        best = {"ours": [float("inf"), 0.0], "reference": [float("inf"), 0.0]}
        for _ in range(RUNS):
            points = {}
            for who in random.sample(["ours", "reference"], 2):
                points[who] = _ours(pair, netpipe) if who == "ours" else _reference(pair)
                best[who][0] = min(best[who][0], _latency(points[who]))
                best[who][1] = max(best[who][1], _peak(points[who]))
            latencies.append(_latency(points["ours"]) / _latency(points["reference"]))
            peaks.append(_peak(points["ours"]) / _peak(points["reference"]))
        ours, theirs = best["ours"], best["reference"]
        yield f"{pair.mpi}: latency at 1 B {_interval(latencies)}, best {ours[0] / theirs[0]:.3f}"
        yield f"{pair.mpi}: peak bandwidth {_interval(peaks)}, best {ours[1] / theirs[1]:.3f}"


def _reference(pair: Pair) -> list[Point]:
    points = []
    for first, last in _RANGES:
        points += programs.run_reference(pair, Schedule(first, last, perturbation=0))
    return points


def _ours(pair: Pair, netpipe: str) -> list[Point]:
    points = []
    for first, last in _RANGES:
        span = ["--start", str(first), "--end", str(last), "--perturbation", "0"]
        output = programs.run(pair, [netpipe, "--exact", "mpi", *span])
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "np.out"
            file.write_text("\n".join(output.splitlines()[:-1]) + "\n")  # less the end marker
            points += netpipe_output.parse(file, Schedule(first, last, perturbation=0))
    return points


def _latency(points: list[Point]) -> float:
    return next(point.seconds for point in points if point.size_bytes == 1)


def _peak(points: list[Point]) -> float:
    return max(point.size_bytes / point.seconds for point in points)


def _interval(ratios: list[float]) -> str:
    found = median_interval(ratios, LEVEL)
    return f"{found.median:.3f} [{found.low:.3f}, {found.high:.3f}] of NetPIPE 3.7.2, n={found.n}"

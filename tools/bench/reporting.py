"""Time and memory of collecting and reporting a million synthetic samples."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from roundtrip import paths
from roundtrip.collect import bundle
from roundtrip.collect.launches import scan
from roundtrip.errors import UserError

SAMPLES_PER_POINT = 300  # x points of two toolchains x 8 launches: just over a million


def measure() -> Iterator[str]:
    """Wall time of collecting into a bundle, here, and of ``roundtrip report``, in a new process;
    peak memory of both.  UserError if a command fails."""
    generator = paths.checkout() / "tests" / "support" / "synthetic.py"
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "run"
        _run([sys.executable, str(generator), str(tree), str(SAMPLES_PER_POINT)])
        samples = sum(launch.run["samples"]["rows"] for launch in scan(tree))
        start = time.monotonic()
        collected = bundle.build(tree)
        collecting = time.monotonic() - start
        roundtrip = Path(sys.executable).with_name("roundtrip")
        _run([str(roundtrip), "report", str(collected), "--output", f"{folder}/reports"])
        wall = time.monotonic() - start
    used = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak = max(resource.getrusage(who).ru_maxrss for who in used) / 1e6  # of any process; kB -> GB
    yield (
        f"{samples} synthetic samples: collected in {collecting:.1f} s, reported in "
        f"{wall - collecting:.1f} s, {wall:.1f} s in all, {peak:.2f} GB at most"
    )


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, cwd=paths.checkout())
    if done.returncode:
        raise UserError(f"{command[0]} failed: {done.stderr.strip()[-300:]}")

"""Time and memory of ``roundtrip report`` on a million synthetic samples."""

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
    """Wall time and peak memory of the command, in a new process.  UserError if it fails."""
    generator = paths.checkout() / "tests" / "support" / "synthetic.py"
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "run"
        _run([sys.executable, str(generator), str(tree), str(SAMPLES_PER_POINT)])
        samples = sum(launch.run["samples"]["rows"] for launch in scan(tree))
        collected = bundle.build(tree)
        start = time.monotonic()
        roundtrip = Path(sys.executable).with_name("roundtrip")
        _run([str(roundtrip), "report", str(collected), "--output", f"{folder}/reports"])
        wall = time.monotonic() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6  # of any child; kB -> GB
    yield f"{samples} synthetic samples: {wall:.1f} s, {peak:.2f} GB at most"


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, cwd=paths.checkout())
    if done.returncode:
        raise UserError(f"{command[0]} failed: {done.stderr.strip()[-300:]}")

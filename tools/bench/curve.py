"""Time of the whole curve of five variants against five default runs of NetPIPE 3.7.2."""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from roundtrip.studies.netpipe.output import Schedule
from tools.bench import programs

VARIANTS = 5


def measure() -> Iterator[str]:
    """Wall time of one launch at the default precision over five times that of one NetPIPE run."""
    pair = programs.PAIRS[0]
    netpipe = programs.ours(pair)
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        programs.run(pair, [netpipe, "--samples", f"{folder}/samples.csv"])
        ours = time.monotonic() - start
        points = json.loads((Path(folder) / "run.json").read_text())["points"]
    start = time.monotonic()
    reference = programs.run_reference(pair, Schedule())
    theirs = time.monotonic() - start
    ended = ", ".join(
        f"{count} {status}" for status, count in Counter(p["status"] for p in points).items()
    )
    yield (
        f"{pair.mpi}: {ours:.1f} s for {VARIANTS} variants, {len(points)} points ({ended}); "
        f"one NetPIPE run of {len(reference)} points {theirs:.1f} s; "
        f"ratio to {VARIANTS} of them {ours / (VARIANTS * theirs):.3f}"
    )

"""``python -m fuzz [--cases N] [--start SEED]``, or ``--only READER --seed N`` for one case again.

Prints a table of readers; exit status 1 if there was any finding, with the seed of each.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

_CHUNK = 250


def main() -> int:
    """Run the cases on all cores."""
    arguments = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    arguments.add_argument("--cases", type=int, default=100_000)
    arguments.add_argument("--start", type=int, default=0, help="the first seed")
    arguments.add_argument("--only", help="a reader")
    arguments.add_argument("--seed", type=int, help="the one case to run again")
    chosen = arguments.parse_args()
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # before polars: a case is small
    from fuzz import run

    if chosen.seed is not None:
        with tempfile.TemporaryDirectory() as folder:
            took = run.case(chosen.only, chosen.seed, Path(folder))
            print("accepted" if took else "rejected")
        return 0
    names = [chosen.only] if chosen.only else list(run.SHARES)
    chunks = []
    for name in names:
        count = chosen.cases if chosen.only else run.share(name, chosen.cases)
        seeds = range(chosen.start, chosen.start + count)
        chunks += [(name, seeds[at : at + _CHUNK]) for at in range(0, count, _CHUNK)]
    return _table(*_all(chunks))


def _all(chunks: list[tuple[str, range]]) -> tuple[dict[str, Counter[str]], list[str]]:
    from fuzz import run

    counts: dict[str, Counter[str]] = {name: Counter() for name, _ in chunks}
    findings: list[str] = []
    with (
        tempfile.TemporaryDirectory() as doing,
        ProcessPoolExecutor(os.cpu_count()) as pool,
    ):
        waiting = [
            pool.submit(run.several, name, seeds, Path(doing) / str(number))
            for number, (name, seeds) in enumerate(chunks)
        ]
        try:
            for done in as_completed(waiting):
                name, counted, found = done.result()
                counts[name] += counted
                findings += found
        except BrokenProcessPool:
            left = sorted(file.read_text() for file in Path(doing).iterdir())
            findings.append(f"hung or crashed; one of these cases: {'; '.join(left)}")
    return counts, findings


def _table(counts: dict[str, Counter[str]], findings: list[str]) -> int:
    print(f"{'reader':26}{'cases':>9}{'accepted':>10}{'rejected':>10}{'findings':>10}")
    for name, counted in [*counts.items(), ("all", sum(counts.values(), Counter()))]:
        columns = (counted.total(), counted["accepted"], counted["rejected"], counted["found"])
        print(f"{name:26}{columns[0]:>9}" + "".join(f"{number:>10}" for number in columns[1:]))
    for finding in findings:
        print(f"\nFINDING {finding}", file=sys.stderr)
    if findings:
        print("\nagain: python -m fuzz --only READER --seed N", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

"""``python -m fuzz [--cases N] [--start SEED]``, or ``--only READER --seed N`` for one case again.

Prints a table of readers; exit status 1 if there was any finding, with the seed of each.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

_CHUNK = 250


def main() -> int:
    """Run the cases on all cores."""
    arguments = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    arguments.add_argument("--cases", type=int, default=100_000)
    arguments.add_argument("--start", type=int, default=0, help="the first seed")
    arguments.add_argument("--only", help="a reader")
    arguments.add_argument("--seed", type=int, help="the one case to run again")
    options = arguments.parse_args()
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # before polars: a case is small
    from fuzz import run

    if options.seed is not None:
        with tempfile.TemporaryDirectory() as folder:
            is_accepted = run.case(options.only, options.seed, Path(folder), alone=True)
            print("accepted" if is_accepted else "rejected")
        return 0
    names = [options.only] if options.only else list(run.SHARES)
    chunks = []
    for name in names:
        count = options.cases if options.only else run.share(name, options.cases)
        seeds = range(options.start, options.start + count)
        chunks += [(name, seeds[start : start + _CHUNK]) for start in range(0, count, _CHUNK)]
    return _table(*_all(chunks))


def _all(chunks: list[tuple[str, range]]) -> tuple[dict[str, Counter[str]], list[str]]:
    from fuzz import run

    counts: dict[str, Counter[str]] = {name: Counter() for name, _ in chunks}
    findings: list[str] = []
    while chunks:
        with (
            tempfile.TemporaryDirectory() as folder,
            # A decoder that panics may leave threads of polars dead: the next chunk has new ones.
            ProcessPoolExecutor(
                os.cpu_count(), mp_context=get_context("spawn"), max_tasks_per_child=1
            ) as pool,
        ):
            tasks = {
                pool.submit(run.several, *chunk, Path(folder) / str(number)): chunk
                for number, chunk in enumerate(chunks)
            }
            try:
                for task in as_completed(list(tasks)):
                    name, chunk_counts, chunk_findings = task.result()
                    del tasks[task]
                    counts[name] += chunk_counts
                    findings += chunk_findings
            except BrokenProcessPool:
                suspects = [json.loads(file.read_text()) for file in Path(folder).iterdir()]
        chunks = list(tasks.values())
        if chunks:
            chunks, suspects = _without(chunks, suspects), suspects
            for name, seed in suspects:
                outcome, reports = _alone(name, seed)
                counts[name][outcome] += 1
                findings += reports
    return counts, findings


def _without(
    chunks: list[tuple[str, range]], suspects: list[tuple[str, int]]
) -> list[tuple[str, range]]:
    """The chunks with the suspects cut out."""
    pieces = []
    for name, seeds in chunks:
        cuts = sorted(seed for reader, seed in suspects if reader == name and seed in seeds)
        for start, end in zip([seeds.start - 1, *cuts], [*cuts, seeds.stop], strict=True):
            pieces.append((name, range(start + 1, end)))
    return [(name, seeds) for name, seeds in pieces if seeds]


def _alone(name: str, seed: int) -> tuple[str, list[str]]:
    """The outcome of one case in a process of its own, as a command reads its input."""
    command = [sys.executable, "-m", "fuzz", "--only", name, "--seed", str(seed)]
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode == 0:
        return process.stdout.split()[-1], []
    return "found", [
        f"{name}, seed {seed}: ended with {process.returncode}\n{process.stderr[-2000:]}"
    ]


def _table(counts: dict[str, Counter[str]], findings: list[str]) -> int:
    print(f"{'reader':26}{'cases':>9}{'accepted':>10}{'rejected':>10}{'findings':>10}")
    for name, tally in [*counts.items(), ("all", sum(counts.values(), Counter()))]:
        columns = (tally.total(), tally["accepted"], tally["rejected"], tally["found"])
        print(f"{name:26}{columns[0]:>9}" + "".join(f"{number:>10}" for number in columns[1:]))
    for finding in findings:
        print(f"\nFINDING {finding}", file=sys.stderr)
    if findings:
        print("\nagain: python -m fuzz --only READER --seed N", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

"""Records what verified runs compute in each iteration: writes <benchmark>/history.cpp.

    python workloads/npb/record_history.py BUILD... [--benchmarks CG MG]

BUILD: build trees of `workloads` for different MPIs, compilers and flags (the more they differ, the
better is the spread known).  Each benchmark and class runs on the numbers of ranks of PLANS with
each of them; a run that the specification does not verify ends the recording.  The recorded number
is the middle of all runs.  A quantity may lie off by 100 times the widest spread of its numbers
over the runs, relative to the recorded one; at least by FLOOR, a hundred roundings.  Where the
spread is no small part of the number, it is all rounding (the residual of a conjugate-gradient
solution) and may be 100 times itself.  Whole numbers are exact.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
MARGIN, FLOOR, MOSTLY_ROUNDING = 100.0, 2e-14, 1e-4
QUANTITIES = {
    "BT": ["change"],
    "CG": ["zeta", "residual"],
    "EP": ["sum of x", "sum of y", *(f"count {annulus}" for annulus in range(10))],
    "FT": ["checksum, real", "checksum, imaginary"],
    "IS": ["checksum of keys"],
    "LU": ["change"],
    "MG": ["residual"],
    "SP": ["change"],
}
_TWOS, _SQUARES, _FEW = (1, 2, 4, 8, 16), (1, 4, 9, 16), (1, 2, 4)
#: Class -> ranks; of BT and SP the squares among them.  The first build runs on all of them, the
#: others on those that a few processors bear.
PLANS = {"S": _TWOS, "W": _TWOS, "A": _FEW, "B": (1, 2)}
NO_B = ("BT", "LU", "SP")
SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def main() -> None:
    """Record all that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("builds", nargs="+", type=Path)
    parser.add_argument("--benchmarks", nargs="+", default=list(QUANTITIES), choices=QUANTITIES)
    parser.add_argument("--classes", default="".join(PLANS), help="of these, where there is a plan")
    asked = parser.parse_args()
    for benchmark in asked.benchmarks:
        texts = []
        for letter in asked.classes:
            if letter == "B" and benchmark in NO_B:
                continue
            runs = [
                history(build, benchmark, letter, ranks)
                for build in asked.builds
                for ranks in counts(benchmark, letter, first=build == asked.builds[0])
            ]
            texts.append(as_cpp(benchmark, letter, runs))
        write(benchmark, texts)


def counts(benchmark: str, letter: str, *, first: bool) -> tuple[int, ...]:
    """Numbers of ranks to run on."""
    plan = PLANS[letter]
    if benchmark in ("BT", "SP"):
        plan = tuple(n for n in _SQUARES if n <= max(plan))
        return plan if first else plan[: 2 if letter == "S" else 1]
    if benchmark == "LU" and letter == "S":
        plan = tuple(n for n in plan if n <= 8)
    few = {"S": 3, "W": 2, "A": 1, "B": 1}[letter]
    return plan if first else plan[:few]


def history(build: Path, benchmark: str, letter: str, ranks: int) -> list[list[float]]:
    """One row an iteration, of a run that the specification verifies."""
    launcher = re.search(
        r"^MPIEXEC_EXECUTABLE:\w+=(.+)$", (build / "CMakeCache.txt").read_text(), re.M
    )
    if launcher is None:
        sys.exit(f"{build}: no build tree with MPI")
    width = len(QUANTITIES[benchmark])
    with tempfile.TemporaryDirectory() as folder:
        command = [launcher[1], "-n", str(ranks), str((build / "npb" / "npb").resolve())]
        command += ["--benchmark", benchmark, "--class", letter, "--verification=specification"]
        command += ["--samples", "samples.csv"]
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, **SETTINGS}, capture_output=True, text=True
        )
        if done.returncode != 0:
            sys.exit(f"{benchmark} {letter} on {ranks} ranks, {build}: {done.stderr.strip()}")
        record = json.loads((Path(folder) / "run.json").read_text())
    values = record["npb"]["verification"]["values"]
    print(f"{benchmark} {letter} on {ranks} ranks, {build.name}: {len(values)} numbers", flush=True)
    return [values[i : i + width] for i in range(0, len(values), width)]


def tolerance(columns: list[tuple[float, ...]]) -> float:
    """Of one quantity, relative; `columns`: of each iteration its number in each run."""
    spreads = [max(runs) - min(runs) for runs in columns]
    if not any(spreads) and all(value.is_integer() for runs in columns for value in runs):
        return 0.0
    widest = max(s / abs(middle(runs)) for s, runs in zip(spreads, columns, strict=True))
    return MARGIN if widest > MOSTLY_ROUNDING else max(FLOOR, MARGIN * widest)


def middle(runs: tuple[float, ...]) -> float:
    """Half way between the least and the greatest."""
    return (min(runs) + max(runs)) / 2


def as_cpp(benchmark: str, letter: str, runs: list[list[list[float]]]) -> str:
    """The entry of a class in the map of histories."""
    names = QUANTITIES[benchmark]
    numbers = list(zip(*([v for row in run for v in row] for run in runs), strict=True))
    limits = []
    for place, name in enumerate(names):
        allowed = tolerance(numbers[place :: len(names)])
        limits.append(f'{{"{name}", {allowed:.1e}}}')
        print(f"  {benchmark} {letter} {name}: {allowed:.1e}", flush=True)
    values = ", ".join(f"{middle(at):.16g}" for at in numbers)
    return f"{{'{letter}', {{{{{', '.join(limits)}}}, {{{values}}}}}}}"


def write(benchmark: str, texts: list[str]) -> None:
    """The source file, as clang-format would have it."""
    name = benchmark.lower()
    text = (
        f'// Made by record_history.py.\n#include "npb/{name}/{name}.hpp"\n\n'
        f"namespace roundtrip::npb::{name} {{\n\nconst Histories& histories() {{\n"
        f"static const Histories recorded = {{{', '.join(texts)}}};\n"
        f"return recorded;\n}}\n\n}}  // namespace roundtrip::npb::{name}\n"
    )
    file = HERE / name / "history.cpp"
    done = subprocess.run(
        ["clang-format", f"--assume-filename={file}"], input=text, capture_output=True, text=True
    )
    if done.returncode != 0:
        sys.exit(f"clang-format: {done.stderr.strip()}")
    file.write_text(done.stdout)


if __name__ == "__main__":
    main()

"""Applies each mutant in the scratch copy, and runs the tests that can see it."""

import json
import re
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from mutants import scratch
from mutants.draw import Mutant

RESULTS = scratch.BUILD / "results.jsonl"
_FAILED = re.compile(r"^(?:FAILED|ERROR|ImportError while loading) (.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """`verdict`: killed, survived, unseen (no test reaches it) or gone.

    `by` is the test that failed; `tests` and `budget_s` are what a survivor was tried with.
    """

    name: str
    verdict: str
    by: str = ""
    seconds: float = 0.0
    tests: int = 0
    budget_s: float = 0.0
    commit: str = ""


def known() -> dict[str, Outcome]:
    """The last outcome of each mutant."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return {outcome.name: outcome for outcome in (Outcome(**json.loads(line)) for line in lines)}


def run(mutants: Sequence[Mutant], budget_s: float, extra: Sequence[str]) -> None:
    """Run the mutants that were not killed yet, each with tests that take `budget_s` at most."""
    scratch.prepare()
    _times()  # now, as a mutant may keep tests from being collected
    outcomes = known()
    for entry in mutants:
        last_outcome = outcomes.get(entry.name)
        if last_outcome and (last_outcome.verdict == "killed" or last_outcome.budget_s >= budget_s):
            continue
        start = time.monotonic()
        outcome = Outcome(entry.name, "gone")
        if mutant := entry.located(scratch.COPY):
            path = scratch.COPY / mutant.file
            source = path.read_text()
            try:
                path.write_text(mutant.applied(source) or source)
                cxx = path.suffix in (".cpp", ".hpp")
                outcome = _in_cxx(mutant, extra) if cxx else _in_python(mutant, budget_s, extra)
            finally:
                path.write_text(source)
        line = {**asdict(outcome), "seconds": round(time.monotonic() - start, 1)}
        with RESULTS.open("a") as file:
            file.write(json.dumps(line | {"commit": scratch.head(), "budget_s": budget_s}) + "\n")
        print(f"{entry.name:24}{outcome.verdict:10}{line['seconds']:7} s  {outcome.by}", flush=True)


def _in_python(mutant: Mutant, budget_s: float, extra: Sequence[str]) -> Outcome:
    tests, total = [], 0.0
    for test, seconds in seeing(mutant):
        if total + seconds <= budget_s:
            tests.append(test)
            total += seconds
    if not tests:
        return Outcome(mutant.name, "unseen")
    patience_s = 120 + 10 * total
    for batch in (tests[:40], tests[40:]):  # few files are collected sooner than many
        if not batch:
            continue
        listing = scratch.BUILD / "tests.txt"
        listing.write_text("\n".join(batch))
        status, output = scratch.pytest("-x", *extra, f"@{listing}", seconds=patience_s)
        if status is None:
            return Outcome(mutant.name, "killed", f"no end in {patience_s:.0f} s: {batch[0]} ...")
        if match := _FAILED.search(output):
            return Outcome(mutant.name, "killed", match[1])
    return Outcome(mutant.name, "survived", tests=len(tests))


def seeing(mutant: Mutant) -> list[tuple[str, float]]:
    """The tests that can see a mutant, with their seconds.

    First those whose trace reaches its line, then the rest of their files and its folder, and of
    a folder of its module's name: what a fixture of a module or a cache did first for another test,
    or a process without the environment of its test.  Last, if none is known to reach it, as where
    a module is imported, all.  The cheapest first in each.
    """
    seconds = _times()
    reach = _reach()[mutant.name] & seconds.keys()
    files = {test.split("::")[0] for test in reach}
    folders = f"tests/{mutant.folder.split('/')[0]}/", f"tests/{Path(mutant.file).stem}/"
    others = seconds.keys() - reach
    neighbours = {t for t in others if t.split("::")[0] in files or t.startswith(folders)}
    rest = set() if reach else others - neighbours
    return [
        (test, seconds[test])
        for tests in (reach, neighbours, rest)
        for test in sorted(tests, key=lambda test: (seconds[test], test))
    ]


@cache
def _times() -> dict[str, float]:
    """The tests that passed without a mutant, and are still there."""
    test_names = set(scratch.pytest("--collect-only", "-m", "")[1].splitlines())
    tests = [json.loads(line) for line in (scratch.TRACE / "times.jsonl").open()]
    return {t["test"]: t["seconds"] for t in tests if t["passed"] and t["test"] in test_names}


@cache
def _reach() -> dict[str, set[str]]:
    """The tests that reach the line of each mutant."""
    reach: dict[str, set[str]] = defaultdict(set)
    for line in (scratch.TRACE / "reach.jsonl").open():
        record = json.loads(line)
        reach[record["mutant"]].add(record["test"])
    return reach


def trace(mutants: Sequence[Mutant], arguments: Sequence[str]) -> int:
    """Run tests without a mutant: how long each takes, and which mutants' lines it reaches."""
    scratch.prepare()
    for mutant in filter(None, (entry.located(scratch.COPY) for entry in mutants)):
        path = scratch.COPY / mutant.file
        if path.suffix == ".py" and "testbed" not in mutant.file:  # that is the system's Python
            path.write_text(mutant.probed(path.read_text()))
    try:
        status, output = scratch.pytest("-p", "roundtrip_probe", *arguments)
    finally:
        scratch.prepare()
    print(output)
    return status or 0


_MPI = scratch.TOOLCHAINS / "openmpi41-boost181"


def _in_cxx(mutant: Mutant, extra: Sequence[str]) -> Outcome:
    """Build what the folder needs, run its ctest; for `core` afterwards all other folders'.  Last,
    the tests that start the programs."""
    part = mutant.folder.removeprefix("workloads/")
    if mutant.folder == "testbed/link":
        steps = [("testbed/link", "", [])]
    else:
        settings = [f"-DBoost_ROOT={_MPI}", f"-DCMAKE_CXX_COMPILER={_MPI}/mpi/bin/mpicxx"]
        steps = [("workloads", f"{part}/", ["--preset", "release", *settings])]
        if part == "core":
            steps.append(("workloads", "", steps[0][2]))
    for source, folder, options in steps:
        build = f"build/{source.replace('/', '-')}"
        configure = ["cmake", "-G", "Ninja", "-DBUILD_TESTING=ON", "-S", source, "-B", build]
        ctest = ["ctest", "--test-dir", f"{build}/{folder}", "--stop-on-failure"]
        ctest += ["--output-on-failure", "--label-exclude", "nightly|crowded"]
        for command in (
            [*configure, *options],
            ["cmake", "--build", build, "--target", f"{folder}all"],
            ctest,
        ):
            status, output = scratch.run(command, 1800)
            if status != 0 and command is not ctest:
                return Outcome(mutant.name, "broken", output[-300:])
            if status != 0:
                match = re.search(r"^\s*\d+ - (.+?) \(", output, re.MULTILINE)
                return Outcome(mutant.name, "killed", "ctest " + (match[1] if match else "?"))
    test_folder = "tests/testbed" if part == "testbed/link" else "tests/workloads"
    if match := _FAILED.search(scratch.pytest("-x", *extra, test_folder)[1]):
        return Outcome(mutant.name, "killed", match[1])
    return Outcome(mutant.name, "survived")


def table(mutants: Sequence[Mutant]) -> str:
    """For each folder: mutants, those killed and not; then what killed or missed each of them."""
    outcomes = known()
    lines = [f"{'folder':24}{'mutants':>9}{'killed':>9}{'survived':>10}{'unseen':>8}{'gone':>6}"]
    valid_mutants = [mutant for mutant in mutants if not mutant.void and mutant.name in outcomes]
    for folder in [*dict.fromkeys(mutant.folder for mutant in valid_mutants), ""]:
        verdicts = [outcomes[m.name].verdict for m in valid_mutants if folder in ("", m.folder)]
        counts = [verdicts.count(verdict) for verdict in ("killed", "survived", "unseen", "gone")]
        columns = "{:>9}{:>9}{:>10}{:>8}{:>6}".format(len(verdicts), *counts)
        lines.append(f"{folder or 'all':24}{columns}")
    for mutant in valid_mutants:
        outcome = outcomes[mutant.name]
        location = f"{mutant.file}:{mutant.line} {mutant.kind}"
        lines.append(f"{mutant.name:24}{outcome.verdict:10}{location}  {outcome.by}")
    return "\n".join(lines)

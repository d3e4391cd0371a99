"""The clock of the machine stepped while a campaign measures: hours back, a day ahead.

The wall clock moves for the campaign and all that it starts (``stepped_clock.cpp``, preloaded); the
monotonic one goes on, as it does when a real clock is set.
"""

import random
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from faults.oracle import TALLY
from faults.trial import LOCAL, Trial, numbered, running_at

STEPS = {"2 h back": -7200, "a day ahead": 86400}
MOMENTS = ("build", "measure", "copy", "between")

pytestmark = pytest.mark.usefixtures("toolchain")


class Clock:
    """The wall clock as the campaigns of one test see it."""

    def __init__(self, folder: Path) -> None:
        self._file, library = folder / "offset", folder / "stepped_clock.so"
        self._file.write_bytes(struct.pack("q", 0))
        source = Path(__file__).with_name("stepped_clock.cpp")
        build = ["g++", "-std=c++20", "-O2", "-shared", "-fPIC", "-o", str(library), str(source)]
        subprocess.run(build, check=True)
        self.variables = {"LD_PRELOAD": str(library), "STEPPED_CLOCK": str(self._file)}

    def step(self, seconds: int) -> None:
        """Be off by so much from here on."""
        with self._file.open("r+b") as file:
            file.write(struct.pack("q", seconds))


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    return Clock(tmp_path)


def trials(folder: Path, clock: Clock, launches: int) -> Iterator[Trial]:
    text = LOCAL.format(launches=launches, budget=2)
    for path in numbered(folder):
        yield Trial(path, text, launches, report=True, variables=clock.variables)


def step_at(runs: Iterator[Trial], clock: Clock, plan: list[tuple[str, str]]) -> None:
    """The clock steps at each moment; what was running goes on to its end."""
    trial = next(runs)
    for moment, step in plan:
        row = TALLY[f"clock stepped {step}"]
        trial, process = running_at(runs, trial, moment, row)
        clock.step(STEPS[step])
        row.injected += 1
        trial.complete(row, process)
        clock.step(0)
        trial = next(runs)


@pytest.mark.usefixtures("whole_drill")
def test_clock_stepped(tmp_path: Path, clock: Clock) -> None:
    plan = [(moment, step) for moment in MOMENTS for step in STEPS]
    random.Random(8).shuffle(plan)
    step_at(trials(tmp_path, clock, 2), clock, plan)


def test_clock_stepped_back_once(tmp_path: Path, clock: Clock) -> None:
    step_at(trials(tmp_path, clock, 1), clock, [("measure", "2 h back")])

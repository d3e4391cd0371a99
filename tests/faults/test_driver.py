"""The campaign's own process struck by KILL, TERM and INT at every point of its way."""

import itertools
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from faults.oracle import TALLY, Row
from faults.trial import LOCAL, Trial, numbered
from support.virtual import VirtualCluster, campaign_text

KILL, TERM, INT = signal.SIGKILL, signal.SIGTERM, signal.SIGINT
RUNNING = ("start", "build", "submit", "measure", "wrote", "copy", "copied", "between")
REPORTING = ("collect", "report")
LAUNCHES = 3
#: Runs that may miss a moment, one after the other.
TRIES = 20

pytestmark = pytest.mark.usefixtures("toolchain")


def local(folder: Path) -> Trial:
    return Trial(folder, LOCAL.format(launches=LAUNCHES, budget=0.5), LAUNCHES, report=True)


def blows(trials: Iterator[Trial], plan: list[tuple[str, signal.Signals]], seed: int) -> None:
    """Strike at each planned moment, resuming in between; a new run when one is complete."""
    rng = random.Random(seed)
    trial = next(trials)
    row = Row()
    for moment, blow in plan:
        for _ in range(TRIES):
            row = TALLY[f"driver {blow.name} at {moment}"]
            if trial.finished:
                _end(trial, row, None)
                trial = next(trials)
            process = trial.reach(moment)
            time.sleep(rng.uniform(0, 0.1))
            is_struck = process.poll() is None and trial.strike(blow)
            trial.end(row, process)
            if is_struck:
                row.injected += 1
                break
            # It was too quick, or the run has ended without reaching this moment.
            _end(trial, row, process)
            trial = next(trials)
        else:
            pytest.fail(f"{TRIES} runs never reached {moment}")
    _end(trial, row, None)


def _end(trial: Trial, row: Row, process: subprocess.Popen[bytes] | None) -> None:
    trial.complete(row, process)
    if trial.report:
        assert list(trial.reports.glob("*/*/*/r*/report.html")), "complete, without a report"


def plan(seed: int, repeats: int) -> list[tuple[str, signal.Signals]]:
    """Each moment and blow, in random order; the reporting ones last, as runs end there."""
    rng = random.Random(seed)
    strikes: list[tuple[str, signal.Signals]] = []
    for _ in range(repeats):
        part = list(itertools.product(RUNNING, (KILL, TERM)))
        part += [(moment, INT) for moment in ("build", "measure", "copy", "between")]
        rng.shuffle(part)
        strikes += part
    return strikes


@pytest.mark.usefixtures("whole_drill")
def test_driver_struck_while_running(tmp_path: Path) -> None:
    blows(map(local, numbered(tmp_path)), plan(1, 1), 1)


@pytest.mark.usefixtures("whole_drill")
@pytest.mark.parametrize("moment", REPORTING)
@pytest.mark.parametrize("blow", [KILL, TERM])
def test_driver_struck_while_reporting(tmp_path: Path, moment: str, blow: signal.Signals) -> None:
    blows(map(local, numbered(tmp_path)), [(moment, blow)] * 2, 3)


@pytest.mark.usefixtures("whole_drill")
def test_driver_struck_on_slurm(cluster: VirtualCluster) -> None:
    rng = random.Random(5)
    strikes = list(itertools.product(RUNNING, (KILL, TERM)))
    rng.shuffle(strikes)

    def on_cluster(folder: Path) -> Trial:
        return Trial(
            folder, campaign_text(LAUNCHES, cases=1), LAUNCHES, cluster=cluster, report=True
        )

    blows(map(on_cluster, numbered(cluster.share / "driver")), strikes, 5)


def test_a_few_blows_at_the_driver(tmp_path: Path) -> None:
    def two_launches(folder: Path) -> Trial:
        return Trial(folder, LOCAL.format(launches=2, budget=0.5), 2)

    blows(map(two_launches, numbered(tmp_path)), [("measure", KILL), ("copy", TERM)], 1)

"""Real launches that are throttled, stopped or timed by a wrong clock: each record says so.

Whatever else uses the machine meanwhile, it must cause none of these marks.
"""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from faults.conftest import watched
from support.programs import CHECKOUT
from support.virtual import await_true

from checks.mixins.witness import Witnessed
from roundtrip import paths
from roundtrip.measure import analysis, disturbance

GROUPS = Path("/sys/fs/cgroup")
KINDS = ("throttled", "suspended", "the clock")


@contextmanager
def cgroup(controller: str, **settings: str) -> Iterator[Path]:
    """A cgroup of version 1 with these settings."""
    group = GROUPS / controller / f"roundtrip-test-{os.getpid()}"
    try:
        group.mkdir()
        for name, value in settings.items():
            (group / f"{controller}.{name}").write_text(value)
    except OSError as error:
        pytest.skip(f"no cgroup of version 1 with controller {controller} can be made: {error}")
    try:
        yield group
    finally:
        if controller == "freezer":
            (group / "freezer.state").write_text("THAWED")
        await_true(lambda: not (group / "cgroup.procs").read_text(), 20, 0.1)
        group.rmdir()


class Launch:
    """A launch of `ranks` ranks that measures for so many seconds."""

    def __init__(
        self,
        netpipe: Path,
        folder: Path,
        prefix: Sequence[str] = (),
        wrapper: Sequence[str] = (),
        ranks: int = 2,
        seconds: float = 2,
        **variables: str,
    ) -> None:
        self._folder = folder
        mpirun = paths.toolchains() / "openmpi41" / "bin" / "mpirun"
        exports = [word for name in variables for word in ("-x", name)]
        binding = ("--oversubscribe", "--bind-to", "none") if ranks > 2 else ("--bind-to", "core")
        sizes = ("--perturbation", "0", "--end", "65536")
        duration = ("--budget", str(seconds), "--precision", "0.01")  # no quiet machine ends sooner
        program = (*wrapper, netpipe, "--samples", "samples.csv", *duration, *sizes)
        self.process = subprocess.Popen(
            [*prefix, mpirun, "-n", str(ranks), *binding, *exports, *program],
            cwd=folder,
            env={
                **os.environ,
                **variables,
                "OMPI_ALLOW_RUN_AS_ROOT": "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            },
            stdout=subprocess.DEVNULL,
            stderr=(folder / "err").open("w"),
        )

    def rank(self, number: int) -> int:
        """The process of that rank, once it measures."""
        pids: list[int] = []

        def is_there() -> bool:
            variable = f"OMPI_COMM_WORLD_RANK={number}".encode()
            for entry in Path("/proc").glob("[0-9]*"):
                try:
                    is_in_folder = (entry / "cwd").readlink() == self._folder
                    if is_in_folder and variable in (entry / "environ").read_bytes().split(b"\0"):
                        pids.append(int(entry.name))
                except OSError:
                    continue
            return bool(pids)

        await_true(is_there, 30, 0.1)
        return pids[0]

    def record(self) -> dict[str, Any]:
        assert self.process.wait(120) == 0
        run: dict[str, Any] = json.loads((self._folder / "run.json").read_text())
        return run

    def marks(self) -> list[str]:
        """What is said of it, but of what a busy machine does: load, switches, waiting."""
        reasons = disturbance.disturbance_reasons(
            self.record(), analysis.default_settings().disturbance, None
        )
        return [reason for reason in reasons if reason.startswith(KINDS)]


class ThirdParty(Launch):
    """A launch whose program stands for a third-party one: only the loaded library watches it."""

    def __init__(self, netpipe: Path, folder: Path, prefix: Sequence[str] = (), seconds: float = 2):
        wrapper, self._check = watched(netpipe, folder)
        super().__init__(netpipe, folder, prefix, wrapper, seconds=seconds)

    def marks(self) -> list[str]:
        """As of `Launch`, from what the library printed; it names the MPI that the program does."""
        record = self.record()
        (entry,) = record["identity"]
        run = {**Witnessed.rank_entries(self._check), "ranks": 2}
        ranks = [(rank["library"], rank["file"], rank["build"]) for rank in run["identity"]]
        assert ranks == 2 * [(entry["library"], entry["file"], entry["build"])]
        traffic = ("sent_bytes", "interfaces", "tcp_bytes")
        nodes = [
            [{name: fact for name, fact in node.items() if name not in traffic} for node in nodes]
            for nodes in (run["nodes"], record["nodes"])
        ]
        assert nodes[0] == nodes[1]
        assert all(name in node for node in run["nodes"] for name in traffic)
        reasons = disturbance.disturbance_reasons(
            run, analysis.default_settings().disturbance, None
        )
        return [reason for reason in reasons if reason.startswith(KINDS)]


def inside(group: Path) -> tuple[str, ...]:
    """Begins a command in that cgroup."""
    return ("sh", "-c", 'echo $$ > "$0"; exec "$@"', str(group / "cgroup.procs"))


def stop_for_2s(process: int) -> None:
    """Stop a rank while it measures."""
    time.sleep(1.5)  # it measures by then
    os.kill(process, signal.SIGSTOP)
    time.sleep(2)
    os.kill(process, signal.SIGCONT)


BOTH = pytest.mark.parametrize("kind", [Launch, ThirdParty])


@BOTH
def test_a_throttled_launch_says_so(netpipe: Path, tmp_path: Path, kind: type[Any]) -> None:
    with cgroup("cpu", cfs_period_us="100000", cfs_quota_us="20000") as group:
        (mark,) = kind(netpipe, tmp_path, inside(group)).marks()
    assert mark.startswith("throttled: the CPU limit of the cgroup of rank ")


@BOTH
def test_a_stopped_rank_is_named(netpipe: Path, tmp_path: Path, kind: type[Any]) -> None:
    launch = kind(netpipe, tmp_path, seconds=4)
    stop_for_2s(launch.rank(1))
    (mark,) = launch.marks()
    assert mark.startswith("suspended: a signal stopped rank 1 (1 x SIGCONT, ")


def freeze_for_2s(launch: Launch, group: Path) -> None:
    """As Slurm suspends a job by the freezer: no signal announces it."""
    launch.rank(1)
    time.sleep(1.5)  # it measures by then
    (group / "freezer.state").write_text("FROZEN")
    time.sleep(2)
    (group / "freezer.state").write_text("THAWED")


def test_a_frozen_launch_is_recorded(netpipe: Path, tmp_path: Path) -> None:
    with cgroup("freezer") as group:
        launch = Launch(netpipe, tmp_path, inside(group), seconds=4)
        freeze_for_2s(launch, group)
        counters = launch.record()["disturbance"]
    assert all(1.5 < stop_s < 2.5 for stop_s in counters["longest_stop_s"])
    assert counters["continued"] == [0, 0]


def test_a_frozen_launch_of_a_third_party_program_says_so(netpipe: Path, tmp_path: Path) -> None:
    with cgroup("freezer") as group:
        third_party = ThirdParty(netpipe, tmp_path, inside(group), seconds=4)
        freeze_for_2s(third_party, group)
        (mark,) = third_party.marks()
    assert re.match(r"suspended: rank [01] had no processor for [12][.]\d s and asked", mark)


@pytest.fixture
def fast_clock(tmp_path: Path) -> str:
    library = tmp_path / "fast_clock.so"
    source = CHECKOUT / "testbed" / "clock" / "fast_clock.cpp"
    build = ["g++", "-std=c++20", "-O2", "-shared", "-fPIC", "-o", library, source]
    subprocess.run(build, check=True)
    return str(library)


def test_clocks_that_run_equally_fast_on_all_nodes_are_named(
    netpipe: Path, tmp_path: Path, fast_clock: str
) -> None:
    """As on a whole partition: no clock of a launch differs from another, but from the calendar."""
    marks = Launch(netpipe, tmp_path, LD_PRELOAD=fast_clock, FAST_RANK="all").marks()
    assert len(marks) == 1
    assert re.match(r"the clock of rank [01] went \+0\.\d+ s", marks[0])


def test_a_clock_that_runs_fast_on_one_rank_is_named(
    netpipe: Path, tmp_path: Path, fast_clock: str
) -> None:
    rate, step = Launch(netpipe, tmp_path, LD_PRELOAD=fast_clock, FAST_RANK="1").marks()
    assert rate == "the clock of rank 1 runs 1.3 times as fast as that of rank 0"
    assert step.startswith("the clock of rank 1 went +0.")


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_launch_that_nobody_touched_has_no_such_mark(
    netpipe: Path, tmp_path: Path, ranks: int
) -> None:
    launch = Launch(netpipe, tmp_path, ranks=ranks)
    assert launch.marks() == []
    run = launch.record()
    assert disturbance.partial_reason(run, analysis.default_settings().disturbance) == ""
    assert len(run["disturbance"]["cpu_s"]) == ranks

"""One campaign run that is invoked, struck and resumed until it is whole."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from faults.oracle import Oracle, Row
from support.programs import CHECKOUT, command_environment
from support.virtual import VirtualCluster, await_true, scaled_timeout

LOCAL = """\
title = "Tiny"
launches = {launches}
allow_undecided = true
time_limit_minutes = 10
[[check]]
name = "NetPIPE"
toolchains = ["openmpi41-boost181"]
parameters = {{ variants = ["raw"], placement = ["shared-memory"], mode = ["pingpong"] }}
variables = {{ budget = {budget}, perturbation = 0, end = 1024 }}
"""
_LOCKED, _BEGUN = "another campaign is running in this tree", "building what it launches"


#: Names that the kernel shows of the processes of a campaign.
_NAMES = {"driver": b"roundtrip", "session": b"reframe", "workload": b"netpipe"}


def processes(runs: Path, kind: str) -> list[int]:
    """Living processes of campaigns that write below `runs`: driver, session, workload or any."""
    mark = f"ROUNDTRIP_RUNS={runs}".encode()
    pids = []
    for pid in (entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()):
        folder = Path("/proc", pid)
        try:
            if kind != "any" and (folder / "comm").read_bytes().strip() != _NAMES[kind]:
                continue
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                pids.append(int(pid))
        except OSError:
            continue
    return pids


@dataclass
class Trial:
    """A campaign with runs and reports of its own below `folder`.

    On site `local`, or on the head of a virtual `cluster`.
    """

    folder: Path
    text: str
    launches: int
    cases: int = 1
    cluster: VirtualCluster | None = None
    report: bool = False
    variables: dict[str, str] = field(default_factory=dict)
    oracle: Oracle = field(init=False)
    _number: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.runs.mkdir(exist_ok=True)
        (self.folder / "tiny.toml").write_text(self.text)
        self.oracle = Oracle(self.runs, self.launches, self.cases)

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    @property
    def reports(self) -> Path:
        return self.folder / "reports"

    @property
    def log(self) -> str:
        """What the newest invocation printed."""
        file = self.folder / f"log-{self._number}"
        return file.read_text(errors="replace") if file.exists() else ""

    def invoke(self) -> subprocess.Popen[bytes]:
        """Begin the run, or resume it if there is one."""
        arguments = ["roundtrip", "run", str(self.folder / "tiny.toml")]
        arguments += [] if self.report else ["--no-report"]
        arguments += ["--resume"] if self.oracle.tree else []
        if self.cluster:
            command = self.cluster.head_node_command(f"exec {' '.join(arguments)} --site virtual")
            places = {"ROUNDTRIP_RUNS": str(self.runs), "ROUNDTRIP_REPORTS": str(self.reports)}
            environment = {**self.cluster.environment, **places}
        else:
            command = [*arguments, "--site", "local"]
            environment = command_environment(self.folder, **self.variables)
        self._number += 1
        with (self.folder / f"log-{self._number}").open("wb") as log:
            return subprocess.Popen(
                command, cwd=CHECKOUT, env=environment, stdout=log, stderr=subprocess.STDOUT
            )

    def resume(self) -> subprocess.Popen[bytes]:
        """Invoke, once a session that outlived its killed driver has let go of the tree."""
        begin = time.monotonic()
        while True:
            process = self.invoke()
            await_true(lambda p=process: p.poll() is not None or _BEGUN in self.log, 60, 0.02)
            if process.poll() != 2 or _LOCKED not in self.log:
                return process
            is_late = time.monotonic() - begin > scaled_timeout(120)
            assert not is_late, "the killed campaign's session never ended"

    @property
    def finished(self) -> bool:
        """Whether nothing is left to resume: a fault may come when the last launch has passed."""
        if self.oracle.tree is None:
            return False
        state = json.loads((self.oracle.tree / "state.json").read_text())
        return state["finished"] is not None and state.get("report") != "wanted"

    def end(self, row: Row, process: subprocess.Popen[bytes]) -> int:
        """Wait for an invocation, and judge what it left; its exit status.

        It may take the ten minutes of its campaign's limit, and some to end what runs then.
        """
        assert await_true(lambda: process.poll() is not None, 780), f"it hangs: {self.log}"
        self.oracle.examine(row, process.returncode)
        assert "Traceback" not in self.log, self.log
        return process.returncode

    def complete(self, row: Row, process: subprocess.Popen[bytes] | None = None) -> None:
        """Resume until it is whole, a few times at most, and see that nothing is left behind."""
        row.begun += 1
        if process:
            self.end(row, process)
        for _ in range(5):
            if self.finished:
                break
            self.end(row, self.resume())
        # After a lost message Slurm asks the node of a completing job again within about a minute.
        is_clean = await_true(lambda: not processes(self.runs, "any"), 15)
        is_clean = is_clean and await_true(lambda: not self._jobs(), 90)
        row.resumed += self.finished and self.oracle.whole and is_clean
        assert self.finished, self.log
        assert is_clean, f"left behind: {self._left_behind()}"

    def _jobs(self) -> list[tuple[str, str, str]]:
        return self.cluster.jobs() if self.cluster else []

    def _left_behind(self) -> list[str]:
        pids = processes(self.runs, "any")
        lines = [Path(f"/proc/{pid}/cmdline").read_bytes().decode() for pid in pids]
        return [line.replace("\0", " ") for line in lines] + [str(job) for job in self._jobs()]

    def reach(self, moment: str) -> subprocess.Popen[bytes]:
        """Begin the run or resume it, until it has reached this moment or ended."""
        is_reached = self.moments()[moment]
        process = self.resume() if self.oracle.tree else self.invoke()
        await_true(lambda: is_reached() or process.poll() is not None, 120, 0.05)
        return process

    def strike(self, signal_: signal.Signals) -> bool:
        """Send a signal to the driver; False if there is none."""
        is_struck = False
        for pid in processes(self.runs, "driver"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal_)
                is_struck = True
        return is_struck

    def moments(self) -> dict[str, Callable[[], bool]]:
        """Points on the way of an invocation, in order; each says whether it is reached."""
        launch = "*/*/*/rounds/*/{part}/*/*/*/{test}"
        stage = launch.format(part="stage", test="NetPIPE*")
        output = launch.format(part="output", test="NetPIPE*")
        build = "*/*/*/builds/*/stage/*/*/*/build_*"
        return {
            "start": lambda: bool(processes(self.runs, "driver")),
            "build": self._news(self.runs, f"{build}/rfm_build.sh"),
            "submit": self._news(self.runs, f"{stage}/case.json"),
            "measure": lambda: bool(processes(self.runs, "workload")),
            "wrote": self._news(self.runs, f"{stage}/run.json"),
            "copy": self._news(self.runs, output),
            "copied": self._news(self.runs, f"{output}/case.json"),
            "between": self._news(self.runs, "*/*/*/rounds/*/session.json"),
            "collect": self._news(self.runs, "*/*/*/bundles"),
            "report": self._news(self.reports, "**/.partial-*"),
        }

    @staticmethod
    def _news(base: Path, pattern: str) -> Callable[[], bool]:
        """A function that says whether something matches that did not at first."""
        old_paths = set(base.glob(pattern))
        return lambda: any(path not in old_paths for path in base.glob(pattern))


def numbered(folder: Path) -> Iterator[Path]:
    """Folders for one trial after the other."""
    number = 0
    while True:
        number += 1
        yield folder / f"trial-{number}"


def running_at(
    trials: Iterator[Trial], trial: Trial, moment: str, row: Row
) -> tuple[Trial, subprocess.Popen[bytes]]:
    """A run at this moment of its way, and its process; the next run where one ends before."""
    while True:
        if trial.finished:
            trial.complete(row)
        else:
            process = trial.reach(moment)
            if process.poll() is None:
                return trial, process
            trial.complete(row, process)
        trial = next(trials)

"""A virtual cluster for tests, and what runs on it: plain commands, campaigns by sbatch."""

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support import programs
from support.programs import CHECKOUT, run_program

TOOLCHAIN = "openmpi41-boost181"
ENVIRON = "openmpi41-tcp"
_COMMAND = CHECKOUT / "testbed" / "vcluster"
sys.path.insert(0, str(_COMMAND.parent))

from vclusterlib import VclusterError, tools  # noqa: E402

_PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "srun", "nsenter", "setpriv")


@functools.cache
def describe_missing_namespaces() -> str:
    """Return why this user may not make the namespaces of a virtual cluster; "" if it may."""
    try:
        tools.require_namespaces(rootless=os.geteuid() != 0)
    except VclusterError as error:
        return str(error)
    return ""


@functools.cache
def describe_missing_cluster() -> str:
    """Return why no virtual cluster with MPI jobs can run here; "" if one can."""
    if os.geteuid() != 0:
        return "a virtual cluster with exact latencies needs root"
    if why := describe_missing_namespaces():
        return why
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    if missing_programs := [name for name in _PROGRAMS if shutil.which(name, path=path) is None]:
        return f"not installed: {', '.join(missing_programs)} (see testbed/apt-packages.txt)"
    return programs.describe_missing_toolchains(TOOLCHAIN)


def campaign_text(
    launches: int, cases: int = 2, budget: float = 0.5, minutes: float = 10, over_link: bool = False
) -> str:
    """Return the TOML of a campaign of tiny launches: in cluster A and, with two `cases`, over WAN.

    With `over_link`, over the WAN alone.
    """
    tables = [
        _check_table(
            "NetPIPE", "clusterA", 'placement = ["one-per-node"], mode = ["pingpong"]', budget
        ),
        _check_table("NetPIPEWan", "grid", "wan_rtt = [2]", budget),
    ]
    head = f'title = "Tiny"\nlaunches = {launches}\ntime_limit_minutes = {minutes}\n'
    head += "allow_undecided = true\n"
    return head + "".join(tables[1:] if over_link else tables[:cases])


def _check_table(check: str, partition: str, parameters: str, budget: float) -> str:
    return f"""\
[[check]]
name = "{check}"
toolchains = ["{ENVIRON}"]
partitions = ["{partition}"]
parameters = {{ variants = ["raw"], {parameters} }}
variables = {{ budget = {budget}, perturbation = 0, end = 1024 }}
"""


@dataclass(frozen=True)
class VirtualCluster:
    """A cluster that is up; `share` is a folder that all its nodes see."""

    home: Path
    share: Path
    name: str
    variables: dict[str, str] = field(default_factory=dict)
    checkout: Path = CHECKOUT  # where the nightly job is submitted

    @property
    def environment(self) -> dict[str, str]:
        return {
            **programs.command_environment(self.share, XDG_STATE_HOME=str(self.home)),
            **self.variables,
        }

    def command(self, *arguments: str) -> list[str]:
        return [str(_COMMAND), "--name", self.name, *arguments]

    def run(
        self, *arguments: str, timeout: float = 300, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run a vcluster command, which may fail; `options` as of `subprocess.run`."""
        return self.run_process(self.command(*arguments), timeout, **{"cwd": CHECKOUT, **options})

    def run_process(
        self, command: list[str], timeout: float = 300, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        return run_program(
            *command, env=self.environment, timeout=scaled_timeout(timeout), **options
        )

    def run_checked(self, *arguments: str, **options: Any) -> str:
        """Run a vcluster command; return its output.  AssertionError if it fails."""
        process = self.run(*arguments, **options)
        output = f"{process.stderr}\n{process.stdout}"
        assert process.returncode == 0, f"{arguments}: {process.returncode}\n{output}"
        return process.stdout

    def head_node_command(self, script: str, *arguments: str) -> list[str]:
        """The command that runs a bash `script` on the head, with site `virtual` activated."""
        command = f". site-configs/activate virtual && {script}"
        return self.command("exec", "bash", "-c", command, "bash", *arguments)

    def submit(self, campaign: Path | str, *options: str, **variables: str) -> str:
        """Run ``sbatch campaigns/nightly.sbatch CAMPAIGN``; return the job's id."""
        exports = "".join(f"export {key}={value}; " for key, value in variables.items())
        script = f'{exports} sbatch --parsable "$@" campaigns/nightly.sbatch {campaign}'
        output = f"--output={self.share}/night-%j.out"
        process = self.run_process(
            self.head_node_command(script, output, *options), cwd=self.checkout
        )
        assert process.stdout, process.stderr
        return process.stdout.split()[-1]

    def jobs(self, *options: str) -> list[tuple[str, str, str]]:
        lines = self.run_checked("exec", "squeue", "-h", "-o", "%i %j %T", *options).splitlines()
        return [(fields[0], fields[1], fields[2]) for fields in map(str.split, lines)]

    def await_end(self, job: str, patience_s: float = 240) -> int:
        """Wait until a job of nightly.sbatch has left the queue; return its exit status."""
        assert await_true(lambda: job not in {id_ for id_, _, _ in self.jobs()}, patience_s), (
            f"job {job} has not ended: {self.jobs()}\n{self.output(job)}"
        )
        # Written after it left the queue; Slurm may add why it ends a job that has ended.
        pattern = re.compile(r"exit status (\d+)[^\n]*\n?(?:slurmstepd[^\n]*\n?)*\Z")
        await_true(lambda: pattern.search(self.output(job)), patience_s)
        match = pattern.search(self.output(job))
        assert match, f"job {job} ended without a word:\n{self.output(job)}"
        return int(match[1])

    def output(self, job: str) -> str:
        file = self.share / f"night-{job}.out"
        return file.read_text(errors="replace") if file.exists() else ""


def scaled_timeout(seconds: float) -> float:
    """`seconds` of an idle machine, times the load of each processor where that is above 1."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def await_true(condition: Callable[[], Any], patience_s: float, pause_s: float = 0.1) -> bool:
    """Wait until a condition is true; return False if `patience_s`, scaled by load, pass."""
    begin = time.monotonic()
    while not condition():
        if time.monotonic() - begin > scaled_timeout(patience_s):
            return False
        time.sleep(pause_s)
    return True


def checkout_with_site(folder: Path, change: Callable[[str], str]) -> Path:
    """Make `folder` a checkout of links, with a changed site.toml of `virtual`; return it."""
    folder.mkdir()
    for part in CHECKOUT.iterdir():
        if part.name not in ("site-configs", "runs", "reports"):
            (folder / part.name).symlink_to(part)
    shutil.copytree(CHECKOUT / "site-configs", folder / "site-configs")
    file = folder / "site-configs" / "virtual" / "site.toml"
    text = file.read_text()
    file.write_text(change(text))
    assert file.read_text() != text
    return folder


@contextmanager
def booted_cluster(
    factory: pytest.TempPathFactory,
    name: str,
    nodes: str = "2+2",
    options: Sequence[str] = (),
    has_small_disk: bool = False,
) -> Iterator[VirtualCluster]:
    """Boot a cluster with a shared folder of its own, or skip; end it after the block.

    `options`: more for ``vcluster up``.  `has_small_disk`: ``small`` in its shared folder is a
    file system of 64 MiB, to be filled.
    """
    if why := describe_missing_cluster():
        pytest.skip(why)
    share = factory.mktemp(name) / "share"
    share.mkdir()
    # Below pytest's folders the names of Slurm's sockets would be too long.
    state = Path(tempfile.mkdtemp(prefix="vc-"))
    cluster = VirtualCluster(state, share, f"{name}-{os.getpid()}")
    try:
        with mounted_small_disk(share / "small") if has_small_disk else nullcontext():
            cluster.run_checked("up", "--nodes", nodes, "--share", str(share), *options)
            yield cluster
    finally:
        cluster.run("down")
        shutil.rmtree(state, ignore_errors=True)


@contextmanager
def mounted_small_disk(folder: Path) -> Iterator[None]:
    """Make `folder`, and mount a file system of 64 MiB there until the block ends."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)

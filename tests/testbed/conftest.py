"""Virtual clusters for tests: real ones, below a state directory of their own."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.virtual import Virtual, await_true
from vclusterlib import tools
from vclusterlib.errors import VclusterError

CHECKOUT = Path(__file__).resolve().parents[2]
COMMAND = CHECKOUT / "testbed" / "vcluster"


@dataclass(frozen=True)
class Vcluster:
    """The command line for one cluster; `home` holds its state directory."""

    home: Path
    name: str
    environment: dict[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    share: Path = Path()  # what all its nodes see

    @property
    def state(self) -> Path:
        return self.home / "roundtrip" / "vcluster" / self.name

    def command(self, *arguments: str) -> list[str]:
        return [*self.prefix, str(COMMAND), "--name", self.name, *arguments]

    def variables(self) -> dict[str, str]:
        return {**os.environ, "XDG_STATE_HOME": str(self.home), **self.environment}

    def run(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run one command, whatever its exit status."""
        settings = {"cwd": CHECKOUT, "timeout": 60, **options}
        return subprocess.run(
            self.command(*arguments),
            capture_output=True,
            text=True,
            env=self.variables(),
            **settings,
        )

    def ok(self, *arguments: str, **options: Any) -> str:
        """Standard output of a command that must succeed."""
        process = self.run(*arguments, **options)
        assert process.returncode == 0, (
            f"{arguments}: {process.returncode}\n{process.stderr}\n{process.stdout}"
        )
        return process.stdout

    def start(self, *arguments: str, until: Path) -> subprocess.Popen[str]:
        """A command in the background, once the file `until` is there."""
        process = subprocess.Popen(
            self.command(*arguments),
            env=self.variables(),
            cwd=CHECKOUT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        await_true(lambda: until.exists() or process.poll() is not None, 120, pause_s=0.005)
        assert until.exists(), process.communicate(timeout=1)
        return process

    def world(self) -> int:
        """Pid of the first process."""
        return int(json.loads((self.state / "world.json").read_text())["pid"])

    def status(self) -> dict[str, Any]:
        return dict(json.loads(self.run("status", "--json").stdout))


@pytest.fixture(scope="session")
def vcluster() -> type[Vcluster]:
    """The class: tests cannot import what is in a conftest."""
    return Vcluster


@pytest.fixture(scope="session")
def home() -> Iterator[Path]:
    """State home below /tmp; skips, naming what is missing, where no cluster can run."""
    try:
        tools.require({**tools.BASE, **tools.SLURM, **tools.BUILD})
        tools.require_namespaces(rootless=os.geteuid() != 0)
    except VclusterError as error:
        pytest.skip(str(error))
    with tempfile.TemporaryDirectory(prefix="vc-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def cluster(virtual_cluster: Virtual) -> Vcluster:
    """The command line of the cluster that the session shares."""
    return Vcluster(virtual_cluster.home, virtual_cluster.name, share=virtual_cluster.share)


@pytest.fixture
def plain(cluster: Vcluster) -> Iterator[None]:
    """A link that adds nothing and nodes without faults, before the test and after it."""

    def mend() -> None:
        settings = ("--rtt", "0", "--rate", "unlimited", "--loss", "0", "--queue", "64MiB", "--up")
        cluster.ok("wan", *settings, "--reset", "--no-self-test")
        for node in cluster.status()["faults"]:
            cluster.ok("fault", node, "--clear")

    mend()
    yield
    mend()


@pytest.fixture
def single(home: Path, request: pytest.FixtureRequest) -> Iterator[Vcluster]:
    """A cluster of its own for this test; 1+1 nodes boot fastest."""
    cluster = Vcluster(home, f"t{zlib.crc32(request.node.name.encode())}")
    yield cluster
    cluster.run("down")

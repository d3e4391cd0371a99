"""Virtual clusters for tests: real ones, below a state directory of their own."""

import json
import os
import subprocess
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.virtual import CHECKOUT, VirtualCluster, await_true
from vclusterlib import VclusterError, tools


@dataclass(frozen=True)
class Vcluster(VirtualCluster):
    """A cluster, up or not, whose commands begin with `prefix`; `home` has its state directory."""

    prefix: tuple[str, ...] = ()

    @property
    def state(self) -> Path:
        return self.home / "roundtrip" / "vcluster" / self.name

    def command(self, *arguments: str) -> list[str]:
        return [*self.prefix, *super().command(*arguments)]

    def start(self, *arguments: str, until: Path) -> subprocess.Popen[str]:
        """A command in the background, once the file `until` is there."""
        process = subprocess.Popen(
            self.command(*arguments),
            env=self.environment,
            cwd=CHECKOUT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        await_true(lambda: until.exists() or process.poll() is not None, 120, pause_s=0.005)
        assert until.exists(), process.communicate(timeout=1)
        return process

    def head_pid(self) -> int:
        """Pid of the first process."""
        return int(json.loads((self.state / "head.json").read_text())["pid"])

    def link_stats(self) -> dict[str, Any]:
        return dict(json.loads(self.run_checked("wan", "--stats")))

    def status(self) -> dict[str, Any]:
        return dict(json.loads(self.run("status", "--json").stdout))


@pytest.fixture(scope="session")
def vcluster() -> Callable[..., Vcluster]:
    """Makes a `Vcluster` without a folder that its nodes share."""

    def make(
        home: Path, name: str, variables: dict[str, str] | None = None, prefix: tuple[str, ...] = ()
    ) -> Vcluster:
        return Vcluster(home, Path(), name, variables or {}, prefix=prefix)

    return make


@pytest.fixture(scope="session")
def home() -> Iterator[Path]:
    """State home below /tmp; skips, naming what is missing, where no cluster can run."""
    try:
        tools.require_programs(
            {**tools.BASE_PACKAGES, **tools.SLURM_PACKAGES, **tools.BUILD_PACKAGES}
        )
        tools.require_namespaces(rootless=os.geteuid() != 0)
    except VclusterError as error:
        pytest.skip(str(error))
    with tempfile.TemporaryDirectory(prefix="vc-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def cluster(virtual_cluster: VirtualCluster) -> Vcluster:
    """The command line of the cluster that the session shares."""
    return Vcluster(virtual_cluster.home, virtual_cluster.share, virtual_cluster.name)


@pytest.fixture
def plain(cluster: Vcluster) -> Iterator[None]:
    """A link that adds nothing and nodes without faults, before the test and after it."""

    def mend() -> None:
        settings = ("--rtt", "0", "--rate", "unlimited", "--loss", "0", "--queue", "64MiB", "--up")
        cluster.run_checked("wan", *settings, "--reset", "--no-self-test")
        for node in cluster.status()["faults"]:
            cluster.run_checked("fault", node, "--clear")

    mend()
    yield
    mend()


@pytest.fixture
def single(home: Path, request: pytest.FixtureRequest) -> Iterator[Vcluster]:
    """A cluster of its own for this test; 1+1 nodes boot fastest."""
    cluster = Vcluster(home, Path(), f"t{zlib.crc32(request.node.name.encode())}")
    yield cluster
    cluster.run("down")

"""A site that `roundtrip site new` writes on a real Slurm, tried and mended on its nodes."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.virtual import CHECKOUT, Virtual, booted, lacking, patient

from roundtrip.sites import data, live

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.live,
    pytest.mark.skipif(bool(lacking()), reason=lacking() or "-"),
]
PARTS = ("site-configs", "reframe", "checks", "campaigns")


@contextmanager
def up(home: Path, *options: str) -> Iterator[Virtual]:
    """A cluster with a copy of the checkout."""
    with booted(home, f"live-{os.getpid()}", options=options) as cluster:
        for part in PARTS:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(CHECKOUT / part, cluster.share / "checkout" / part, ignore=ignored)
        yield cluster


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Virtual]:
    with up(tmp_path_factory.mktemp("live")) as cluster:
        yield cluster


@pytest.fixture
def accounted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Virtual]:
    search = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    programs = ("slurmdbd", "mariadbd")
    if missing := [name for name in programs if not shutil.which(name, path=search)]:
        pytest.skip(f"not installed: {', '.join(missing)} (see testbed/apt-packages.txt)")
    with up(tmp_path_factory.mktemp("live"), "--accounting") as cluster:
        yield cluster


def roundtrip(cluster: Virtual, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command on the head node, in the copy of the checkout."""
    script = 'cd "$0" && exec roundtrip "$@"'
    checkout = str(cluster.share / "checkout")
    return subprocess.run(
        cluster.command("exec", "bash", "-c", script, checkout, *arguments),
        env=cluster.environment,
        capture_output=True,
        text=True,
        timeout=patient(400),
    )


def site(cluster: Virtual, name: str) -> tuple[Path, data.SiteData]:
    checkout = cluster.share / "checkout"
    file = checkout / "site-configs" / name / "site.toml"
    return file, data.load(file, checkout)


def live_output(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout.partition("job scripts: ")[2]


def test_a_new_site_is_tried_and_mended_from_what_ran(cluster: Virtual) -> None:
    done = roundtrip(cluster, "site", "new", "mine", "--software", "toolchains")
    assert done.returncode == 0, done.stderr
    file, new = site(cluster, "mine")
    assert new.pmix == "4"
    assert {one.scheduler for one in new.partition.values()} == {"squeue"}
    # The login node does not know which interface the compute nodes have, and srun does not bind.
    assert new.launch["openmpi"].launcher == "mpirun"

    mended = roundtrip(cluster, "site", "check", "mine", "--live", "--write")
    printed = live_output(mended)
    assert mended.returncode == 0, mended.stdout + mended.stderr  # in the end
    assert "submitting   a job to tcp: which network interfaces its nodes have" in printed
    assert "there is no interface 'eth0' on a" in printed
    assert "written " in printed
    assert '[values] interface = "eth1"' in printed
    assert "openmpi41-boost181 on tcp: 2 ranks on a1, a2; may run on processors" in printed
    assert "transport tcp" in printed
    assert "PMIx client 4.2.2" in printed

    text = file.read_text()
    file.write_text(live.apply_lines(text, live.lines_to_start("openmpi", ("srun", "--mpi=pmix"))))
    wrong = roundtrip(cluster, "site", "check", "mine", "--live")
    assert wrong.returncode == 1
    printed = live_output(wrong)
    assert "openmpi41-boost181 on tcp: rank 0 is not bound: it may run on" in printed
    assert '[launch.openmpi] launcher = "mpirun"' in printed
    assert "written" not in printed

    again = roundtrip(cluster, "site", "check", "mine", "--live", "--write")
    assert again.returncode == 0, again.stdout + again.stderr  # what was written is tried


def test_where_there_is_accounting_reframe_asks_it(accounted: Virtual) -> None:
    done = roundtrip(accounted, "site", "new", "mine", "--software", "toolchains")
    assert done.returncode == 0, done.stderr
    file, new = site(accounted, "mine")
    assert {one.scheduler for one in new.partition.values()} == {"slurm"}
    file.write_text(file.read_text().replace('"eth0"', '"eth1"'))

    tried = roundtrip(accounted, "site", "check", "mine", "--live")
    assert tried.returncode == 0, tried.stdout + tried.stderr
    assert "accounting: sacct answers" in live_output(tried)
    assert "openmpi41-boost181 on tcp: 2 ranks on a1, a2" in live_output(tried)

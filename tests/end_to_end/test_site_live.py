"""A site that `roundtrip site new` writes on a real Slurm, tried and mended on its nodes."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.virtual import CHECKOUT, VirtualCluster, booted_cluster

from roundtrip.sites import check, data, site_file

pytestmark = [pytest.mark.nightly, pytest.mark.live]
PARTS = ("site-configs", "reframe", "checks", "campaigns")


@contextmanager
def up(factory: pytest.TempPathFactory, *options: str) -> Iterator[VirtualCluster]:
    """A cluster with a copy of the checkout."""
    with booted_cluster(factory, "live", options=options) as cluster:
        for part in PARTS:
            patterns = shutil.ignore_patterns("__pycache__")
            shutil.copytree(CHECKOUT / part, cluster.share / "checkout" / part, ignore=patterns)
        yield cluster


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VirtualCluster]:
    with up(tmp_path_factory) as cluster:
        yield cluster


@pytest.fixture
def accounted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VirtualCluster]:
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    programs = ("slurmdbd", "mariadbd")
    if missing_programs := [name for name in programs if not shutil.which(name, path=path)]:
        pytest.skip(f"not installed: {', '.join(missing_programs)} (see testbed/apt-packages.txt)")
    with up(tmp_path_factory, "--accounting") as cluster:
        yield cluster


def roundtrip(cluster: VirtualCluster, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command on the head node, in the copy of the checkout."""
    script = 'cd "$0" && exec roundtrip "$@"'
    checkout = str(cluster.share / "checkout")
    return cluster.run("exec", "bash", "-c", script, checkout, *arguments, timeout=400)


def site(cluster: VirtualCluster, name: str) -> tuple[Path, data.SiteData]:
    checkout = cluster.share / "checkout"
    file = checkout / "site-configs" / name / "site.toml"
    return file, site_file.read_site_data(file, checkout)


def live_output(process: subprocess.CompletedProcess[str]) -> str:
    return process.stdout.partition("job scripts: ")[2]


def test_a_new_site_is_tried_and_mended_from_what_ran(cluster: VirtualCluster) -> None:
    process = roundtrip(cluster, "site", "new", "mine", "--software", "toolchains")
    assert process.returncode == 0, process.stderr
    file, site_data = site(cluster, "mine")
    assert site_data.pmix == "4"
    assert {partition.scheduler for partition in site_data.partition.values()} == {"squeue"}
    # The login node does not know which interface the compute nodes have, and srun does not bind.
    assert site_data.launch["openmpi"].launcher == "mpirun"

    first_check = roundtrip(cluster, "site", "check", "mine", "--live", "--write")
    output = live_output(first_check)
    assert first_check.returncode == 0, first_check.stdout + first_check.stderr  # in the end
    assert "submitting   a job to tcp: which network interfaces its nodes have" in output
    assert "there is no interface 'eth0' on a" in output
    assert "written " in output
    assert '[values] interface = "eth1"' in output
    assert "openmpi41-boost181 on tcp: 2 ranks on a1, a2; may run on processors" in output
    assert "transport tcp" in output
    assert "PMIx client 4.2.2" in output

    text = file.read_text()
    lines = check.lines_for_launcher("openmpi", ("srun", "--mpi=pmix"))
    file.write_text(site_file.apply_lines(text, lines))
    second_check = roundtrip(cluster, "site", "check", "mine", "--live")
    assert second_check.returncode == 1
    output = live_output(second_check)
    assert "openmpi41-boost181 on tcp: rank 0 is not bound: it may run on" in output
    assert '[launch.openmpi] launcher = "mpirun"' in output
    assert "written" not in output

    retry = roundtrip(cluster, "site", "check", "mine", "--live", "--write")
    assert retry.returncode == 0, retry.stdout + retry.stderr  # what was written is tried


def test_where_there_is_accounting_reframe_asks_it(accounted: VirtualCluster) -> None:
    process = roundtrip(accounted, "site", "new", "mine", "--software", "toolchains")
    assert process.returncode == 0, process.stderr
    file, site_data = site(accounted, "mine")
    assert {partition.scheduler for partition in site_data.partition.values()} == {"slurm"}
    file.write_text(file.read_text().replace('"eth0"', '"eth1"'))

    live_check = roundtrip(accounted, "site", "check", "mine", "--live")
    assert live_check.returncode == 0, live_check.stdout + live_check.stderr
    assert "accounting: sacct answers" in live_output(live_check)
    assert "openmpi41-boost181 on tcp: 2 ranks on a1, a2" in live_output(live_check)

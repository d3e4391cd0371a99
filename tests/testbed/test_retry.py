"""A node that fails to start: tried again, and then everything or nothing."""

from __future__ import annotations

import os

import pytest
from support.programs import script

pytestmark = [pytest.mark.nightly, pytest.mark.live]


def with_slurmd(cluster, vcluster, body):
    """The same cluster, with a slurmd of ours found first."""
    folder = cluster.home / f"{cluster.name}-programs"
    script(folder / "slurmd", f'{body}\nexec /usr/sbin/slurmd "$@"')
    path = f"{folder}:{os.environ['PATH']}"
    return vcluster(cluster.home, cluster.name, {"PATH": path}), folder


def test_a_node_that_fails_once_is_tried_again(single, vcluster):
    body = 'case "$*" in *b1*) mkdir "$0.once" 2>/dev/null && exit 1;; esac'
    cluster, folder = with_slurmd(single, vcluster, body)
    cluster.ok("up", "--nodes", "1+1", "--share", str(folder))
    log = (single.state / "log" / "world.log").read_text()
    assert "node b1: ended with status 1 (attempt 1)" in log
    assert len(cluster.ok("exec", "srun", "-N2", "hostname").split()) == 2


def test_a_node_that_never_comes_fails_the_whole_up(single, vcluster):
    cluster, folder = with_slurmd(single, vcluster, 'case "$*" in *b1*) exit 1;; esac')
    process = cluster.run("up", "--nodes", "1+1", "--share", str(folder))
    assert process.returncode == 1
    assert "node b1 did not come up in 3 attempts (ended with status 1)" in process.stderr
    assert process.stderr.count("\n") == 1
    assert single.status()["state"] == "down"
    assert not (single.state / "run").exists()
    # the logs that the message names are still there
    assert (single.state / "log" / "slurmd-b1.out").exists()

"""Without root: everything works, and what is less accurate is said."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.nightly, pytest.mark.live]

NOBODY = 65534


@pytest.fixture(scope="module")
def rootless(home, vcluster):
    """A cluster of user nobody, with a state home that nobody can reach."""
    if os.geteuid() != 0:
        pytest.skip("not root: all other tests run rootless already")
    prefix = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    probe = subprocess.run([*prefix, "unshare", "-rn", "true"], capture_output=True)
    if probe.returncode:
        pytest.skip(f"no user namespaces: {probe.stderr.decode().strip()}")
    state_home = Path(tempfile.mkdtemp(prefix="vcluster-nobody-"))
    os.chown(state_home, NOBODY, NOBODY)
    cluster = vcluster(state_home, "nobody", {"HOME": str(state_home)}, prefix)
    if subprocess.run([*prefix, "test", "-x", str(cluster.command()[4])]).returncode:
        pytest.skip("the checkout is not readable for user nobody")
    yield cluster
    cluster.run("down")
    shutil.rmtree(state_home)


def test_slurm_link_and_caveats(rootless):
    output = rootless.ok("up", "--nodes", "1+1", timeout=240)
    assert "note: the link may not use SCHED_FIFO here" in output
    assert "note: rootless" in output
    assert sorted(rootless.ok("exec", "srun", "-N2", "hostname").split()) == ["a1", "b1"]
    assert "RTT 2 ms" in rootless.ok("wan", "--rtt", "2ms")
    assert rootless.status()["rootless"]
    assert (rootless.state / "world.json").stat().st_uid == NOBODY
    process = rootless.run("up", "--cpu-weight", "200")
    assert process.returncode == 2
    assert "needs root" in process.stderr
    assert "is down" in rootless.ok("down")

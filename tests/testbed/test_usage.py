"""Bad input: one clear line on stderr, exit status 2, nothing left behind.  Needs no root."""

import subprocess

import pytest


@pytest.fixture
def nobody(vcluster, tmp_path):
    return vcluster(tmp_path / "home", "nobody")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["up", "--nodes", "17+1"], "allowed is 1 to 16"),
        (["up", "--nodes", "many"], "4+4"),
        (["up", "--fabric", "ring"], "invalid choice: 'ring'"),
        (["up", "--share", "/no/such/folder"], "no such folder"),
        (["up", "--share", "/tmp"], "share a folder below it"),
        (["up", "--hub-rate", "fast"], "write a number and one of bit/s"),
        (["wan", "--rtt", "101ms"], "0 to 100ms"),
        (["wan", "--rtt", "2ms"], "is not up: vcluster --name nobody up"),
        (["hub", "--rate", "unlimited"], "a hub has a rate"),
        (["exec"], "which command?"),
        (["exec", "true"], "is not up"),
        (["node", "a1", "true"], "is not up"),
        (["frob"], "invalid choice: 'frob'"),
        ([], "COMMAND"),
    ],
)
def test_fails_with_one_line(nobody, arguments, reason):
    process = nobody.run(*arguments)
    assert process.returncode == 2
    assert reason in process.stderr
    assert process.stderr.startswith("vcluster: ")
    assert process.stderr.count("\n") == 1
    assert not nobody.state.exists()


def test_a_bad_name_is_refused(vcluster, tmp_path):
    process = vcluster(tmp_path, "../up").run("status")
    assert process.returncode == 2
    assert "--name" in process.stderr


def within(script, vcluster, tmp_path):
    """A cluster's command line in a user namespace of its own, after `script` ran there."""
    prefix = ("unshare", "-rm", "sh", "-c", f'{script} && exec "$@"', "sh")
    if subprocess.run([*prefix, "true"], capture_output=True).returncode:
        pytest.skip(f"no user namespace here to try in: {script}")
    return vcluster(tmp_path / "home", "nobody", prefix=prefix)


def test_missing_slurm_names_the_packages(vcluster, tmp_path):
    process = within("mount -t tmpfs none /usr/sbin", vcluster, tmp_path).run("up")
    assert process.returncode == 2
    programs, packages = process.stderr.split(": apt-get install ")
    assert {"slurmctld,", "slurmd,", "munged"} <= set(programs.split())
    assert {"slurmctld", "slurmd", "munge"} <= set(packages.split())
    assert process.stderr.count("\n") == 1


def test_a_machine_without_namespaces_says_so(home, vcluster, tmp_path):
    script = "echo 0 > /proc/sys/user/max_net_namespaces"
    process = within(script, vcluster, tmp_path).run("up", "--nodes", "1+1")
    assert process.returncode == 2
    assert "namespaces are not allowed here" in process.stderr
    assert process.stderr.count("\n") == 1


def test_a_state_directory_that_cannot_be_made_is_named(vcluster, tmp_path):
    (tmp_path / "file").touch()
    process = vcluster(tmp_path / "file", "nobody").run("up")
    assert process.returncode == 2
    assert "state directory" in process.stderr

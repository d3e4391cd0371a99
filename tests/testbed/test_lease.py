"""The lease: one holder at a time, nobody else changes the link, and what happened is recorded."""

import json
import signal

import pytest
from support.virtual import CHECKOUT

pytestmark = [pytest.mark.nightly, pytest.mark.live]


@pytest.fixture(autouse=True)
def plain(cluster):
    yield
    cluster.run_checked("wan", "--rtt", "0", "--up", "--force", "--reset", "--no-self-test")


@pytest.fixture
def record(tmp_path):
    return tmp_path / "link.json"


def holder(cluster, record, *command):
    """A lease in the background, once its command runs."""
    mark = record.with_name("running")
    arguments = ["lease", "--rtt", "1ms", "--record", str(record), "--for", "job 7", "--"]
    shell = ["sh", "-c", f'touch {mark}; exec "$@"', "sh"]
    return cluster.start(*arguments, *shell, *command, until=mark)


def test_sets_the_whole_link_and_notes_what_it_was(cluster, record):
    cluster.run_checked("wan", "--loss", "10%", "--rate", "1Mbit/s", "--no-self-test")
    ping = ["node", "a1", "ping", "-c", "3", "-i", "0.1", "b1"]
    command = [str(CHECKOUT / "testbed" / "vcluster"), "--name", cluster.name, *ping]
    process = cluster.run("lease", "--rtt", "2ms", "--record", str(record), "--", *command)
    assert process.returncode == 0, process.stderr
    lease = json.loads(record.read_text())
    settings = lease["asked"]
    assert (settings["rtt_ms"], settings["loss"], settings["rate_bit_s"]) == (2, 0, 0)
    before, after = lease["before"], lease["after"]
    assert {name: before[name] for name in lease["asked"]} == lease["asked"]
    assert {name: after[name] for name in lease["asked"]} == lease["asked"]
    assert (after["changes"], after["started_ns"]) == (before["changes"], before["started_ns"])
    assert [direction["frames"] for direction in before["directions"]] == [0, 0]
    assert all(direction["frames"] >= 3 for direction in after["directions"])
    assert 1.98 <= after["self_test"]["min_ms"] <= 2.5
    assert lease["broken"] == []


def test_who_has_no_lease_is_refused_and_the_holder_named(cluster, record):
    lease_process = holder(cluster, record, "sleep", "60")
    changes = cluster.link_stats()["changes"]
    for options in (["--rtt", "4ms"], ["--cut", "1s"], ["--down"], ["--stats", "--reset"]):
        process = cluster.run("wan", *options)
        assert process.returncode == 1
        assert "the link is leased to job 7, since " in process.stderr
        assert process.stderr.count("\n") == 1
    process = cluster.run("lease", "--wait", "0", "--", "true")
    assert (process.returncode, "leased to job 7" in process.stderr) == (1, True)
    link = cluster.link_stats()
    assert (link["rtt_ms"], link["changes"]) == (1, changes)
    lease_process.terminate()
    assert lease_process.wait(20) == 128 + signal.SIGTERM
    assert json.loads(record.read_text())["status"] == 128 + signal.SIGTERM
    cluster.run_checked("wan", "--rtt", "4ms")


def test_force_breaks_the_lease_and_leaves_a_mark(cluster, record):
    process = holder(cluster, record, "sleep", "60")
    cluster.run_checked("wan", "--rtt", "4ms", "--force", "--no-self-test")
    cluster.run_checked("wan", "--rtt", "1ms", "--force", "--no-self-test")
    process.terminate()
    process.wait(20)
    lease = json.loads(record.read_text())
    changes = [json.loads(request)["changes"] for request in lease["broken"]]
    assert changes == [{"rtt": 0.004}, {"rtt": 0.001}]
    assert lease["after"]["changes"] - lease["before"]["changes"] == 2


def test_a_change_behind_everybodys_back_is_counted(cluster, record):
    """Sent to the link program itself, which knows no lease."""
    process = holder(cluster, record, "sleep", "60")
    template = (
        "import os, socket; os.chdir({!r}); s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM);"
        "s.bind(''); s.sendto({!r}, 'link.sock'); print(s.recv(65536))"
    )
    for command in (b"delay_us=2000", b"delay_us=2000 up", b"stats"):
        script = template.format(str(cluster.state / "run"), command)
        cluster.run_checked("exec", "/usr/bin/python3", "-c", script)
    process.terminate()
    process.wait(20)
    lease = json.loads(record.read_text())
    assert lease["after"]["changes"] - lease["before"]["changes"] == 1
    assert (lease["asked"]["rtt_ms"], lease["after"]["rtt_ms"]) == (1, 4)


def test_a_killed_holder_holds_nothing(cluster, record):
    process = holder(cluster, record, "sleep", "1")
    process.kill()
    process.communicate()
    cluster.run_checked("lease", "--wait", "0", "--rtt", "3ms", "--", "true")
    assert cluster.link_stats()["rtt_ms"] == 3


def test_the_next_one_waits(cluster, record):
    process = holder(cluster, record, "sleep", "1")
    cluster.run_checked("lease", "--rtt", "3ms", "--", "true")
    assert process.wait(20) == 0
    assert cluster.link_stats()["rtt_ms"] == 3


@pytest.mark.parametrize(
    ("arguments", "status", "reason"),
    [
        (["lease", "--", "sh", "-c", "exit 7"], 7, ""),
        (["lease"], 2, "which command?"),
        (["lease", "--", "no-such-program"], 2, "no-such-program: No such file"),
        (["lease", "--rtt", "9s", "--", "true"], 2, "out of range"),
    ],
)
def test_exit_status_is_the_commands_or_says_what_is_wrong(cluster, arguments, status, reason):
    process = cluster.run(*arguments)
    assert (process.returncode, reason in process.stderr) == (status, True)
    assert process.stderr.count("\n") == bool(reason)

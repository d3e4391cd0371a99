import json
import os
import subprocess
import threading
from pathlib import Path

import pytest
from vclusterlib import UserError
from vclusterlib import state as states
from vclusterlib.spec import Spec
from vclusterlib.state import State


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv(states.STATE_VARIABLE, raising=False)
    return State.from_name("one")


def test_lives_below_the_users_state_home(state, tmp_path):
    assert state.path == tmp_path / "roundtrip" / "vcluster" / "one"
    assert not state.path.exists()


@pytest.mark.parametrize("name", ["", "../x", "A", "a/b", "-x", "x" * 33])
def test_refuses_names_that_are_no_plain_folders(name, monkeypatch):
    if name:
        with pytest.raises(UserError, match="--name"):
            State.from_name(name)
    else:
        monkeypatch.delenv(states.STATE_VARIABLE, raising=False)
        assert State.from_name(name).name == "default"


def test_refuses_a_place_whose_sockets_slurm_could_not_make():
    """Slurm would requeue and hold every job: "launch failed requeued held"."""
    State(Path("/" + "x" * 72)).require_short_path()
    with pytest.raises(UserError, match="1 characters too long for Slurm's sockets"):
        State(Path("/" + "x" * 73)).require_short_path()


def test_inside_a_cluster_its_own_state_is_the_default(state, monkeypatch):
    monkeypatch.setenv(states.STATE_VARIABLE, str(state.path))
    assert State.from_name(None).path == state.path
    assert State.from_name(None).is_inside


def test_is_held_by_one_command_at_a_time_and_the_next_waits(state, capfd):
    order = []

    def second():
        with State.from_name("one").locked():
            order.append("second")

    thread = threading.Thread(target=second)
    with state.locked():
        thread.start()
        thread.join(0.5)
        order.append("first")
    thread.join(30)
    assert order == ["first", "second"]
    assert "another command holds" in capfd.readouterr().err


def test_a_new_boot_begins_with_clean_folders_for_the_owner_only(state):
    with state.locked():
        (state.path / "log").mkdir()
        (state.path / "log" / "old").touch()
        state.prepare_boot(Spec(nodes_a=1))
    assert not (state.log / "old").exists()
    assert state.path.stat().st_mode & 0o777 == 0o700
    assert state.spec() == Spec(nodes_a=1)


def test_writes_whole_files_with_their_mode(tmp_path):
    states.write_atomically(tmp_path / "key", "secret", 0o400)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o400
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_a_head_is_known_while_it_lives_and_in_its_own_boot(state):
    state.path.mkdir(parents=True)
    assert state.head_pid() is None
    state.record_head()
    record = state.path / "head.json"
    content = json.loads(record.read_text())
    assert state.head_pid() == os.getpid() == content["pid"]
    for changes in ({"start": "0"}, {"boot": "another"}):
        record.write_text(json.dumps({**content, **changes}))
        assert state.head_pid() is None
    record.write_text("{")
    assert state.head_pid() is None
    with subprocess.Popen(["sleep", "30"]) as process:
        start = states.process_start_ticks(process.pid)
        record.write_text(json.dumps({**content, "pid": process.pid, "start": start}))
        assert state.head_pid() == process.pid
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert state.head_pid() is None, "a zombie is no head"

"""One campaign a site at a time: the second says who holds it, or waits for it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from roundtrip.campaign import tree
from roundtrip.errors import UserError

_HOLD = """\
import sys, time
from types import SimpleNamespace
from roundtrip.campaign import tree
site = SimpleNamespace(name=sys.argv[1], partitions={"p": {"scheduler": sys.argv[2]}})
with tree.hold_site(site, "first", False, print):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def site(name: str, scheduler: str = "slurm") -> Any:
    return SimpleNamespace(name=name, partitions={"p": {"scheduler": scheduler}})


def holder(name: str, scheduler: str = "slurm") -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, name, scheduler],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.parametrize("scheduler", ["slurm", "local"])
def test_the_second_says_who_holds_the_site(scheduler: str) -> None:
    first = holder("alpha", scheduler)
    try:
        lock = tree.hold_site(site("alpha", scheduler), "second", False, print)
        with pytest.raises(UserError) as error, lock:
            pass
        assert "site 'alpha' is being measured by campaign 'first' since " in str(error.value)
        assert f"process {first.pid} on " in str(error.value)
        assert str(error.value).count("\n") == 0
        with tree.hold_site(site("beta", scheduler), "second", False, print):
            pass
    finally:
        first.communicate("")


def test_a_killed_holder_holds_nothing() -> None:
    first = holder("alpha")
    first.kill()
    first.communicate()
    with tree.hold_site(site("alpha"), "second", False, print):
        pass


def test_waiting_ends_when_the_holder_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "_PAUSE_S", 0.05)
    first, messages = holder("alpha"), []

    def record(line: str) -> None:
        messages.append(line)
        time.sleep(0.2)
        first.communicate("")

    with tree.hold_site(site("alpha"), "second", True, record):
        assert first.poll() == 0
    assert len(messages) == 1
    assert "waiting" in messages[0]


def test_a_state_folder_that_cannot_be_made_is_one_line(state: Path) -> None:
    (state / "roundtrip").write_text("a file")
    lock = tree.hold_site(site("alpha"), "second", False, print)
    with pytest.raises(UserError, match="set XDG_STATE_HOME"), lock:
        pass

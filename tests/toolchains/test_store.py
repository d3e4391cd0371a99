from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from roundtrip.toolchains.store import Store, content_key

HOLDER = """
import sys
from pathlib import Path
from roundtrip.toolchains.store import Store
with Store(Path(sys.argv[1])).locked(lambda: None):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_key_is_canonical() -> None:
    assert content_key({"a": 1, "b": [2]}) == content_key({"b": [2], "a": 1})
    assert content_key({"a": 1}) != content_key({"a": "1"})


def test_a_unit_is_made_once(tmp_path: Path) -> None:
    store, made = Store(tmp_path), []

    def make(place: Path) -> None:
        (place / "content").write_text("x")
        made.append(place)

    first, second = store.ensure("k", make), store.ensure("k", make)
    assert first == second == made[0]
    assert len(made) == 1
    assert store.complete("k")


def test_a_failed_unit_leaves_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)

    def fail(place: Path) -> None:
        (place / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.ensure("k", fail)
    assert not store.place("k").exists()


def test_leftovers_of_a_killed_build_are_removed_and_complete_units_stay(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.ensure("done", lambda place: None)
    (store.place("killed") / "lib").mkdir(parents=True)
    (tmp_path / "work" / "deb").mkdir(parents=True)
    assert not store.complete("killed")
    with store.locked(lambda: None):
        assert not store.place("killed").exists()
        assert not (tmp_path / "work").exists()
    assert store.complete("done")


def test_removal_never_follows_a_link_out_of_the_store(tmp_path: Path) -> None:
    system = tmp_path / "system"
    system.mkdir()
    (system / "precious").touch()
    store = Store(tmp_path / "store")
    store.place("killed").mkdir(parents=True)
    (store.place("killed") / "lib").symlink_to(system)
    with store.locked(lambda: None):
        pass
    assert not store.place("killed").exists()
    assert (system / "precious").exists()


def test_links(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.linked("name") is None
    for key in ("one", "two"):
        store.ensure(key, lambda place: None)
        store.link("name", key)
        assert store.linked("name") == key
        assert (tmp_path / "name").resolve() == store.place(key)
    (store.place("two") / ".complete").unlink()
    assert store.linked("name") is None


def test_a_second_process_waits(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    told = []

    def waiting() -> None:
        told.append(holder.poll())
        holder.communicate("go\n")

    with Store(tmp_path).locked(waiting):
        assert told == [None]  # it was still held when we began to wait
        assert holder.returncode == 0

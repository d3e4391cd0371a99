"""The secret of a site: made once, kept to oneself, in no bundle and no message."""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roundtrip import paths
from roundtrip.collect import bundle, pseudonyms
from roundtrip.errors import UserError

Maker = Callable[..., Any]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv(pseudonyms.KEY_VARIABLE, raising=False)
    return tmp_path / "state"


def test_it_is_made_once_for_each_site_and_for_its_user_alone(state: Path) -> None:
    key = pseudonyms.site_key("here")
    file = paths.state() / "sites" / "here.key"
    assert file == state / "roundtrip" / "sites" / "here.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o400
    assert pseudonyms.site_key("here") == key == file.read_bytes().strip()
    assert len(key) == 64
    assert pseudonyms.site_key("there") != key
    assert sorted(path.name for path in file.parent.iterdir()) == ["here.key", "there.key"]


def test_processes_at_once_make_one_key(state: Path) -> None:
    code = "from roundtrip.collect.pseudonyms import site_key; print(site_key('s').decode())"
    environment = {"PYTHONPATH": ":".join(sys.path), "XDG_STATE_HOME": str(state)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code], env=environment, text=True, stdout=subprocess.PIPE
        )
        for _ in range(4)
    ]
    told = {process.communicate(timeout=300)[0] for process in running}
    assert len(told) == 1 and len(told.pop().strip()) == 64


def test_another_user_of_the_site_names_the_shared_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared.key"
    shared.write_text("a secret of the whole site\n")
    shared.chmod(0o400)
    monkeypatch.setenv(pseudonyms.KEY_VARIABLE, str(shared))
    assert (
        pseudonyms.site_key("here") == pseudonyms.site_key("there") == b"a secret of the whole site"
    )
    assert not (paths.state() / "sites").exists()


@pytest.mark.parametrize("mode", [0o404, 0o440, 0o600 | 0o020])
def test_a_key_that_others_can_use_is_refused(mode: int) -> None:
    pseudonyms.site_key("here")
    file = paths.state() / "sites" / "here.key"
    file.chmod(mode)
    with pytest.raises(UserError, match="others can use this key of a site: `chmod 0400` it"):
        pseudonyms.site_key("here")


def test_what_is_no_key_is_refused_without_telling_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "given.key"
    monkeypatch.setenv(pseudonyms.KEY_VARIABLE, str(file))
    with pytest.raises(UserError, match=r"given\.key: missing: ROUNDTRIP_SITE_KEY names it"):
        pseudonyms.site_key("here")
    file.touch(0o600)
    for content in ("", "too short", "x" * 5000):
        file.write_text(content)
        with pytest.raises(UserError, match="no key of a site: right are 16 to") as caught:
            pseudonyms.site_key("here")
        assert not content or content not in str(caught.value)
    file.unlink()
    file.mkdir()
    with pytest.raises(UserError, match=r"given\.key: Is a directory"):
        pseudonyms.site_key("here")


def test_a_folder_that_takes_no_key_is_one_line(state: Path) -> None:
    state.write_text("a file")
    with pytest.raises(UserError, match=r"sites: Not a directory"):
        pseudonyms.site_key("here")


def test_it_is_in_no_file_of_a_bundle(make_tree: Maker) -> None:
    built = bundle.build(make_tree(launches=2).path)
    key = pseudonyms.site_key("local")
    for file in filter(Path.is_file, built.rglob("*")):
        content = file.read_bytes()
        assert key not in content and bytes.fromhex(key.decode()) not in content


def test_a_tree_collected_again_on_its_site_is_the_same_bundle(make_tree: Maker) -> None:
    tree = make_tree(launches=2)
    first = bundle.build(tree.path)
    assert bundle.build(tree.path, tree.path / "again").name == first.name
    (paths.state() / "sites" / "local.key").unlink()
    assert bundle.build(tree.path, tree.path / "elsewhere").name != first.name

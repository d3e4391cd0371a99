"""Pseudonyms get their hosts back on a terminal, where the site's key is at hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roundtrip.collect import pseudonyms
from roundtrip.collect.pseudonyms import Pseudonyms
from roundtrip.errors import UserError

SITE, KEY = "here", b"a secret of the whole site"
PLAN = {"partitions": {"all": {"pairs": [{"hosts": ["n1", "n2.cluster"]}]}}}


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One run tree of the site that names two hosts; no Slurm, and no key yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv(pseudonyms.KEY_VARIABLE, raising=False)
    env = tmp_path / "runs" / "pairs" / SITE / "2026-01-01" / "env"
    env.mkdir(parents=True)
    (env / "pairs.json").write_text(json.dumps(PLAN))
    return tmp_path / "runs"


def key(folder: Path) -> None:
    file = pseudonyms.site_key_file(SITE)
    file.parent.mkdir(parents=True)
    file.write_bytes(KEY)
    file.chmod(0o400)


def pseudonym(host: str) -> str:
    return Pseudonyms([host], KEY).of(host)


def test_hosts_of_run_trees_stand_before_their_pseudonyms(runs: Path) -> None:
    key(runs)
    found = pseudonyms.known_hosts(SITE, runs)
    one, two, other = pseudonym("n1"), pseudonym("n2"), "node-00000000"
    assert found.has_key and found.known[two] == "n2.cluster"
    assert found.named(f"{one} is sick: {two}, {other}; my{one} and {one}-x.") == (
        f"n1 ({one}) is sick: n2.cluster ({two}), {other}; my{one} and {one}-x."
    )


def test_hosts_that_slurm_lists_are_known_without_a_run_tree(runs: Path, tmp_path: Path) -> None:
    key(runs)
    sinfo = tmp_path / "bin" / "sinfo"
    sinfo.parent.mkdir()
    sinfo.write_text("#!/bin/sh\necho n7\necho n8\necho n7\n")
    sinfo.chmod(0o755)
    found = pseudonyms.known_hosts(SITE, tmp_path / "none").known
    assert found == {pseudonym(host): host for host in ("n7", "n8")}
    sinfo.write_text("#!/bin/sh\nexit 1\n")
    assert pseudonyms.known_hosts(SITE, tmp_path / "none").known == {}


def test_without_a_key_nothing_is_known_and_none_is_made(runs: Path) -> None:
    found = pseudonyms.known_hosts(SITE, runs)
    assert not found.has_key and found.known == {}
    assert found.named(pseudonym("n1")) == pseudonym("n1")
    assert not pseudonyms.site_key_file(SITE).exists()


def test_a_key_that_others_can_read_is_refused(runs: Path) -> None:
    key(runs)
    pseudonyms.site_key_file(SITE).chmod(0o444)
    with pytest.raises(UserError, match="others can use"):
        pseudonyms.known_hosts(SITE, runs)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"partitions": {"a": {"hosts": [1, null]}}}'])
def test_a_damaged_run_tree_names_nobody(runs: Path, text: str) -> None:
    key(runs)
    for file in runs.rglob("pairs.json"):
        file.write_text(text)
    assert pseudonyms.known_hosts(SITE, runs).known == {}

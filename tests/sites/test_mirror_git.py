"""Commits that a mirror takes from git: the same bytes everywhere, and those that Spack clones."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from support.sources import WRONG, checksum, filled

from roundtrip.sites import mirror_git
from roundtrip.sites.mirror import Sources
from roundtrip.sites.mirror_git import Git

#: Refuses as Spack does in an environment with several `demo@1`, and without our recipes.
STAND_IN = """#!/bin/sh
[ "$1" != --version ] || { echo 1.1.0; exit 0; }
case "$*" in "-E -C "*" demo@1") ;; *) echo "Error: it matches multiple specs"; exit 1 ;; esac
grep -q spack_repo/roundtrip "$3/repos.yaml" || { echo "==> Error: no recipe of demo"; exit 1; }
"""


def test_what_spack_clones_is_asked_for_in_no_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one that is concretized, Spack finds the spec once for each MPI, and refuses."""
    command = tmp_path / "spack" / "bin" / "spack"
    command.parent.mkdir(parents=True)
    command.write_text(STAND_IN)
    command.chmod(0o755)
    monkeypatch.setenv("SPACK_ROOT", str(tmp_path / "spack"))
    one = Git(repository="https://example.org/demo.git", commit="0" * 40, spack="demo@1")

    said = filled(tmp_path / "mirror", Sources(git={"demo": one}))

    assert said == {"demo": ("ok", "demo@1, by `spack mirror create`")}


@pytest.mark.parametrize("patch", [False, True])
def test_a_commit_gives_the_same_bytes_whatever_git_is_told(
    tmp_path: Path, clone: tuple[Path, str], patch: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, commit = clone
    wanted = Git(
        repository="-", commit=commit, sha256=WRONG, patch=patch, paths=("kept",), prefix="one/"
    )
    plain = mirror_git.archive(wanted, str(folder), tmp_path / "plain")
    settings = tmp_path / "gitconfig"
    settings.write_text(
        "[tar]\n\tumask = 0077\n[diff]\n\tnoprefix = true\n[format]\n\tsignOff = on\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))

    other = mirror_git.archive(wanted, folder.as_uri(), tmp_path / "fetched")

    assert checksum(other) == checksum(plain)
    if patch:
        assert "+two" in plain.read_text()
    else:
        with tarfile.open(plain) as tar:
            assert tar.getnames() == ["one", "one/kept"]


def test_a_commit_of_another_checksum_is_not_kept(tmp_path: Path, clone: tuple[Path, str]) -> None:
    folder, commit = clone

    said = filled(
        tmp_path / "mirror",
        Sources(git={"own": Git(repository="-", commit=commit, sha256=WRONG)}),
        own=str(folder),
    )

    assert said["own"][0] == "fault"
    assert f"and the recipe wants {WRONG}" in said["own"][1]
    assert not list((tmp_path / "mirror").iterdir())


def test_a_repository_that_is_not_there_is_told(tmp_path: Path) -> None:
    gone = Git(repository=(tmp_path / "gone").as_uri(), commit="0" * 40, sha256=WRONG)

    verdict, told = filled(tmp_path / "mirror", Sources(git={"own": gone}))["own"]

    assert (verdict, told.partition(":")[0]) == ("fault", "git fetch")

"""A source mirror is filled from what is declared, and holds nothing but what recipes want."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.sources import WRONG, checksum, filled
from typer.testing import CliRunner

from roundtrip.cli.site import app
from roundtrip.errors import UserError
from roundtrip.sites import mirror, mirror_git
from roundtrip.sites.mirror import Debian, Sources
from roundtrip.sites.mirror_git import Git

ROOT = Path(__file__).parents[2]
needs_apt = pytest.mark.skipif(not shutil.which("apt-get"), reason="no apt-get here")


@needs_apt
def test_the_mirror_may_be_named_by_a_relative_path(
    tmp_path: Path, pool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sources = Sources(debian={"demo": Debian(package="demo", sha256=checksum(pool))})

    assert filled(Path("carry/sources"), sources)["demo"][0] == "ok"
    assert mirror.place(tmp_path / "carry" / "sources", checksum(pool), ".tar.xz").is_file()


@needs_apt
def test_what_apt_cannot_find_does_not_stop_the_rest(
    tmp_path: Path, pool: Path, clone: tuple[Path, str]
) -> None:
    folder, commit = clone
    made = mirror_git.archive(
        Git(repository="-", commit=commit, sha256=WRONG), str(folder), tmp_path / "made"
    )
    said = filled(
        tmp_path / "mirror",
        Sources(
            debian={"lost": Debian(package="lost", sha256=WRONG)},
            git={"own": Git(repository=str(folder), commit=commit, sha256=checksum(made))},
        ),
    )

    assert said["lost"][0] == "fault"
    assert said["lost"][1] == "apt knows no source package lost"
    assert said["own"] == ("ok", f"commit {commit[:12]}")


def test_a_name_that_is_not_declared_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"--git own=\.\.\.: no such git source; there are: none"):
        filled(tmp_path / "mirror", Sources(), own="/clone")


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ('[debian.demo]\npackage = "demo"\nsha256 = "1"\n', r"sources.toml:3: .*sha256"),
        ('[git.own]\nrepository = "-"\ncommit = "HEAD"\n', r"sources.toml:3: .*commit"),
        (f'[git.own]\nrepository = "-"\ncommit = "{"0" * 40}"\n', "either `sha256`, or `spack`"),
    ],
)
def test_a_fault_of_the_file_is_told_with_its_line(tmp_path: Path, table: str, told: str) -> None:
    file = tmp_path / "sources.toml"
    file.write_text(table)
    with pytest.raises(UserError, match=told):
        mirror.read([file])


def test_of_one_name_the_last_file_counts(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(f'[debian.openmpi]\npackage = "openmpi"\nsha256 = "{WRONG}"\n')

    shipped = mirror.read([ROOT / mirror.SHIPPED])
    both = mirror.read([ROOT / mirror.SHIPPED, own])

    assert both.debian["openmpi"].sha256 == WRONG
    assert both.debian.keys() == shipped.debian.keys()


def test_every_shipped_checksum_is_that_of_a_recipe() -> None:
    shipped = mirror.read([ROOT / mirror.SHIPPED])
    recipes = "".join(file.read_text() for file in (ROOT / "spack_repo").rglob("package.py"))
    of_ours = [one.sha256 for one in shipped.debian.values()]

    assert of_ours
    assert [sum_ for sum_ in of_ours if sum_ not in recipes] == []
    assert [
        one.commit for one in shipped.git.values() if one.spack and one.commit not in recipes
    ] == []


def test_the_command_says_what_lacks_and_exits_1(
    tmp_path: Path, clone: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, commit = clone
    made = mirror_git.archive(
        Git(repository="-", commit=commit, sha256=WRONG), str(folder), tmp_path / "made"
    )
    checkout = tmp_path / "checkout"
    for name in ("campaigns", "checks", "spack_repo/testbed"):
        (checkout / name).mkdir(parents=True)
    (checkout / mirror.SHIPPED).write_text("")
    monkeypatch.chdir(checkout)
    own = tmp_path / "own.toml"
    own.write_text(
        f'[git.own]\nrepository = "-"\ncommit = "{commit}"\nsha256 = "{checksum(made)}"\n'
    )
    words = ["site", "mirror", "there", "--sources", str(own), "--git"]

    lacking = CliRunner().invoke(app, [*words, "own=nowhere"])
    filled = CliRunner().invoke(app, [*words, f"own={folder}"])

    assert lacking.exit_code == 1
    assert "FAULT        own: nowhere: no such clone" in lacking.output
    assert filled.exit_code == 0
    assert f"spack mirror add sources {(checkout / 'there').as_uri()}" in filled.output

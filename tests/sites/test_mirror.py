"""A source mirror is filled from apt and git, and holds nothing but what the recipes want."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from roundtrip.cli.site import app
from roundtrip.errors import UserError
from roundtrip.sites import mirror, mirror_debian, mirror_git
from roundtrip.sites.mirror import Debian, Sources
from roundtrip.sites.mirror_git import Git

ROOT = Path(__file__).parents[2]
WRONG = "0" * 64
#: Refuses as Spack does in an environment with several `demo@1`, and without our recipes.
STAND_IN = """#!/bin/sh
[ "$1" != --version ] || { echo 1.1.0; exit 0; }
case "$*" in "-E -C "*" demo@1") ;; *) echo "Error: it matches multiple specs"; exit 1 ;; esac
grep -q spack_repo/roundtrip "$3/repos.yaml" || { echo "==> Error: no recipe of demo"; exit 1; }
"""
needs_apt = pytest.mark.skipif(not shutil.which("apt-get"), reason="no apt-get here")


def _sum(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A pool with source package `demo` 1.0, which is all that apt knows of; its archive."""
    folder = tmp_path / "pool"
    folder.mkdir()
    archive = folder / "demo_1.0.orig.tar.xz"
    (tmp_path / "readme").write_text("demo\n")
    with tarfile.open(archive, "w:xz") as tar:
        tar.add(tmp_path / "readme", "demo-1.0/readme")
    packaging = folder / "demo_1.0-1.debian.tar.xz"
    packaging.write_bytes(b"no source")
    listed = "\n".join(
        f" {_sum(file)} {file.stat().st_size} {file.name}" for file in (archive, packaging)
    )
    common = "Binary: demo\nArchitecture: any\nVersion: 1.0-1\nMaintainer: Nobody <nobody@example>"
    description = folder / "demo_1.0-1.dsc"
    description.write_text(
        f"Format: 3.0 (quilt)\nSource: demo\n{common}\nChecksums-Sha256:\n{listed}\n"
    )
    listed = f" {_sum(description)} {description.stat().st_size} {description.name}\n{listed}"
    (folder / "Sources").write_text(
        f"Package: demo\nFormat: 3.0 (quilt)\n{common}\nDirectory: .\nChecksums-Sha256:\n{listed}\n"
    )
    etc = tmp_path / "etc"
    (etc / "parts").mkdir(parents=True)
    (etc / "parts" / "pool.list").write_text(f"# a pool\ndeb [trusted=yes] file:{folder} ./\n")
    (etc / "apt.conf").write_text(
        f'Dir::Etc::SourceList "/dev/null";\nDir::Etc::SourceParts "{etc / "parts"}";\n'
    )
    monkeypatch.setenv("APT_CONFIG", str(etc / "apt.conf"))
    yield archive


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Path, str]:
    """A git repository with two commits, and the second one's name."""
    folder = tmp_path / "clone"

    def git(*arguments: str) -> str:
        settings = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example"]
        done = subprocess.run(
            ["git", "-C", str(folder), *settings, *arguments],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"},
        )
        return done.stdout.strip()

    folder.mkdir()
    git("init", "--quiet")
    for text in ("one\n", "two\n"):
        (folder / "kept").write_text(text)
        (folder / "left out").write_text(text)
        git("add", "--all")
        git("commit", "--quiet", "--message", text, "--date=2020-01-01T00:00:00Z")
    return folder, git("rev-parse", "HEAD")


def _fill(folder: Path, sources: Sources, **clones: str) -> dict[str, tuple[str, str]]:
    return {item.name: (item.verdict, item.detail) for item in mirror.fill(folder, sources, clones)}


@needs_apt
def test_an_archive_of_debian_lies_where_spack_looks(tmp_path: Path, pool: Path) -> None:
    sources = Sources(debian={"demo": Debian(package="demo", sha256=_sum(pool))})

    said = _fill(tmp_path / "mirror", sources)

    assert said == {"demo": ("ok", "Debian's demo_1.0.orig.tar.xz")}
    held = [file for file in (tmp_path / "mirror").rglob("*") if file.is_file()]
    assert held == [mirror.place(tmp_path / "mirror", _sum(pool), ".tar.xz")]
    assert held[0].read_bytes() == pool.read_bytes()
    pool.unlink()
    assert _fill(tmp_path / "mirror", sources) == {"demo": ("ok", "there already")}


@needs_apt
def test_the_mirror_may_be_named_by_a_relative_path(
    tmp_path: Path, pool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sources = Sources(debian={"demo": Debian(package="demo", sha256=_sum(pool))})

    assert _fill(Path("carry/sources"), sources)["demo"][0] == "ok"
    assert mirror.place(tmp_path / "carry" / "sources", _sum(pool), ".tar.xz").is_file()


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

    said = _fill(tmp_path / "mirror", Sources(git={"demo": one}))

    assert said == {"demo": ("ok", "demo@1, by `spack mirror create`")}


@needs_apt
def test_of_several_versions_that_of_the_recipe_is_taken(tmp_path: Path, pool: Path) -> None:
    """apt itself takes the newest, where two suites are known."""
    own = (pool.parent / "Sources").read_text()
    newer = own.replace("Version: 1.0-1", "Version: 2.0-1").replace(_sum(pool), WRONG)
    with (pool.parent / "Sources").open("a") as file:
        file.write("\n" + newer.replace(pool.name, "demo_2.0.orig.tar.xz"))
    sources = Sources(debian={"demo": Debian(package="demo", sha256=_sum(pool))})

    assert _fill(tmp_path / "mirror", sources) == {"demo": ("ok", f"Debian's {pool.name}")}


@pytest.mark.parametrize(
    ("suffix", "configured", "wanted"),
    [
        (
            ".sources",
            "Types: deb\nURIs: http://x/debian\nSuites: own own-updates\nComponents: main\n\n"
            "Types: deb\nURIs: http://x/security\nSuites: own-security\nComponents: main\n",
            "Types: deb-src\nURIs: http://x/debian\nSuites: next\nComponents: main\n",
        ),
        (
            ".list",
            "deb [signed-by=/k] http://x/debian own main\ndeb http://x/debian own-updates main\n",
            "deb-src [signed-by=/k] http://x/debian next main\n",
        ),
    ],
)
def test_another_suite_is_asked_where_the_own_one_is(
    monkeypatch: pytest.MonkeyPatch, suffix: str, configured: str, wanted: str
) -> None:
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"VERSION_CODENAME": "own"})
    said = mirror_debian._as_source(configured, suffix, ["next"])
    alone = mirror_debian._as_source(configured, suffix)
    assert said.split("\n\n")[-1] == wanted
    assert said.split("\n\n")[:-1] == alone.strip().split("\n\n")
    assert "next" not in alone


@needs_apt
def test_a_broken_archive_is_brought_again(tmp_path: Path, pool: Path) -> None:
    sources = Sources(debian={"demo": Debian(package="demo", sha256=_sum(pool))})
    _fill(tmp_path / "mirror", sources)
    held = mirror.place(tmp_path / "mirror", _sum(pool), ".tar.xz")
    held.write_bytes(b"half of it")

    assert _fill(tmp_path / "mirror", sources)["demo"] == ("ok", "Debian's demo_1.0.orig.tar.xz")
    assert held.read_bytes() == pool.read_bytes()


@needs_apt
def test_another_version_of_debian_is_refused_by_name(tmp_path: Path, pool: Path) -> None:
    verdict, told = _fill(
        tmp_path / "mirror", Sources(debian={"demo": Debian(package="demo", sha256=WRONG)})
    )["demo"]

    assert verdict == "fault"
    assert "another version of source package demo (demo_1.0.orig.tar.xz)" in told
    assert not list((tmp_path / "mirror").iterdir())


@needs_apt
def test_what_apt_cannot_find_does_not_stop_the_rest(
    tmp_path: Path, pool: Path, clone: tuple[Path, str]
) -> None:
    folder, commit = clone
    made = mirror_git.archive(
        Git(repository="-", commit=commit, sha256=WRONG), str(folder), tmp_path / "made"
    )
    said = _fill(
        tmp_path / "mirror",
        Sources(
            debian={"lost": Debian(package="lost", sha256=WRONG)},
            git={"own": Git(repository=str(folder), commit=commit, sha256=_sum(made))},
        ),
    )

    assert said["lost"][0] == "fault"
    assert said["lost"][1] == "apt knows no source package lost"
    assert said["own"] == ("ok", f"commit {commit[:12]}")


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

    assert _sum(other) == _sum(plain)
    if patch:
        assert "+two" in plain.read_text()
    else:
        with tarfile.open(plain) as tar:
            assert tar.getnames() == ["one", "one/kept"]


def test_a_commit_of_another_checksum_is_not_kept(tmp_path: Path, clone: tuple[Path, str]) -> None:
    folder, commit = clone

    said = _fill(
        tmp_path / "mirror",
        Sources(git={"own": Git(repository="-", commit=commit, sha256=WRONG)}),
        own=str(folder),
    )

    assert said["own"][0] == "fault"
    assert f"and the recipe wants {WRONG}" in said["own"][1]
    assert not list((tmp_path / "mirror").iterdir())


def test_a_repository_that_is_not_there_is_told(tmp_path: Path) -> None:
    gone = Git(repository=(tmp_path / "gone").as_uri(), commit="0" * 40, sha256=WRONG)

    verdict, told = _fill(tmp_path / "mirror", Sources(git={"own": gone}))["own"]

    assert (verdict, told.partition(":")[0]) == ("fault", "git fetch")


def test_a_name_that_is_not_declared_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"--git own=\.\.\.: no such git source; there are: none"):
        _fill(tmp_path / "mirror", Sources(), own="/clone")


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
    own.write_text(f'[git.own]\nrepository = "-"\ncommit = "{commit}"\nsha256 = "{_sum(made)}"\n')
    words = ["site", "mirror", "there", "--sources", str(own), "--git"]

    lacking = CliRunner().invoke(app, [*words, "own=nowhere"])
    filled = CliRunner().invoke(app, [*words, f"own={folder}"])

    assert lacking.exit_code == 1
    assert "FAULT        own: nowhere: no such clone" in lacking.output
    assert filled.exit_code == 0
    assert f"spack mirror add sources {(checkout / 'there').as_uri()}" in filled.output


def test_the_real_apt_offers_what_the_recipes_want(tmp_path: Path) -> None:
    """NetPIPE's archive, the smallest, from the Debian that this machine is of."""
    shipped = mirror.read([ROOT / mirror.SHIPPED])
    (item,) = mirror.fill(tmp_path, Sources(debian={"netpipe": shipped.debian["netpipe"]}), {})
    if item.verdict == "fault":
        pytest.skip(f"needs Debian 12 and its archive: {item.detail}")
    assert item.size == 400248

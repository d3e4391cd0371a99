"""A source mirror is filled from what is declared, and holds nothing but what recipes want."""

import shutil
import tarfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.programs import CHECKOUT, write_script
from support.software import file_sha256
from typer.testing import CliRunner

from roundtrip.cli import setup
from roundtrip.errors import UserError
from tools import mirror
from tools.mirror import DebianSource, GitSource, Sources, app

WRONG = "0" * 64
needs_apt = pytest.mark.skipif(not shutil.which("apt-get"), reason="no apt-get here")


def filled(folder: Path, sources: Sources, **clones: str) -> dict[str, tuple[str, str]]:
    """Verdict and detail of each source, after the mirror was filled."""
    return {
        item.name: (item.verdict, item.detail)
        for item in mirror.fill_mirror(folder, sources, clones)
    }


@pytest.fixture
def demo(apt_archive: Path) -> Sources:
    return Sources(debian={"demo": DebianSource(package="demo", sha256=file_sha256(apt_archive))})


@pytest.fixture
def archive(tmp_path: Path, git_clone: tuple[Path, str]) -> Path:
    """That of the second commit."""
    folder, commit = git_clone
    source = GitSource(repository="-", commit=commit, sha256=WRONG)
    return mirror.write_git_archive(source, str(folder), tmp_path / "made")


@needs_apt
def test_what_apt_cannot_find_does_not_stop_the_rest(
    tmp_path: Path, apt_archive: Path, git_clone: tuple[Path, str], archive: Path
) -> None:
    folder, commit = git_clone
    lost = DebianSource(package="lost", sha256=WRONG)
    own = GitSource(repository=str(folder), commit=commit, sha256=file_sha256(archive))

    results = filled(tmp_path / "mirror", Sources(debian={"lost": lost}, git={"own": own}))

    assert results["lost"] == ("fault", "apt knows no source package lost")
    assert results["own"] == ("ok", f"commit {commit[:12]}")


def test_a_name_that_is_not_declared_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"--git own=\.\.\.: no such git source; there are: none"):
        filled(tmp_path / "mirror", Sources(), own="/clone")


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ('[debian.demo]\npackage = "demo"\nsha256 = "1"\n', r"sources.toml:3: .*sha256"),
        ('[git.own]\nrepository = "-"\ncommit = "HEAD"\n', r"sources.toml:3: .*commit"),
        (f'[git.own]\nrepository = "-"\ncommit = "{"0" * 40}"\n', "either `sha256`, or `spack`"),
    ],
)
def test_a_fault_of_the_file_names_its_line(tmp_path: Path, table: str, complaint: str) -> None:
    file = tmp_path / "sources.toml"
    file.write_text(table)
    with pytest.raises(UserError, match=complaint):
        mirror.read_sources([file])


def test_of_one_name_the_last_file_counts(tmp_path: Path) -> None:
    own_file = tmp_path / "own.toml"
    own_file.write_text(f'[debian.openmpi]\npackage = "openmpi"\nsha256 = "{WRONG}"\n')

    shipped_sources = mirror.read_sources([CHECKOUT / mirror.SHIPPED_SOURCES])
    sources = mirror.read_sources([CHECKOUT / mirror.SHIPPED_SOURCES, own_file])

    assert sources.debian["openmpi"].sha256 == WRONG
    assert sources.debian.keys() == shipped_sources.debian.keys()


def test_every_shipped_checksum_is_that_of_a_recipe() -> None:
    sources = mirror.read_sources([CHECKOUT / mirror.SHIPPED_SOURCES])
    recipes = "".join(file.read_text() for file in (CHECKOUT / "spack_repo").rglob("package.py"))
    checksums = [source.sha256 for source in sources.debian.values()]

    assert checksums
    assert [digest for digest in checksums if digest not in recipes] == []
    commits = [source.commit for source in sources.git.values() if source.spack]
    assert [commit for commit in commits if commit not in recipes] == []


def test_the_command_says_what_lacks_and_exits_1(
    tmp_path: Path, git_clone: tuple[Path, str], archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, commit = git_clone
    checkout = tmp_path / "checkout"
    for name in ("campaigns", "checks", "spack_repo/testbed"):
        (checkout / name).mkdir(parents=True)
    (checkout / mirror.SHIPPED_SOURCES).write_text("")
    monkeypatch.chdir(checkout)
    own_file = tmp_path / "own.toml"
    own_file.write_text(
        f'[git.own]\nrepository = "-"\ncommit = "{commit}"\nsha256 = "{file_sha256(archive)}"\n'
    )
    words = ["there", "--sources", str(own_file), "--git"]

    failure = CliRunner().invoke(app, [*words, "own=nowhere"])
    success = CliRunner().invoke(app, [*words, f"own={folder}"])

    assert failure.exit_code == 1
    assert "FAULT        own: nowhere: no such clone" in failure.output
    assert success.exit_code == 0
    assert f"spack mirror add sources {(checkout / 'there').as_uri()}" in success.output


def test_the_old_command_warns_and_runs_the_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], **_: object) -> SimpleNamespace:
        commands.append(command[1:])
        return SimpleNamespace(returncode=1)

    monkeypatch.setattr(setup.subprocess, "run", run)
    result = CliRunner().invoke(setup.site_app, ["mirror", "there", "--git", "own=nowhere"])
    assert result.exit_code == 1
    assert "is now `python -m tools.mirror`" in result.output
    assert commands == [["-m", "tools.mirror", "there", "--git", "own=nowhere"]]


#: Refuses as Spack does in an environment with several `demo@1`, and without our recipes.
STAND_IN = """[ "$1" != --version ] || { echo 1.1.0; exit 0; }
case "$*" in "-E -C "*" demo@1") ;; *) echo "Error: it matches multiple specs"; exit 1 ;; esac
grep -q spack_repo/roundtrip "$3/repos.yaml" || { echo "==> Error: no recipe of demo"; exit 1; }"""


def test_spack_clones_without_an_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one that is concretized, Spack finds the spec once for each MPI, and refuses."""
    write_script(tmp_path / "spack" / "bin" / "spack", STAND_IN)
    monkeypatch.setenv("SPACK_ROOT", str(tmp_path / "spack"))
    source = GitSource(repository="https://example.org/demo.git", commit="0" * 40, spack="demo@1")

    results = filled(tmp_path / "mirror", Sources(git={"demo": source}))

    assert results == {"demo": ("ok", "demo@1, by `spack mirror create`")}


@pytest.mark.parametrize("patch", [False, True])
def test_a_commit_gives_the_same_bytes_for_any_git_settings(
    tmp_path: Path, git_clone: tuple[Path, str], patch: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, commit = git_clone
    source = GitSource(
        repository="-", commit=commit, sha256=WRONG, patch=patch, paths=("kept",), prefix="one/"
    )
    plain_archive = mirror.write_git_archive(source, str(folder), tmp_path / "plain")
    settings = tmp_path / "gitconfig"
    settings.write_text(
        "[tar]\n\tumask = 0077\n[diff]\n\tnoprefix = true\n[format]\n\tsignOff = on\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))

    other_archive = mirror.write_git_archive(source, folder.as_uri(), tmp_path / "fetched")

    assert file_sha256(other_archive) == file_sha256(plain_archive)
    if patch:
        assert "+two" in plain_archive.read_text()
    else:
        with tarfile.open(plain_archive) as tar:
            assert tar.getnames() == ["one", "one/kept"]


def test_a_commit_of_another_checksum_is_not_kept(
    tmp_path: Path, git_clone: tuple[Path, str]
) -> None:
    folder, commit = git_clone
    source = GitSource(repository="-", commit=commit, sha256=WRONG)

    results = filled(tmp_path / "mirror", Sources(git={"own": source}), own=str(folder))

    assert results["own"][0] == "fault"
    assert f"and the recipe wants {WRONG}" in results["own"][1]
    assert not list((tmp_path / "mirror").iterdir())


def test_a_repository_that_is_not_there_fails(tmp_path: Path) -> None:
    source = GitSource(repository=(tmp_path / "gone").as_uri(), commit="0" * 40, sha256=WRONG)

    verdict, reason = filled(tmp_path / "mirror", Sources(git={"own": source}))["own"]

    assert (verdict, reason.partition(":")[0]) == ("fault", "git fetch")


@needs_apt
def test_an_archive_of_debian_lies_where_spack_looks(
    tmp_path: Path, apt_archive: Path, demo: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a mirror that is named by a relative path."""
    monkeypatch.chdir(tmp_path)
    results = filled(Path("carry/mirror"), demo)

    assert results == {"demo": ("ok", "Debian's demo_1.0.orig.tar.xz")}
    folder = tmp_path / "carry" / "mirror"
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert files == [mirror.archive_path(folder, file_sha256(apt_archive), ".tar.xz")]
    assert files[0].read_bytes() == apt_archive.read_bytes()
    apt_archive.unlink()
    assert filled(folder, demo) == {"demo": ("ok", "there already")}


@needs_apt
def test_of_several_versions_that_of_the_recipe_is_taken(
    tmp_path: Path, apt_archive: Path, demo: Sources
) -> None:
    """apt itself takes the newest, where two suites are known."""
    index = (apt_archive.parent / "Sources").read_text()
    newer_index = index.replace("Version: 1.0-1", "Version: 2.0-1").replace(
        file_sha256(apt_archive), WRONG
    )
    with (apt_archive.parent / "Sources").open("a") as file:
        file.write("\n" + newer_index.replace(apt_archive.name, "demo_2.0.orig.tar.xz"))

    assert filled(tmp_path / "mirror", demo) == {"demo": ("ok", f"Debian's {apt_archive.name}")}


@needs_apt
def test_a_broken_archive_is_brought_again(
    tmp_path: Path, apt_archive: Path, demo: Sources
) -> None:
    filled(tmp_path / "mirror", demo)
    archive = mirror.archive_path(tmp_path / "mirror", file_sha256(apt_archive), ".tar.xz")
    archive.write_bytes(b"half of it")

    assert filled(tmp_path / "mirror", demo)["demo"] == ("ok", "Debian's demo_1.0.orig.tar.xz")
    assert archive.read_bytes() == apt_archive.read_bytes()


@needs_apt
def test_another_version_of_debian_is_refused_by_name(tmp_path: Path, apt_archive: Path) -> None:
    source = DebianSource(package="demo", sha256=WRONG)
    verdict, reason = filled(tmp_path / "mirror", Sources(debian={"demo": source}))["demo"]

    assert verdict == "fault"
    assert "another version of source package demo (demo_1.0.orig.tar.xz)" in reason
    assert not list((tmp_path / "mirror").iterdir())


def test_the_real_apt_offers_what_the_recipes_want(tmp_path: Path) -> None:
    """NetPIPE's archive, the smallest, from the Debian that this machine is of."""
    sources = mirror.read_sources([CHECKOUT / mirror.SHIPPED_SOURCES])
    (item,) = mirror.fill_mirror(
        tmp_path, Sources(debian={"netpipe": sources.debian["netpipe"]}), {}
    )
    if item.verdict == "fault":
        pytest.skip(f"needs Debian 12 and its archive: {item.detail}")
    assert item.size == 400248

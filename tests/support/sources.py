"""Where a source mirror is filled from: a pool of Debian sources, and a git repository."""

from __future__ import annotations

import hashlib
import tarfile
from pathlib import Path

import pytest

from support.git import git
from tools import mirror
from tools.mirror import Sources

WRONG = "0" * 64


def checksum(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def filled(folder: Path, sources: Sources, **clones: str) -> dict[str, tuple[str, str]]:
    """Verdict and detail of each source, after the mirror was filled."""
    return {item.name: (item.verdict, item.detail) for item in mirror.fill(folder, sources, clones)}


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The archive of source package `demo` 1.0, which is all that apt knows of."""
    folder = tmp_path / "pool"
    folder.mkdir()
    archive = folder / "demo_1.0.orig.tar.xz"
    (tmp_path / "readme").write_text("demo\n")
    with tarfile.open(archive, "w:xz") as tar:
        tar.add(tmp_path / "readme", "demo-1.0/readme")
    packaging = folder / "demo_1.0-1.debian.tar.xz"
    packaging.write_bytes(b"no source")
    sums = "\n".join(
        f" {checksum(file)} {file.stat().st_size} {file.name}" for file in (archive, packaging)
    )
    common = "Binary: demo\nArchitecture: any\nVersion: 1.0-1\nMaintainer: Nobody <nobody@example>"
    description = folder / "demo_1.0-1.dsc"
    description.write_text(
        f"Format: 3.0 (quilt)\nSource: demo\n{common}\nChecksums-Sha256:\n{sums}\n"
    )
    sums = f" {checksum(description)} {description.stat().st_size} {description.name}\n{sums}"
    (folder / "Sources").write_text(
        f"Package: demo\nFormat: 3.0 (quilt)\n{common}\nDirectory: .\nChecksums-Sha256:\n{sums}\n"
    )
    (folder / "Packages").write_text("")
    etc = tmp_path / "etc"
    (etc / "parts").mkdir(parents=True)
    (etc / "parts" / "pool.list").write_text(f"# a pool\ndeb [trusted=yes] file:{folder} ./\n")
    (etc / "apt.conf").write_text(
        f'Dir::Etc::SourceList "/dev/null";\nDir::Etc::SourceParts "{etc / "parts"}";\n'
    )
    monkeypatch.setenv("APT_CONFIG", str(etc / "apt.conf"))
    return archive


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Path, str]:
    """A git repository with two commits, and the second one's name."""
    folder = tmp_path / "clone"
    folder.mkdir()
    time = "2020-01-01T00:00:00Z"
    git(folder, "init", "--quiet")
    for text in ("one\n", "two\n"):
        (folder / "kept").write_text(text)
        (folder / "left out").write_text(text)
        git(folder, "add", "--all")
        commit = ("commit", "--quiet", "--message", text, f"--date={time}")
        git(folder, *commit, GIT_COMMITTER_DATE=time)
    return folder, git(folder, "rev-parse", "HEAD")

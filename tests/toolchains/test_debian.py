from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from roundtrip.toolchains.debian import Archive, deb822_sources, derive_sources, one_line_sources
from roundtrip.toolchains.process import BuildError

ONE_LINE = """\
# deb http://mirror.example/debian old main
deb [arch=amd64 signed-by=/k.gpg] http://mirror.example/debian bookworm main contrib # why
deb-src http://mirror.example/debian bookworm-updates main
deb cdrom:[Debian 12]/ bookworm main
nonsense
"""
DEB822 = """\
Types: deb
# Types: deb-src of a comment
URIs: http://second.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 -----END PGP PUBLIC KEY BLOCK-----

Types: deb-src
URIs: http://mirror.example/only-sources
Suites: bookworm
Components: main

Enabled: no
Types: deb deb-src
URIs: http://mirror.example/off
Suites: bookworm
Components: main
"""


def test_one_line_format() -> None:
    binary = "[arch=amd64 signed-by=/k.gpg] http://mirror.example/debian bookworm main contrib"
    assert one_line_sources(ONE_LINE).splitlines() == [
        f"deb {binary}",
        f"deb-src {binary}",
        "deb-src http://mirror.example/debian bookworm-updates main",
    ]
    assert one_line_sources("") == ""


def test_one_line_format_of_a_folder_without_components() -> None:
    flat = "http://mirror.example/flat ./"
    assert one_line_sources(f"deb {flat}\ndeb ./\n") == f"deb {flat}\ndeb-src {flat}\n"


def test_one_line_format_repeats_nothing() -> None:
    text = "deb http://m.example/d s main\ndeb-src http://m.example/d s main\n"
    assert one_line_sources(text) == text


def test_deb822_format() -> None:
    derived = deb822_sources(DEB822)
    types = [line for line in derived.splitlines() if line.startswith("Types:")]
    assert types == ["Types: deb deb-src", "Types: deb-src", "Types: deb deb-src"]
    unchanged = [line for line in DEB822.splitlines() if not line.startswith("Types:")]
    assert [line for line in derived.splitlines() if not line.startswith("Types:")] == unchanged


def configuration(etc: Path) -> Path:
    (etc / "sources.list.d").mkdir(parents=True)
    (etc / "sources.list").write_text(ONE_LINE)
    (etc / "sources.list.d" / "debian.sources").write_text(DEB822)
    (etc / "sources.list.d" / "other.list.disabled").write_text("deb http://no.example x main\n")
    return etc


def test_derived_folder(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir()
    derive_sources(configuration(tmp_path / "etc"), private)
    assert sorted(file.name for file in private.iterdir()) == ["debian.sources", "sources.list"]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A package source on disk with source package `hello`; its apt configuration is etc/."""
    folder = tmp_path / "repository"
    folder.mkdir()
    files = {"hello_1.0.orig.tar.xz": b"sources", "hello_1.0-1.dsc": b"Source: hello\n"}
    listed = "Package: hello\nBinary: hello\nVersion: 1.0-1\nDirectory: .\nChecksums-Sha256:\n"
    for name, content in files.items():
        (folder / name).write_bytes(content)
        listed += f" {hashlib.sha256(content).hexdigest()} {len(content)} {name}\n"
    (folder / "Sources").write_text(listed)
    (folder / "Packages").write_text("")
    etc = tmp_path / "etc"
    etc.mkdir()
    (etc / "sources.list").write_text(f"deb [trusted=yes] file:{folder} ./\n")
    return folder


needs_apt = pytest.mark.skipif(not shutil.which("apt-get"), reason="no apt-get here")


@needs_apt
def test_apt_gets_sources_that_the_system_does_not_offer(tmp_path: Path, repository: Path) -> None:
    tar = Archive(tmp_path / "work", tmp_path / "log", tmp_path / "etc").source("hello")
    assert tar.name == "hello_1.0.orig.tar.xz"
    assert tar.read_bytes() == b"sources"


@needs_apt
def test_a_corrupted_download_stops_the_build(tmp_path: Path, repository: Path) -> None:
    (repository / "hello_1.0.orig.tar.xz").write_bytes(b"sOurces")
    archive = Archive(tmp_path / "work", tmp_path / "log", tmp_path / "etc")
    with pytest.raises(BuildError, match="downloading the sources of hello failed") as caught:
        archive.source("hello")
    assert "Hash Sum mismatch" in caught.value.explain(lines=99)


def fake_apt(folder: Path, body: str) -> None:
    folder.mkdir()
    (folder / "apt-get").write_text(f"#!/bin/sh\n{body}\n")
    (folder / "apt-get").chmod(0o755)


def test_downloads_come_from_a_private_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = f"""echo "$@" >>{tmp_path}/calls
case "$*" in
  *"download liby"*) touch libx-dev_1.0_all.deb liby_2.0_all.deb ;;
  *"source --download-only"*) touch boost1.81_1.81.0.orig.tar.xz boost1.81_1.81.0-5.debian.tar.xz ;;
esac"""
    fake_apt(tmp_path / "bin", body)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    etc = configuration(tmp_path / "etc")
    before = {file: file.read_bytes() for file in etc.rglob("*") if file.is_file()}
    archive = Archive(tmp_path / "apt", tmp_path / "log", etc)
    assert [d.name for d in archive.packages(["liby", "libx-dev"])] == [
        "liby_2.0_all.deb",
        "libx-dev_1.0_all.deb",
    ]
    assert archive.source("boost1.81").name == "boost1.81_1.81.0.orig.tar.xz"
    calls = (tmp_path / "calls").read_text().splitlines()
    assert [call.split()[-1] for call in calls] == ["update", "libx-dev", "boost1.81"]
    assert all(f"Dir::Etc::SourceParts={tmp_path}/apt/sources.list.d" in call for call in calls)
    assert all(f"Dir::State::Lists={tmp_path}/apt/lists" in call for call in calls)
    assert {file: file.read_bytes() for file in etc.rglob("*") if file.is_file()} == before

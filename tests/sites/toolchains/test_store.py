"""The store of builds, the commands that make them, and apt's packages."""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.programs import write_script

from roundtrip.sites.toolchains.store import (
    AptClient,
    BuildError,
    ToolchainStore,
    add_deb_src,
    clean_environment,
    run_logged,
)

HOLDER = """
import sys
from pathlib import Path
from roundtrip.sites.toolchains.store import ToolchainStore
with ToolchainStore(Path(sys.argv[1])).lock(lambda: None):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_unit_is_made_once(tmp_path: Path) -> None:
    store, places = ToolchainStore(tmp_path), []

    def make(place: Path) -> None:
        (place / "content").write_text("x")
        places.append(place)

    first, second = store.ensure_unit("k", make), store.ensure_unit("k", make)
    assert first == second == places[0]
    assert len(places) == 1
    assert store.is_complete("k")


def test_a_failed_unit_leaves_nothing(tmp_path: Path) -> None:
    store = ToolchainStore(tmp_path)

    def fail(place: Path) -> None:
        (place / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.ensure_unit("k", fail)
    assert not store.unit_folder("k").exists()


def test_leftovers_of_a_killed_build_are_removed_and_complete_units_stay(tmp_path: Path) -> None:
    """No link is followed out of the store."""
    store, system = ToolchainStore(tmp_path / "store"), tmp_path / "system"
    store.ensure_unit("done", lambda place: None)
    system.mkdir()
    (system / "precious").touch()
    store.unit_folder("killed").mkdir(parents=True)
    (store.unit_folder("killed") / "lib").symlink_to(system)
    (store.root / "work" / "deb").mkdir(parents=True)
    assert not store.is_complete("killed")
    with store.lock(lambda: None):
        assert not store.unit_folder("killed").exists()
        assert not (store.root / "work").exists()
    assert store.is_complete("done")
    assert (system / "precious").exists()


def test_links(tmp_path: Path) -> None:
    store = ToolchainStore(tmp_path)
    assert store.find_linked_key("name") is None
    for key in ("one", "two"):
        store.ensure_unit(key, lambda place: None)
        store.link("name", key)
        assert store.find_linked_key("name") == key
        assert (tmp_path / "name").resolve() == store.unit_folder(key)
    (store.unit_folder("two") / ".complete").unlink()
    assert store.find_linked_key("name") is None


def test_a_second_process_waits(tmp_path: Path) -> None:
    command, pipe = [sys.executable, "-c", HOLDER, str(tmp_path)], subprocess.PIPE
    holder = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
    assert holder.stdin is not None
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    statuses = []

    def waiting() -> None:
        statuses.append(holder.poll())
        holder.communicate("go\n")

    with ToolchainStore(tmp_path).lock(waiting):
        assert statuses == [None]  # it was still held when we began to wait
        assert holder.returncode == 0


def test_output_is_returned_and_logged(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert run_logged("saying", ["sh", "-c", "echo out; echo err >&2"], log) == "out\nerr\n"
    assert log.read_text() == "$ sh -c 'echo out; echo err >&2'\nout\nerr\n"


def test_failure_shows_its_own_last_lines_and_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    run_logged("other", ["echo", "unrelated"], log)
    with pytest.raises(BuildError) as error:
        run_logged("counting", ["sh", "-c", "seq 1 100; exit 3"], log)
    text = error.value.describe_failure(lines=2)
    assert text == f"99\n100\ncounting failed (status 3); whole log: {log}"
    assert "unrelated" in log.read_text()


@pytest.mark.parametrize(
    ("command", "reason"),
    [(["sleep", "9"], "no end after 0 s"), (["/no/such/program"], "No such file or directory")],
)
def test_no_end_and_no_program(tmp_path: Path, command: list[str], reason: str) -> None:
    with pytest.raises(BuildError, match=reason):
        run_logged("it", command, tmp_path / "log", timeout=0.2)


def test_surrounding_jobs_and_flags_do_not_reach_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMPI_CXX", "PMI_RANK", "SLURM_JOB_ID", "CXXFLAGS", "LD_LIBRARY_PATH", "CPATH"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("LANG", "C.UTF-8")
    environment = clean_environment()
    assert "x" not in environment.values()
    assert environment["LANG"] == "C.UTF-8"


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


def test_each_entry_of_binary_packages_offers_sources_as_well() -> None:
    binary = "[arch=amd64 signed-by=/k.gpg] http://mirror.example/debian bookworm main contrib"
    flat = "http://mirror.example/flat ./"
    text = f"{ONE_LINE}deb {flat}\ndeb-src {flat}\ndeb ./\n"
    assert add_deb_src(text, ".list").strip().split("\n\n") == [
        f"deb {binary} # why",
        f"deb-src {binary} # why",
        "deb-src http://mirror.example/debian bookworm-updates main",
        f"deb {flat}",
        f"deb-src {flat}",
    ]
    assert set(add_deb_src(text, ".list", only_sources=True).split("\n")) == {
        *("", f"deb-src {binary} # why", f"deb-src {flat}"),
        "deb-src http://mirror.example/debian bookworm-updates main",
    }
    only_sources = add_deb_src(DEB822, ".sources", only_sources=True)
    assert only_sources.count("\nTypes: deb-src\n") == 2 and "Types: deb " not in only_sources
    sources = add_deb_src(DEB822, ".sources")
    types = [line for line in sources.splitlines() if line.startswith("Types:")]
    assert types == ["Types: deb deb-src", "Types: deb-src", "Types: deb deb-src"]
    other_lines = [line for line in DEB822.splitlines() if not line.startswith("Types:")]
    assert [line for line in sources.splitlines() if not line.startswith("Types:")] == other_lines


@pytest.mark.parametrize(
    ("suffix", "configuration", "expected"),
    [
        (
            ".sources",
            "Types: deb\nURIs: http://x/debian\nSuites: own own-updates\nComponents: main\n\n"
            "Types: deb\nURIs: http://x/security\nSuites: own-security\nComponents: main\n",
            "Types: deb deb-src\nURIs: http://x/debian\nSuites: next\nComponents: main\n",
        ),
        (
            ".list",
            "deb [signed-by=/k] http://x/debian own main\ndeb http://x/debian own-updates main\n",
            "deb-src [signed-by=/k] http://x/debian next main\n",
        ),
    ],
)
def test_another_suite_is_used_where_the_own_one_is(
    monkeypatch: pytest.MonkeyPatch, suffix: str, configuration: str, expected: str
) -> None:
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"VERSION_CODENAME": "own"})
    output = add_deb_src(configuration, suffix, ["next"])
    plain_output = add_deb_src(configuration, suffix)
    assert output.endswith(f"\n\n{expected}")
    assert output.startswith(plain_output.rstrip())
    assert "next" not in plain_output


needs_apt = pytest.mark.skipif(not shutil.which("apt-get"), reason="no apt-get here")


@needs_apt
@pytest.mark.parametrize("only_sources", [False, True])
def test_apt_gets_sources_that_the_system_does_not_offer(
    tmp_path: Path, apt_archive: Path, only_sources: bool
) -> None:
    archive = AptClient(tmp_path / "work", tmp_path / "log", only_sources=only_sources)
    tar = archive.download_source("demo")
    assert tar.name == "demo_1.0.orig.tar.xz"
    assert tar.read_bytes() == apt_archive.read_bytes()
    assert any((tmp_path / "work" / "lists").glob("*_Packages*")) is not only_sources


@needs_apt
def test_a_corrupted_download_stops_the_build(tmp_path: Path, apt_archive: Path) -> None:
    apt_archive.write_bytes(b"x" * apt_archive.stat().st_size)
    archive = AptClient(tmp_path / "work", tmp_path / "log")
    with pytest.raises(BuildError, match="downloading the sources of demo failed") as error:
        archive.download_source("demo")
    assert "Hash Sum mismatch" in error.value.describe_failure(lines=99)


@pytest.mark.parametrize("user", [0, 1000])
def test_downloads_take_private_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    body = f"""echo "$@" >>{tmp_path}/calls
case "$*" in
  *"download liby"*) touch libx-dev_1.0_all.deb liby_2.0_all.deb ;;
  *"source --download-only"*) touch boost1.81_1.81.0.orig.tar.xz boost1.81_1.81.0-5.debian.tar.xz ;;
esac"""
    write_script(tmp_path / "bin" / "apt-get", body)
    etc = tmp_path / "etc"
    write_script(tmp_path / "bin" / "apt-config", f"echo \"SINGLE='{etc}/main'\nPARTS='{etc}'\"")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    etc.mkdir()
    texts = {"main": ONE_LINE, "debian.sources": DEB822, "x.list.disabled": "deb http://no x y\n"}
    for name, text in texts.items():
        (etc / name).write_text(text)
    archive = AptClient(tmp_path / "apt", tmp_path / "log")
    assert [d.name for d in archive.download_packages(["liby", "libx-dev"])] == [
        "liby_2.0_all.deb",
        "libx-dev_1.0_all.deb",
    ]
    assert archive.download_source("boost1.81").name == "boost1.81_1.81.0.orig.tar.xz"
    calls = (tmp_path / "calls").read_text().splitlines()
    assert [call.split()[-1] for call in calls] == ["update", "libx-dev", "boost1.81"]
    assert all(f"Dir::Etc::SourceParts={tmp_path}/apt/sources.list.d" in call for call in calls)
    assert all(f"Dir::State::Lists={tmp_path}/apt/lists" in call for call in calls)
    assert all(("APT::Sandbox::User=root" in call) == (user == 0) for call in calls)
    private_files = sorted(file.name for file in (tmp_path / "apt/sources.list.d").iterdir())
    assert private_files == ["0-main", "1-debian.sources"]
    assert {file.name: file.read_text() for file in etc.iterdir()} == texts

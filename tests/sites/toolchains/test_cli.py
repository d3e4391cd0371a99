from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.programs import script

from roundtrip.sites.machine import installed_packages
from roundtrip.sites.toolchains.spec import catalogue

MAIN = "import sys; from roundtrip.cli import main; sys.argv[0] = 'roundtrip'; main()"


def roundtrip(
    store: Path, *arguments: str, path: str = "/usr/bin:/bin"
) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": path, "HOME": str(store), "ROUNDTRIP_TOOLCHAINS": str(store)}
    return subprocess.run(
        [sys.executable, "-c", MAIN, "toolchains", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_listing_builds_nothing(tmp_path: Path) -> None:
    result = roundtrip(tmp_path, "--list")
    assert result.returncode == 0
    assert [line.split()[0] for line in result.stdout.splitlines()[1:]] == [
        toolchain.name for toolchain in catalogue().available_toolchains
    ]
    assert result.stdout.count("not built") == len(catalogue().available_toolchains)
    assert not (tmp_path / "by-key").exists()


def test_listing_lists_what_is_named(tmp_path: Path) -> None:
    name = catalogue().smoke[0]
    rows = roundtrip(tmp_path, "--list", name).stdout.splitlines()[1:]
    assert [row.split()[0] for row in rows] == [name]
    toolchains = catalogue().select([], everything=True)
    assert len(roundtrip(tmp_path, "--list", "--all").stdout.splitlines()[1:]) == len(toolchains)


def test_unknown_name_is_one_line_and_status_2(tmp_path: Path) -> None:
    result = roundtrip(tmp_path, "gcc13")
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert "mpich50-boost181" in result.stderr


def test_a_failing_build_says_why_and_where_and_leaves_nothing_half_done(tmp_path: Path) -> None:
    name = catalogue().smoke[0]
    if not installed_packages(["openmpi-bin"]):
        pytest.skip("Debian's Open MPI is not installed: make setup")
    programs, store = tmp_path / "programs", tmp_path / "store"
    script(programs / "apt-get", "echo 'E: no mirror answers'; exit 100")
    result = roundtrip(store, name, path=f"{programs}:/usr/bin:/bin")
    assert result.returncode == 1
    log = store / "logs" / f"{name}.log"
    assert result.stderr.splitlines() == [
        "roundtrip: E: no mirror answers",
        f"updating package lists failed (status 100); whole log: {log}",
    ]
    assert "E: no mirror answers" in log.read_text()
    assert not (store / name).exists()
    assert not (store / "work").exists()
    units = list((store / "by-key").iterdir())
    assert all((unit / ".complete").is_file() for unit in units)

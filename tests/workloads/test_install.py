"""`cmake --install`, which Spack runs: every program of workloads/ is installed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from roundtrip import paths
from roundtrip.sites import prebuilt

CHECKOUT = Path(__file__).parents[2]
MPI, BOOST = (paths.toolchains() / name for name in ("openmpi41", "openmpi41-boost181"))

pytestmark = pytest.mark.skipif(
    not (BOOST / "toolchain.json").exists(),
    reason="toolchain openmpi41-boost181 is not installed: make setup",
)


def configure(build: Path, *settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *("cmake", "-G", "Ninja", "-S", CHECKOUT / "workloads", "-B", build),
            *("-D", f"CMAKE_CXX_COMPILER={MPI / 'bin' / 'mpicxx'}", "-D", f"Boost_ROOT={BOOST}"),
            *settings,
        ],
        capture_output=True,
        text=True,
    )


def programs(build: Path, *settings: str) -> dict[str, bool]:
    """Whether each program of a configured build is installed, by CMake's file API."""
    query = build / ".cmake/api/v1/query/codemodel-v2"
    query.parent.mkdir(parents=True)
    query.touch()
    done = configure(build, *settings)
    assert done.returncode == 0, done.stderr
    replies = build / ".cmake/api/v1/reply"
    found: list[dict[str, Any]] = [json.loads(f.read_text()) for f in replies.glob("target-*.json")]
    return {t["name"]: "install" in t for t in found if t["type"] == "EXECUTABLE"}


@pytest.mark.nightly
def test_every_program_is_installed(tmp_path: Path) -> None:
    found = programs(tmp_path / "build")
    with_pvm = {"ring-pvm", "pvm-guard"} if prebuilt.pvm() else set()
    assert {"netpipe", "ddtbench", "npb", "ring", *with_pvm} <= set(found)
    assert [name for name, installed in found.items() if not installed] == []


@pytest.mark.nightly
def test_pvm_can_be_left_out(tmp_path: Path) -> None:
    found = programs(tmp_path / "build", "-D", "ROUNDTRIP_PVM=OFF")
    assert "ring" in found
    assert "ring-pvm" not in found


@pytest.mark.nightly
def test_pvm_that_is_wanted_and_missing_is_an_error(tmp_path: Path) -> None:
    missing = ("PVM_INCLUDE_DIR=PVM_INCLUDE_DIR-NOTFOUND", "CMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF")
    settings = [word for setting in missing for word in ("-D", setting)]
    settings += ["-D", "PVM_LIBRARY=", "-D", "ROUNDTRIP_PVM=ON"]
    done = configure(tmp_path / "build", *settings)
    assert done.returncode != 0
    assert "PVM 3 was not found: install it" in " ".join(done.stderr.split())

"""The build by CMake: what is installed, as Spack does it, and how long the tests may take."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.programs import CHECKOUT, run_program, skip_without_toolchains

from roundtrip import paths
from roundtrip.sites import render
from roundtrip.sites.toolchains.spec import read_catalogue

TOOLCHAIN = read_catalogue().smoke_names[0]
MPI, BOOST = (paths.toolchains() / name for name in (TOOLCHAIN.split("-")[0], TOOLCHAIN))

pytestmark = skip_without_toolchains(TOOLCHAIN)


def configure(
    build: Path, *settings: str, project: str = "workloads"
) -> subprocess.CompletedProcess[str]:
    return run_program(
        *("cmake", "-G", "Ninja", "-S", CHECKOUT / project, "-B", build),
        *("-D", f"CMAKE_CXX_COMPILER={MPI / 'bin' / 'mpicxx'}", "-D", f"Boost_ROOT={BOOST}"),
        *settings,
    )


def programs(build: Path, *settings: str) -> dict[str, bool]:
    """Whether each program of a configured build is installed, by CMake's file API."""
    query = build / ".cmake/api/v1/query/codemodel-v2"
    query.parent.mkdir(parents=True)
    query.touch()
    process = configure(build, *settings)
    assert process.returncode == 0, process.stderr
    replies = build / ".cmake/api/v1/reply"
    targets: list[dict[str, Any]] = [
        json.loads(f.read_text()) for f in replies.glob("target-*.json")
    ]
    return {t["name"]: "install" in t for t in targets if t["type"] == "EXECUTABLE"}


@pytest.mark.nightly
def test_every_program_is_installed(tmp_path: Path) -> None:
    install_states = programs(tmp_path / "build")
    pvm_programs = {"ring-pvm", "pvm-guard"} if render.debian_pvm_features() else set()
    assert {"netpipe", "ddtbench", "npb", "ring", *pvm_programs} <= set(install_states)
    assert [name for name, is_installed in install_states.items() if not is_installed] == []


@pytest.mark.nightly
def test_pvm_can_be_left_out(tmp_path: Path) -> None:
    install_states = programs(tmp_path / "build", "-D", "ROUNDTRIP_PVM=OFF")
    assert "ring" in install_states
    assert "ring-pvm" not in install_states


@pytest.mark.nightly
def test_pvm_that_is_wanted_and_missing_is_an_error(tmp_path: Path) -> None:
    entries = ("PVM_INCLUDE_DIR=PVM_INCLUDE_DIR-NOTFOUND", "CMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF")
    settings = [word for setting in entries for word in ("-D", setting)]
    settings += ["-D", "PVM_LIBRARY=", "-D", "ROUNDTRIP_PVM=ON"]
    process = configure(tmp_path / "build", *settings)
    assert process.returncode != 0
    assert "PVM 3 was not found: install it" in " ".join(process.stderr.split())


CONSUMER = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES NONE)
find_package(roundtrip-{name} REQUIRED)
get_target_property(program roundtrip::{name} LOCATION)
file(WRITE ${{CMAKE_BINARY_DIR}}/program "${{program}}")
"""


@pytest.mark.nightly
@pytest.mark.live
@pytest.mark.parametrize(
    ("name", "tests"), [("npb", r"npb\.parts|npb\.EP\.S\.2"), ("ddtbench", r"ddtbench\.mpi")]
)
def test_a_workload_builds_tests_and_installs_alone(tmp_path: Path, name: str, tests: str) -> None:
    def run(*command: object) -> str:
        process = run_program(*list(map(str, command)))
        assert process.returncode == 0, process.stdout + process.stderr
        return process.stdout

    build, prefix, consumer = (tmp_path / part for part in ("build", "prefix", "consumer"))
    settings = "-D", "BUILD_TESTING=ON", "-D", "CMAKE_DISABLE_FIND_PACKAGE_Boost=ON"
    process = configure(build, *settings, project=f"workloads/{name}")
    assert process.returncode == 0, process.stderr
    run("cmake", "--build", build)
    assert "100% tests passed" in run("ctest", "--test-dir", build, "--tests-regex", tests)
    run("cmake", "--install", build, "--prefix", prefix)
    consumer.mkdir()
    (consumer / "CMakeLists.txt").write_text(CONSUMER.format(name=name))
    run("cmake", "-S", consumer, "-B", consumer / "build", "-D", f"CMAKE_PREFIX_PATH={prefix}")
    program = (consumer / "build" / "program").read_text()
    assert Path(program).is_relative_to(prefix)
    assert run(program, "--version").split() == [name, "1.0.0"]


def limits(build: Path, *settings: str) -> tuple[list[int], ...]:
    """Of the tests in a build that is configured, not made: their limits, s, and their patience.

    Tests that GoogleTest lists when they are built have theirs in the rules for building.
    """
    process = configure(build, "-D", "BUILD_TESTING=ON", *settings)
    assert process.returncode == 0, process.stderr
    files = [build / "build.ninja", *build.rglob("CTestTestfile.cmake")]
    text = "".join(file.read_text() for file in files)
    return tuple(
        sorted({int(number) for number in re.findall(pattern, text)})
        for pattern in (r'TIMEOUT[ ;]"?(\d+)', r"PATIENCE=(\d+)")
    )


@pytest.mark.nightly
def test_sanitized_launches_may_take_eight_times_as_long(tmp_path: Path) -> None:
    plain_limits = limits(tmp_path / "usual")
    assert plain_limits == ([60, 120, 300], [1])
    sanitizer_limits = limits(tmp_path / "sanitized", "-D", "ROUNDTRIP_SANITIZE=address,undefined")
    assert sanitizer_limits == ([480, 960, 2400], [8])

"""The tests of workloads/ by CTest: the quick ones with Open MPI, nightly all with both MPIs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from roundtrip import paths
from roundtrip.toolchains.spec import catalogue

CHECKOUT = Path(__file__).parents[2]
OPEN_MPI, MPICH = catalogue().smoke
STUDIES = sorted(file.parent.name for file in (CHECKOUT / "workloads").glob("*/CMakeLists.txt"))
#: Tests with more ranks than this machine has processors, where waiting ranks keep theirs.
CROWDED = "crowded"
#: What builds for minutes, and times nothing, leaves the processors to tests that run beside it.
#: Linux weighs sessions against each other by their autogroups, which `nice` alone does not change.
_LOWEST = 'echo 19 2>/dev/null >/proc/self/autogroup; exec nice -n 19 "$@"'
IDLY = ("setsid", "--wait", "bash", "-c", _LOWEST, "-")


def build(toolchain: str) -> Path:
    """The folder where campaigns on site `local` build, with the tests."""
    if not (paths.toolchains() / toolchain / "toolchain.json").exists():
        pytest.skip(f"toolchain {toolchain} is not installed: make setup")
    run("make", f"build-{toolchain}")
    return CHECKOUT / "build" / toolchain


def run(*command: str | Path) -> str:
    # Make sets variables for its own children only.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout


def ctest(tree: Path, *selection: str) -> None:
    run("ctest", "--test-dir", tree, "--output-on-failure", "--no-tests=error", *selection)


def of(study: str) -> tuple[str, str]:
    return "--tests-regex", f"^{study}[._]"


@pytest.mark.live
@pytest.mark.parametrize("study", STUDIES)
def test_the_quick_tests_of_a_study(study: str) -> None:
    ctest(build(OPEN_MPI), *of(study), "--label-exclude", f"nightly|{CROWDED}")


@pytest.mark.nightly
@pytest.mark.live
def test_the_nightly_tests_of_all_studies() -> None:
    ctest(build(OPEN_MPI), "--label-regex", "nightly", "--label-exclude", CROWDED)


@pytest.mark.nightly
@pytest.mark.live
@pytest.mark.parametrize("study", STUDIES)
def test_all_tests_of_a_study_with_the_other_mpi(study: str) -> None:
    ctest(build(MPICH), *of(study), "--label-exclude", CROWDED)


@pytest.mark.nightly
@pytest.mark.parametrize("study", STUDIES)
def test_the_sanitizers_find_nothing(study: str) -> None:
    if not (paths.toolchains() / OPEN_MPI / "toolchain.json").exists():
        pytest.skip(f"toolchain {OPEN_MPI} is not installed: make setup")
    run(*IDLY, "make", "sanitize", f"STUDY={study}")


@pytest.mark.nightly
@pytest.mark.xdist_group("clang-tidy")  # it builds in a tree of its own: beside the sanitizers
def test_clang_tidy_finds_nothing() -> None:
    run(*IDLY, "make", "tidy-all")

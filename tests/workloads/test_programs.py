"""The tests of workloads/ by CTest: the quick ones with Open MPI, nightly all with both MPIs."""

from pathlib import Path

import pytest
from support.programs import (
    CHECKOUT,
    LOWEST_PRIORITY_COMMAND,
    describe_missing_toolchains,
    run_in_checkout,
    skip_without_toolchains,
)

from roundtrip.sites.toolchains.spec import read_catalogue

OPEN_MPI, MPICH = read_catalogue().smoke_names
STUDIES = sorted(file.parent.name for file in (CHECKOUT / "workloads").glob("*/CMakeLists.txt"))
#: Tests with more ranks than this machine has processors, where waiting ranks keep theirs.
CROWDED = "crowded"


def build(toolchain: str) -> Path:
    """The folder where campaigns on site `local` build, with the tests."""
    if why := describe_missing_toolchains(toolchain):
        pytest.skip(why)
    run_in_checkout("make", f"build-{toolchain}")
    return CHECKOUT / "build" / toolchain


def ctest(tree: Path, *selection: str) -> None:
    run_in_checkout(
        "ctest", "--test-dir", tree, "--output-on-failure", "--no-tests=error", *selection
    )


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


@skip_without_toolchains(OPEN_MPI)
@pytest.mark.nightly
@pytest.mark.parametrize("study", STUDIES)
def test_the_sanitizers_find_nothing(study: str) -> None:
    run_in_checkout(*LOWEST_PRIORITY_COMMAND, "make", "sanitize", f"STUDY={study}")

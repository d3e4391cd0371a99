"""The workload that `roundtrip study new` writes: it builds, tests itself and measures."""

import json
import os
import shutil
from pathlib import Path

import pytest
from support.programs import CHECKOUT, copy_from_checkout, run_program, skip_without_toolchains

from roundtrip import paths, studies
from roundtrip.measure import launch
from roundtrip.sites.toolchains.spec import read_catalogue

TOOLCHAIN = read_catalogue().smoke_names[0]
MPI, BOOST = (paths.toolchains() / name for name in (TOOLCHAIN.split("-")[0], TOOLCHAIN))
NAME = "barrier"
ENVIRONMENT = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.live,
    skip_without_toolchains(TOOLCHAIN),
]


def run(*command: str | Path, folder: Path) -> str:
    process = run_program(*command, cwd=folder, env=ENVIRONMENT)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The new workload, built in a copy of the tree in which nothing else was touched."""
    tree = tmp_path_factory.mktemp("tree")
    metrics = (CHECKOUT / "src").rglob("metrics.json")
    files = [*metrics, *(CHECKOUT / "workloads").rglob("*")]
    copy_from_checkout((file for file in files if file.is_file()), tree)
    studies.create_study(NAME, tree)
    run(
        *("cmake", "-G", "Ninja", "-S", "workloads", "-B", "build", "-D", "BUILD_TESTING=ON"),
        *("-D", "CMAKE_BUILD_TYPE=Debug"),
        *("-D", f"CMAKE_CXX_COMPILER={MPI / 'bin' / 'mpicxx'}", "-D", f"Boost_ROOT={BOOST}"),
        folder=tree,
    )
    run("cmake", "--build", "build", "--target", NAME, f"{NAME}_mpi_tests", folder=tree)
    return tree / "build"


def test_its_own_tests_pass(build: Path) -> None:
    assert "1/1 Test" in run("ctest", "-R", rf"^{NAME}[.]mpi", folder=build)


@pytest.mark.parametrize("name", ["ab", "barrier", "zebra", "x" * 30])
def test_it_is_small_and_formatted_whatever_its_name(tmp_path: Path, name: str) -> None:
    new_paths = studies.create_study(name, tmp_path)
    files = [tmp_path / file for file in new_paths if file.parts[0] == "workloads"]
    assert sum(len(file.read_text().splitlines()) for file in files) < 130
    shutil.copyfile(CHECKOUT / ".clang-format", tmp_path / ".clang-format")
    sources = [file for file in files if file.suffix in (".cpp", ".hpp")]
    run("clang-format", "--dry-run", "-Werror", *sources, folder=tmp_path)


def test_the_collector_takes_what_it_measures(build: Path, tmp_path: Path) -> None:
    flags = ("--samples", "samples.csv", "--budget", "2")
    output = run(MPI / "bin" / "mpirun", "-n", "2", build / NAME / NAME, *flags, folder=tmp_path)
    assert output.endswith("ROUNDTRIP COMPLETE ranks=2 hosts=1\n")
    case = {"study": NAME, "check": "Any", "display_name": "Any", "hash": "0", "num_tasks": 2}
    place = {"system": "local", "partition": "smp", "environ": "any", "parameters": {}}
    facts = {"schema": 1, "features": [], "extras": {}, "num_nodes": 1}
    (tmp_path / "case.json").write_text(
        json.dumps({**case, **place, **facts, "emulated": None, "simulated": False})
    )
    content = launch.read_launch(tmp_path, tmp_path, "001")
    assert (content.status, content.reason) == ("passed", "")
    points = {point["variant"]: point for point in content.run_record["points"]}
    assert list(points) == ["barrier", "allreduce"]
    assert all(point["samples"] >= 6 and point["verified"] for point in points.values())

"""Prefixes of Debian's MPIs, on a Debian machine that has some."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from roundtrip import tables
from roundtrip.sites import software, spackpart
from roundtrip.sites.software import check_files
from roundtrip.sites.spackpart import External

HELLO = """
#include <mpi.h>
#include <cstdio>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) std::printf("size %d\\n", size);
  return MPI_Finalize();
}
"""


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_a_prefix_compiles_and_starts_with_its_own_mpi(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not shutil.which(f"mpicxx.{name}"):
        pytest.skip(f"no mpicxx.{name}: apt install {name}-bin or {name}")
    for variable in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.setenv(variable, "1")
    external = next(item for item in spackpart.debian_externals(tmp_path) if item.name == name)
    prefix = Path(external.prefix)
    assert prefix.parent == tmp_path
    assert (prefix / "include" / "mpi.h").is_file()
    (tmp_path / "hello.cpp").write_text(HELLO)
    program = tmp_path / "hello"
    compiler = [prefix / "bin" / "mpicxx", tmp_path / "hello.cpp", "-o", program]
    subprocess.run(compiler, check=True, timeout=60)
    starter = [prefix / "bin" / "mpiexec", "-n", "2", program]
    process = subprocess.run(starter, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert process.stdout == "size 2\n", process.stderr


CHECKOUT = Path(__file__).parents[2]
TEMPLATE = software.definitions(CHECKOUT / "site-configs" / "spack" / "spack")
MPIS = (
    External("openmpi", "openmpi@=4.1.4 +fortran", "/p/openmpi"),
    External("mpich", "mpich@=4.0.2 +fortran", "/p/mpich"),
)


def write_part(folder: Path, externals: list[External]) -> dict[str, Any]:
    """Write packages.yaml and definitions.yaml to `folder`; return the packages."""
    (folder / "packages.yaml").write_text(spackpart.external_packages(externals))
    (folder / "definitions.yaml").write_text(spackpart.external_definitions(externals, TEMPLATE))
    packages: dict[str, Any] = tables.load_yaml(folder / "packages.yaml")["packages"]
    return packages


def test_externals_pair_each_boost_with_its_mpi(tmp_path: Path) -> None:
    boosts = [
        External("boost", "boost@=1.81.0 +mpi +serialization ^openmpi@=4.1.4", "/p/b1"),
        External("boost", "boost@=1.81.0 +mpi +serialization ^mpich@=4.0.2", "/p/b2"),
        External("boost", "boost@=1.74.0 +mpi +serialization ^mpich@=4.0.2", "/p/b3"),
    ]
    packages = write_part(tmp_path, [*MPIS, *boosts])
    assert check_files(tmp_path, CHECKOUT / "spack.yaml")[0].verdict == "ok"
    assert "boost@=1.74.0" not in (tmp_path / "definitions.yaml").read_text()
    prefixes = [item["prefix"] for item in packages["boost"]["externals"]]
    assert prefixes == ["/p/b1", "/p/b2", "/p/b3"]
    assert packages["mpi"] == {"buildable": False}


def test_without_a_boost_of_each_mpi_spack_builds_those_of_the_template(tmp_path: Path) -> None:
    packages = write_part(tmp_path, [*MPIS])
    definitions = software.definitions(tmp_path)
    assert definitions["mpis"] == ["openmpi@=4.1.4", "mpich@=4.0.2"]
    assert definitions["boosts"] == TEMPLATE["boosts"]
    assert {"netpipe@3.7.2", "ddtbench@1.2"} <= set(definitions["suites"])
    assert "boost" not in packages

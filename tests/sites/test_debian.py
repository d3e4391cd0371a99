"""Prefixes of Debian's MPIs, on a Debian machine that has some."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from roundtrip.sites import debian

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
    external = next(item for item in debian.externals(tmp_path) if item.name == name)
    prefix = Path(external.prefix)
    assert prefix.parent == tmp_path
    assert (prefix / "include" / "mpi.h").is_file()
    (tmp_path / "hello.cpp").write_text(HELLO)
    program = tmp_path / "hello"
    compiler = [prefix / "bin" / "mpicxx", tmp_path / "hello.cpp", "-o", program]
    subprocess.run(compiler, check=True, timeout=60)
    starter = [prefix / "bin" / "mpiexec", "-n", "2", program]
    done = subprocess.run(starter, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.stdout == "size 2\n", done.stderr


def test_a_package_that_is_not_installed_has_no_version() -> None:
    assert debian.installed_version("no-such-package-anywhere") is None

"""Declared work costs nothing but in a simulation: the compiler makes the same code without it."""

from pathlib import Path

import pytest
from support.programs import run_program

from roundtrip import paths

WORKLOADS = Path(__file__).parents[2] / "workloads"
PROGRAM = """
#include "core/simulation.hpp"

double kernel(const double* values, int count, double per_point) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += values[i] * values[i];
  DECLARE;
  return sum;
}
"""
DECLARED = "roundtrip::work(per_point * count * static_cast<double>(count))"


def code(mpi: str, declare: str, folder: Path) -> str:
    """What the MPI's compiler makes of the kernel."""
    compiler = paths.toolchains() / mpi / "bin" / "mpicxx"
    if not compiler.is_file():
        pytest.skip(f"there is no {compiler.name} of {mpi}: roundtrip toolchains")
    (folder / "kernel.cpp").write_text(PROGRAM)
    options = ["-std=c++20", "-O3", "-I", WORKLOADS, f"-DDECLARE={declare}"]
    process = run_program(compiler, *options, "-S", "-o", "-", "kernel.cpp", cwd=folder, check=True)
    return process.stdout


@pytest.mark.nightly
def test_declared_work_leaves_nothing_in_a_program_that_measures(tmp_path: Path) -> None:
    assembly = code("openmpi41", DECLARED, tmp_path)
    assert "kernel" in assembly
    assert assembly == code("openmpi41", "", tmp_path)


def test_declared_work_reaches_a_simulation(tmp_path: Path) -> None:
    assert "smpi_execute_flops" in code("smpi", DECLARED, tmp_path)
    assert "smpi_execute_flops" not in code("smpi", "", tmp_path)

"""What the bases of cluster sites say, tried on this machine's shell and Open MPI."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from roundtrip.sites import data

CHECKOUT = Path(__file__).parents[2]
WINDOW = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Win window;
  int* memory;
  MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, node, &memory, &window);
  int rank;
  MPI_Comm_rank(node, &rank);
  if (rank == 0) printf("shared\\n");
  MPI_Win_free(&window);
  return MPI_Finalize();
}
"""


def site(name: str) -> data.SiteData:
    return data.load(CHECKOUT / "site-configs" / name / "site.toml", CHECKOUT)


@pytest.mark.parametrize("name", ["infiniband", "roce"])
def test_a_hard_limit_of_pinned_memory_ends_no_build(name: str) -> None:
    """ReFrame runs `prepare` before builds as well, and ends at the first error."""
    if not shutil.which("setpriv") or not shutil.which("prlimit"):
        pytest.skip("no setpriv and prlimit: apt-get install util-linux")
    wrapper = ["prlimit", "--memlock=1048576:2097152"]
    if os.geteuid() == 0:  # root may exceed a hard limit
        wrapper += ["setpriv", "--bounding-set=-sys_resource"]
    for partition in site(name).partition.values():
        script = "\n".join(["set -e", *partition.prepare, "ulimit -S -l"])
        process = subprocess.run([*wrapper, "bash", "-c", script], capture_output=True, text=True)
        assert process.stderr == ""
        assert process.stdout == "2048\n"


def test_a_window_in_shared_memory_opens_with_the_sites_variables(tmp_path: Path) -> None:
    if not shutil.which("mpicc.openmpi"):
        pytest.skip("no mpicc.openmpi: apt-get install libopenmpi-dev openmpi-bin")
    source, program = tmp_path / "window.c", tmp_path / "window"
    source.write_text(WINDOW)
    subprocess.run(["mpicc.openmpi", source, "-o", program], check=True, timeout=60)
    root_variables = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    process = subprocess.run(
        ["mpirun.openmpi", "--oversubscribe", "-n", "2", program],
        env={**os.environ, **root_variables, **site("infiniband").launch["openmpi"].variables},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.stdout == "shared\n", process.stderr

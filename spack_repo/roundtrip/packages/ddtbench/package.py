from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class Ddtbench(Package):
    """DDTBench 1.2 as its authors wrote it (Schneider, Gerstenberger, Hoefler, EuroMPI 2012): the
    reference for our `ddtbench` workload.

    Known to Spack as an installed program only: no checksum of its sources has been verified.
    Build it with `mpicc`, then name its prefix in packages.yaml: `ddtbench@1.2 ^openmpi@5.0`.
    """

    homepage = "https://spcl.inf.ethz.ch/Research/Parallel_Programming/MPI_Datatypes/DDTBench/"
    has_code = False

    version("1.2")

    depends_on("mpi")

    def install(self, spec, prefix):
        raise InstallError(
            "DDTBench is used as installed: name its prefix as an external in packages.yaml"
        )

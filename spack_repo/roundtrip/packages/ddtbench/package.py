# Copyright the Roundtrip authors. See LICENSE-APACHE and LICENSE-MIT in spack_repo.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Ddtbench(MakefilePackage):
    """DDTBench measures what MPI derived datatypes cost against packing by hand.

    It exchanges data in the access patterns of applications (Schneider, Gerstenberger, Hoefler,
    EuroMPI 2012). It needs an MPI with MPI-IO.
    """

    homepage = "https://spcl.inf.ethz.ch/Research/Parallel_Programming/MPI_Datatypes/DDTBench/"
    # The authors have a tarball and no repository. This one changes DDTBench for DBrew; the commit
    # is the one that imports the original.
    git = "https://github.com/truls/dbrew-ddtbench.git"

    license("BSD-3-Clause-Open-MPI")

    version("1.2", commit="7f145f74efe4a23c877e2e17ac1aea471a88269f")

    variant("fortran", default=False, description="Build the Fortran version too")

    depends_on("c", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("mpi")

    parallel = False

    @property
    def programs(self):
        return ["ddtbench_c", *(["ddtbench_f90"] if self.spec.satisfies("+fortran") else [])]

    @property
    def build_targets(self):
        mpi = self.spec["mpi"]
        wrappers = [f"CC={mpi.mpicc}"]
        if self.spec.satisfies("+fortran"):
            wrappers.append(f"FC={mpi.mpifc}")
        return [*self.programs, *wrappers]

    def setup_build_environment(self, env):
        # One buffer is passed as many types; MPICH's wrapper adds this by itself, Open MPI's not.
        if self.spec.satisfies("+fortran %fortran=gcc@10:"):
            env.append_flags("FCFLAGS", "-fallow-argument-mismatch")

    def install(self, spec, prefix):
        mkdirp(prefix.bin)
        for program in self.programs:
            install(program, prefix.bin)

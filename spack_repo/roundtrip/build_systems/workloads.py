# Copyright the Roundtrip authors. See LICENSE-APACHE and LICENSE-MIT in spack_repo.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *

# The checkout of Roundtrip that holds this file: Spack fetches what is committed there.
CHECKOUT = ancestor(__file__, 4)


class WorkloadsPackage(CMakePackage):
    """A CMake project of Roundtrip's folder ``workloads``: C++20 on MPI."""

    git = CHECKOUT

    license("BSD-3-Clause")

    version("main", branch="main")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("cli11@2.1:")
    depends_on("nlohmann-json@3:")
    depends_on("mpi@3:")

    # C++20 with <span>, <bit> and three-way comparison complete.
    conflicts("%gcc@:10", msg="the workloads are C++20: GCC 11 or newer")

    def cmake_args(self):
        return [
            # Spack's `target` sets the instruction set, so that the label tells what was built.
            self.define("ROUNDTRIP_NATIVE", False),
            self.define("BUILD_TESTING", False),
            self.define("MPI_CXX_COMPILER", self.spec["mpi"].mpicxx),
        ]

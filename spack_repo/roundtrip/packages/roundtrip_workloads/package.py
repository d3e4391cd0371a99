# Copyright the Roundtrip authors. See LICENSE-APACHE and LICENSE-MIT in spack_repo.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class RoundtripWorkloads(CMakePackage):
    """Programs of Roundtrip that measure an MPI and Boost.MPI, in C++20.

    They are built from the checkout that holds this recipe (`develop:`).
    """

    homepage = "https://example.org/roundtrip"
    # Never fetched: spack.yaml builds the working tree. Without it Spack finds no fetch strategy.
    git = "https://example.org/roundtrip.git"

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("pvm", default=True, description="Also build what uses PVM 3")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("cli11@2.1:")
    depends_on("nlohmann-json@3:")
    depends_on("mpi@3:")
    depends_on("boost@1.74: +mpi +serialization")
    depends_on("pvm@3.4:", when="+pvm")

    # C++20 with <span>, <bit> and three-way comparison complete.
    conflicts("%gcc@:10", msg="the workloads are C++20: GCC 11 or newer")

    def cmake_args(self):
        return [
            # Spack's `target` sets the instruction set, so that the label tells what was built.
            self.define("ROUNDTRIP_NATIVE", False),
            self.define("BUILD_TESTING", False),
            self.define_from_variant("ROUNDTRIP_PVM", "pvm"),
            self.define("MPI_CXX_COMPILER", self.spec["mpi"].mpicxx),
            self.define("Boost_ROOT", self.spec["boost"].prefix),
        ]

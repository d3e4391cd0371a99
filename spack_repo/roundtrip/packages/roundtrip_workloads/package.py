# Copyright the Roundtrip authors. See LICENSE-APACHE and LICENSE-MIT in spack_repo.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.roundtrip.build_systems.workloads import WorkloadsPackage

from spack.package import *


class RoundtripWorkloads(WorkloadsPackage):
    """Programs of Roundtrip that measure an MPI and Boost.MPI, in C++20.

    They are built from the checkout that holds this recipe (`develop:`).
    """

    variant("pvm", default=True, description="Also build what uses PVM 3")

    depends_on("boost@1.74: +mpi +serialization")
    depends_on("pvm@3.4:", when="+pvm")

    def cmake_args(self):
        return [
            *super().cmake_args(),
            self.define_from_variant("ROUNDTRIP_PVM", "pvm"),
            self.define("Boost_ROOT", self.spec["boost"].prefix),
        ]

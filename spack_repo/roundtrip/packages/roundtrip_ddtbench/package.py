# Copyright the Roundtrip authors. See LICENSE-APACHE and LICENSE-MIT in spack_repo.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.roundtrip.build_systems.workloads import WorkloadsPackage


class RoundtripDdtbench(WorkloadsPackage):
    """DDTBench in C++20: derived datatypes against packing by hand, verified.

    This is the program `ddtbench` alone: it needs no Boost. The source is branch `main` of the
    checkout that holds this recipe; there, `spack develop --path . roundtrip-ddtbench@main` builds
    the working tree instead.
    """

    root_cmakelists_dir = "workloads/ddtbench"

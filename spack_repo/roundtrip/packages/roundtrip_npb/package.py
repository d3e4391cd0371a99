# Copyright the Roundtrip authors. See LICENSE-APACHE and LICENSE-MIT in spack_repo.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.roundtrip.build_systems.workloads import WorkloadsPackage


class RoundtripNpb(WorkloadsPackage):
    """The NAS Parallel Benchmarks in C++20, from their specification, verified.

    This is the program `npb` alone: it needs no Boost. The source is branch `main` of the
    checkout that holds this recipe; there, `spack develop --path . roundtrip-npb@main` builds
    the working tree instead.
    """

    root_cmakelists_dir = "workloads/npb"

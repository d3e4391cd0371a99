# Copyright the Roundtrip authors. See LICENSE-APACHE and LICENSE-MIT in spack_repo.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.builtin.build_systems.generic import Package
from spack_repo.roundtrip.build_systems.workloads import CHECKOUT

from spack.package import *


class Roundtrip(Package):
    """The command `roundtrip`, with ReFrame: MPI benchmark campaigns on a cluster.

    Spack has no recipes for some of its Python packages: pip takes all of them by the lock file,
    from where pip's own variables say (`PIP_INDEX_URL`, or `PIP_NO_INDEX` and `PIP_FIND_LINKS`).
    The source is branch `main` of the checkout that holds this recipe; there,
    `spack develop --path . roundtrip@main` installs the working tree instead.
    """

    git = CHECKOUT

    license("BSD-3-Clause")

    version("main", branch="main")

    depends_on("python@3.11:", type=("build", "run"))

    def install(self, spec, prefix):
        spec["python"].command("-m", "venv", prefix.libexec)
        pip = Executable(prefix.libexec.bin.pip)
        pip("install", "--require-hashes", "-r", "requirements.lock")
        pip("install", "--no-deps", "--no-build-isolation", ".")
        mkdirp(prefix.bin)
        for program in ("roundtrip", "reframe"):
            symlink(join_path(prefix.libexec.bin, program), join_path(prefix.bin, program))

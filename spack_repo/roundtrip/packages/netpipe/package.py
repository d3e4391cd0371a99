# Copyright the Roundtrip authors. See LICENSE-APACHE and LICENSE-MIT in spack_repo.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

import re

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Netpipe(MakefilePackage):
    """NetPIPE measures latency and bandwidth of messages between two ranks of an MPI.

    Debian has it built for Open MPI and for MPICH: `apt install netpipe-openmpi netpipe-mpich2`,
    then `spack external find netpipe`.
    """

    homepage = "http://bitspjoule.org/netpipe/"
    # Without TLS: the checksum counts, and is that of Debian's netpipe_3.7.2.orig.tar.gz.
    url = "http://bitspjoule.org/netpipe/code/NetPIPE-3.7.2.tar.gz"

    executables = [r"^NPopenmpi$", r"^NPmpich2$"]

    license("GPL-1.0-or-later")

    version("3.7.2", sha256="13dac884ff52951636f651c421f5ff4a853218a95aa28a4a852402ee385a2ab8")

    depends_on("c", type="build")
    depends_on("mpi")

    parallel = False

    @classmethod
    def determine_version(cls, exe):
        """Version of Debian's package of the program `exe`: the program itself does not tell."""
        package = "netpipe-" + exe.rsplit("/", 1)[-1][2:]
        query = which("dpkg-query")
        if query is None:
            return None
        said = query("-W", "-f", "${Version}", package, output=str, error=str, fail_on_error=False)
        match = re.match(r"\d+(\.\d+)+", said)
        return match.group(0) if match else None

    @property
    def build_targets(self):
        return ["mpi", f"MPICC={self.spec['mpi'].mpicc}"]

    def install(self, spec, prefix):
        mkdirp(prefix.bin)
        install("NPmpi", prefix.bin)

# Copyright the Roundtrip authors. See LICENSE-APACHE and LICENSE-MIT in spack_repo.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.builtin.packages.mvapich2.package import Mvapich2 as BuiltinMvapich2

from spack.package import *


class Mvapich2(BuiltinMvapich2):
    """MVAPICH2 as Spack has it, its TCP device (`fabrics=nemesis`) mended for GCC 10 and newer."""

    depends_on("automake@1.15", type="build", when="@2.3.7-1")

    def patch(self):
        # No other device compiles these files.
        tcp = join_path("src", "mpid", "ch3", "channels", "nemesis", "netmod", "tcp")
        filter_file("mpierrno", "mpi_errno", join_path(tcp, "tcp_init.c"), string=True)
        filter_file(
            "inet_ntop(AF_INET, addr,",
            "inet_ntop(AF_INET, &addr,",
            join_path(tcp, "tcp_getip.c"),
            string=True,
        )
        filter_file("char* ip[INET", "char ip[INET", join_path(tcp, "tcp_getip.c"), string=True)

    def flag_handler(self, name, flags):
        if name == "cflags" and self.spec.satisfies("%c=gcc@10:"):
            flags.append("-fcommon")  # it defines variables in headers
        return super().flag_handler(name, flags)


# Builtin asks for it always, and needs it for the patch of 2.3.7-1 only.
Mvapich2.dependencies[Spec()].pop("automake")

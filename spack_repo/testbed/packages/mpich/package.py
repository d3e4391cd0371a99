# Copyright the Roundtrip authors. See LICENSE-APACHE and LICENSE-MIT in spack_repo.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.builtin.packages.mpich.package import Mpich as BuiltinMpich

from spack.package import *


class Mpich(BuiltinMpich):
    """MPICH as Spack has it, its 4.0.2 from Debian's source archive."""

    version("4.0.2", sha256="b27039f964afeb6b8a3e009c56b441cbe368c26d6d6476ad3bb7190996875860")

    def url_for_version(self, version):
        if str(version) != "4.0.2":
            return super().url_for_version(version)
        pool = "https://snapshot.debian.org/archive/debian/20230611T000000Z/pool/main"
        return f"{pool}/m/mpich/mpich_{version}.orig.tar.xz"

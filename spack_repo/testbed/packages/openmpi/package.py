# Copyright the Roundtrip authors. See LICENSE-APACHE and LICENSE-MIT in spack_repo.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.builtin.packages.openmpi.package import Openmpi as BuiltinOpenmpi

from spack.package import *


class Openmpi(BuiltinOpenmpi):
    """Open MPI as Spack has it, its 4.1.4 from Debian's source archive."""

    version("4.1.4", sha256="ddaee7dbdb01eb4fab1fda5b5e03e8bbff026711806c095c1f39bb410f99f263")

    # Changes coll/hcoll only, and is the one patch whose checksum git cannot reproduce.
    conflicts("fabrics=hcoll", when="@4.1.4", msg="lacks the fix of open-mpi/ompi#10648")

    def url_for_version(self, version):
        if str(version) != "4.1.4":
            return super().url_for_version(version)
        pool = "https://snapshot.debian.org/archive/debian/20230611T000000Z/pool/main"
        return f"{pool}/o/openmpi/openmpi_{version}.orig.tar.xz"


for patches in Openmpi.patches.values():
    patches[:] = [each for each in patches if "8e6d9ba8058a" not in getattr(each, "url", "")]

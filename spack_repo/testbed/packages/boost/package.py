# Copyright the Roundtrip authors. See LICENSE-APACHE and LICENSE-MIT in spack_repo.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.builtin.packages.boost.package import Boost as BuiltinBoost

from spack.package import *


class Boost(BuiltinBoost):
    """Boost as Spack has it, two versions of it from Debian's source archives.

    These are laid out as in git, where headers are yet to be collected, and lack the parser of b2,
    which bison makes.
    """

    version("1.74.0", sha256="192f5df504d282cb81288f88232d8af45b64a9ab531e1c7cf8ae955f16f6bb28")
    version("1.81.0", sha256="449afecf5ef98edc0a46826cde6af98d1fb95c2e92962fa8c9e3eb1e8a2928ec")

    archives = {"1.74.0": "1.74_1.74.0+ds1", "1.81.0": "1.81_1.81.0"}

    depends_on("bison", type="build", when="@=1.74.0")
    depends_on("bison", type="build", when="@=1.81.0")

    def url_for_version(self, version):
        if str(version) not in self.archives:
            return super().url_for_version(version)
        archive = self.archives[str(version)]
        pool = "https://snapshot.debian.org/archive/debian/20230611T000000Z/pool/main"
        return f"{pool}/b/boost{version.up_to(2)}/boost{archive}.orig.tar.xz"

    @property
    def from_debian(self):
        return str(self.spec.version) in self.archives

    @run_before("install")
    def collect_headers(self):
        if not self.from_debian:
            return
        with working_dir(join_path("tools", "build", "src", "engine")):
            which("bison", required=True)("-d", "-o", "jamgram.cpp", "jamgram.y")
        Executable("./bootstrap.sh")(f"--with-toolset={self.determine_toolset(self.spec)}")
        Executable("./b2")("headers")

    def determine_bootstrap_options(self, spec, with_libs, options):
        super().determine_bootstrap_options(spec, with_libs, options)
        if self.from_debian:
            options.append("--with-bjam=./b2")  # built already


# A header of Boost.Phoenix under its path in a release, which git's layout has elsewhere.
for patches in Boost.patches.values():
    patches[:] = [each for each in patches if "phoenix" not in getattr(each, "relative_path", "")]

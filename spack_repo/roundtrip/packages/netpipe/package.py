import re

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class Netpipe(Package):
    """NetPIPE 3.7.2 as its authors wrote it: the reference for our `netpipe` workload.

    Known to Spack as an installed program only. Debian packages it for Open MPI and for MPICH:
    `apt install netpipe-openmpi netpipe-mpich2`, then `spack external find netpipe`.
    """

    homepage = "https://packages.debian.org/source/stable/netpipe"
    has_code = False

    executables = [r"^NPopenmpi$", r"^NPmpich2$"]

    version("3.7.2")

    depends_on("mpi")

    @classmethod
    def determine_version(cls, exe):
        """The program does not tell: Debian's package does."""
        package = "netpipe-" + exe.rsplit("/", 1)[-1][2:]
        query = which("dpkg-query")
        if query is None:
            return None
        said = query("-W", "-f", "${Version}", package, output=str, error=str, fail_on_error=False)
        match = re.match(r"\d+(\.\d+)+", said)
        return match.group(0) if match else None

    def install(self, spec, prefix):
        raise InstallError(
            "NetPIPE is used as installed: apt install netpipe-openmpi netpipe-mpich2, "
            "then spack external find netpipe"
        )

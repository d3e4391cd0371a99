"""Site `local`: one Debian 12 machine without a scheduler; four MPIs, each with two Boosts."""

import os
import shutil

from roundtrip.sites.launchers import oversubscribed
from roundtrip.sites.prebuilt import environment, installed, pvm, wrappers

_root = os.geteuid() == 0
_as_root = [[f"OMPI_ALLOW_RUN_AS_ROOT{end}", "1"] for end in ("", "_CONFIRM") if _root]
# name: (on show, launcher, its options that bind each rank to a core, Debian's NetPIPE, variables)
_mpis = {
    "openmpi41": ("Open MPI 4.1", "mpirun", ["--bind-to", "core"], "NPopenmpi", _as_root),
    "openmpi50": ("Open MPI 5.0", "mpirun", ["--bind-to", "core"], None, _as_root),
    "mpich40": ("MPICH 4.0", "mpiexec", ["-bind-to", "core"], "NPmpich2", []),
    "mpich50": ("MPICH 5.0", "mpiexec", ["-bind-to", "core"], None, []),
}
_boosts = {"boost174": "Boost 1.74", "boost181": "Boost 1.81"}


def _environment(mpi, boost):
    title, launcher, options, reference, variables = _mpis[mpi]
    one = boost == "boost181"  # what knows no Boost is enough with one of the two
    has_reference = one and reference and shutil.which(reference)
    return environment(
        "local",
        f"{mpi}-{boost}",
        f"{mpi}-{boost}",
        [["PATH", f"{wrappers(mpi)}:$PATH"], *variables],
        ["netpipe-reference"] if has_reference else [],
        suites_in=None if one else f"{mpi}-boost181",
        toolchain=f"{title}, {_boosts[boost]}",
        launcher=launcher,
        launcher_options=options,
        netpipe_reference=reference,
        **oversubscribed(launcher),
    )


_environments = [_environment(mpi, boost) for mpi in _mpis for boost in _boosts]

site_configuration = {
    "systems": [
        {
            "name": "local",
            "descr": "This machine, no scheduler",
            # Chosen by RFM_SYSTEM (`activate` sets it), never by a host name pattern.
            "hostnames": ["^localhost$"],
            "modules_system": "nomod",
            "partitions": [
                {
                    "name": "smp",
                    "descr": "All ranks in this machine, over shared memory",
                    "scheduler": "local",
                    "launcher": "local",  # each environment names its own
                    "environs": installed(_environments),  # `roundtrip run` lists the others
                    "features": ["shared-memory", "oversubscribed", *pvm()],
                    "extras": {"fabric": "shared memory", "binding": "core"},
                    "max_jobs": 1,  # nothing runs beside a timing
                }
            ],
        }
    ],
    "environments": _environments,
}

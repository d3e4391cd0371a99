"""Site `spack`: one machine without a scheduler; Spack builds every MPI and Boost.

Toolchains are those of the active Spack environment, one for each concrete spec of its lock file.
"""

import os

from roundtrip.sites.toolchains import environments, installed

AS_ROOT = (
    [("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]
    if os.geteuid() == 0
    else []
)
# Open MPI's mpirun, and Hydra's mpiexec for all that descend from MPICH: each binds to a core.
HYDRA = ("mpiexec", ["-bind-to", "core"])
ENVIRONMENTS = environments(
    "spack",
    {
        "openmpi": ("mpirun", ["--bind-to", "core"]),
        "mpich": HYDRA,
        "mvapich": HYDRA,
        "mvapich2": HYDRA,
    },
    {"openmpi": AS_ROOT, "mvapich2": [("MV2_ENABLE_AFFINITY", "0")]},  # Hydra binds already
)

site_configuration = {
    "systems": [
        {
            "name": "spack",
            "descr": "This machine, no scheduler, software by Spack",
            # Chosen by RFM_SYSTEM (`activate` sets it), never by a host name pattern.
            "hostnames": ["^localhost$"],
            "modules_system": "nomod",
            "partitions": [
                {
                    "name": "smp",
                    "descr": "All ranks in this machine, over shared memory",
                    "scheduler": "local",
                    "launcher": "local",  # each environment names its own
                    "environs": installed(ENVIRONMENTS),
                    "features": ["shared-memory", "oversubscribed"],
                    "extras": {"fabric": "shared memory", "binding": "core"},
                    "max_jobs": 1,  # nothing runs beside a timing
                }
            ],
        }
    ],
    "environments": ENVIRONMENTS,
}

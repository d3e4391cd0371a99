"""Site `infiniband`: template of a Slurm cluster with InfiniBand; no machine is behind it.

Copy the folder, or let `roundtrip site new NAME` fill one in; then go through every value here.
Toolchains come from the active Spack environment, one for each concrete spec of its lock file.
"""

import os

from roundtrip.sites.toolchains import environments, installed

FABRIC = "infiniband"
HCA = "mlx5_0"  # `ibv_devinfo -l`; of several, the one nearest to the ranks (`lstopo`)
PORT = 1
INTERFACE = "ib0"  # `ip -br link`: the same port as a network interface
PARTITION = "compute"  # `sinfo -s`
# A project to charge, if the cluster wants one: a site file must load without it.
ACCOUNT = os.environ.get("ROUNDTRIP_ACCOUNT")

# How each MPI starts its ranks: `srun` speaks the PMI it was built with (spack/packages.yaml), and
# binds. To start with the MPI's own program: 'openmpi': ('mpirun', ['--bind-to', 'core']) and
# 'mpich': ('mpiexec', ['-bind-to', 'core']).
BIND = ["--cpu-bind=cores", "--distribution=block:block"]
LAUNCH = {
    "openmpi": ("srun", ["--mpi=pmix", *BIND]),
    **{mpi: ("srun", ["--mpi=pmi2", *BIND]) for mpi in ("mpich", "mvapich", "mvapich2")},
}
VARIABLES = {
    # Never fall back to another transport in silence: UCX or nothing. Without `any` Open MPI
    # refuses UCX on a device that is not a Mellanox one, TCP for instance (openucx/ucx#8952).
    "openmpi": [
        ("OMPI_MCA_pml", "ucx"),
        ("OMPI_MCA_osc", "ucx"),
        ("OMPI_MCA_pml_ucx_tls", "any"),
        ("OMPI_MCA_pml_ucx_devices", "any"),
    ],
    # MVAPICH2 2.3 has its own InfiniBand code and its own binding, which would fight srun's.
    "mvapich2": [
        ("MV2_IBA_HCA", HCA),
        ("MV2_DEFAULT_PORT", str(PORT)),
        ("MV2_ENABLE_AFFINITY", "0"),
        ("MV2_USE_HUGEPAGES", "1"),
    ],
}
ENVIRONMENTS = environments("infiniband", LAUNCH, VARIABLES)

# Sibling partitions: same nodes, one transport each. `rc`, `dc` and `ud` are InfiniBand's; `tcp`
# is what the kernel's TCP makes of the same port. `self` and `sm` are needed for ranks in one node.
TRANSPORTS = {
    # name: (devices, UCX transport, MVAPICH2's settings or None if it has no such transport)
    "ib-rc": (f"{HCA}:{PORT}", "rc", [["MV2_USE_UD_HYBRID", "0"]]),  # reliable connections
    "ib-dc": (f"{HCA}:{PORT}", "dc", None),  # dynamic connections: ConnectX-4 or newer
    "ib-ud": (f"{HCA}:{PORT}", "ud", [["MV2_USE_ONLY_UD", "1"]]),  # unreliable datagrams
    "ipoib-tcp": (INTERFACE, "tcp", None),
}


def _partition(name, devices, transport, mvapich2):
    return {
        "name": name,
        "descr": f"{FABRIC}, transport {transport}",
        "scheduler": "slurm",
        "launcher": "srun",
        # Whole nodes below one switch: a neighbour's traffic would be measured too.
        "access": [f"--partition={PARTITION}", "--exclusive", "--switches=1@10:00"]
        + ([f"--account={ACCOUNT}"] if ACCOUNT else []),
        "sched_options": {"use_nodes_option": True},
        "environs": installed(ENVIRONMENTS, without=[] if mvapich2 else ["mvapich2"]),
        "env_vars": [
            ["UCX_NET_DEVICES", devices],
            ["UCX_TLS", f"{transport},self,sm"],
            # Huge pages (`vm.nr_hugepages`) where there are any, else ordinary ones.
            ["UCX_POSIX_HUGETLB_MODE", "try"],
            ["UCX_SYSV_HUGETLB_MODE", "try"],
            *(mvapich2 or []),
        ],
        "prepare_cmds": ["ulimit -l unlimited"],  # RDMA pins memory
        # Shared memory is the same on all of them: measured once.
        "features": ["one-per-node", "hybrid"]
        + ["shared-memory", "oversubscribed"] * (name == next(iter(TRANSPORTS))),
        "extras": {
            **{"fabric": FABRIC, "transport": transport, "device": devices, "binding": "core"},
            "interface": INTERFACE,  # for what speaks IP itself: the ring's datagrams
        },
        "max_jobs": 1,  # jobs side by side share the links
    }


site_configuration = {
    "systems": [
        {
            "name": "infiniband",
            "descr": "Template: Slurm, InfiniBand",
            "hostnames": [r"^login\d+\.infiniband\.example$"],  # chosen by RFM_SYSTEM all the same
            "modules_system": "nomod",
            "partitions": [_partition(name, *values) for name, values in TRANSPORTS.items()],
        }
    ],
    "environments": ENVIRONMENTS,
}

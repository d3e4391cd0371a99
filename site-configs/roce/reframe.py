"""Site `roce`: template of a Slurm cluster with RDMA over Converged Ethernet.

No machine is behind it. Sibling of `infiniband`, which explains what is the same. Here: the device
of an Ethernet port, an address index and a traffic class, which the lossless queue goes by.
"""

import os

from roundtrip.sites.toolchains import environments, installed

FABRIC = "roce"
HCA = "mlx5_0"  # `ibv_devinfo`: link_layer Ethernet
PORT = 1
INTERFACE = "eth0"  # `rdma link`: the network interface of the same port
GID_INDEX = 3  # `show_gids`: the line of the IPv4 address that says v2 (RoCE v2 is routable)
TRAFFIC_CLASS = 106  # the class that the switches treat as lossless: ask who runs them
PARTITION = "compute"
ACCOUNT = os.environ.get("ROUNDTRIP_ACCOUNT")

BIND = ["--cpu-bind=cores", "--distribution=block:block"]
LAUNCH = {
    "openmpi": ("srun", ["--mpi=pmix", *BIND]),
    **{mpi: ("srun", ["--mpi=pmi2", *BIND]) for mpi in ("mpich", "mvapich", "mvapich2")},
}
VARIABLES = {
    "openmpi": [
        ("OMPI_MCA_pml", "ucx"),
        ("OMPI_MCA_osc", "ucx"),
        ("OMPI_MCA_pml_ucx_tls", "any"),
        ("OMPI_MCA_pml_ucx_devices", "any"),
    ],
    "mvapich2": [
        ("MV2_USE_RoCE", "1"),  # sic: the only variable of it in mixed case
        ("MV2_DEFAULT_GID_INDEX", str(GID_INDEX)),
        ("MV2_IBA_HCA", HCA),
        ("MV2_DEFAULT_PORT", str(PORT)),
        ("MV2_ENABLE_AFFINITY", "0"),
        ("MV2_USE_HUGEPAGES", "1"),
    ],
}
ENVIRONMENTS = environments("roce", LAUNCH, VARIABLES)
TRANSPORTS = {
    # name: (devices, UCX transport, MVAPICH2's settings or None if it has no such transport)
    "roce-rc": (f"{HCA}:{PORT}", "rc", [["MV2_USE_UD_HYBRID", "0"]]),  # reliable connections
    "roce-ud": (f"{HCA}:{PORT}", "ud", [["MV2_USE_ONLY_UD", "1"]]),  # unreliable datagrams
    "ethernet-tcp": (INTERFACE, "tcp", None),
}


def _partition(name, devices, transport, mvapich2):
    return {
        "name": name,
        "descr": f"{FABRIC}, transport {transport}",
        "scheduler": "slurm",
        "launcher": "srun",
        "access": [f"--partition={PARTITION}", "--exclusive"]
        + ([f"--account={ACCOUNT}"] if ACCOUNT else []),
        "sched_options": {"use_nodes_option": True},
        "environs": installed(ENVIRONMENTS, without=[] if mvapich2 else ["mvapich2"]),
        "env_vars": [
            ["UCX_NET_DEVICES", devices],
            ["UCX_TLS", f"{transport},self,sm"],
            ["UCX_IB_GID_INDEX", str(GID_INDEX)],
            ["UCX_IB_TRAFFIC_CLASS", str(TRAFFIC_CLASS)],
            ["UCX_POSIX_HUGETLB_MODE", "try"],
            ["UCX_SYSV_HUGETLB_MODE", "try"],
            *(mvapich2 or []),
        ],
        "prepare_cmds": ["ulimit -l unlimited"],
        "features": ["one-per-node", "hybrid"]
        + ["shared-memory", "oversubscribed"] * (name == next(iter(TRANSPORTS))),
        "extras": {
            **{"fabric": FABRIC, "transport": transport, "device": devices, "binding": "core"},
            "interface": INTERFACE,
        },
        "max_jobs": 1,
    }


site_configuration = {
    "systems": [
        {
            "name": "roce",
            "descr": "Template: Slurm, RDMA over Converged Ethernet",
            "hostnames": [r"^login\d+\.roce\.example$"],
            "modules_system": "nomod",
            "partitions": [_partition(name, *values) for name, values in TRANSPORTS.items()],
        }
    ],
    "environments": ENVIRONMENTS,
}

"""Site `virtual`: two virtual Slurm clusters and an emulated WAN, in one machine (testbed/)."""

import os
import pathlib
import shlex

from roundtrip.sites.prebuilt import environment, installed, pvm

_vcluster = str(pathlib.Path(__file__).resolve().parents[2] / "testbed" / "vcluster")
_lease = f"{shlex.quote(_vcluster)} lease"

# ReFrame's `slurm` needs sacct, hence a cluster that is up with --accounting; `squeue` does not.
_slurm_conf = pathlib.Path("/etc/slurm/slurm.conf")
_cluster = _slurm_conf.read_text() if _slurm_conf.exists() else ""
_accounting = "accounting_storage/slurmdbd" in _cluster
_hub = "Feature=clusterA,hub" in _cluster

# On a hub, Slurm has a network of its own (eth0), which MPI must not use.
_devices = ("OMPI_MCA_btl_tcp_if_include", "FI_TCP_IFACE", "FI_UDP_IFACE", "UCX_NET_DEVICES")
_fabric = [[name, "eth1"] for name in _devices]
# Many ranks share few cores: without yielding, one that waits keeps others from working.
_ob1 = [["OMPI_MCA_pml", "ob1"], ["OMPI_MCA_mpi_yield_when_idle", "1"]]
_sm4, _sm5 = (["OMPI_MCA_btl", f"tcp,{shared},self"] for shared in ("vader", "sm"))
_ofi, _ucx = (["MPIR_CVAR_CH4_NETMOD", netmod] for netmod in ("ofi", "ucx"))
_tcp, _udp = (["FI_PROVIDER", provider] for provider in ("tcp", "'udp;ofi_rxd'"))
_gds = ["PMIX_MCA_gds", "hash"]
_tls = ["UCX_TLS", "tcp,self,posix,sysv"]
# name: (on show, toolchain, how srun starts it, environment)
_transports = {
    "openmpi41-tcp": ("Open MPI 4.1 over TCP", "openmpi41", "pmix", [*_ob1, _sm4]),
    "openmpi50-tcp": ("Open MPI 5.0 over TCP", "openmpi50", "pmix", [*_ob1, _sm5, _gds]),
    "mpich40-ucx": ("MPICH 4.0 over UCX on TCP", "mpich40", "pmi2", [_tls]),
    "mpich50-tcp": ("MPICH 5.0 over TCP", "mpich50", "pmi2", [_ofi, _tcp]),
    "mpich50-udp": ("MPICH 5.0 over UDP", "mpich50", "pmi2", [_ofi, _udp]),
    "mpich50-ucx": ("MPICH 5.0 over UCX on TCP", "mpich50", "pmi2", [_ucx, _tls]),
}
_environments = [
    environment(
        *("virtual", name, f"{mpi}-boost181", [*_fabric, *variables]),
        toolchain=title,
        # Slurm's own default would start MPICH as singletons, without an error.
        launcher_options=[f"--mpi={pmi}"],
    )
    for name, (title, mpi, pmi, variables) in _transports.items()
]
# On a slow link libfabric's reliable UDP loses a message now and then, and all wait for ever.
_installed = [name for name in installed(_environments) if not (_hub and name == "mpich50-udp")]

# Four nodes each, unless booted with fewer.
_inside = ["one-per-node", "shared-memory", "hybrid", "multi-node", "ranks-4"]


def _partition(name, descr, features, emulated=None, **extras):
    return {
        "name": name,
        "descr": descr,
        "scheduler": "slurm" if _accounting else "squeue",
        "launcher": "srun",
        "access": [f"--partition={name}"],
        "environs": _installed,
        "features": ["slurm", *features, *pvm()],
        # All nodes share these: more ranks are slower than on nodes of their own.
        "extras": {
            **{"fabric": "emulated ethernet", "interface": "eth1", "binding": "none"},
            "processors": os.cpu_count(),
            "emulated": {"nodes": "namespaces of one machine", **(emulated or {})},
            **extras,
        },
        "max_jobs": 1,  # nothing runs beside a timing
    }


_on_hub = _partition(
    "grid",
    "All nodes on an emulated 10BASE-T hub",
    ["hub", "one-per-node", "hybrid", "multi-node"],
    emulated={"hub_mbit_s": 10},
    lease=_lease,
)
_within = [_partition(f"cluster{name}", f"Inside cluster {name}", _inside) for name in "AB"]
_across = _partition(
    "grid",
    "Across both clusters, over the emulated WAN",
    ["wan", "multi-node", "ranks-4"],
    lease=_lease,
    across=["--constraint=[clusterA*{nodes}&clusterB*{nodes}]"],
)
site_configuration = {
    "systems": [
        {
            "name": "virtual",
            "descr": "Two virtual clusters of testbed/vcluster in one machine",
            "hostnames": ["^head$"],
            "modules_system": "nomod",
            "partitions": [_on_hub] if _hub else [*_within, _across],
        }
    ],
    "environments": _environments,
}

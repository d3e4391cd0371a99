"""Site `virtual`: two virtual Slurm clusters and an emulated WAN, in one machine (testbed/)."""

import os
import pathlib

_home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
_toolchains = os.environ.get("ROUNDTRIP_TOOLCHAINS") or f"{_home}/roundtrip/toolchains"
_vcluster = str(pathlib.Path(__file__).resolve().parents[2] / "testbed" / "vcluster")

# ReFrame's `slurm` needs sacct, hence a cluster that is up with --accounting; `squeue` does not.
_slurm_conf = pathlib.Path("/etc/slurm/slurm.conf")
_cluster = _slurm_conf.read_text() if _slurm_conf.exists() else ""
_accounting = "accounting_storage/slurmdbd" in _cluster
_hub = "Feature=clusterA,hub" in _cluster

# On a hub, Slurm has a network of its own (eth0), which MPI must not use.
_fabric = [
    [name, "eth1"]
    for name in ("OMPI_MCA_btl_tcp_if_include", "FI_TCP_IFACE", "FI_UDP_IFACE", "UCX_NET_DEVICES")
]
# Many ranks share few cores: without yielding, one that waits keeps others from working.
_yield = ["OMPI_MCA_mpi_yield_when_idle", "1"]
# name: (on show, toolchain, how srun starts it, environment)
_transports = {
    "openmpi41-tcp": (
        "Open MPI 4.1 over TCP",
        "openmpi41-boost181",
        "pmix",
        [["OMPI_MCA_pml", "ob1"], ["OMPI_MCA_btl", "tcp,vader,self"], _yield],
    ),
    "openmpi50-tcp": (
        "Open MPI 5.0 over TCP",
        "openmpi50-boost181",
        "pmix",
        [
            ["OMPI_MCA_pml", "ob1"],
            ["OMPI_MCA_btl", "tcp,sm,self"],
            ["PMIX_MCA_gds", "hash"],
            _yield,
        ],
    ),
    "mpich40-ucx": (
        "MPICH 4.0 over UCX on TCP",
        "mpich40-boost181",
        "pmi2",
        [["UCX_TLS", "tcp,self,posix,sysv"]],
    ),
    "mpich50-tcp": (
        "MPICH 5.0 over TCP",
        "mpich50-boost181",
        "pmi2",
        [["MPIR_CVAR_CH4_NETMOD", "ofi"], ["FI_PROVIDER", "tcp"]],
    ),
    "mpich50-udp": (
        "MPICH 5.0 over UDP",
        "mpich50-boost181",
        "pmi2",
        [["MPIR_CVAR_CH4_NETMOD", "ofi"], ["FI_PROVIDER", "'udp;ofi_rxd'"]],
    ),
    "mpich50-ucx": (
        "MPICH 5.0 over UCX on TCP",
        "mpich50-boost181",
        "pmi2",
        [["MPIR_CVAR_CH4_NETMOD", "ucx"], ["UCX_TLS", "tcp,self,posix,sysv"]],
    ),
}
_installed = [
    name
    for name, (_, toolchain, _, _) in _transports.items()
    if os.path.exists(f"{_toolchains}/{toolchain}/toolchain.json")
    # On a slow link libfabric's reliable UDP loses a message now and then, and all wait for ever.
    and not (_hub and name == "mpich50-udp")
]


# Each cluster has four nodes unless it was booted with fewer.
_inside = ["one-per-node", "shared-memory", "hybrid", "multi-node", "ranks-4"]
# NPB 3.4 built with an MPI of this site: for each a folder of <bench>.<class>.x.
_npb = os.environ.get("ROUNDTRIP_NPB") or f"{_toolchains}/npb"
# OSU Micro-Benchmarks built with an MPI of this site: a prefix for each.
_osu = os.environ.get("ROUNDTRIP_OSU") or f"{_toolchains}/osu"


def _partition(name, descr, features, emulated=None, **extras):
    return {
        "name": name,
        "descr": descr,
        "scheduler": "slurm" if _accounting else "squeue",
        "launcher": "srun",
        "access": [f"--partition={name}"],
        "environs": _installed,
        "features": ["slurm", *features],
        # All nodes share these: more ranks are slower than on nodes of their own.
        "extras": {
            "processors": os.cpu_count(),
            "interface": "eth1",
            "emulated": {"nodes": "namespaces of one machine", **(emulated or {})},
            **extras,
        },
        "max_jobs": 1,  # nothing runs beside a timing
    }


def _environment(name, title, toolchain, pmi, variables):
    mpi = toolchain.split("-")[0]
    wrappers = f"{_toolchains}/{mpi}/bin"
    return {
        "name": name,
        "cc": f"{wrappers}/mpicc",
        "cxx": f"{wrappers}/mpicxx",
        "ftn": "",
        "env_vars": [["Boost_ROOT", f"{_toolchains}/{toolchain}"], *_fabric, *variables],
        "features": [
            *("mpi", "boost"),
            *(["npb-upstream"] if os.path.isdir(f"{_npb}/{mpi}") else []),
            *(["osu"] if os.path.isdir(f"{_osu}/{mpi}") else []),
        ],
        "extras": {
            "toolchain": title,
            "prefix": f"{_toolchains}/{toolchain}",
            "build": toolchain,
            "npb_upstream": f"{_npb}/{mpi}",
            "osu_prefix": f"{_osu}/{mpi}",
            "lacks": {
                "npb-upstream": f"build NPB 3.4 into {_npb}/{mpi}",
                "osu": f"in its source: ./configure CC={wrappers}/mpicc CXX={wrappers}/mpicxx "
                f"--prefix={_osu}/{mpi} && make -k install",
            },
            # Slurm's own default would start MPICH as singletons, without an error.
            "launcher_options": [f"--mpi={pmi}"],
        },
        "target_systems": ["virtual"],
    }


site_configuration = {
    "systems": [
        {
            "name": "virtual",
            "descr": "Two virtual clusters of testbed/vcluster in one machine",
            "hostnames": ["^head$"],
            "modules_system": "nomod",
            "partitions": [
                _partition(
                    "grid",
                    "All nodes on an emulated 10BASE-T hub",
                    ["hub", "one-per-node", "hybrid", "multi-node"],
                    emulated={"hub_mbit_s": 10},
                ),
            ]
            if _hub
            else [
                _partition("clusterA", "Inside cluster A", _inside),
                _partition("clusterB", "Inside cluster B", _inside),
                _partition(
                    "grid",
                    "Across both clusters, over the emulated WAN",
                    ["wan", "multi-node", "ranks-4"],
                    wan_control=f"{_vcluster} wan",
                    across=["--constraint=[clusterA*{nodes}&clusterB*{nodes}]"],
                ),
            ],
        }
    ],
    "environments": [_environment(name, *values) for name, values in _transports.items()],
}

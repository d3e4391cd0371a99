"""Site `odin`: the cluster of the Boost.MPI study, about 2005; for simulation and documentation.

Indiana University: 128 nodes with two AMD Opterons and 4 GB each, InfiniBand; Intel C++ 9.0,
Open MPI 1.1, Boost 1.35 (prerelease). Source: Boost.MPI's documentation, "Performance Evaluation".
The study does not name the adapter or its rate: what a simulation assumes is marked `assumed`.
It has no feature that a check asks for, so that nothing is ever run or reported as Odin by mistake.
"""

site_configuration = {
    "systems": [
        {
            "name": "odin",
            "descr": "Historical: 128 nodes, InfiniBand, 2005; nothing runs here",
            "hostnames": [r"^odin\d+\.historical\.invalid$"],
            "modules_system": "nomod",
            "partitions": [
                {
                    "name": "infiniband",
                    "descr": "The 128 nodes of the study",
                    "scheduler": "local",
                    "launcher": "local",
                    "environs": ["openmpi11-boost135"],
                    "features": ["historical"],
                    "processor": {
                        "arch": "x86_64",
                        "vendor": "AMD",
                        "num_cpus": 2,  # single-core Opterons
                        "num_sockets": 2,
                        "num_cpus_per_socket": 1,
                    },
                    "extras": {
                        "fabric": "infiniband",
                        "binding": "none",  # two ranks never shared a node in the study
                        "nodes": 128,
                        "memory_gb": 4,
                        "assumed": {"link": "SDR 4x", "bandwidth_mb_s": 950, "latency_us": 4.5},
                    },
                    "max_jobs": 1,
                }
            ],
        }
    ],
    "environments": [
        {
            "name": "openmpi11-boost135",
            "cxx": "icpc",
            "features": ["historical"],
            "extras": {"toolchain": "Open MPI 1.1, Boost 1.35 (prerelease), Intel C++ 9.0"},
            "target_systems": ["odin"],
        }
    ],
}

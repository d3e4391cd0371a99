"""Site `local`: one Debian 12 machine without a scheduler; four MPIs, each with two Boosts."""

import os
import shutil

_home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
_toolchains = os.environ.get("ROUNDTRIP_TOOLCHAINS") or f"{_home}/roundtrip/toolchains"
_as_root = (
    [["OMPI_ALLOW_RUN_AS_ROOT", "1"], ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"]]
    if os.geteuid() == 0
    else []
)
# OSU Micro-Benchmarks built with an MPI of this site: a prefix for each.
_osu = os.environ.get("ROUNDTRIP_OSU") or f"{_toolchains}/osu"
# More ranks than processors: no binding, and Open MPI wants to be told.
_oversubscribed = {
    "mpirun": ["--bind-to", "none", "--map-by", ":OVERSUBSCRIBE"],
    "mpiexec": ["-bind-to", "none"],
}
_pvm = ["pvm"] if shutil.which("pvmd") and os.path.exists("/usr/include/pvm3.h") else []
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
    # What knows no Boost is enough with one of the two.
    has_reference = reference and boost == "boost181" and shutil.which(reference)
    has_osu = boost == "boost181" and os.path.isdir(f"{_osu}/{mpi}")
    return {
        "name": f"{mpi}-{boost}",
        "cc": f"{_toolchains}/{mpi}/bin/mpicc",
        "cxx": f"{_toolchains}/{mpi}/bin/mpicxx",
        "ftn": "",
        "env_vars": [
            ["PATH", f"{_toolchains}/{mpi}/bin:$PATH"],
            ["Boost_ROOT", f"{_toolchains}/{mpi}-{boost}"],
            *variables,
        ],
        "features": [
            *("mpi", "boost"),
            *(["netpipe-reference"] if has_reference else []),
            *(["osu"] if has_osu else []),
        ],
        "extras": {
            "toolchain": f"{title}, {_boosts[boost]}",
            "prefix": f"{_toolchains}/{mpi}-{boost}",
            "build": f"{mpi}-{boost}",
            "launcher": launcher,
            "launcher_options": options,
            "launcher_options_oversubscribed": _oversubscribed[launcher],
            "netpipe_reference": reference,
            "osu_prefix": f"{_osu}/{mpi}",
            "lacks": {
                "osu": f"in its source: ./configure CC={_toolchains}/{mpi}/bin/mpicc "
                f"CXX={_toolchains}/{mpi}/bin/mpicxx --prefix={_osu}/{mpi} && make -k install"
                if boost == "boost181"
                else f"it knows no Boost, {mpi}-boost181 is enough"
            },
        },
        "target_systems": ["local"],
    }


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
                    # Those that `make toolchains` has built; `roundtrip run` lists the others.
                    "environs": [
                        environment["name"]
                        for environment in _environments
                        if os.path.exists(f"{environment['extras']['prefix']}/toolchain.json")
                    ],
                    "features": ["shared-memory", "oversubscribed", *_pvm],
                    "max_jobs": 1,  # nothing runs beside a timing
                }
            ],
        }
    ],
    "environments": _environments,
}

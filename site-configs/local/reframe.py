"""Site `local`: one Debian 12 machine without a scheduler; four MPIs, each with two Boosts."""

import os
import shutil

_home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
_toolchains = os.environ.get("ROUNDTRIP_TOOLCHAINS") or f"{_home}/roundtrip/toolchains"
_root = os.geteuid() == 0
_as_root = [[f"OMPI_ALLOW_RUN_AS_ROOT{end}", "1"] for end in ("", "_CONFIRM") if _root]
# For each MPI NPB 3.4 (a folder of <bench>.<class>.x) and OSU (a prefix), if somebody built them.
_npb = os.environ.get("ROUNDTRIP_NPB") or f"{_toolchains}/npb"
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
    one = boost == "boost181"
    elsewhere = f"it knows no Boost, {mpi}-boost181 is enough"
    wrappers = f"CC={_toolchains}/{mpi}/bin/mpicc CXX={_toolchains}/{mpi}/bin/mpicxx"
    make_osu = f"in its source: ./configure {wrappers} --prefix={_osu}/{mpi} && make -k install"
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
            *(["netpipe-reference"] if one and reference and shutil.which(reference) else []),
            *(["npb-upstream"] if one and os.path.isdir(f"{_npb}/{mpi}") else []),
            *(["osu"] if one and os.path.isdir(f"{_osu}/{mpi}") else []),
        ],
        "extras": {
            "toolchain": f"{title}, {_boosts[boost]}",
            "prefix": f"{_toolchains}/{mpi}-{boost}",
            "build": f"{mpi}-{boost}",
            "launcher": launcher,
            "launcher_options": options,
            "launcher_options_oversubscribed": _oversubscribed[launcher],
            "netpipe_reference": reference,
            "npb_upstream": f"{_npb}/{mpi}",
            "osu_prefix": f"{_osu}/{mpi}",
            "lacks": {
                "npb-upstream": f"build NPB 3.4 into {_npb}/{mpi}" if one else elsewhere,
                "osu": make_osu if one else elsewhere,
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

"""ReFrame environments of toolchains that ``roundtrip toolchains`` has built, without Spack.

NPB 3.4 (a folder of ``<bench>.<class>.x``) and OSU Micro-Benchmarks (a prefix) are offered for
each MPI if somebody put them into ``$ROUNDTRIP_NPB`` and ``$ROUNDTRIP_OSU``, by default folders
beside the toolchains.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from roundtrip import paths
from roundtrip.sites import nothing
from roundtrip.toolchains.spec import Toolchain

#: The feature of an environment whose times come from a model.
SIMULATED = "simulated"


def environment(
    system: str,
    name: str,
    made: Toolchain,
    variables: Mapping[str, str],
    extras: Mapping[str, object],
    *,
    suites_in: str | None = None,
    netpipe: bool = False,
) -> dict[str, Any]:
    """Environment `name` of `system`, with the toolchain `made` whether it is built or not.

    `suites_in` is the toolchain that offers this MPI's NPB, OSU and NetPIPE, which know no Boost,
    if it is another one.  `netpipe`: Debian's NetPIPE is offered, where it is installed.  The
    launcher among the `extras` is one of the MPI's own programs unless it is srun.
    """
    mpi = made.mpi
    store = paths.toolchains()
    prefix, tools = f"{store}/{made.name}", f"{store}/{mpi.name}/bin"
    npb = f"{os.environ.get('ROUNDTRIP_NPB') or store / 'npb'}/{mpi.name}"
    osu = f"{os.environ.get('ROUNDTRIP_OSU') or store / 'osu'}/{mpi.name}"
    elsewhere = f"it knows no Boost, {suites_in} is enough" if suites_in else None
    compilers = f"CC={tools}/mpicc CXX={tools}/mpicxx"
    configure = " ".join([*mpi.of_family.configure, "./configure"])
    make_osu = f"build it in its source: {configure} {compilers} --prefix={osu} && make -k install"
    places = {"npb-upstream": npb, "osu": osu}
    reference = mpi.netpipe if netpipe else None
    offered = [key for key, place in places.items() if Path(place).is_dir()]
    if reference and shutil.which(reference):
        offered.insert(0, "netpipe-reference")
    kind = [SIMULATED] if mpi.of_family.simulator else []
    own_launcher = extras.get("launcher") not in (None, "srun")
    return {
        "name": name,
        "cc": f"{tools}/mpicc",
        "cxx": f"{tools}/mpicxx",
        "ftn": "",
        "env_vars": [
            ["Boost_ROOT", prefix],
            *([["PATH", f"{tools}:$PATH"]] if own_launcher else []),
            *map(list, variables.items()),
        ],
        "features": ["mpi", "boost", *kind, *([] if elsewhere else offered)],
        "extras": {
            "toolchain": f"{mpi.title}, Boost {made.boost.series}",
            "mpi": mpi.family,
            "mpi_version": mpi.series,
            "boost_version": made.boost.series,
            "prefix": prefix,
            "build": made.name,
            "npb_upstream": npb,
            "osu_prefix": osu,
            **({"netpipe_reference": reference} if netpipe else {}),
            "lacks": {
                "npb-upstream": elsewhere or f"build NPB 3.4 into {npb}",
                "osu": elsewhere or make_osu,
            },
            **extras,
        },
        "target_systems": [system],
    }


def pvm() -> list[str]:
    """The feature of a machine on which Debian's PVM 3 can be built for and run."""
    return ["pvm"] if shutil.which("pvmd") and Path("/usr/include/pvm3.h").exists() else []


def installed(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of those `environment`s whose toolchain is built."""
    names = [
        item["name"] for item in found if Path(item["extras"]["prefix"], "toolchain.json").exists()
    ]
    if not names:
        (system,) = found[0]["target_systems"]
        nothing.tell(system, f"no toolchain in {paths.toolchains()}: `make setup`")
    return names

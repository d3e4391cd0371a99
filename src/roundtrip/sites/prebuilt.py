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


def wrappers(mpi: str) -> str:
    """Folder of an MPI's compiler wrappers and launcher."""
    return f"{paths.toolchains()}/{mpi}/bin"


def environment(
    system: str,
    name: str,
    build: str,
    variables: Sequence[Sequence[str]],
    features: Sequence[str] = (),
    suites_in: str | None = None,
    **extras: object,
) -> dict[str, Any]:
    """Environment `name` of `system`, built with toolchain `build` (``<mpi>-<boost>``).

    `suites_in` is the toolchain that offers this MPI's NPB and OSU, which know no Boost, if it is
    another one.
    """
    mpi = build.split("-")[0]
    store = paths.toolchains()
    prefix, tools = f"{store}/{build}", wrappers(mpi)
    npb = f"{os.environ.get('ROUNDTRIP_NPB') or store / 'npb'}/{mpi}"
    osu = f"{os.environ.get('ROUNDTRIP_OSU') or store / 'osu'}/{mpi}"
    elsewhere = f"it knows no Boost, {suites_in} is enough" if suites_in else None
    compilers = f"CC={tools}/mpicc CXX={tools}/mpicxx"
    make_osu = f"in its source: ./configure {compilers} --prefix={osu} && make -k install"
    places = {"npb-upstream": npb, "osu": osu}
    return {
        "name": name,
        "cc": f"{tools}/mpicc",
        "cxx": f"{tools}/mpicxx",
        "ftn": "",
        "env_vars": [["Boost_ROOT", prefix], *map(list, variables)],
        "features": [
            *("mpi", "boost"),
            *features,
            *(key for key, place in places.items() if not elsewhere and Path(place).is_dir()),
        ],
        "extras": {
            "prefix": prefix,
            "build": build,
            "npb_upstream": npb,
            "osu_prefix": osu,
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

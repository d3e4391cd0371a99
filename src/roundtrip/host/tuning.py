"""What tunes MPI from outside of site and toolchain: variables of the user's shell, and files of
parameters in the user's home."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path

#: Beginnings of variables by which MPIs and their transports are tuned.
_TUNES = (
    *("FI_", "HCOLL_", "HFI_", "I_MPI_", "MPICH_", "MPIR_CVAR_", "MV2_", "MVP_", "OMPI_MCA_"),
    *("PMIX_MCA_", "PRTE_MCA_", "PSM2_", "PSM3_", "UCC_", "UCX_"),
)
#: What a launcher sets for the processes that it starts.
_OF_A_LAUNCHER = re.compile(r"OMPI_MCA_(orte|ess|pmix|plm|prte|initial_wdir|shmem_RUNTIME)")
#: Below the user's home, as Open MPI, PRRTE and PMIx read them.
_FILES = tuple(f".{name}/mca-params.conf" for name in ("openmpi", "prte", "pmix"))
_SET = re.compile(r"\b([A-Za-z_]\w*)=")
_LONGEST = 900


def named(script: str) -> set[str]:
    """Names of the variables that a shell script sets."""
    return set(_SET.findall(script))


def found(
    declared: Collection[str], environ: Mapping[str, str] = os.environ, home: Path | None = None
) -> dict[str, str]:
    """Variables and files (``~/.openmpi/...``) that tune MPI, with what they say; of the variables
    those that are not `declared`.  A file that cannot be read is left out, as MPI does."""
    tunes = {
        name: value[:_LONGEST]
        for name, value in sorted(environ.items())
        if name.startswith(_TUNES) and name not in declared and not _OF_A_LAUNCHER.match(name)
    }
    for name in _FILES:
        try:
            text = ((home or Path.home()) / name).read_text(errors="replace")
        except OSError:
            continue
        lines = [line for one in text.splitlines() if (line := one.split("#")[0].strip())]
        if lines:
            tunes[f"~/{name}"] = "; ".join(lines)[:_LONGEST]
    return tunes

"""Digests of programs, the libraries that they link, and MPI settings in the shell and the home
folder of the user."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

from roundtrip import files

#: Written by each fixture that builds or finds programs: a list of their paths.
PROGRAMS_FILE = "programs.json"
#: Variables by which a user replaces the libraries that a program links.
_LIBRARY_VARIABLES = ("LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT")
_LINKED_LIBRARY = re.compile(r"^\s*(?P<name>\S+) => (?P<file>/.+) \(0x[0-9a-f]+\)$", re.MULTILINE)
#: Name of the library with MPI's functions in C (Open MPI and MPICH, Debian's MPICH, Cray); a
#: pattern for Python and `sed -E`.
MPI_LIBRARY_PATTERN = "libmpi(ch)?(_[a-z]+_[0-9]+)?[.]so[.0-9]*"


def digest(file: Path) -> str | None:
    """Return the sha256 of a file, None if it cannot be read; cached until the file changes."""
    return _cached_digest(file, files.stamp(file.resolve()))


@cache
def _cached_digest(file: Path, stamp: tuple[int, ...]) -> str | None:
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None


def libraries(program: Path) -> dict[str, Path]:
    """Return the file of each shared library that the program links, by name, links resolved.

    The dynamic loader finds them, without the user's variables that replace libraries.  Libraries
    that it does not find are left out; {} if the program is not dynamically linked.
    """
    variables = {key: value for key, value in os.environ.items() if key not in _LIBRARY_VARIABLES}
    try:
        process = subprocess.run(
            ["ldd", str(program)],
            capture_output=True,
            text=True,
            errors="replace",
            env={**variables, "LC_ALL": "C"},
            timeout=30,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    matches = _LINKED_LIBRARY.finditer(process.stdout)
    return {match["name"]: Path(match["file"]).resolve() for match in matches}


def mpi_library(program: Path) -> Path | None:
    """The file of the MPI library that the program links; None if it links none, or several."""
    matches = {
        file for name, file in libraries(program).items() if re.fullmatch(MPI_LIBRARY_PATTERN, name)
    }
    return matches.pop() if len(matches) == 1 else None


#: Prefixes of variables that tune MPIs and their transports.
_TUNING_PREFIXES = (
    *("FI_", "HCOLL_", "HFI_", "I_MPI_", "MPICH_", "MPIR_CVAR_", "MV2_", "MVP_", "OMPI_MCA_"),
    *("PMIX_MCA_", "PRTE_MCA_", "PSM2_", "PSM3_", "UCC_", "UCX_"),
)
#: Variables that a launcher sets for the processes that it starts.
_LAUNCHER_VARIABLE = re.compile(r"OMPI_MCA_(orte|ess|pmix|plm|prte|initial_wdir|shmem_RUNTIME)")
#: Files below the user's home that Open MPI, PRRTE and PMIx read.
_TUNING_FILES = tuple(f".{name}/mca-params.conf" for name in ("openmpi", "prte", "pmix"))
_ASSIGNMENT = re.compile(r"\b([A-Za-z_]\w*)=")
_MAX_VALUE_LENGTH = 900


def set_variables(script: str) -> set[str]:
    """Names of the variables that a shell script sets."""
    return set(_ASSIGNMENT.findall(script))


def tuning(
    site_variables: Collection[str],
    environ: Mapping[str, str] = os.environ,
    home: Path | None = None,
) -> dict[str, str]:
    """Return the variables and files (``~/.openmpi/...``) that tune MPI, with their contents.

    Variables in `site_variables` and files that cannot be read (as by MPI) are left out.
    """
    settings = {
        name: value[:_MAX_VALUE_LENGTH]
        for name, value in sorted(environ.items())
        if name.startswith(_TUNING_PREFIXES)
        and name not in site_variables
        and not _LAUNCHER_VARIABLE.match(name)
    }
    for name in _TUNING_FILES:
        try:
            text = ((home or Path.home()) / name).read_text(errors="replace")
        except OSError:
            continue
        lines = [line for raw_line in text.splitlines() if (line := raw_line.split("#")[0].strip())]
        if lines:
            settings[f"~/{name}"] = "; ".join(lines)[:_MAX_VALUE_LENGTH]
    return settings

"""Digests of programs, the libraries that they link, and MPI settings in the shell and the home
folder of the user."""

from __future__ import annotations

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
_LOADER_VARIABLES = ("LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT")
_LINKED_LIBRARY_PATTERN = re.compile(
    r"^\s*(?P<name>\S+) => (?P<file>/.+) \(0x[0-9a-f]+\)$", re.MULTILINE
)
#: Name of the library with MPI's functions in C (Open MPI and MPICH, Debian's MPICH, Cray); a
#: pattern for Python and `sed -E`.
MPI_LIBRARY_PATTERN = "libmpi(ch)?(_[a-z]+_[0-9]+)?[.]so[.0-9]*"


def cached_sha256(file: Path) -> str | None:
    """Return the sha256 of a file, computed again if it changes; None if it cannot be read."""
    return _sha256_at_stamp(file, files.change_stamp(file.resolve()))


@cache
def _sha256_at_stamp(file: Path, stamp: tuple[int, ...]) -> str | None:
    try:
        return files.sha256_of_file(file)
    except OSError:
        return None


def linked_libraries(program: Path) -> dict[str, Path]:
    """Return the file of each shared library that the program links, by name, links resolved.

    The dynamic loader finds them, without the user's variables that replace libraries.  Libraries
    that it does not find are left out; {} if the program is not dynamically linked.
    """
    variables = {key: value for key, value in os.environ.items() if key not in _LOADER_VARIABLES}
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
    matches = _LINKED_LIBRARY_PATTERN.finditer(process.stdout)
    return {match["name"]: Path(match["file"]).resolve() for match in matches}


def find_linked_mpi(program: Path) -> Path | None:
    """The file of the MPI library that the program links; None if it links none, or several."""
    libraries = linked_libraries(program)
    matches = {libraries[name] for name in libraries if re.fullmatch(MPI_LIBRARY_PATTERN, name)}
    return matches.pop() if len(matches) == 1 else None


#: Prefixes of variables that tune MPIs and their transports.
_TUNING_PREFIXES = (
    *("FI_", "HCOLL_", "HFI_", "I_MPI_", "MPICH_", "MPIR_CVAR_", "MV2_", "MVP_", "OMPI_MCA_"),
    *("PMIX_MCA_", "PRTE_MCA_", "PSM2_", "PSM3_", "UCC_", "UCX_"),
)
#: Variables that a launcher sets for the processes that it starts.
_LAUNCHER_VARIABLE_PATTERN = re.compile(
    r"OMPI_MCA_(orte|ess|pmix|plm|prte|initial_wdir|shmem_RUNTIME)"
)
#: Files below the user's home that Open MPI, PRRTE and PMIx read.
_TUNING_FILES = tuple(f".{name}/mca-params.conf" for name in ("openmpi", "prte", "pmix"))
_ASSIGNMENT_PATTERN = re.compile(r"\b([A-Za-z_]\w*)=")
_MAX_VALUE_LENGTH = 900


def assigned_variables(script: str) -> set[str]:
    """Return the names of the variables that the shell text `script` sets."""
    return set(_ASSIGNMENT_PATTERN.findall(script))


def mpi_tuning_settings(
    site_variables: Collection[str],
    environ: Mapping[str, str] = os.environ,
    home: Path | None = None,
) -> dict[str, str]:
    """Return the user's variables and files (``~/.openmpi/...``) that tune MPI, with their values,
    without `site_variables` and files that cannot be read."""
    settings = {
        name: value[:_MAX_VALUE_LENGTH]
        for name, value in sorted(environ.items())
        if name.startswith(_TUNING_PREFIXES)
        and name not in site_variables
        and not _LAUNCHER_VARIABLE_PATTERN.match(name)
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

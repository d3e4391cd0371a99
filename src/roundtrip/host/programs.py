"""What a program is: its digest, and the shared libraries that it links."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from roundtrip.collect import confined

#: Written by each fixture that builds or finds programs: a list of their paths.
LISTED = "programs.json"
#: Variables by which a user brings other libraries than those that a program links.
_REPLACES = ("LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT")
_LINKED = re.compile(r"^\s*(?P<name>\S+) => (?P<file>/.+) \(0x[0-9a-f]+\)$", re.MULTILINE)
#: The library that has MPI's functions in C: of Open MPI and MPICH, of Debian's MPICH, of Cray.
_MPI = re.compile(r"libmpi(ch)?(_[a-z]+_\d+)?\.so[.\d]*")
_PATIENCE_S = 30


def digest(file: Path) -> str | None:
    """The sha256 of a file; None if it cannot be read.  It is read again once it has changed."""
    return _digest(file, confined.stamp(file.resolve()))


@cache
def _digest(file: Path, stamp: tuple[int, ...]) -> str | None:
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None


def libraries(program: Path) -> dict[str, Path]:
    """By name, the file of each shared library that the program links, symbolic links resolved.

    The dynamic loader finds them, without what variables of the user would replace.  Libraries that
    it does not find so are left out; {} for what is no dynamic program.
    """
    variables = {key: value for key, value in os.environ.items() if key not in _REPLACES}
    try:
        done = subprocess.run(
            ["ldd", str(program)],
            capture_output=True,
            text=True,
            errors="replace",
            env={**variables, "LC_ALL": "C"},
            timeout=_PATIENCE_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return dict(_listed(done.stdout))


def mpi_library(program: Path) -> Path | None:
    """The file of the MPI library that the program links; None if it links none, or several."""
    found = {file for name, file in libraries(program).items() if _MPI.fullmatch(name)}
    return found.pop() if len(found) == 1 else None


def _listed(listing: str) -> Iterator[tuple[str, Path]]:
    for found in _LINKED.finditer(listing):
        yield found["name"], Path(found["file"]).resolve()

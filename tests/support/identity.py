"""What a rank says of itself, as recorded on Debian 12."""

from __future__ import annotations

#: What Debian's Open MPI and MPICH say of themselves: the first line, as recorded on Debian 12.
OPENMPI = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022"
MPICH = "MPICH Version: 4.0.2"
LIBRARY = "/usr/lib/x86_64-linux-gnu/libmpi.so.40.30.4"
RANK = {
    "library": OPENMPI,
    "standard": "3.1",
    "device": None,
    "file": LIBRARY,
    "build": "gnu:2a2f4d8c4f8dc5dcc63f6789a50f3ab49f61e168",
    "program_sha256": "8b" * 32,
}

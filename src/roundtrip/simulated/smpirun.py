"""Starts SimGrid's ``smpirun``, and tells whether what it ran went well."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from roundtrip import paths
from roundtrip.errors import UserError
from roundtrip.simulated import ended
from roundtrip.simulated.platform import HOSTS_FILE, PLATFORM_FILE, Platform

#: Of the toolchain with SimGrid.
_TOOLCHAIN = "smpi"
#: Its root category at "critical" hides the warning of MPI_Abort, by which `ended` knows one.
LOGGED = ("--log=root.thres:critical", "--log=smpi_pmpi.thres:warning")
_MISSING = "SimGrid is not installed: roundtrip toolchains smpi-boost181"


def program() -> Path:
    """``smpirun`` of the toolchain, else of PATH.  UserError if there is none."""
    own = paths.toolchains() / _TOOLCHAIN / "bin" / "smpirun"
    found = own if own.is_file() else shutil.which("smpirun")
    if found is None:
        raise UserError(_MISSING)
    return Path(found)


def run(
    words: Sequence[str], ranks: int, platform: Platform, folder: Path
) -> subprocess.CompletedProcess[str]:
    """Run ``smpirun`` with the options and the program in `words`, in `folder`.

    UserError if it fails, or says that it did although its status is 0.
    """
    for word in words:
        if word.split() != [word]:
            raise UserError(f"smpirun takes no blanks: '{word}'")
    platform.write(folder, ranks)
    options = ["-np", str(ranks), "-platform", PLATFORM_FILE, "-hostfile", HOSTS_FILE]
    done = subprocess.run(
        [program(), *options, *LOGGED, *words],
        cwd=folder,
        env={**os.environ, **platform.variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    wrong = ended.fault(done.stderr)
    if wrong or done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[0]
        raise UserError(f"smpirun ended with status {done.returncode}: {wrong or last}")
    return done

"""The steps of a build: commands with a clean environment, whose output goes to a log."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

#: Prefixes of variables of an outer MPI or batch job, which would change the tested MPI.
_FOREIGN = ("OMPI_", "PMIX_", "PRTE_", "OPAL_", "PMI_", "MPICH_", "HYDRA_", "SLURM_", "MPI_")


class BuildError(Exception):
    """A step failed: `what` it was, its `log`, and the `output` of the command."""

    def __init__(self, what: str, log: Path, output: str = "") -> None:
        self.what = what
        self.log = log
        self.output = output
        super().__init__(what)

    def explain(self, lines: int = 15) -> str:
        """The last `lines` of the output, then a line with what failed and where the log is."""
        printed = self.output.splitlines()[-lines:]
        return "\n".join([*printed, f"{self.what}; whole log: {self.log}"])


def clean_environment() -> dict[str, str]:
    """The environment of this process without variables that change an MPI or a compiler."""
    compiler = {"CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CPATH", "LIBRARY_PATH"}
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_FOREIGN) and name not in compiler | {"LD_LIBRARY_PATH"}
    }


def run(
    what: str,
    command: Sequence[str | Path],
    log: Path,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 1800,
) -> str:
    """Run `command`, append its output to `log` and return it.

    BuildError if it fails or takes longer than `timeout` seconds.
    """
    line = shlex.join(str(part) for part in command)
    try:
        result = subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            env=dict(env) if env is not None else clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
        output, failure = result.stdout, result.returncode and f"status {result.returncode}"
    except subprocess.TimeoutExpired:
        output, failure = "", f"no end after {timeout:.0f} s"
    except OSError as error:
        output, failure = "", str(error)
    with log.open("a") as out:
        out.write(f"$ {line}\n{output}" + (f"failed: {failure}\n" if failure else ""))
    if failure:
        raise BuildError(f"{what} failed ({failure})", log, output)
    return output

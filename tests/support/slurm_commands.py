"""Commands of Slurm that a test plays, and our wrappers of them."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from roundtrip.measure import scheduler
from roundtrip.sites import schedulers
from support.scripts import script

SLURM = schedulers.by_key("slurm")
#: What a command of Slurm says while its controller is away.
LOST = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
#: How ReFrame asks accounting for the state of a job.
POLL = ("-S", "2026-11-24", "-P", "-j", "7,8", "-o", "jobid,state,exitcode,end,nodelist")


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Puts a command of Slurm into PATH that fails so many times, then prints its answer."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def make(name: str, failures: int, error: str = LOST, answer: str = "", then: int = 0) -> Path:
        calls = tmp_path / f"{name}.calls"
        body = f"""\
            echo "$*" >> {calls}
            if [ $(wc -l < {calls}) -le {failures} ]; then echo "{error}" >&2; exit 1; fi
            [ -z "{answer}" ] || echo "{answer}"
            exit {then}
            """
        script(folder / name, "\n".join(line.strip() for line in body.splitlines()))
        return calls

    return make


def run_wrapper(
    name: str, *arguments: str, run_dir: Path, cwd: Path | None = None, wait_s: int = 60
) -> subprocess.CompletedProcess[str]:
    """Run a wrapper, with waits of `wait_s` seconds that are logged in `run_dir`."""
    patience = scheduler.Wait(SLURM, time.time() + wait_s, run_dir)
    variables: Mapping[str, str] = patience.environment(os.environ)
    command = [name, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=variables)

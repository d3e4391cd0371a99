"""The head node's own file system, name and configuration."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from vclusterlib import accounting, mounts, slurmconf
from vclusterlib.spec import Spec
from vclusterlib.state import State


def prepare(state: State, spec: Spec, keep: list[str]) -> None:
    """Make this process's namespaces the head; its working folder becomes the state's run/."""
    mounts.make_private(keep)
    mounts.mount_proc()
    mounts.mount_sysfs()
    for folder in ("munge", "slurm", "mysqld", "lock"):
        Path("/run", folder).mkdir()
    first_job = accounting.first_job(state) if spec.accounting else 1
    slurmconf.write(spec, state, first_job)
    for name in ("hosts", "slurm", "munge"):
        mounts.bind(state.etc / name, f"/etc/{name}")
    socket.sethostname("head")
    os.chdir(state.run)


def munged(state: State) -> list[str]:
    """The command that serves head and nodes; --force: its files need not be the user munge's."""
    options = {
        "key-file": "/etc/munge/munge.key",
        "log-file": state.log / "munged.log",
        "seed-file": state.run / "munge.seed",
    }
    named = [f"--{name}={value}" for name, value in options.items()]
    return ["munged", "--foreground", "--force", *named]

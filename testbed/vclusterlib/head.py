"""The file system, the name and the configuration of the head node."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from vclusterlib import accounting, mounts, slurmconf
from vclusterlib.spec import Spec
from vclusterlib.state import State


def prepare(state: State, spec: Spec, visible_folders: list[str]) -> None:
    """Turn this process's namespaces into the head node; the working folder becomes run/."""
    mounts.make_private(visible_folders)
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
    """The munged command for head and nodes; --force lets the files belong to any user."""
    options = {
        "key-file": "/etc/munge/munge.key",
        "log-file": state.log / "munged.log",
        "seed-file": state.run / "munge.seed",
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    return ["munged", "--foreground", "--force", *flags]

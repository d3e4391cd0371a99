"""Slurm jobs of a campaign: marked, so that those of a killed run can be found and cancelled."""

from __future__ import annotations

import getpass
import shutil
import subprocess

from roundtrip.errors import UserError

_SLURM = ("slurm", "squeue")


def tags(scheduler: str, label: str) -> list[str]:
    """ReFrame options that mark each job of run `label`."""
    return [f"--job-option=comment={_comment(label)}"] if scheduler in _SLURM else []


def cancel(label: str) -> list[str]:
    """Cancel jobs that an earlier, killed session of run `label` left in the queue; their ids.

    A launch that such a job would still produce belongs to nobody.  Without Slurm: nothing.
    """
    if shutil.which("squeue") is None:
        return []
    query = ["squeue", "--noheader", f"--user={getpass.getuser()}", "--format=%i %k"]
    listing = subprocess.run(query, capture_output=True, text=True)
    if listing.returncode:
        return []  # Slurm's commands are installed, but there is no cluster
    left = [
        job
        for job, _, comment in (line.partition(" ") for line in listing.stdout.splitlines())
        if comment.strip() == _comment(label)
    ]
    if left:
        done = subprocess.run(["scancel", *left], capture_output=True, text=True)
        if done.returncode:
            raise UserError(f"cannot cancel jobs {' '.join(left)}: {done.stderr.strip()}")
    return left


def _comment(label: str) -> str:
    return f"roundtrip:{label}"

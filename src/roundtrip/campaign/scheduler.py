"""Slurm jobs of a campaign: marked, so that those of a killed run can be found and cancelled."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from urllib.parse import quote

from roundtrip.errors import UserError

_SLURM = ("slurm", "squeue")


def tags(scheduler: str, label: str) -> list[str]:
    """ReFrame options that mark each job of run `label`, and let none begin a second time.

    A job that Slurm requeues may be held for good ("launch failed requeued held"), with ReFrame
    waiting for it; one that ends is launched again by the campaign.
    """
    if scheduler not in _SLURM:
        return []
    return [f"--job-option=comment={_comment(label)}", "--job-option=--no-requeue"]


def cancel(label: str) -> list[str]:
    """Cancel jobs that sessions of run `label` left in the queue; their ids.

    A launch that such a job would still produce belongs to nobody.  Without Slurm: nothing.
    """
    if shutil.which("squeue") is None:
        return []
    query = ["squeue", "--noheader", f"--user={os.getuid()}", "--format=%i %k"]
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


def clear(scheduler: str, label: str, patience_s: float = 600.0) -> None:
    """See that no job of run `label` is left when its next session begins.

    ReFrame takes a controller that does not answer for the end of a job, which then goes on beside
    the next launch.  Waits for the controller; UserError if it is silent for `patience_s`.
    """
    if scheduler not in _SLURM:
        return
    deadline = time.monotonic() + patience_s
    while subprocess.run(["scontrol", "ping"], capture_output=True).returncode or cancel(label):
        if time.monotonic() > deadline:
            raise UserError(f"Slurm did not answer, or cancel jobs, for {patience_s:g} s")
        time.sleep(1)


def _comment(label: str) -> str:
    """ASCII without blanks: it stands on a line of the job's script."""
    return f"roundtrip:{quote(label)}"

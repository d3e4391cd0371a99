"""Launches that Slurm took away, for somebody else or because it lost their jobs: they are
repeated, and have not failed."""

from __future__ import annotations

import re
from collections.abc import Iterable

STATUS = "displaced"
PREEMPTED = "Slurm preempted its job"
MAINTENANCE = "Slurm kept its nodes for maintenance"
FORGOTTEN = "Slurm's controller lost its state: restarted, it does not know the job"

#: What slurmstepd appends to the standard error of a job that it ends (slurmstepd/mgr.c's words).
_ENDED = re.compile(
    r"^slurmstepd\S*: error: \*\*\* (?:JOB|STEP) \S+ ON \S+ CANCELLED AT \S+ DUE TO PREEMPTION",
    re.MULTILINE,
)
#: Slurm's reason of a job that waits, with which ReFrame cancels it.
_KEPT = re.compile(r"ReqNodeNotAvail, ?Reserved for maintenance")


def why(reason: str, error: str = "", is_forgotten: bool = False) -> str:
    """Why a launch that did not complete was displaced; "" if it failed.

    `reason` is what ReFrame says of it, `error` the end of what its job wrote to standard error;
    `is_forgotten`: Slurm's controller no longer knew its job.
    """
    if is_forgotten:
        return FORGOTTEN
    if _ENDED.search(error):
        return PREEMPTED
    return MAINTENANCE if _KEPT.search(reason) else ""


def told(reasons: Iterable[str]) -> str:
    """For people: how many launches were displaced, by reason; "" if none was."""
    listed = list(reasons)
    if not listed:
        return ""
    parts = [
        f"{count} {what}"
        for what, count in (
            ("preempted", sum(PREEMPTED in reason for reason in listed)),
            ("for a maintenance", sum(MAINTENANCE in reason for reason in listed)),
            (
                "lost by a controller that restarted without its state",
                sum(FORGOTTEN in reason for reason in listed),
            ),
        )
        if count
    ]
    launches = "1 launch" if len(listed) == 1 else f"{len(listed)} launches"
    by_reason = f" ({', '.join(parts)})" if parts else ""
    return f"Slurm displaced {launches}{by_reason}: repeated, and counted against no case"

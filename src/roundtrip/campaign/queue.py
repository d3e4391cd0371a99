"""What the jobs of a run wait for in Slurm's queue, and for how long."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from roundtrip.campaign import progress

#: Job, state, reason, expected start, time of submission; a comment may hold any sign.
_FORMAT = "%i|%T|%r|%S|%V|%k"
_PATIENCE_S = 5.0


@dataclass
class Queue:
    """The jobs with one comment; Slurm is asked for them at most every `every_s` seconds."""

    comment: str
    environment: Mapping[str, str]
    every_s: float = 10.0
    _asked: float = field(default=float("-inf"), init=False)
    _known: str = field(default="", init=False)

    def now(self) -> str:
        """For people; "" if none of them waits, or Slurm does not say."""
        if time.monotonic() - self._asked >= self.every_s:
            self._known = told(self._ask(), self.comment, time.time())
            self._asked = time.monotonic()
        return self._known

    def _ask(self) -> str:
        command = ["squeue", "--noheader", "--me", "--states=PENDING", f"--format={_FORMAT}"]
        environment = {**self.environment, "SLURM_TIME_FORMAT": "%s"}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_PATIENCE_S, env=environment
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout


def told(listing: str, comment: str, now: float) -> str:
    """What the first of those jobs in the output of squeue waits for, at `now` (since 1970)."""
    for line in listing.splitlines():
        fields = line.split("|", 5)
        if len(fields) != 6 or fields[1] != "PENDING" or fields[5].strip() != comment:
            continue
        job, _, reason, start, submitted, _ = fields
        waited = f" for {progress.told(now - float(submitted))}" if submitted.isdigit() else ""
        expected = ""
        if start.isdigit() and float(start) > now:
            moment = datetime.fromtimestamp(float(start)).strftime("%Y-%m-%d %H:%M")
            expected = f"; Slurm expects it to start at {moment}"
        return f"job {job} has waited{waited}: {reason}{expected}"
    return ""

"""The Slurm jobs of a campaign: their mark, what they wait for, and how long Slurm is silent."""

from __future__ import annotations

import getpass
import re
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from roundtrip.campaign import progress
from roundtrip.collect import scheduler_log
from roundtrip.errors import UserError

_SLURM = ("slurm", "squeue")
#: Slurm may hold a requeued job for ever ("launch failed requeued held"), and ReFrame waits for it.
NO_REQUEUE = "--job-option=--no-requeue"
#: Wrappers of Slurm's commands that try again while Slurm does not answer.
_COMMANDS = Path(__file__).parent / "slurm"


#: sbatch's words, and the names of limits of accounting; a job that may never run has other words.
_LIMIT = re.compile(
    r"job submit limit|(?:Assoc|QOS)\w*MaxSubmit\w*|(?:Assoc|QOS)GrpSubmit\w*|MaxJobCount"
)
#: Job, state, reason, expected start, time of submission; a comment may hold any sign.
_FORMAT = "%i|%T|%r|%S|%V|%k"
_PATIENCE_S = 5.0


class NoAnswerError(Exception):
    """Slurm did not answer until the time limit of the campaign."""


@dataclass(frozen=True)
class Patience:
    """Until when (seconds since 1970) a run waits for Slurm, and the folder of the run's log."""

    deadline: float
    run_dir: Path

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """`base` with a PATH whose Slurm commands wait, and log that they do."""
        return {
            **base,
            "PATH": f"{_COMMANDS}:{base['PATH']}",
            "ROUNDTRIP_SLURM_DEADLINE": str(int(self.deadline)),
            "ROUNDTRIP_SLURM_LOG": str(self.run_dir / scheduler_log.FILE_NAME),
        }

    @property
    def over(self) -> bool:
        return time.time() >= self.deadline

    def now(self) -> str:
        """What to show while Slurm does not answer; "" while it answers."""
        waiting = [item for item in scheduler_log.read(self.run_dir) if item.end is None]
        if not waiting:
            return ""
        return (
            f"waiting for Slurm, which does not answer, for {time.time() - waiting[-1].start:.0f} s"
        )

    def since(self, moment: float) -> float | None:
        """Seconds without an answer after `moment` (since 1970); None if Slurm always answered."""
        found = scheduler_log.spells(scheduler_log.read(self.run_dir))
        later = [(max(start, moment), end) for start, end in found if end >= int(moment)]
        return sum(end - start for start, end in later if end > start) if later else None


def is_slurm(scheduler: str) -> bool:
    """Whether a partition with this scheduler of ReFrame submits to Slurm."""
    return scheduler in _SLURM


def is_silence(text: str) -> bool:
    """Whether `text` is what a command of Slurm prints when Slurm does not answer."""
    return not subprocess.run([_COMMANDS / "patient", text.replace("\0", "")]).returncode


def is_limit(text: str) -> bool:
    """Whether `text` is how sbatch says that a user or account may submit no more jobs now."""
    return _LIMIT.search(text) is not None


def tags(scheduler: str, label: str) -> list[str]:
    """ReFrame options that mark each job of run `label` and forbid Slurm to requeue it.

    A job that ends is launched again by the campaign.
    """
    if not is_slurm(scheduler):
        return []
    return [f"--job-option=comment={mark(label)}", NO_REQUEUE]


def cancel(label: str, environment: Mapping[str, str], patience: Patience | None) -> list[str]:
    """Cancel the jobs that sessions of run `label` left in the queue, and return their ids.

    No session would collect the launch of such a job.  Without Slurm nothing is done, nor without
    `patience` if Slurm does not answer.  NoAnswerError when the patience is over; UserError if
    Slurm refuses for another reason.
    """
    if shutil.which("squeue", path=environment.get("PATH")) is None:
        return []
    env = dict(patience.environment(environment) if patience else environment)
    query = ["squeue", "--noheader", f"--user={getpass.getuser()}", "--format=%i %k"]
    listing = subprocess.run(query, capture_output=True, text=True, env=env)
    if listing.returncode and patience is None:
        return []  # Slurm's commands are installed, but there is no cluster
    _require(listing, "cannot see which jobs there are")
    left = [
        job
        for job, _, comment in (line.partition(" ") for line in listing.stdout.splitlines())
        if comment.strip() == mark(label)
    ]
    if left:
        done = subprocess.run(["scancel", *left], capture_output=True, text=True, env=env)
        _require(done, f"cannot cancel jobs {' '.join(left)}")
    return left


def _require(done: subprocess.CompletedProcess[str], what: str) -> None:
    if not done.returncode:
        return
    error = done.stderr.strip()
    if is_silence(error):
        raise NoAnswerError(error)
    raise UserError(f"{what}: {error.splitlines()[-1] if error else 'no reason given'}")


def clear(label: str, environment: Mapping[str, str], patience: Patience) -> None:
    """Cancel the jobs of run `label`, and return when none is left.

    A job that outlives its session would run beside the next launch.  NoAnswerError when the
    patience is over; UserError as of `cancel`.
    """
    while cancel(label, environment, patience):
        if patience.over:
            raise NoAnswerError("jobs that were cancelled do not end")
        time.sleep(1)


def mark(label: str) -> str:
    """The comment of the jobs of run `label`: ASCII without blanks, for a line of their scripts."""
    return f"roundtrip:{quote(label)}"


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
            self._known = waiting(self._ask(), self.comment, time.time())
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


def waiting(listing: str, comment: str, now: float) -> str:
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

"""Slurm in a campaign: its jobs and their waits, outages, maintenance."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from roundtrip.errors import UserError
from roundtrip.measure import completion, progress, scheduler_log
from roundtrip.sites.slurm import NO_REQUEUE, is_slurm, scontrol_records

#: Wrappers of Slurm's commands that try again while Slurm does not answer.
_COMMANDS = Path(__file__).parent / "slurm"
#: sbatch's message and the limits on submitted jobs; a job that may never run has others.
_LIMIT = re.compile(
    r"job submit limit|(?:Assoc|QOS)\w*MaxSubmit\w*|(?:Assoc|QOS)GrpSubmit\w*|MaxJobCount"
)
#: Job, state, reason, expected start, submission time, comment, which may hold any character.
_FORMAT = "%i|%T|%r|%S|%V|%k"
_TIMEOUT_S = 5.0
#: First pause, s; each further pause is twice as long.
_FIRST_S = 5.0
_LONGEST_S = 60.0


class NoAnswerError(Exception):
    """Slurm did not answer until the time limit of the campaign."""


@dataclass(frozen=True)
class SlurmWait:
    """Deadline (seconds since 1970) for waiting for Slurm, and the folder of the run's log."""

    deadline: float
    run_dir: Path

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """Return `base` with a PATH whose Slurm commands wait for an answer and log waits."""
        return {
            **base,
            "PATH": f"{_COMMANDS}:{base['PATH']}",
            "ROUNDTRIP_SLURM_DEADLINE": str(int(self.deadline)),
            "ROUNDTRIP_SLURM_LOG": str(self.run_dir / scheduler_log.FILE_NAME),
        }

    def status(self) -> str:
        """Return the text to show while Slurm does not answer; "" while it answers."""
        waits = [item for item in scheduler_log.read(self.run_dir) if item.end is None]
        if not waits:
            return ""
        wait_s = time.time() - waits[-1].start
        return f"waiting for Slurm, which does not answer, for {wait_s:.0f} s"

    def outage_s(self, moment: float) -> float | None:
        """Seconds without an answer after `moment` (since 1970); None if Slurm always answered."""
        outages = scheduler_log.outages(scheduler_log.read(self.run_dir))
        overlaps = [(max(start, moment), end) for start, end in outages if end >= int(moment)]
        return sum(end - start for start, end in overlaps if end > start) if overlaps else None


def is_no_answer(text: str) -> bool:
    """Whether `text` is what a command of Slurm prints when Slurm does not answer."""
    return not subprocess.run([_COMMANDS / "retry", text.replace("\0", "")]).returncode


def is_submit_limit(text: str) -> bool:
    """Whether `text` is sbatch's message that a user or account may submit no more jobs now."""
    return _LIMIT.search(text) is not None


def job_options(scheduler: str, label: str) -> list[str]:
    """Return ReFrame options that mark each job of run `label` and forbid Slurm to requeue it.

    The campaign itself repeats the launch of a job that ended.
    """
    if not is_slurm(scheduler):
        return []
    return [f"--job-option=comment={job_comment(label)}", NO_REQUEUE]


def cancel(label: str, environment: Mapping[str, str], wait: SlurmWait | None) -> list[str]:
    """Cancel the jobs that sessions of run `label` left in the queue, and return their ids.

    No session would collect the launch of such a job.  Do nothing without Slurm, or if Slurm does
    not answer and `wait` is None.  NoAnswerError when the wait is over; UserError if Slurm refuses
    for another reason.
    """
    if shutil.which("squeue", path=environment.get("PATH")) is None:
        return []
    env = dict(wait.environment(environment) if wait else environment)
    query = ["squeue", "--noheader", f"--user={os.getuid()}", "--format=%i %k"]
    listing = subprocess.run(query, capture_output=True, text=True, env=env)
    if listing.returncode and wait is None:
        return []  # Slurm's commands are installed, but there is no cluster
    _require(listing, "cannot see which jobs there are")
    lines = (line.partition(" ") for line in listing.stdout.splitlines())
    jobs = [job for job, _, comment in lines if comment.strip() == job_comment(label)]
    if jobs:
        process = subprocess.run(["scancel", *jobs], capture_output=True, text=True, env=env)
        _require(process, f"cannot cancel jobs {' '.join(jobs)}")
    return jobs


def _require(process: subprocess.CompletedProcess[str], problem: str) -> None:
    if not process.returncode:
        return
    error = process.stderr.strip()
    if is_no_answer(error):
        raise NoAnswerError(error)
    raise UserError(f"{problem}: {error.splitlines()[-1] if error else 'no reason given'}")


def cancel_and_wait(label: str, environment: Mapping[str, str], wait: SlurmWait) -> None:
    """Cancel the jobs of run `label`, and return when none is left.

    A job that outlives its session would run concurrently with the next launch.  NoAnswerError when
    the wait is over; UserError as in `cancel`.
    """
    while cancel(label, environment, wait):
        if time.time() >= wait.deadline:
            raise NoAnswerError("jobs that were cancelled do not end")
        time.sleep(1)


def job_comment(label: str) -> str:
    """The comment of the jobs of run `label`: ASCII without blanks, for a line of their scripts."""
    return f"roundtrip:{quote(label)}"


@dataclass
class Queue:
    """The pending jobs with one comment; Slurm is queried at most every `every_s` seconds."""

    comment: str
    environment: Mapping[str, str]
    every_s: float = 10.0
    _asked: float = field(default=float("-inf"), init=False)
    _known: str = field(default="", init=False)

    def status(self) -> str:
        """Return what the first job waits for; "" if none waits, or Slurm does not answer."""
        if time.monotonic() - self._asked >= self.every_s:
            command = ["squeue", "--noheader", "--me", "--states=PENDING", f"--format={_FORMAT}"]
            listing = _query(command, self.environment, _TIMEOUT_S)
            self._known = describe_wait(listing, self.comment, time.time())
            self._asked = time.monotonic()
        return self._known


def _query(
    command: Sequence[str], environment: Mapping[str, str], timeout_s: float | None = None
) -> str:
    """What a command of Slurm prints, with times in seconds since 1970; "" without an answer."""
    env = {**environment, "SLURM_TIME_FORMAT": "%s"}
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, env=env
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return process.stdout


def describe_wait(listing: str, comment: str, now: float) -> str:
    """Return what the first job with `comment` in squeue's output waits for at `now`, Unix time."""
    for line in listing.splitlines():
        fields = line.split("|", 5)
        if len(fields) != 6 or fields[1] != "PENDING" or fields[5].strip() != comment:
            continue
        job, _, reason, start, submit_time, _ = fields
        text = f"job {job} has waited"
        if submit_time.isdigit():
            text += f" for {progress.duration(now - float(submit_time))}"
        if reason != "None":  # the scheduler has not looked at it yet
            text += f": {reason}"
        if start.isdigit() and float(start) > now:
            text += f"; Slurm expects it to start at {_minute(float(start))}"
        return text
    return ""


def _minute(moment: float) -> str:
    return datetime.fromtimestamp(moment).strftime("%Y-%m-%d %H:%M")


@dataclass(frozen=True)
class Maintenance:
    """A reservation of Slurm with the flag MAINT; times in seconds since 1970."""

    name: str
    nodes: str
    start: float
    end: float

    def __str__(self) -> str:
        """Nodes and end of the maintenance, for people."""
        end = _minute(self.end)
        return f"Slurm keeps {self.nodes} for maintenance until {end} (reservation {self.name})"


def parse_maintenances(text: str) -> list[Maintenance]:
    """Parse ``scontrol show reservation --oneliner``: maintenances, sorted by end.

    Times are in the local zone, or seconds since 1970 with ``SLURM_TIME_FORMAT=%s``.
    """
    maintenances = []
    for fields in scontrol_records(text):
        if "MAINT" not in fields.get("Flags", "").split(","):
            continue
        start, end = (_seconds(fields.get(key, "")) for key in ("StartTime", "EndTime"))
        if start is not None and end is not None:
            name, nodes = fields.get("ReservationName", "?"), fields.get("Nodes", "nodes")
            maintenances.append(Maintenance(name, nodes, start, end))
    return sorted(maintenances, key=lambda maintenance: maintenance.end)


def _seconds(text: str) -> float | None:
    try:
        return float(text) if text.isdigit() else datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


@dataclass
class Pauses:
    """Pauses after rounds in which Slurm prevented all launches, e.g. by a maintenance.

    The run must end at `deadline` (of the monotonic clock).

    `tell` shows why nothing runs; `environment` is that of the site.
    """

    deadline: float
    tell: Callable[[str], None]
    environment: Mapping[str, str]
    _next_s: float = field(default_factory=lambda: _FIRST_S)

    def end(self) -> None:
        """Reset the length of the next pause, after a round that measured something."""
        self._next_s = _FIRST_S

    def take(self, reason: str) -> bool:
        """Pause after a round without results because of `reason`; False if the time is over."""
        if reason == completion.MAINTENANCE and (maintenances := self._maintenances()):
            return self._wait_for(maintenances[0])
        pause_s = min(self._next_s, self.deadline - time.monotonic())
        if pause_s <= 0:
            return False
        self.tell(f"{reason}: trying again in {pause_s:.0f} s")
        time.sleep(pause_s)
        self._next_s = min(2 * self._next_s, _LONGEST_S)
        return True

    def _wait_for(self, maintenance: Maintenance) -> bool:
        """Wait for the end of `maintenance`, which may move; False if it exceeds the time limit."""
        last_line = ""
        current: Maintenance | None = maintenance
        while current:
            wait_s = current.end - time.time()
            is_late = wait_s > self.deadline - time.monotonic()
            line = f"{current}, beyond this run's time limit" if is_late else str(current)
            if line != last_line:
                self.tell(line)
                last_line = line
            if is_late:
                return False
            time.sleep(max(0.0, min(wait_s, self._next_s)))
            self._next_s = min(2 * self._next_s, _LONGEST_S)
            others = (item for item in self._maintenances() if item.name == maintenance.name)
            current = next(others, None)
        return True

    def _maintenances(self) -> list[Maintenance]:
        """Return the maintenances that are not over; none if Slurm does not answer."""
        command = ["scontrol", "show", "reservation", "--oneliner"]
        listing = _query(command, self.environment or os.environ)
        return [item for item in parse_maintenances(listing) if item.end > time.time()]

"""The scheduler in a campaign: the jobs of a run and their waits, outages, maintenance."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from roundtrip.measure import progress, scheduler_log
from roundtrip.sites.schedulers.interface import (
    MAINTENANCE,
    Maintenance,
    NoAnswerError,
    PendingJob,
    Scheduler,
)

_TIMEOUT_S = 5.0
#: First pause, s; each further pause is twice as long.
_FIRST_S = 5.0
_LONGEST_S = 60.0


@dataclass(frozen=True)
class Wait:
    """Deadline for waiting for a scheduler, seconds since 1970, and the folder of the run's log."""

    scheduler: Scheduler
    deadline: float
    run_dir: Path

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """Return `base` with a PATH whose commands wait for an answer and log waits."""
        log = self.run_dir / scheduler_log.FILE_NAME
        return self.scheduler.patient_environment(base, self.deadline, log)

    def status(self) -> str:
        """Return the text to show while the scheduler does not answer; "" while it answers."""
        waits = [item for item in scheduler_log.read(self.run_dir) if item.end is None]
        if not waits:
            return ""
        wait_s = time.time() - waits[-1].start
        return f"waiting for {self.scheduler.title}, which does not answer, for {wait_s:.0f} s"

    def outage_s(self, moment: float) -> float | None:
        """Seconds without an answer after `moment` (since 1970); None if there always was one."""
        outages = scheduler_log.outages(scheduler_log.read(self.run_dir))
        overlaps = [(max(start, moment), end) for start, end in outages if end >= int(moment)]
        return sum(end - start for start, end in overlaps if end > start) if overlaps else None


def begin_wait(scheduler: Scheduler, limit_s: float, run_dir: Path) -> Wait | None:
    """Return the wait of a run that ends in `limit_s` seconds; None without a scheduler."""
    return Wait(scheduler, time.time() + limit_s, run_dir) if scheduler.allocates else None


def cancel(label: str, environment: Mapping[str, str], wait: Wait) -> list[str]:
    """Cancel the jobs that sessions of run `label` left in the queue, and return their ids.

    No session would collect the launch of such a job.  NoAnswerError when the wait is over;
    UserError if the scheduler refuses for another reason.
    """
    return wait.scheduler.cancel(job_comment(label), wait.environment(environment))


def cancel_and_wait(label: str, environment: Mapping[str, str], wait: Wait) -> None:
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


def no_answer(scheduler: Scheduler) -> str:
    """Why a launch failed that the scheduler prevented, as it did not answer."""
    return f"{scheduler.title} did not answer"


@dataclass
class Queue:
    """The pending jobs with one comment; queried at most every `every_s` seconds."""

    scheduler: Scheduler
    comment: str
    environment: Mapping[str, str]
    every_s: float = 10.0
    _asked: float = field(default=float("-inf"), init=False)
    _known: str = field(default="", init=False)

    def status(self) -> str:
        """Return what the first job waits for; "" if none waits, or there is no answer."""
        if time.monotonic() - self._asked >= self.every_s:
            job = self.scheduler.pending_job(self.comment, self.environment, _TIMEOUT_S)
            self._known = describe_wait(job, self.scheduler.title, time.time()) if job else ""
            self._asked = time.monotonic()
        return self._known


def describe_wait(job: PendingJob, title: str, now: float) -> str:
    """Return what `job` of the scheduler with this `title` waits for at `now`, Unix time."""
    text = f"job {job.job} has waited"
    if job.submit_time is not None:
        text += f" for {progress.duration(now - job.submit_time)}"
    if job.reason:
        text += f": {job.reason}"
    if job.start is not None and job.start > now:
        text += f"; {title} expects it to start at {_minute(job.start)}"
    return text


def _minute(moment: float) -> str:
    return datetime.fromtimestamp(moment).strftime("%Y-%m-%d %H:%M")


@dataclass
class Pauses:
    """Pauses after rounds in which the scheduler prevented all launches, e.g. by a maintenance.

    The run must end at `deadline` (of the monotonic clock).

    `tell` shows why nothing runs; `environment` is that of the site.
    """

    scheduler: Scheduler
    deadline: float
    tell: Callable[[str], None]
    environment: Mapping[str, str]
    _next_s: float = field(default_factory=lambda: _FIRST_S)

    def end(self) -> None:
        """Reset the length of the next pause, after a round that measured something."""
        self._next_s = _FIRST_S

    def take(self, reason: str) -> bool:
        """Pause after a round without results because of `reason`; False if the time is over."""
        if reason.endswith(MAINTENANCE) and (maintenances := self._maintenances()):
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
            line = self._describe(current)
            line += ", beyond this run's time limit" if is_late else ""
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

    def _describe(self, maintenance: Maintenance) -> str:
        nodes, end = maintenance.nodes, _minute(maintenance.end)
        keeps = f"{self.scheduler.title} keeps {nodes} for maintenance until {end}"
        return f"{keeps} (reservation {maintenance.name})"

    def _maintenances(self) -> list[Maintenance]:
        """Return the maintenances that are not over; none without an answer."""
        listing = self.scheduler.maintenances(self.environment)
        return [item for item in listing if item.end > time.time()]

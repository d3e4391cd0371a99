"""What the scheduler does to a run: its outages and maintenance, and the wait of the run's jobs.

Outages and lost jobs are in ``scheduler.log`` of the run tree.  The wrappers of the scheduler's
commands append ``<seconds since 1970> lost <id> <command> <error>`` when a command gets no answer,
``<seconds> back <id>`` when it gets one, ``left`` when it gives up, and ``instead`` when another
command answers in place of accounting.  They also append ``<seconds> sent <job> <folder>`` for each
job, ``unknown <job> <folder>`` if a restarted controller does not know it, and
``down <job> <nodes> <folder>`` if nodes of it go down.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from roundtrip.measure.progress import describe_duration
from roundtrip.sites import schedulers
from roundtrip.sites.schedulers.interface import (
    MAINTENANCE,
    Maintenance,
    NoAnswerError,
    PendingJob,
    Scheduler,
)

#: First pause, s; each further pause is twice as long.
_FIRST_PAUSE_S = 5.0
_MAX_PAUSE_S = 60.0
#: Least time between two questions for pending jobs, s.
_QUERY_INTERVAL_S = 10.0

LOG_FILE = "scheduler.log"


@dataclass(frozen=True)
class Outage:
    """A period in which a command of the scheduler got no answer, in seconds since 1970.

    `end` is None while it lasts, or if the command was killed.  `command` is its name, such as
    sacct; `ended_by_fallback`: another command answered in its place.
    """

    start: float
    end: float | None
    command: str
    ended_by_fallback: bool = False


def read_outages(run_dir: Path) -> list[Outage]:
    """Read all outages in the log of a run tree, sorted by start; invalid lines are ignored."""
    open_outages: dict[str, tuple[float, str]] = {}
    outages: list[Outage] = []
    for moment, verb, identity, rest in _log_lines(run_dir / LOG_FILE):
        if verb == "lost":
            open_outages[identity] = (moment, rest.partition(" ")[0])
        elif verb in ("back", "left", "instead") and identity in open_outages:
            start, command = open_outages.pop(identity)
            outages.append(Outage(start, max(start, moment), command, verb == "instead"))
    # A command that is killed while it waits writes no end.
    outages += [Outage(start, None, command) for start, command in open_outages.values()]
    return sorted(outages, key=lambda outage: outage.start)


def _log_lines(file: Path) -> Iterator[tuple[float, str, str, str]]:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        moment, verb, identity, rest = [*line.split(" ", 3), "", "", ""][:4]
        if moment.isascii() and moment.isdigit() and len(moment) < 12:
            yield float(moment), verb, identity, rest


def folders_of_unknown_jobs(run_dir: Path) -> frozenset[str]:
    """Return folders, relative to `run_dir`, of launches whose jobs the controller has forgotten,
    and of later jobs with the same numbers, which nodes may end by mistake."""
    numbers, folders = set(), set()
    for _, verb, job, folder in _log_lines(run_dir / LOG_FILE):
        if verb == "unknown" or (verb == "sent" and job in numbers):
            numbers.add(job)
            folders.add(folder)
    return frozenset(folders)


def nodes_down_by_folder(run_dir: Path) -> dict[str, tuple[str, ...]]:
    """Return nodes that were down, by the launch's folder, relative to `run_dir`."""
    nodes_by_folder = {}
    for _, verb, _, rest in _log_lines(run_dir / LOG_FILE):
        if verb == "down":
            nodes, _, folder = rest.partition(" ")
            nodes_by_folder[folder] = tuple(nodes.split(","))
    return nodes_by_folder


def merge_outages(outages: Sequence[Outage]) -> list[tuple[float, float]]:
    """Return the periods (start, end), in seconds since 1970, of any outage: overlapping ones are
    merged, and one without an end has 0 s, because its duration is unknown."""
    periods: list[tuple[float, float]] = []
    for outage in sorted(outages, key=lambda outage: outage.start):
        end = outage.end if outage.end is not None else outage.start
        if periods and outage.start <= periods[-1][1]:
            periods[-1] = (periods[-1][0], max(periods[-1][1], end))
        else:
            periods.append((outage.start, end))
    return periods


def outage_record(run_dir: Path) -> dict[str, Any]:
    """Return the outages in the log of a run tree as ``env/scheduler.json``, which goes into the
    bundle: without error messages, because they name hosts; {} without an outage."""
    outages = read_outages(run_dir)
    if not outages:
        return {}
    owners = (item for item in schedulers.SCHEDULERS if outages[0].command in item.commands)
    record: dict[str, Any] = {"scheduler": next(owners, schedulers.SCHEDULERS[0]).key}
    record["silences"] = [
        {
            "start": f"{datetime.fromtimestamp(start, UTC):%Y-%m-%dT%H:%M:%SZ}",
            "seconds": round(end - start),
        }
        for start, end in merge_outages(outages)
    ]
    if any(outage.ended_by_fallback for outage in outages):
        record["accounting_away"] = True
    return record


def write_outages(run_dir: Path) -> None:
    """Write ``env/scheduler.json`` if there was an outage."""
    if record := outage_record(run_dir):
        (run_dir / "env" / "scheduler.json").write_text(json.dumps(record, indent=1))


def describe_outage_record(record: object) -> str:
    """Describe the outages in an `outage_record`: ``Slurm did not answer 3 times, 41 s in total``,
    and whether another command replaced accounting; "" without any, or if it is invalid."""
    if not isinstance(record, dict) or not isinstance(items := record.get("silences"), list):
        return ""
    seconds: list[Any] = [
        item.get("seconds", -1) if isinstance(item, dict) else -1 for item in items
    ]
    if not seconds or not all(isinstance(s, int) and 0 <= s < 1 << 31 for s in seconds):
        return ""
    # A record of an earlier version names no scheduler: there was one only.
    scheduler = schedulers.scheduler_of_key(record.get("scheduler", schedulers.SCHEDULERS[0].key))
    times = "once" if len(seconds) == 1 else f"{len(seconds)} times"
    away = "its accounting stayed away or lost a job"
    note = (
        f"; {away}, so that {scheduler.accounting_fallback_command} said how jobs ended"
        if record.get("accounting_away") is True
        else ""
    )
    return f"{scheduler.title} did not answer {times}, {sum(seconds)} s in total{note}"


@dataclass(frozen=True)
class SchedulerWait:
    """How long a run waits for a scheduler that does not answer: until `deadline_s`, seconds since
    1970.  Outages are logged in `run_dir`; without a scheduler there are none."""

    scheduler: Scheduler
    deadline_s: float
    run_dir: Path

    def patient_environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """Return `base` with a PATH whose commands wait for an answer, and log outages."""
        log = self.run_dir / LOG_FILE
        return self.scheduler.retrying_environment(base, self.deadline_s, log)

    def describe_outage(self) -> str:
        """Describe the current outage and its duration; "" while the scheduler answers."""
        waits = [item for item in read_outages(self.run_dir) if item.end is None]
        if not waits:
            return ""
        wait_s = time.time() - waits[-1].start
        return f"waiting for {self.scheduler.title}, which does not answer, for {wait_s:.0f} s"

    def outage_s(self, moment: float) -> float | None:
        """Return the seconds of outages after `moment`, Unix time; None without an outage."""
        periods = merge_outages(read_outages(self.run_dir))
        overlaps = [(max(start, moment), end) for start, end in periods if end >= int(moment)]
        return sum(end - start for start, end in overlaps if end > start) if overlaps else None


def cancel_jobs(run_name: str, environment: Mapping[str, str], wait: SchedulerWait) -> list[str]:
    """Cancel the jobs of run `run_name` that are still queued, and return their ids.  NoAnswerError
    if there is no answer before the deadline of `wait`; UserError if the scheduler refuses."""
    return wait.scheduler.cancel_jobs(job_comment(run_name), wait.patient_environment(environment))


def cancel_jobs_and_wait(
    run_name: str, environment: Mapping[str, str], wait: SchedulerWait
) -> None:
    """Cancel the jobs of run `run_name`, and wait until none is left to run beside the next launch.

    NoAnswerError if jobs do not end, or there is no answer, before the deadline of `wait`;
    UserError if the scheduler refuses.
    """
    while cancel_jobs(run_name, environment, wait):
        if time.time() >= wait.deadline_s:
            raise NoAnswerError("jobs that were cancelled do not end")
        time.sleep(1)


def job_comment(run_name: str) -> str:
    """The comment by which the scheduler finds the jobs of run `run_name`: ASCII without blanks."""
    return f"roundtrip:{quote(run_name)}"


@dataclass
class PendingJobs:
    """The pending jobs with this `comment`, asked for at most every `_QUERY_INTERVAL_S`."""

    scheduler: Scheduler
    comment: str
    command_environment: Mapping[str, str]
    _last_query_s: float = field(default=float("-inf"), init=False)
    _last_status: str = field(default="", init=False)

    def query_status(self) -> str:
        """Ask what the first job waits for; "" if none waits, or there is no answer."""
        if time.monotonic() - self._last_query_s >= _QUERY_INTERVAL_S:
            job = self.scheduler.find_pending_job(self.comment, self.command_environment, 5.0)
            self._last_status = (
                describe_pending_job(job, self.scheduler.title, time.time()) if job else ""
            )
            self._last_query_s = time.monotonic()
        return self._last_status


def describe_pending_job(job: PendingJob, title: str, now: float) -> str:
    """Describe how long and for what `job` of scheduler `title` has waited at `now`, Unix time."""
    text = f"job {job.job} has waited"
    if job.submit_time is not None:
        text += f" for {describe_duration(now - job.submit_time)}"
    if job.reason:
        text += f": {job.reason}"
    if job.start is not None and job.start > now:
        text += f"; {title} expects it to start at {_minute_text(job.start)}"
    return text


def _minute_text(moment: float) -> str:
    return datetime.fromtimestamp(moment).strftime("%Y-%m-%d %H:%M")


@dataclass
class RoundPauses:
    """Sleeps after rounds in which the scheduler prevented all launches, as by a maintenance.

    No pause ends after `deadline_s` of ``time.monotonic``; `tell` shows why nothing runs.
    """

    scheduler: Scheduler
    deadline_s: float
    tell: Callable[[str], None]
    command_environment: Mapping[str, str]
    _next_pause_s: float = field(default_factory=lambda: _FIRST_PAUSE_S)

    def reset(self) -> None:
        """Make the next pause as short as the first, after a round that measured something."""
        self._next_pause_s = _FIRST_PAUSE_S

    def sleep(self, reason: str) -> bool:
        """Sleep after a round without results, for `reason`, each time longer, or to the end of a
        maintenance; False if the deadline comes first."""
        if reason.endswith(MAINTENANCE) and (maintenances := self._query_maintenances()):
            return self._sleep_through(maintenances[0])
        pause_s = min(self._next_pause_s, self.deadline_s - time.monotonic())
        if pause_s <= 0:
            return False
        self.tell(f"{reason}: trying again in {pause_s:.0f} s")
        time.sleep(pause_s)
        self._next_pause_s = min(2 * self._next_pause_s, _MAX_PAUSE_S)
        return True

    def _sleep_through(self, maintenance: Maintenance) -> bool:
        """Sleep until `maintenance` ends, even if moved; False if the deadline is earlier."""
        last_line = ""
        current: Maintenance | None = maintenance
        while current:
            wait_s = current.end - time.time()
            is_late = wait_s > self.deadline_s - time.monotonic()
            keeps = f"{self.scheduler.title} keeps {current.nodes} for maintenance until"
            line = f"{keeps} {_minute_text(current.end)} (reservation {current.name})"
            line += ", beyond this run's time limit" if is_late else ""
            if line != last_line:
                self.tell(line)
                last_line = line
            if is_late:
                return False
            time.sleep(max(0.0, min(wait_s, self._next_pause_s)))
            self._next_pause_s = min(2 * self._next_pause_s, _MAX_PAUSE_S)
            others = (item for item in self._query_maintenances() if item.name == maintenance.name)
            current = next(others, None)
        return True

    def _query_maintenances(self) -> list[Maintenance]:
        """Ask the scheduler for maintenances that are not over; [] without an answer."""
        listing = self.scheduler.collect_maintenances(self.command_environment)
        return [item for item in listing if item.end > time.time()]

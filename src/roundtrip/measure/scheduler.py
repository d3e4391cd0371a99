"""The scheduler in a campaign: the jobs of a run and their waits, outages, maintenance.

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

from roundtrip.measure.progress import duration
from roundtrip.sites import schedulers
from roundtrip.sites.schedulers.interface import (
    MAINTENANCE,
    Maintenance,
    NoAnswerError,
    PendingJob,
    Scheduler,
)

#: First pause, s; each further pause is twice as long.
_FIRST_S = 5.0
_LONGEST_S = 60.0


LOG_FILE = "scheduler.log"


@dataclass(frozen=True)
class Silence:
    """A time without an answer, in seconds since 1970; `end` is None while it lasts.

    `ended_by_fallback` says that the silence ended because another command answered.
    """

    start: float
    end: float | None
    command: str
    ended_by_fallback: bool = False


def read_silences(run_dir: Path) -> list[Silence]:
    """Return all silences of a run tree, sorted by start; invalid lines are ignored."""
    open_silences: dict[str, tuple[float, str]] = {}
    silences: list[Silence] = []
    for moment, verb, identity, rest in _log_lines(run_dir / LOG_FILE):
        if verb == "lost":
            open_silences[identity] = (moment, rest.partition(" ")[0])
        elif verb in ("back", "left", "instead") and identity in open_silences:
            start, command = open_silences.pop(identity)
            silences.append(Silence(start, max(start, moment), command, verb == "instead"))
    # A command that is killed while it waits writes no end.
    silences += [Silence(start, None, command) for start, command in open_silences.values()]
    return sorted(silences, key=lambda silence: silence.start)


def _log_lines(file: Path) -> Iterator[tuple[float, str, str, str]]:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        moment, verb, identity, rest = [*line.split(" ", 3), "", "", ""][:4]
        if moment.isascii() and moment.isdigit() and len(moment) < 12:
            yield float(moment), verb, identity, rest


def unknown_jobs(run_dir: Path) -> frozenset[str]:
    """Return folders, below `run_dir`, of the launches whose jobs the controller has forgotten, and
    of later jobs with their numbers, because nodes may end them instead."""
    numbers, folders = set(), set()
    for _, verb, job, folder in _log_lines(run_dir / LOG_FILE):
        if verb == "unknown" or (verb == "sent" and job in numbers):
            numbers.add(job)
            folders.add(folder)
    return frozenset(folders)


def nodes_down(run_dir: Path) -> dict[str, tuple[str, ...]]:
    """Return, by folder of a launch below `run_dir`, its nodes that were down when it ended."""
    nodes_by_folder = {}
    for _, verb, _, rest in _log_lines(run_dir / LOG_FILE):
        if verb == "down":
            nodes, _, folder = rest.partition(" ")
            nodes_by_folder[folder] = tuple(nodes.split(","))
    return nodes_by_folder


def silent_scheduler(silences: Sequence[Silence]) -> Scheduler:
    """Return the scheduler whose commands got no answer; the first, if there is no silence."""
    command = silences[0].command if silences else ""
    owners = (item for item in schedulers.ALL if command in item.commands)
    return next(owners, schedulers.ALL[0])


def outages(silences: Sequence[Silence]) -> list[tuple[float, float]]:
    """Return (start, end) of each time without an answer, in seconds since 1970; overlapping
    silences count once, and one without an end 0 s, because its duration is unknown."""
    spans: list[tuple[float, float]] = []
    for silence in sorted(silences, key=lambda silence: silence.start):
        end = silence.end if silence.end is not None else silence.start
        if spans and silence.start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], end))
        else:
            spans.append((silence.start, end))
    return spans


def describe_outages(
    spans: Sequence[tuple[float, float]], scheduler: Scheduler, ended_by_fallback: bool = False
) -> str:
    """Return ``Slurm did not answer 3 times, 41 s in total``; "" if it always did.

    `ended_by_fallback` adds that another command replaced accounting.
    """
    if not spans:
        return ""
    seconds = sum(end - start for start, end in spans)
    times = "once" if len(spans) == 1 else f"{len(spans)} times"
    away = "its accounting stayed away or lost a job"
    note = (
        f"; {away}, so that {scheduler.fallback} said how jobs ended" if ended_by_fallback else ""
    )
    return f"{scheduler.title} did not answer {times}, {seconds:.0f} s in total{note}"


def describe_run_outages(run_dir: Path) -> str:
    """As `describe_outages`, for a run tree, with a note if another command replaced accounting."""
    silences = read_silences(run_dir)
    ended_by_fallback = any(silence.ended_by_fallback for silence in silences)
    return describe_outages(outages(silences), silent_scheduler(silences), ended_by_fallback)


def record_outages(run_dir: Path) -> None:
    """Write ``env/scheduler.json``, which goes into the bundle, if there was a silence; without the
    errors, because they name hosts."""
    silences = read_silences(run_dir)
    if spans := outages(silences):
        content: dict[str, Any] = {"scheduler": silent_scheduler(silences).key, "silences": []}
        for start, end in spans:
            begin = f"{datetime.fromtimestamp(start, UTC):%Y-%m-%dT%H:%M:%SZ}"
            content["silences"].append({"start": begin, "seconds": round(end - start)})
        if any(silence.ended_by_fallback for silence in silences):
            content["accounting_away"] = True
        (run_dir / "env" / "scheduler.json").write_text(json.dumps(content, indent=1))


def describe_outage_record(content: object) -> str:
    """As `describe_run_outages`, of a bundle's ``env/scheduler.json``; "" if it is invalid."""
    if not isinstance(content, dict) or not isinstance(items := content.get("silences"), list):
        return ""
    seconds = [item.get("seconds") if isinstance(item, dict) else None for item in items]
    if not all(isinstance(s, int) and 0 <= s < 1 << 31 for s in seconds):
        return ""
    is_away = content.get("accounting_away") is True
    # A record of an earlier version names no scheduler: there was one only.
    scheduler = schedulers.by_key(content.get("scheduler", schedulers.ALL[0].key))
    return describe_outages([(0.0, float(s)) for s in seconds if s is not None], scheduler, is_away)


@dataclass(frozen=True)
class Wait:
    """Deadline for waiting for a scheduler, seconds since 1970, and the folder of the run's log."""

    scheduler: Scheduler
    deadline: float
    run_dir: Path

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """Return `base` with a PATH whose commands wait for an answer and log waits."""
        log = self.run_dir / LOG_FILE
        return self.scheduler.patient_environment(base, self.deadline, log)

    def status(self) -> str:
        """Return the text to show while the scheduler does not answer; "" while it answers."""
        waits = [item for item in read_silences(self.run_dir) if item.end is None]
        if not waits:
            return ""
        wait_s = time.time() - waits[-1].start
        return f"waiting for {self.scheduler.title}, which does not answer, for {wait_s:.0f} s"

    def outage_s(self, moment: float) -> float | None:
        """Seconds without an answer after `moment` (since 1970); None if there always was one."""
        spans = outages(read_silences(self.run_dir))
        overlaps = [(max(start, moment), end) for start, end in spans if end >= int(moment)]
        return sum(end - start for start, end in overlaps if end > start) if overlaps else None


def begin_wait(scheduler: Scheduler, limit_s: float, run_dir: Path) -> Wait | None:
    """Return the wait of a run that ends in `limit_s` seconds; None without a scheduler."""
    return Wait(scheduler, time.time() + limit_s, run_dir) if scheduler.allocates else None


def cancel(label: str, environment: Mapping[str, str], wait: Wait) -> list[str]:
    """Cancel the jobs that sessions of run `label` left in the queue, and return their ids.
    NoAnswerError when the wait is over; UserError if the scheduler refuses for another reason."""
    return wait.scheduler.cancel(job_comment(label), wait.environment(environment))


def cancel_and_wait(label: str, environment: Mapping[str, str], wait: Wait) -> None:
    """Cancel the jobs of run `label`, and return when none is left, which would run concurrently
    with the next launch.  NoAnswerError when the wait is over; UserError as in `cancel`."""
    while cancel(label, environment, wait):
        if time.time() >= wait.deadline:
            raise NoAnswerError("jobs that were cancelled do not end")
        time.sleep(1)


def job_comment(label: str) -> str:
    """The comment of the jobs of run `label`: ASCII without blanks, for a line of their scripts."""
    return f"roundtrip:{quote(label)}"


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
            job = self.scheduler.pending_job(self.comment, self.environment, 5.0)
            self._known = describe_wait(job, self.scheduler.title, time.time()) if job else ""
            self._asked = time.monotonic()
        return self._known


def describe_wait(job: PendingJob, title: str, now: float) -> str:
    """Return what `job` of the scheduler with this `title` waits for at `now`, Unix time."""
    text = f"job {job.job} has waited"
    if job.submit_time is not None:
        text += f" for {duration(now - job.submit_time)}"
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

    The run must end at `deadline` (of the monotonic clock); `tell` shows why nothing runs.
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
            keeps = f"{self.scheduler.title} keeps {current.nodes} for maintenance until"
            line = f"{keeps} {_minute(current.end)} (reservation {current.name})"
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

    def _maintenances(self) -> list[Maintenance]:
        """Return the maintenances that are not over; none without an answer."""
        listing = self.scheduler.maintenances(self.environment)
        return [item for item in listing if item.end > time.time()]

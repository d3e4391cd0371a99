"""A scheduler's outages and job losses during a campaign: ``scheduler.log`` of its run tree.

The wrappers of its commands append ``<seconds since 1970> lost <id> <command> <error>`` when a
command gets no answer, ``<seconds> back <id>`` when it gets one, ``left`` when it gives up, and
``instead`` when another command answers in place of accounting.  They also append
``<seconds> sent <job> <folder>`` for each job, ``unknown <job> <folder>`` if a restarted controller
does not know it, and ``down <job> <nodes> <folder>`` if nodes of it go down.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from roundtrip.sites import schedulers
from roundtrip.sites.schedulers.interface import Scheduler

FILE_NAME = "scheduler.log"


@dataclass(frozen=True)
class Silence:
    """A time without an answer, in seconds since 1970; `end` is None while it lasts.

    `has_fallback` says that the silence ended because another command answered.
    """

    start: float
    end: float | None
    command: str
    has_fallback: bool = False


def read(run_dir: Path) -> list[Silence]:
    """Return all silences of a run tree, sorted by start; invalid lines are ignored."""
    open_silences: dict[str, tuple[float, str]] = {}
    silences: list[Silence] = []
    for moment, verb, identity, rest in _lines(run_dir / FILE_NAME):
        if verb == "lost":
            open_silences[identity] = (moment, rest.partition(" ")[0])
        elif verb in ("back", "left", "instead") and identity in open_silences:
            start, command = open_silences.pop(identity)
            silences.append(Silence(start, max(start, moment), command, verb == "instead"))
    # A command that is killed while it waits writes no end.
    silences += [Silence(start, None, command) for start, command in open_silences.values()]
    return sorted(silences, key=lambda silence: silence.start)


def _lines(file: Path) -> Iterator[tuple[float, str, str, str]]:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        moment, verb, identity, rest = [*line.split(" ", 3), "", "", ""][:4]
        if moment.isascii() and moment.isdigit() and len(moment) < 12:
            yield float(moment), verb, identity, rest


def unknown_jobs(run_dir: Path) -> frozenset[str]:
    """Return folders, below `run_dir`, of the launches whose jobs the controller has forgotten.

    Later jobs with the number of a forgotten job are included, because nodes may end them instead.
    """
    numbers, folders = set(), set()
    for _, verb, job, folder in _lines(run_dir / FILE_NAME):
        if verb == "unknown" or (verb == "sent" and job in numbers):
            numbers.add(job)
            folders.add(folder)
    return frozenset(folders)


def nodes_down(run_dir: Path) -> dict[str, tuple[str, ...]]:
    """Return, by folder of a launch below `run_dir`, its nodes that were down when it ended."""
    nodes_by_folder = {}
    for _, verb, _, rest in _lines(run_dir / FILE_NAME):
        if verb == "down":
            nodes, _, folder = rest.partition(" ")
            nodes_by_folder[folder] = tuple(nodes.split(","))
    return nodes_by_folder


def writer(silences: Sequence[Silence]) -> Scheduler:
    """Return the scheduler whose commands got no answer; the first, if there is no silence."""
    command = silences[0].command if silences else ""
    owners = (item for item in schedulers.ALL if command in item.commands)
    return next(owners, schedulers.ALL[0])


def outages(silences: Sequence[Silence]) -> list[tuple[float, float]]:
    """Return (start, end) of each time without an answer, in seconds since 1970.

    Overlapping silences count once.  A silence without an end counts 0 s, because its duration is
    unknown.
    """
    spans: list[tuple[float, float]] = []
    for silence in sorted(silences, key=lambda silence: silence.start):
        end = silence.end if silence.end is not None else silence.start
        if spans and silence.start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], end))
        else:
            spans.append((silence.start, end))
    return spans


def describe(
    spans: Sequence[tuple[float, float]], scheduler: Scheduler, has_fallback: bool = False
) -> str:
    """Return ``Slurm did not answer 3 times, 41 s in total``; "" if it always did.

    `has_fallback` adds that another command replaced accounting.
    """
    if not spans:
        return ""
    seconds = sum(end - start for start, end in spans)
    times = "once" if len(spans) == 1 else f"{len(spans)} times"
    away = "its accounting stayed away or lost a job"
    note = f"; {away}, so that {scheduler.fallback} said how jobs ended" if has_fallback else ""
    return f"{scheduler.title} did not answer {times}, {seconds:.0f} s in total{note}"


def describe_run(run_dir: Path) -> str:
    """As `describe`, for a run tree, with a note if another command replaced accounting."""
    silences = read(run_dir)
    has_fallback = any(silence.has_fallback for silence in silences)
    return describe(outages(silences), writer(silences), has_fallback)


def record(run_dir: Path) -> None:
    """Write ``env/scheduler.json``, which goes into the bundle, if there was a silence.

    It does not contain the errors, because they name hosts.
    """
    silences = read(run_dir)
    if spans := outages(silences):
        content: dict[str, Any] = {"scheduler": writer(silences).key, "silences": []}
        for start, end in spans:
            begin = f"{datetime.fromtimestamp(start, UTC):%Y-%m-%dT%H:%M:%SZ}"
            content["silences"].append({"start": begin, "seconds": round(end - start)})
        if any(silence.has_fallback for silence in silences):
            content["accounting_away"] = True
        (run_dir / "env" / "scheduler.json").write_text(json.dumps(content, indent=1))


def describe_record(content: object) -> str:
    """As `describe_run`, for the content of a bundle's ``env/scheduler.json``; "" if invalid."""
    if not isinstance(content, dict) or not isinstance(items := content.get("silences"), list):
        return ""
    seconds = [item.get("seconds") if isinstance(item, dict) else None for item in items]
    if not all(isinstance(s, int) and 0 <= s < 1 << 31 for s in seconds):
        return ""
    is_away = content.get("accounting_away") is True
    # A record of an earlier version names no scheduler: there was one only.
    scheduler = schedulers.by_key(content.get("scheduler", schedulers.ALL[0].key))
    return describe([(0.0, float(s)) for s in seconds if s is not None], scheduler, is_away)

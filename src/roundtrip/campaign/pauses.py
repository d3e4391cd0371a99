"""Waits after rounds that measured nothing through no fault of theirs, as in a maintenance."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from roundtrip.collect import completion

#: First pause, s; each further pause is twice as long.
_FIRST_S = 5.0
_LONGEST_S = 60.0


@dataclass(frozen=True)
class Maintenance:
    """A reservation of Slurm with the flag MAINT; times in seconds since 1970."""

    name: str
    nodes: str
    start: float
    end: float

    def told(self) -> str:
        """For people: until when, and for which nodes."""
        until = datetime.fromtimestamp(self.end).strftime("%Y-%m-%d %H:%M")
        return f"Slurm keeps {self.nodes} for maintenance until {until} (reservation {self.name})"


def maintenances(text: str) -> list[Maintenance]:
    """Those in the output of ``scontrol show reservation --oneliner``, the first to end first.

    Times there are in the local zone, or seconds since 1970 with ``SLURM_TIME_FORMAT=%s``.
    """
    found = []
    for line in text.splitlines():
        fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
        if "MAINT" not in fields.get("Flags", "").split(","):
            continue
        start, end = (_seconds(fields.get(key, "")) for key in ("StartTime", "EndTime"))
        if start is not None and end is not None:
            name, nodes = fields.get("ReservationName", "?"), fields.get("Nodes", "nodes")
            found.append(Maintenance(name, nodes, start, end))
    return sorted(found, key=lambda one: one.end)


def _seconds(text: str) -> float | None:
    try:
        return float(text) if text.isdigit() else datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


@dataclass
class Pauses:
    """The pauses of a run that must end at `deadline` (of the monotonic clock).

    `tell` shows why nothing runs; `environment` is that of the site.
    """

    deadline: float
    tell: Callable[[str], None]
    environment: Mapping[str, str]
    _next_s: float = field(default_factory=lambda: _FIRST_S)

    def end(self) -> None:
        """Something was measured: the next pause is a short one."""
        self._next_s = _FIRST_S

    def take(self, why: str) -> bool:
        """Pause, because of `why` a round measured nothing; False if the time is over before."""
        if why == completion.MAINTENANCE and (kept := self._maintenances()):
            return self._wait_for(kept[0])
        pause_s = min(self._next_s, self.deadline - time.monotonic())
        if pause_s <= 0:
            return False
        self.tell(f"{why}: trying again in {pause_s:.0f} s")
        time.sleep(pause_s)
        self._next_s = min(2 * self._next_s, _LONGEST_S)
        return True

    def _wait_for(self, kept: Maintenance) -> bool:
        """Wait for its end, which may be moved; False if that is beyond the time limit."""
        said = ""
        current: Maintenance | None = kept
        while current:
            left_s = current.end - time.time()
            late = left_s > self.deadline - time.monotonic()
            told = f"{current.told()}, beyond this run's time limit" if late else current.told()
            if told != said:
                self.tell(told)
                said = told
            if late:
                return False
            time.sleep(max(0.0, min(left_s, self._next_s)))
            self._next_s = min(2 * self._next_s, _LONGEST_S)
            current = next((one for one in self._maintenances() if one.name == kept.name), None)
        return True

    def _maintenances(self) -> list[Maintenance]:
        """Maintenances that are not over; none if Slurm does not say."""
        try:
            done = subprocess.run(
                ["scontrol", "show", "reservation", "--oneliner"],
                capture_output=True,
                text=True,
                env={**(self.environment or os.environ), "SLURM_TIME_FORMAT": "%s"},
            )
        except FileNotFoundError:
            return []
        return [one for one in maintenances(done.stdout) if one.end > time.time()]

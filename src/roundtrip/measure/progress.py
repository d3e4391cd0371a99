"""Shows the progress of a campaign: a bar on a terminal, or one line per minute in a log."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, RenderableColumn, TextColumn
from rich.text import Text

from roundtrip.units import plural

_LOG_INTERVAL_S = 60.0


class TerminalProgress:
    """Shows completed work, the current test and the remaining time; prints failures at once.

    A campaign has two stages, which `begin_builds` and `begin_launches` begin.
    """

    def __init__(self, title: str, console: Console) -> None:
        self._console = console
        self._over = threading.Event()
        self._lines = threading.Thread(target=self._log_periodically, daemon=True)
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            RenderableColumn(self),
            console=console,
            refresh_per_second=1.0,  # more would take processor time from what is measured
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(title, total=None, visible=False)
        self._title = title
        self._now: Callable[[], str] = str
        self._start = time.monotonic()
        self._limit_s: float | None = None
        self._wait_note: Callable[[], str] = str

    def __enter__(self) -> TerminalProgress:
        self._bar.start()
        if not self._console.is_terminal:
            self._lines.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._bar.stop()

    def begin_builds(self, builds: int, status: Callable[[], str]) -> None:
        """Begin the stage of `builds` builds; `status()` describes the current one."""
        self._print(f"{self._title}: building what it launches")
        self._begin_stage(f"{self._title}: building", builds, status)

    def end_builds(self, seconds: float) -> None:
        """Show the duration of all builds, `seconds`."""
        self._print(f"the builds took {describe_duration(seconds)}")

    def begin_launches(
        self, cases: int, launches: int, limit_s: float, wait_note: Callable[[], str] = str
    ) -> None:
        """Begin the stage of `launches` launches, with a time limit of `limit_s` seconds;
        `wait_note()` describes what the campaign waits for, "" if it does not wait."""
        words = f"{plural(cases, 'case')}, {launches} launches"
        self._print(f"{self._title}: {words}, at most {describe_duration(limit_s)}")
        self._begin_stage(self._title, launches, str)
        self._limit_s, self._wait_note = limit_s, wait_note

    def set_remaining(self, launches: int) -> None:
        """Show that `launches` launches remain."""
        self._bar.update(self._task, total=self._bar.tasks[0].completed + launches)

    def show_current_test(self, name: str) -> None:
        """Show the test `name` as the current one."""
        self._now = lambda: name

    def show_wait(self, reason: str) -> None:
        """Show the `reason` why nothing runs."""
        self._now = lambda: reason
        self._print(reason)

    def show_result(self, verdict: str, name: str, is_launch: bool = True) -> None:
        """Print a result (OK, FAIL, ...) that is not OK; a launch advances the bar."""
        if is_launch:
            self._bar.advance(self._task)
        if verdict != "OK":
            self._print(f"{self._count_text()} {verdict}: {name}", style="red")

    def __rich__(self) -> Text:
        return Text(self.describe_status())

    def describe_status(self) -> str:
        """Describe the current test or wait, and the remaining time if it is known."""
        parts = [self._now(), self._wait_note()]
        if self._limit_s is not None:
            parts = [self._remaining_text(self._limit_s), *parts]
        return ", ".join(part for part in parts if part)

    def _remaining_text(self, limit_s: float) -> str:
        task, elapsed_s = self._bar.tasks[0], time.monotonic() - self._start
        limit = f"limit in {describe_duration(limit_s - elapsed_s)}"
        if not task.completed or task.total is None:
            return limit
        step_s = elapsed_s / task.completed
        left_s = step_s * (task.total - task.completed)
        end = datetime.fromtimestamp(time.time() + left_s).strftime("%H:%M")
        suffix = f", until {end}" if left_s >= 100 else ""
        return f"about {describe_duration(left_s)} left{suffix} ({limit})"

    def _begin_stage(self, title: str, total: int, status: Callable[[], str]) -> None:
        self._now, self._start, self._limit_s = status, time.monotonic(), None
        self._bar.reset(self._task, total=total, visible=True, description=title)

    def _count_text(self) -> str:
        task = self._bar.tasks[0]
        return f"{task.completed:.0f}/{task.total or 0:.0f}"

    def _log_periodically(self) -> None:
        while not self._over.wait(_LOG_INTERVAL_S):
            title = self._bar.tasks[0].description
            self._print(f"{title}: {self._count_text()} {self.describe_status()}".rstrip())

    def _print(self, text: str, style: str = "") -> None:
        self._console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)


def describe_duration(seconds: float) -> str:
    """Describe a duration: ``40 s``, ``12 min``, ``1 h 30 min``."""
    total_s = max(0, round(seconds))
    if total_s < 100:
        return f"{total_s} s"
    minutes = round(total_s / 60)
    hours, rest = divmod(minutes, 60)
    return f"{minutes} min" if minutes < 100 else f"{hours} h {rest} min"

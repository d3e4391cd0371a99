"""Shows a campaign's progress on a terminal, or as plain lines in a log."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


class TerminalProgress:
    """A bar of launches done; failures are printed above it as they come."""

    def __init__(self, title: str, cases: int, launches: int, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("launches"),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(title, total=launches)
        console.print(f"{title}: {cases} cases, {launches} launches", highlight=False)

    def __enter__(self) -> TerminalProgress:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def expect(self, launches: int) -> None:
        """So many launches are still to come."""
        done = self._bar.tasks[0].completed
        self._bar.update(self._task, total=done + launches)

    def result(self, verdict: str, name: str) -> None:
        """ReFrame finished a test; builds are shown when they fail, and are no launches."""
        is_launch = not name.startswith("build_")
        if is_launch:
            self._bar.advance(self._task)
        if verdict != "OK" or (is_launch and not self._console.is_terminal):
            task = self._bar.tasks[0]
            self._console.print(
                f"{task.completed:.0f}/{task.total or 0:.0f} {verdict}: {name}",
                style="" if verdict == "OK" else "red",
                highlight=False,
                markup=False,
                soft_wrap=True,
            )

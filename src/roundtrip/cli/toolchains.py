"""``roundtrip toolchains``: build the MPI and Boost prefixes of site `local`, or list them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import Annotated

import typer
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from roundtrip import paths
from roundtrip.cli import app, listing
from roundtrip.toolchains.build import build, pending
from roundtrip.toolchains.plan import Store, states
from roundtrip.toolchains.prefixes import BuildError
from roundtrip.toolchains.spec import Toolchain, catalogue


@app.command()
def toolchains(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Default: `smoke` of site-configs/toolchains.toml."
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All of site-configs/toolchains.toml.")
    ] = False,
    listing: Annotated[
        bool, typer.Option("--list", help="Show the state of those named, or of all; build none.")
    ] = False,
) -> None:
    """Build toolchains: a compiler, an MPI and a Boost in one prefix, tested with two ranks."""
    store = Store(paths.toolchains())
    known = catalogue()
    wanted = known.select(names or [], everything)
    if listing:
        _show(wanted if names or everything else known.toolchains.values(), store)
        return
    if not pending(wanted, store):
        print(f"toolchains: {len(wanted)} good, nothing to build")
        return
    try:
        with _Board() as board, store.locked(board.waiting):
            build(pending(wanted, store), store, board.report)
    except BuildError as error:
        print(f"roundtrip: {error.explain()}", file=sys.stderr)
        raise typer.Exit(1) from None
    print(f"toolchains: {len(wanted)} good")


def _show(wanted: Iterable[Toolchain], store: Store) -> None:
    table = Table("toolchain", "state", box=None)
    for name, state in states(wanted, store).items():
        table.add_row(name, state)
    listing.show(table)


class _Board:
    """One line for each toolchain: redrawn on a terminal, else printed when it begins and ends."""

    def __init__(self) -> None:
        columns = (SpinnerColumn(finished_text="✓"), TextColumn("{task.description}", markup=False))
        self._progress = Progress(*columns, TimeElapsedColumn())
        self._tasks: dict[str, tuple[TaskID, float]] = {}

    def __enter__(self) -> _Board:
        if self._progress.console.is_terminal:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress.console.is_terminal:
            self._progress.stop()

    def waiting(self) -> None:
        print("toolchains: another build of them is running; waiting for it")

    def report(self, name: str, doing: str) -> None:
        if not self._progress.console.is_terminal:
            if name not in self._tasks:
                self._tasks[name] = (TaskID(0), time.monotonic())
                print(f"toolchains: {name} ({doing}) ...", flush=True)
            elif doing == "good":
                print(f"toolchains: {name}: good, {time.monotonic() - self._tasks[name][1]:.0f} s")
            return
        if name not in self._tasks:
            self._tasks[name] = (self._progress.add_task(name, total=1), time.monotonic())
        task = self._tasks[name][0]
        self._progress.update(task, description=f"{name:20} {doing}", completed=doing == "good")

"""``roundtrip init``, ``doctor``, ``toolchains``, ``study``: preparations for measuring."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from roundtrip import paths, studies
from roundtrip.cli import app, common
from roundtrip.errors import UserError, writing
from roundtrip.measure import analysis
from roundtrip.sites import machine
from roundtrip.sites.doctor import can_measure, examine_machine
from roundtrip.sites.toolchains.build import build_plans, pending_plans
from roundtrip.sites.toolchains.plan import BuildError, Store, states
from roundtrip.sites.toolchains.spec import catalogue

_STYLE_BY_LEVEL = {"ok": "green", "warn": "yellow", "impossible": "bold red"}
#: The contents of a campaign folder in a wheel; a checkout is a campaign folder itself.
_SHIPPED_FOLDER = Path(studies.__file__).parents[1] / "shipped"


@common.command("init mycampaign      then: cd mycampaign")
def init(folder: Annotated[Path, typer.Argument(help="A new folder, or an empty one.")]) -> None:
    """Lay out a campaign folder: campaigns, checks, sites, programs, and Spack's environment.

    Exit status: 0 laid out; 2, a UserError, if the folder is not empty or this is a checkout.
    """
    if not _SHIPPED_FOLDER.is_dir():
        raise UserError("this roundtrip runs from a checkout, which is a campaign folder itself")
    with writing(folder):
        if folder.exists() and next(folder.iterdir(), None):
            raise UserError("not empty: a campaign folder is laid out in a new one", folder)
        shutil.copytree(_SHIPPED_FOLDER, folder, dirs_exist_ok=True)
    typer.echo(f"laid out {folder}; next, in it: roundtrip doctor, then roundtrip run smoke")


@common.command(
    "doctor            and what difference can be seen now",
    "doctor --quick    in a second",
)
def doctor(
    quick: Annotated[
        bool, typer.Option("--quick", help="Without the A/A test of ten seconds.")
    ] = False,
) -> None:
    """Look for what spoils measurements here, and for the smallest difference that can be seen now.

    Exit status: 0 measuring is possible; 1 it is not.
    """
    packages = machine.campaign_packages()
    versions = machine.installed_packages(packages)
    missing_packages = (
        None if versions is None else [name for name in packages if name not in versions]
    )
    toolchain_states = states(catalogue().available_toolchains, Store(paths.toolchains()))
    host = machine.read_host()
    findings = examine_machine(host, missing_packages, toolchain_states)
    if not quick and can_measure(findings):
        from roundtrip.sites import interference

        levels = analysis.default().statistics
        findings += interference.interference_findings(
            interference.measure_blocks(), levels, host.autogroup
        )
    table = Table(box=None, show_header=False, pad_edge=False)
    for finding in findings:
        text = Text(finding.detail)
        if finding.advice:
            text.append(f"\n-> {finding.advice}", style="dim")
        table.add_row(
            Text(finding.level, style=_STYLE_BY_LEVEL[finding.level]), finding.topic, text
        )
    Console(markup=False).print(table)
    if not can_measure(findings):
        raise typer.Exit(1)


@common.command(
    "toolchains                         those of campaign smoke",
    "toolchains openmpi50-boost188      only this one",
)
def toolchains(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Default: those of campaign `smoke`."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All that this machine can have.")
    ] = False,
    listing: Annotated[
        bool, typer.Option("--list", help="Show the state of those named, or of all; build none.")
    ] = False,
) -> None:
    """Build toolchains: a compiler, an MPI and a Boost in one prefix, tested with two ranks."""
    store = Store(paths.toolchains())
    all_toolchains = catalogue()
    selection = all_toolchains.select(names or [], everything)
    if listing:
        listed = selection if names or everything else all_toolchains.available_toolchains
        table = Table("toolchain", "state", box=None)
        for name, state in states(listed, store).items():
            table.add_row(name, state)
        common.show(table)
        return
    if not pending_plans(selection, store):
        print(f"toolchains: {len(selection)} good, nothing to build")
        return
    try:
        with _BuildBoard() as board, store.hold(board.report_wait):
            build_plans(pending_plans(selection, store), store, board.report)
    except BuildError as error:
        print(f"roundtrip: {error.explain()}", file=sys.stderr)
        raise typer.Exit(1) from None
    print(f"toolchains: {len(selection)} good")


class _BuildBoard:
    """One line for each toolchain: redrawn on a terminal, else printed when its build begins and
    ends."""

    def __init__(self) -> None:
        columns = (SpinnerColumn(finished_text="✓"), TextColumn("{task.description}", markup=False))
        self._progress = Progress(*columns, TimeElapsedColumn())
        self._tasks: dict[str, tuple[TaskID, float]] = {}

    def __enter__(self) -> _BuildBoard:
        if self._progress.console.is_terminal:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress.console.is_terminal:
            self._progress.stop()

    def report_wait(self) -> None:
        print("toolchains: another build of them is running; waiting for it")

    def report(self, name: str, state: str) -> None:
        if not self._progress.console.is_terminal:
            if name not in self._tasks:
                self._tasks[name] = (TaskID(0), time.monotonic())
                print(f"toolchains: {name} ({state}) ...", flush=True)
            elif state == "good":
                print(f"toolchains: {name}: good, {time.monotonic() - self._tasks[name][1]:.0f} s")
            return
        if name not in self._tasks:
            self._tasks[name] = (self._progress.add_task(name, total=1), time.monotonic())
        task = self._tasks[name][0]
        self._progress.update(task, description=f"{name:20} {state}", completed=state == "good")


study_app = typer.Typer(no_args_is_help=True, help="List the studies, or begin a new one.")
app.add_typer(study_app, name="study")


@common.command("study list", name="list", group=study_app)
def list_studies() -> None:
    """Name, title and question of each study, in the order of the report."""
    table = Table("study", "title", "question", box=None, pad_edge=False)
    for study in studies.load():
        table.add_row(*map(Text, (study.name, study.title, study.question)))
    common.show(table)


@common.command("study new barrier", name="new", group=study_app)
def new_study(
    name: Annotated[str, typer.Argument(help="Lower-case name, as in checks/<name>/.")],
) -> None:
    """Write a study that measures, checks and reports; then make it yours.

    It touches no file that exists.  Exit status: 0 written; 2 the name cannot be used.
    """
    new_files = studies.create_study(name, paths.checkout())
    for file in new_files:
        typer.echo(f"wrote {file}")
    typer.echo(f"next: roundtrip run {name} --site local; then docs/add-a-study.md")

"""The command line ``roundtrip``: a thin layer over the package, loaded command by command."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import typer
from typer.core import TyperGroup
from typer.models import CommandFunctionType

from roundtrip import __version__
from roundtrip.errors import UserError

#: The commands by purpose and name, in the order of use: module in this package, and help.
COMMANDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Before the first run": {
        "init": ("setup", "Lay out a campaign folder, where roundtrip came as a wheel."),
        "doctor": ("setup", "Look for what spoils measurements on this machine."),
        "toolchains": ("setup", "Build MPIs and Boosts for site local, or list them."),
        "site": ("setup", "Write a site's folder from what the cluster says, or check one."),
        "study": ("setup", "List the studies, or begin a new one."),
    },
    "Measure": {
        "run": ("run", "Run a campaign, and publish its report."),
        "ab": ("compare", "Launch two toolchains in turn until each claim is decided."),
        "bisect": ("cause", "Find the first slow version between two."),
        "blame": ("cause", "Find which of the facts that differ made a step."),
    },
    "Read": {
        "history": ("history", "Say what changed over the nights of a site, and since when."),
        "nodes": ("nodes", "Name the nodes, switches and links that are sick or flaky."),
        "compare": ("compare", "Compare two reports, runs or nights, or two toolchains of one."),
        "calibrate": ("history", "Fit the thresholds of detection to the noise of a site."),
    },
    "Share": {
        "collect": ("share", "Turn a run into a bundle."),
        "report": ("share", "Publish the report of a bundle, or verify a published one."),
        "publish": ("share", "Copy reports into a tree for a static host."),
        "import": ("share", "Bring what ReFrame logged before into the history."),
        "schema": ("share", "Print the JSON Schema of what a command prints as JSON."),
    },
}
_HELP_EXAMPLES = """\
  roundtrip run smoke                  measure this machine, and write the report
  roundtrip history                    what changed since the last nights
  roundtrip ab openmpi41-boost181 mpich40-boost181
  roundtrip compare OLD NEW            two reports, side by side"""


class _Commands(TyperGroup):
    """Loads the module of a command when the command is used."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for section in COMMANDS.values() for name in section]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        module = {
            name: entry[0] for section in COMMANDS.values() for name, entry in section.items()
        }
        if cmd_name in module and cmd_name not in self.commands:
            importlib.import_module(f"{__name__}.{module[cmd_name]}")
            self.commands = typer.main.get_group(app).commands
        return self.commands.get(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(f"Usage: {ctx.command_path} [OPTIONS] COMMAND [ARGS]...\n\n{self.help}\n")
        for title, section in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(f"{name:<18}", summary) for name, (_, summary) in section.items()]
                )
        with formatter.section("Options"):
            formatter.write_dl(
                [
                    (record[0], record[1])
                    for parameter in self.params
                    if (record := parameter.get_help_record(ctx))
                ]
            )
        formatter.write(f"\nExamples:\n{_HELP_EXAMPLES}\n\nroundtrip COMMAND --help says more.\n")


app = typer.Typer(
    cls=_Commands,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # it would keep the line breaks of docstrings
    help="A reproducible MPI benchmark campaign.  Without a command: what is here, and what next.",
)


def command(
    *examples: str, name: str | None = None, group: typer.Typer = app
) -> Callable[[CommandFunctionType], CommandFunctionType]:
    """Register a command; its help ends with `examples`, each the words after ``roundtrip``."""
    lines = (f"  roundtrip {example}" for example in examples)
    return group.command(name, epilog="\b\nExamples:\n" + "\n".join(lines))


@app.callback(invoke_without_command=True)
def _global_options(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
    scheduler_commands: str = typer.Option("", "--scheduler-commands", hidden=True),
    slurm_commands: bool = typer.Option(False, "--slurm-commands", hidden=True),
) -> None:
    if version:
        typer.echo(f"roundtrip {__version__}")
        raise typer.Exit
    if scheduler_commands or slurm_commands:  # for the job script of a night
        from roundtrip.cli import common
        from roundtrip.sites import schedulers

        key = scheduler_commands
        if not key:  # the script of a night that an earlier version queued
            key = schedulers.SCHEDULERS[0].key
            common.print_warning(f"--slurm-commands is called --scheduler-commands {key} now")
        if not (wrappers := schedulers.scheduler_of_key(key).wrapper_folder):
            keys = " or ".join(item.key for item in schedulers.SCHEDULERS if item.wrapper_folder)
            raise UserError(f"--scheduler-commands {key}: right is {keys}")
        typer.echo(wrappers)
        raise typer.Exit
    if context.invoked_subcommand is None:
        from roundtrip.cli import common

        for line in common.status_lines():
            typer.echo(line)


def main() -> None:
    """Run the command that the arguments name; `roundtrip.cli.process` lists exit statuses.

    UserErrors become one line and status 2.
    """
    gc.set_threshold(100_000)  # imports make no cycles worth a twentieth of the start-up
    from roundtrip.cli import process

    def run() -> object:
        _require_valid_arguments(sys.argv[1:])
        process.require_resources()
        return app(standalone_mode=False)

    sys.exit(process.run_for_exit_status(run))


def _require_valid_arguments(arguments: Sequence[str]) -> None:
    """UserError for an argument that is empty or not UTF-8."""
    for previous, argument in zip(("", *arguments), arguments, strict=False):
        option = previous if previous.startswith("--") else argument.partition("=")[0]
        place = f" after {option}" if option.startswith("--") else ""
        if not argument.strip() or (argument.startswith("--") and argument.endswith("=")):
            raise UserError(f"an argument is empty{place}: right is a value, or to leave it out")
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise UserError(f"an argument is not UTF-8{place}: {argument!a}") from None

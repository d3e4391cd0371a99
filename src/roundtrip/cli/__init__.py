"""The command line ``roundtrip``: one module for each command, a thin layer over the package."""

from __future__ import annotations

import sys

import typer

from roundtrip import __version__

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="A reproducible MPI benchmark campaign: run, collect, report.",
)


@app.callback(invoke_without_command=True)
def _global_options(
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    if version:
        typer.echo(f"roundtrip {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command that the arguments name; `roundtrip.cli.ending` says how it may end."""
    from roundtrip.cli.ending import status_of

    sys.exit(status_of(_command))


def _command() -> object:
    """Load the commands here, and not above: the libraries that they use may fail to start."""
    from roundtrip.cli import room

    room.require()
    from roundtrip.cli.commands import app

    return app(standalone_mode=False)

"""The command line ``roundtrip``: one module for each command, a thin layer over the package."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from roundtrip import __version__
from roundtrip.errors import UserError

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


def _require_arguments(words: Sequence[str]) -> None:
    """UserError for an argument that is empty, or that no report could name."""
    for before, word in zip(("", *words), words, strict=False):
        option = before if before.startswith("--") else word.partition("=")[0]
        where = f" after {option}" if option.startswith("--") else ""
        if not word.strip() or (word.startswith("--") and word.endswith("=")):
            raise UserError(f"an argument is empty{where}: right is a value, or to leave it out")
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UserError(f"an argument is not UTF-8{where}: {word!a}") from None


def _command() -> object:
    """Load the commands here, and not above: the libraries that they use may fail to start."""
    from roundtrip.cli import room

    _require_arguments(sys.argv[1:])
    room.require()
    from roundtrip.cli.commands import app

    return app(standalone_mode=False)

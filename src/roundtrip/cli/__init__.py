"""The command line ``roundtrip``: one module a command, each a thin layer over the package."""

from __future__ import annotations

import sys

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
    """Run a command; a UserError becomes one line on stderr and exit status 2."""
    try:
        app()
    except UserError as error:
        print(f"roundtrip: {error}", file=sys.stderr)
        sys.exit(2)


# Each command registers itself on `app`.
from roundtrip.cli import collect, doctor, report, run, site, toolchains  # noqa: E402, F401

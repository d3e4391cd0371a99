"""``roundtrip schema``: the JSON Schema of what commands print as JSON."""

from __future__ import annotations

from typing import Annotated

import typer

from roundtrip import output
from roundtrip.cli import app
from roundtrip.errors import UserError

_LEGAL = ", ".join(output.OUTPUTS)


@app.command("schema")
def print_schema(
    command: Annotated[str, typer.Argument(metavar="COMMAND", help=f"One of {_LEGAL}.")],
) -> None:
    """Print the JSON Schema of what a command prints as JSON.

    Exit status: 0 printed; 2 the command prints no JSON (UserError).
    """
    if command not in output.OUTPUTS:
        raise UserError(f"no JSON of {command!r}: right is one of {_LEGAL}")
    typer.echo(output.schema(output.OUTPUTS[command]))

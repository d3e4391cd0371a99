"""``roundtrip publish``: reports go into a tree that any static host can serve."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from roundtrip.cli import app
from roundtrip.cli.report import write_pages
from roundtrip.errors import UserError, writing


@app.command()
def publish(
    places: Annotated[
        list[Path],
        typer.Argument(metavar="REPORT...", help="Published reports, or folders of them."),
    ],
    to: Annotated[Path, typer.Option(help="The tree to copy them to; it is made if need be.")],
) -> None:
    """Copy published reports into a tree for a static host, and write its index.

    Each report is verified first.  One of a run with uncommitted changes is refused, and nothing is
    ever overwritten.  Exit status: 0 all are there; 1 some were refused; 2 bad input.
    """
    from roundtrip.report import public  # takes a second, which other commands need not spend
    from roundtrip.report.pages.write import INDEX

    found, refused = public.found(places), 0
    with writing(to):
        to.mkdir(parents=True, exist_ok=True)
    for source in found:
        try:
            copied = public.copy(source, to)
        except UserError as error:
            print(f"refused: {error}", file=sys.stderr)
            refused += 1
            continue
        typer.echo(f"{'already there' if copied.was_there else 'published'}: {copied.path}")
    if write_pages(to):
        typer.echo(f"index: {to / INDEX}")
    raise typer.Exit(int(refused > 0))

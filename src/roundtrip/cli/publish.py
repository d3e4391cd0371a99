"""``roundtrip publish``: reports go into a tree that any static host can serve."""

from __future__ import annotations

import sys
from collections.abc import Sequence
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
    preview: Annotated[
        bool, typer.Option("--preview", help="Show each field that would leave; copy nothing.")
    ] = False,
) -> None:
    """Copy published reports into a tree for a static host, and write its index.

    Each report is rebuilt first, and its signature checked.  One that differs, or is of a run with
    uncommitted changes, is refused, and nothing is ever overwritten.  Exit status: 0 all are there;
    1 some were refused; 2 bad input.
    """
    from roundtrip.report import public  # takes a second, which other commands need not spend
    from roundtrip.report.pages.write import INDEX

    found, refused = public.found(places), 0
    if preview:
        raise typer.Exit(int(_preview(found, to)))
    with writing(to):
        to.mkdir(parents=True, exist_ok=True)
    for source in found:
        try:
            copied = public.copy(source, to)
        except UserError as error:
            print(f"refused: {error}", file=sys.stderr)
            refused += 1
            continue
        done = "already there" if copied.was_there else "published"
        typer.echo(f"{done}: {copied.path}{f' ({copied.signed})' if copied.signed else ''}")
    if write_pages(to):
        typer.echo(f"index: {to / INDEX}")
    raise typer.Exit(int(refused > 0))


def _preview(found: Sequence[Path], to: Path) -> bool:
    """Print what of `found` would leave; whether one of them would be refused."""
    from roundtrip.report import public

    refused = False
    for source in found:
        try:
            why = public.refusal(source, to)
            listed = [] if why else public.fields(source, to)
        except UserError as error:
            why, listed = str(error), []
        if why:
            print(f"would be refused: {why}", file=sys.stderr)
            refused = True
            continue
        new = sum(one.is_new for one in listed)
        changed = sum(bool(one.fresh) and not one.is_new for one in listed)
        typer.echo(f"{source}: {len(listed)} fields, {new} new, {changed} with new values")
        for one in sorted(listed, key=lambda field: (not field.is_new, not field.fresh)):
            typer.echo(f"  {one.line}")
    return refused

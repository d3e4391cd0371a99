"""``roundtrip study``: list the studies, or begin one."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from roundtrip import paths, studies
from roundtrip.cli import app, listing

study_app = typer.Typer(no_args_is_help=True, help="List the studies, or begin a new one.")
app.add_typer(study_app, name="study")


@study_app.command("list")
def list_studies() -> None:
    """Name, title and question of each study, in the order of the report."""
    table = Table("study", "title", "question", box=None, pad_edge=False)
    for study in studies.load():
        table.add_row(*map(Text, (study.name, study.title, study.question)))
    listing.show(table)


@study_app.command()
def new(
    name: Annotated[str, typer.Argument(help="Lower-case name, as in checks/<name>/.")],
) -> None:
    """Write a study that measures, checks and reports; then make it yours.

    It touches no file that exists.  Exit status: 0 written; 2 the name cannot be used.
    """
    written = studies.create(name, paths.checkout())
    for file in written:
        typer.echo(f"wrote {file}")
    typer.echo(f"next: roundtrip run {name} --site local; then docs/add-a-study.md")

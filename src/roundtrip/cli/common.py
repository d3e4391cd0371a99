"""Shared by the commands: common parameters, and output for people."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from typer.models import CommandFunctionType

from roundtrip import paths
from roundtrip.cli import app, current
from roundtrip.errors import UserError, printable
from roundtrip.measure import store
from roundtrip.model import NAME_WORDS, is_name

if TYPE_CHECKING:
    from rich.table import Table

    from roundtrip.history.annotations import Annotation
    from roundtrip.history.ledger import Ledger

#: Standard error, where a progress bar is shown.
console = Console(stderr=True, markup=False, emoji=False)
#: Wider than any row.
_ANY_WIDTH = 100_000

_DEFAULT_SITE: dict[str, Any] = {
    "default_factory": current.site,
    "show_default": "the one here",
    "autocompletion": current.sites,
}
SITE_OPTION = Annotated[str, typer.Option(**_DEFAULT_SITE, help="Folder in site-configs/.")]
SITE_FOLDER = Annotated[str, typer.Argument(**_DEFAULT_SITE, help="Folder in site-configs/.")]
SITE = Annotated[str, typer.Argument(**_DEFAULT_SITE, help="The site whose reports are read.")]
CAMPAIGN = Annotated[
    str | None,
    typer.Argument(autocompletion=current.campaigns, help="One campaign; all by default."),
]
REPORTS = Annotated[
    Path | None, typer.Option(help="Where reports are published; reports/ by default.")
]
JSON = Annotated[bool, typer.Option("--json", help="Print JSON.")]
BUDGET = Annotated[str, typer.Option(metavar="20m", help="Time for launches at most.")]
WAIT = Annotated[
    bool, typer.Option("--wait", help="Wait until no other campaign measures on the site.")
]


def command(
    *examples: str, name: str | None = None, group: typer.Typer = app
) -> Callable[[CommandFunctionType], CommandFunctionType]:
    """Register a command; its help ends with `examples`, each the words after ``roundtrip``."""
    lines = (f"  roundtrip {example}" for example in examples)
    return group.command(name, epilog="\b\nExamples:\n" + "\n".join(lines))


def require_names(*names: str | None) -> None:
    """UserError for an illegal name of a site or campaign."""
    for name in filter(None, names):
        if not is_name(name):
            raise UserError(f"{name!r}: {NAME_WORDS}")


def minutes(length: str, option: str = "--budget") -> float:
    """Parse ``90s``, ``20m`` or ``1h30m`` into minutes; UserError for other forms and for 0."""
    from roundtrip.measure import campaign_file  # commands that launch nothing do not need it

    value = campaign_file.parse_minutes(length)
    if value is None:
        raise UserError(f"{option} {length}: {campaign_file.DURATION}")
    return value


def campaigns(reports: Path | None, site: str, campaign: str | None) -> tuple[Path, list[str]]:
    """The folder of the reports, and `campaign` if given, else all campaigns of the site."""
    require_names(site, campaign)
    folder = reports or paths.reports()
    names = [store.parts(path)[1] for path in store.site_folders(folder, site=site)]
    return folder, [campaign] if campaign else names


def no_night(folder: Path, site: str, campaign: str | None, kind: str = "") -> UserError:
    """The UserError for a site without a published night, or without one of this `kind`."""
    prefix = f"campaign '{campaign}' on " if campaign else ""
    return UserError(f"no published night of {prefix}site '{site}'{kind}", folder)


def read_ledger(
    folder: Path, campaign: str, site: str, annotations: Sequence[Annotation] = ()
) -> Ledger:
    """The ledger of a campaign's nights on a site; omitted nights are printed as warnings."""
    from roundtrip.history import ledger  # it loads polars

    nights = ledger.read_ledger(folder, campaign, site, annotations)
    for warning in nights.warnings:
        warn(printable(warning))
    return nights


def warn(text: str) -> None:
    """Print a warning as one line on standard error."""
    print(f"warning: {text}", file=sys.stderr)


def resume_command(*options: str) -> str:
    """The command that was given, with --resume and those `options`, as --name=value, it lacks."""
    given = sys.argv[1:]
    names = {word.partition("=")[0] for word in given}
    more = [word for word in (*options, "--resume") if word.partition("=")[0] not in names]
    return shlex.join(["roundtrip", *given, *more])


def say(line: str) -> None:
    """Print one line on standard error, above a progress bar that is shown there."""
    console.print(line, highlight=False, soft_wrap=True)


def show(table: Table) -> None:
    """Print `table` without truncation: folded on a terminal, else with one line for each row."""
    for column in table.columns:
        column.overflow = "fold"
    page = Console(markup=False, highlight=False)
    if not page.is_terminal and "COLUMNS" not in os.environ:
        page.width = _ANY_WIDTH
    page.print(table)

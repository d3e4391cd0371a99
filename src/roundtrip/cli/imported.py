"""``roundtrip import``: what ReFrame logged before becomes part of a site's history."""

from __future__ import annotations

import datetime
import sys
import zoneinfo
from pathlib import Path
from typing import Annotated

import typer

from roundtrip import paths
from roundtrip.cli import app
from roundtrip.cli.report import write_pages
from roundtrip.errors import UserError
from roundtrip.model import NAME_WORDS, is_name
from roundtrip.sites.site import Site

#: How many of the rows that are set aside are printed; set-aside.txt has all of them.
_SHOWN = 20


@app.command("import")
def bring(
    site: Annotated[str, typer.Argument(help="Folder in site-configs/.")],
    places: Annotated[
        list[Path], typer.Argument(help="Performance logs, reports, databases, or folders of them.")
    ],
    campaign: Annotated[str, typer.Option(help="The campaign they become part of.")] = "imported",
    timezone: Annotated[
        str, typer.Option(help="Of times that name no zone, such as Europe/Berlin.")
    ] = "UTC",
    lower_is_better: Annotated[
        list[str] | None, typer.Option(help="A variable, or a pattern of names; repeatable.")
    ] = None,
    higher_is_better: Annotated[
        list[str] | None, typer.Option(help="The same, for the other direction.")
    ] = None,
) -> None:
    """Bring ReFrame's performance logs, JSON reports and results databases into the history.

    What is damaged is set aside with file and line, and the rest is taken.  What was imported
    before counts once.  Exit status: 0 all taken; 1 some set aside; 2 bad input, or nothing usable.
    """
    from roundtrip.imported.bring import Options  # takes a second, and others need not
    from roundtrip.imported.bring import bring as bring_in

    Site(site, paths.checkout())
    if not is_name(campaign):
        raise UserError(f"--campaign {campaign!r}: {NAME_WORDS}")
    lower, higher = lower_is_better or [], higher_is_better or []
    options = Options(_zone(timezone), timezone, lower, higher)
    brought = bring_in(paths.reports(), campaign, site, places, options)
    if brought.folder is None and len(brought.aside) == 1:
        raise UserError(brought.aside[0])
    for line in brought.aside[:_SHOWN]:
        print(line, file=sys.stderr)
    if more := brought.aside[_SHOWN:]:
        print(f"and {len(more)} more", file=sys.stderr)
    if brought.folder is None:
        raise UserError(f"nothing usable in {brought.files} files")
    typer.echo(
        f"{brought.values} values of {brought.series} series from {brought.files} files, "
        f"{brought.empty} rows without a value, {len(brought.aside)} set aside"
    )
    typer.echo(f"imported: {brought.folder}")
    write_pages(paths.reports())
    raise typer.Exit(int(bool(brought.aside)))


def _zone(name: str) -> datetime.tzinfo:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise UserError(f"--timezone {name!r}: right is a name such as Europe/Berlin") from None

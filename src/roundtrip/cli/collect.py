"""``roundtrip collect``: a campaign run becomes a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from roundtrip.cli import app
from roundtrip.cli.report import print_warning


@app.command()
def collect(
    run_dir: Annotated[Path, typer.Argument(help="runs/<campaign>/<site>/<start>/")],
) -> None:
    """Gather what a campaign run left into a bundle: samples, cases, environment, checksums.

    The last line names the bundle.  The same run always gives the same bundle.
    """
    from roundtrip.collect import bundle  # takes a second to load

    typer.echo(f"bundle: {bundle.build(run_dir, tell=print_warning)}")

"""``roundtrip bisect``: the first slow version between two, by launches of commands."""

from __future__ import annotations

import math
import re
import secrets
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from roundtrip import paths
from roundtrip.campaign import model, tree
from roundtrip.cli import app, current, process
from roundtrip.cli.compare import fraction
from roundtrip.cli.process import INTERRUPTED
from roundtrip.cli.report import write_pages
from roundtrip.errors import UserError, printable
from roundtrip.sites.site import Site

_console = Console(stderr=True, markup=False)


class Over(StrEnum):
    """What the versions are."""

    GIT = "git"
    SPACK = "spack"
    VARIABLE = "variable"


@app.command()
def bisect(
    context: typer.Context,
    old: Annotated[str, typer.Argument(help="The older version: a commit, a spec or a value.")],
    new: Annotated[str, typer.Argument(help="The newer one, in which it is slower, or faster.")],
    over: Annotated[Over, typer.Option(help="What the versions are.")],
    launch: Annotated[
        str, typer.Option(metavar="COMMAND", help="Measures a version, in its build folder.")
    ],
    site: current.SITE_OPTION,
    build: Annotated[
        str, typer.Option(metavar="COMMAND", help="Builds a version, in its folder.")
    ] = "",
    repository: Annotated[Path, typer.Option(help="Of git: a clone.")] = Path(),
    variable: Annotated[str, typer.Option(help="Of a variable: its name.")] = "",
    values: Annotated[
        str, typer.Option(metavar="A,B,...", help="Values, or versions of Spack, in order.")
    ] = "",
    metric: Annotated[
        str,
        typer.Option(
            metavar="REGEX", help="Its first group is the result in the output; else the time."
        ),
    ] = "",
    higher_is_better: Annotated[bool, typer.Option(help="The result is a rate.")] = False,
    least: Annotated[str, typer.Option(metavar="5%", help="A smaller step is none.")] = "5%",
    noise: Annotated[
        str, typer.Option(metavar="2%", help="How launches scatter, for what is expected.")
    ] = "2%",
    budget: Annotated[str, typer.Option(metavar="1h", help="Time for launches at most.")] = "1h",
    resume: Annotated[bool, typer.Option(help="Go on with the newest search of this.")] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until no campaign measures on the site.")
    ] = False,
) -> None:
    """Find the first slow version between two, and a second one.

    Each probe launches a version between two others, in rounds, until it differs from one of them
    by a sequential test.  A wrong turn has a probability of at most 5 % over the whole search.
    Builds are kept, versions that cannot be built are skipped, and a search that was interrupted
    goes on with --resume.  Exit status: 0 there is no step; 1 a step, found or not; 2 bad input, or
    nothing could be decided; 130 interrupted.
    """
    # These take a second to load, which --help need not spend.
    from roundtrip.cause import commands, conduct, page
    from roundtrip.cause.journal import Plan

    current.require_names(site)
    minutes = model.parse_minutes(budget)
    if minutes is None:
        raise UserError(f"--budget {budget}: {model.DURATION}")
    smallest = fraction(least, "--least") or 0.0
    scatter = fraction(noise, "--noise") or 0.0
    try:
        groups = re.compile(metric).groups
    except re.error as error:
        raise UserError(f"--metric {metric!r}: {error}") from None
    if metric and groups != 1:
        raise UserError(f"--metric {metric!r}: right is a regular expression with one group")
    listed = [one for one in values.split(",") if one]
    if over is Over.GIT:
        versions = commands.git_versions(repository, old, new)
    elif over is Over.SPACK:
        versions = commands.spack_versions(old, new, listed)
    else:
        versions = commands.variable_versions(variable, old, new, listed)
    if len(versions) < 2:
        raise UserError(f"{old} and {new} are one version")
    launcher = commands.Commands(
        versions,
        paths.runs() / "bisect-builds",
        build,
        launch,
        metric,
        higher_is_better,
        60 * minutes,
    )
    plan = Plan(
        kind="bisect",
        title=printable(f"Which version between {old} and {new} changed it?")[:1000],
        measures="what --metric finds" if metric else "wall time of a launch",
        name=f"bisect-{over}",
        site=site,
        started=conduct.now(),
        seed=secrets.randbits(32),
        arms=[printable(one.name) for one in versions],
        step=math.log1p(smallest),
    )
    here = Site(site, paths.checkout())
    context.with_resource(tree.hold_site(here, plan.name, wait, _say))
    plan, opened = conduct.open_journal(plan, resume)
    _say(f"{len(versions)} versions; {conduct.forecast(plan, scatter, math.log1p(2 * smallest))}")
    process.on_term()
    try:
        found = conduct.conduct(plan, opened, launcher, minutes, _say)
    except KeyboardInterrupt:
        again = shlex.join(["roundtrip", *sys.argv[1:], *([] if resume else ["--resume"])])
        _say(f"interrupted; nothing is lost. Go on with: {again}")
        raise typer.Exit(INTERRUPTED) from None
    for line in page.plain_sentences(plan, found):
        typer.echo(line)
    typer.echo(f"{found.launches} launches, {launcher.builds} builds")
    typer.echo(f"report: {conduct.publish(opened, _say)}")
    write_pages(paths.reports())
    is_step = getattr(found, "differ", None)
    raise typer.Exit(2 if is_step is None else int(is_step))


def _say(line: str) -> None:
    _console.print(line, highlight=False, markup=False, soft_wrap=True)

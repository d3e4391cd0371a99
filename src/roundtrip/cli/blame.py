"""``roundtrip blame``: which of the facts that differ made a step, by launches."""

from __future__ import annotations

import json
import math
import secrets
import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from roundtrip import paths
from roundtrip.campaign import environment, matrix, model, tree
from roundtrip.cli import app, current, process
from roundtrip.cli.process import INTERRUPTED
from roundtrip.cli.report import write_pages
from roundtrip.collect import analysis
from roundtrip.errors import UserError, printable, writing
from roundtrip.sites.site import Site

_console = Console(stderr=True, markup=False)


@app.command()
def blame(
    context: typer.Context,
    site: Annotated[str, typer.Argument(help="The site on which the step is.")],
    series: Annotated[str, typer.Argument(help="Text in the name of the series, in any case.")],
    night: Annotated[str, typer.Option(help="When the step began; the newest by default.")] = "",
    campaign: current.CAMPAIGN = None,
    budget: Annotated[str, typer.Option(metavar="2h", help="Time for launches at most.")] = "2h",
    resume: Annotated[bool, typer.Option(help="Go on with the newest search.")] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until no campaign measures on the site.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be launched, and launch nothing.")
    ] = False,
) -> None:
    """Find which of the facts that differ since a step made it.

    What can be switched from here is launched old and new, alone and in groups, in rounds with all
    old and all new, until the named facts are proven to explain the step.  A wrong statement has a
    probability of at most 5 % over the whole search.  Exit status: 0 the cause is found, or the
    step is not there any more; 1 not decided; 2 bad input; 130 interrupted.
    """
    # These take a second to load, which --help need not spend.
    from roundtrip.campaign import session
    from roundtrip.campaign.progress import TerminalProgress
    from roundtrip.cause import conduct, page, steps
    from roundtrip.cause.checks import Checks
    from roundtrip.cause.facts import Causes, Ending
    from roundtrip.cause.journal import Plan

    current.require_names(site, campaign)
    minutes = model.parse_minutes(budget)
    if minutes is None:
        raise UserError(f"--budget {budget}: {model.DURATION}")
    found = steps.find(site, series, night, campaign, paths.reports())
    label = printable(" ".join(found.line.label.split()))
    _say(f"{label}: {100 * math.expm1(found.step):+.1f} % of its time since {found.night[:10]}")
    for name, test in found.others:
        _say(f"cannot be switched from here: {name}; what would test it: {test}")
    if not found.switches:
        raise UserError(f"nothing that differs since {found.night[:10]} can be switched from here")
    for one in found.switches:
        _say(f"can be switched: {one.name}")
    plan = Plan(
        kind="blame",
        title=f"What changed {label} on {found.night[:10]}?"[:1000],
        measures=label[:1000],
        name=f"blame-{found.campaign}"[:100],
        site=site,
        started=conduct.now(),
        seed=secrets.randbits(32),
        arms=[printable(one.name)[:1000] for one in found.switches],
        step=found.step,
        others=[[name[:1000], test] for name, test in found.others],
    )
    _say(conduct.forecast(plan, max(found.noise, 1e-4), found.step))
    if dry_run:
        raise typer.Exit
    here = Site(site, paths.checkout())
    declared = model.load_campaign(
        model.find_campaign(found.campaign, paths.checkout() / "campaigns")
    )
    whole = matrix.build_matrix(declared, here)
    case = str(found.line.series.names["case_id"])
    item = next((one for one in whole.expected if one.case.id == case), None)
    if item is not None and item.simulated:
        raise UserError(f"site '{site}' simulates: it gives the same values each time")
    if item is None:
        raise UserError(f"campaign '{found.campaign}' launches no {case} here any more")
    context.with_resource(tree.hold_site(here, plan.name, wait, _say))
    plan, opened = conduct.open_journal(plan, resume)
    alone = matrix.Matrix((item,), ())
    root = _root(opened.folder, declared, here, alone)
    process.on_term()
    try:
        with root, TerminalProgress(plan.title, _console) as progress:
            session.build_all(here, alone.expected, root, progress)
            _require_built(root)
        launcher = Checks(
            here,
            item,
            root,
            found.switches,
            dict(found.line.series.names),
            found.line.series.lower_is_better,
            minutes,
        )
        causes = conduct.conduct(plan, opened, launcher, minutes, _say)
    except KeyboardInterrupt:
        again = shlex.join(["roundtrip", "blame", site, series, "--resume"])
        _say(f"interrupted; nothing is lost. Go on with: {again}")
        raise typer.Exit(INTERRUPTED) from None
    assert isinstance(causes, Causes)  # noqa: S101  of a plan of this kind
    for line in page.plain_sentences(plan, causes):
        typer.echo(line)
    if causes.named and causes.ending is Ending.FOUND:
        why = page.plain_sentences(plan, causes)[0]
        accept = ["roundtrip", "history", site, "--accept", label, "--reason", why]
        typer.echo(f"to accept it: {shlex.join(accept)}")
    typer.echo(f"report: {conduct.publish(opened, _say)}")
    write_pages(paths.reports())
    raise typer.Exit(int(causes.ending is Ending.UNKNOWN))


def _root(folder: Path, declared: model.Campaign, here: Site, alone: matrix.Matrix) -> tree.RunTree:
    """The run tree in the folder of the search, below which the arms have theirs."""
    there = sorted((folder / "tree").glob("*/*/*/state.json"))
    if there:
        return tree.RunTree(there[-1].parent)
    with writing(folder):
        root = tree.create_tree(
            folder / "tree",
            declared,
            here.name,
            alone,
            tree.revision(here.checkout),
            analysis.for_site(here.name),
        )
        environment.record_environment(here, alone, root.path / "env")
    return root


def _require_built(root: tree.RunTree) -> None:
    """UserError if the program could not be built, or has changed since the search began."""
    newest = max(root.path.glob("builds/*/session.json"), key=lambda one: one.parent.name)
    if json.loads(newest.read_text())["exit_status"]:
        raise UserError("the toolchain no longer builds it; see console.log", newest.parent)
    environment.record_pins(root)
    if why := environment.find_change(root):
        raise UserError(f"{why}; start a new search")


def _say(line: str) -> None:
    _console.print(line, highlight=False, markup=False, soft_wrap=True)

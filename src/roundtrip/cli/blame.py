"""``roundtrip blame``: which of the facts that differ made a step, by launches."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from roundtrip import paths
from roundtrip.campaign import environment, matrix, model, tree
from roundtrip.cli import app, current, process
from roundtrip.cli.process import INTERRUPTED
from roundtrip.cli.report import write_pages
from roundtrip.collect import analysis
from roundtrip.errors import UserError, writing
from roundtrip.sites.site import Site

if TYPE_CHECKING:
    from roundtrip.cause.facts import Causes
    from roundtrip.cause.journal import Journal, Plan
    from roundtrip.cause.steps import Found

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
    from roundtrip.cause import conduct, steps
    from roundtrip.cause.facts import Ending

    current.require_names(site, campaign)
    minutes = model.parse_minutes(budget)
    if minutes is None:
        raise UserError(f"--budget {budget}: {model.DURATION}")
    found = steps.find(site, series, night, campaign, paths.reports())
    _say(f"{found.label}: {_percent(found)} of its time since {found.night[:10]}")
    for name, test in found.others:
        _say(f"cannot be switched from here: {name}; what would test it: {test}")
    if not found.switches:
        raise UserError(f"nothing that differs since {found.night[:10]} can be switched from here")
    for one in found.switches:
        _say(f"can be switched: {one.name}")
    plan = conduct.plan_blame(found, site)
    _say(conduct.forecast(plan, max(found.noise, 1e-4), found.step))
    conduct.require_budget(minutes, found.launch_s)
    if dry_run:
        raise typer.Exit
    here = Site(site, paths.checkout())
    path = model.find_campaign(found.campaign, paths.checkout() / "campaigns")
    declared = model.load_campaign(path)
    item, found, hosts = _prepare(declared, here, found)
    context.with_resource(tree.hold_site(here, plan.name, wait, _say))
    process.on_term()
    again = shlex.join(["roundtrip", "blame", site, series, "--resume"])
    begun = conduct.open_journal(conduct.plan_blame(found, site), resume)
    causes = _search(here, declared, item, found, hosts, *begun, minutes, again)
    raise typer.Exit(int(causes.ending is Ending.UNKNOWN))


def after_night(
    here: Site, declared: model.Campaign, confirmed: Collection[str], say: Callable[[str], None]
) -> None:
    """Search for what made the largest confirmed step of a campaign, as its `blame` declares.

    `confirmed` are keys of series.  Each step is searched for once; a search that a night could not
    end goes on in the next one.  What prevents one is a warning: the night has its report.
    """
    from roundtrip.cause import conduct, steps  # as above

    minutes = declared.blame_minutes
    assert minutes is not None  # noqa: S101  the caller asked
    try:
        found = steps.unexplained(here.name, declared.name, confirmed, paths.reports())
        if found is None:
            return
        say(f"searching for what made {found.label} {_percent(found)} since {found.night[:10]}")
        conduct.require_budget(minutes, found.launch_s)
        item, found, hosts = _prepare(declared, here, found)
        plan = conduct.plan_blame(found, here.name)
        process.on_term()
        again = f"the next night, or: {shlex.join(['roundtrip', 'blame', here.name, found.label])}"
        begun = conduct.open_journal(plan, conduct.is_begun(plan))
        _search(here, declared, item, found, hosts, *begun, minutes, f"{again} --resume")
    except UserError as error:
        say(f"warning: no search for the cause: {error}")
    except typer.Exit:
        pass  # interrupted, which says nothing of the night
    finally:
        process.ignore_term()


def _percent(found: Found) -> str:
    return f"{100 * math.expm1(found.step):+.1f} %"


def _prepare(
    declared: model.Campaign, here: Site, found: Found
) -> tuple[matrix.Expected, Found, dict[str, tuple[str, ...]]]:
    """The case of a step, what of it can be launched now, and the hosts of each set of nodes.

    UserError if the campaign does not launch the case here, or simulates it, or if nothing is left.
    """
    from roundtrip.cause import checks, steps

    whole = matrix.build_matrix(declared, here)
    case = str(found.line.series.names["case_id"])
    item = next((one for one in whole.expected if one.case.id == case), None)
    if item is None:
        raise UserError(f"campaign '{found.campaign}' launches no {case} here any more")
    if item.simulated:
        raise UserError(f"site '{here.name}' simulates: it gives the same values each time")
    hosts = checks.find_hosts(here, item, found.switches)
    sets = {side for one in found.switches if one.is_nodes for side in (one.old, one.new)}
    if not sets <= hosts.keys():
        _say("the nodes of before and those of now are not all in use: they are not switched")
        found = steps.without_nodes(found)
    if not found.switches:
        raise UserError(f"nothing that differs since {found.night[:10]} can be switched now")
    return item, found, hosts


def _search(
    here: Site,
    declared: model.Campaign,
    item: matrix.Expected,
    found: Found,
    hosts: dict[str, tuple[str, ...]],
    plan: Plan,
    opened: Journal,
    minutes: float,
    again: str,
) -> Causes:
    """Launch until the cause is known or the time is over, and publish what was found.

    Exit with status 130, saying that `again` goes on, if it is interrupted.
    """
    from roundtrip.campaign import session
    from roundtrip.campaign.progress import TerminalProgress
    from roundtrip.cause import conduct, page
    from roundtrip.cause.checks import Checks
    from roundtrip.cause.facts import Causes, Ending

    alone = matrix.Matrix((item,), ())
    root = _root(opened.folder, declared, here, alone)
    series = found.line.series
    try:
        with root, TerminalProgress(plan.title, _console) as progress:
            session.build_all(here, alone.expected, root, progress)
            _require_built(root)
        launcher = Checks(
            here,
            item,
            root,
            found.switches,
            dict(series.names),
            series.lower_is_better,
            minutes,
            hosts,
        )
        causes = conduct.conduct(plan, opened, launcher, minutes, _say)
    except KeyboardInterrupt:
        _say(f"interrupted; nothing is lost. Go on with: {again}")
        raise typer.Exit(INTERRUPTED) from None
    assert isinstance(causes, Causes)  # noqa: S101  of a plan of this kind
    sentences = page.plain_sentences(plan, causes)
    for line in sentences:
        typer.echo(line)
    if causes.named and causes.ending is Ending.FOUND:
        accept = ["roundtrip", "history", here.name, "--accept", found.label]
        typer.echo(f"to accept it: {shlex.join([*accept, '--reason', sentences[0]])}")
    typer.echo(f"report: {conduct.publish(opened, _say)}")
    write_pages(paths.reports())
    return causes


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

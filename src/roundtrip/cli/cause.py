"""``roundtrip bisect``, ``blame``: find the version or facts that caused a step, by launches."""

from __future__ import annotations

import contextlib
import math
import re
import secrets
import shlex
from collections.abc import Collection, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from typer import Argument, Option

from roundtrip import files, paths
from roundtrip.cli import INTERRUPTED_STATUS, command, common, ignore_sigterm, raise_on_sigterm
from roundtrip.cli.common import print_status
from roundtrip.cli.share import write_pages
from roundtrip.errors import UserError, printable, report_write_errors
from roundtrip.measure import campaign_file, tree
from roundtrip.measure.progress import TerminalProgress
from roundtrip.sites.site import Site

if TYPE_CHECKING:
    from roundtrip.cause.checks import StepCase
    from roundtrip.cause.commands import Version
    from roundtrip.cause.facts import Causes
    from roundtrip.cause.journal import Journal
    from roundtrip.cause.steps import SeriesStep


class VersionKind(StrEnum):
    """The kind of the versions that are searched."""

    GIT = "git"
    SPACK = "spack"
    VARIABLE = "variable"


@command("bisect v5.0.3 v5.0.5 --over git --build make --launch ./latency")
def bisect(
    context: typer.Context,
    old: str = Argument(help="The older version: a commit, a spec or a value."),
    new: str = Argument(help="The newer version, which is slower or faster."),
    over: VersionKind = Option(help="What the versions are."),
    launch: str = Option(
        metavar="COMMAND", help="Command that measures a version, in its build folder."
    ),
    site: str = common.SITE_OPTION,
    build: str = Option(
        "", metavar="COMMAND", help="Command that builds a version, in its folder."
    ),
    repository: Path = Option(Path(), help="With git: the clone."),
    variable: str = Option("", help="With variable: its name."),
    values: str = Option("", metavar="A,B,...", help="Values, or Spack versions, in order."),
    metric: str = Option(
        "",
        metavar="REGEX",
        help="Its first group is the result in the output; by default, the time.",
    ),
    higher_is_better: bool = Option(False, help="The result is a rate."),
    least: str = Option("5%", metavar="5%", help="A smaller step is ignored."),
    noise: str = Option("2%", metavar="2%", help="Scatter of launches, to estimate their number."),
    launch_time: str = Option(
        "", metavar="5s", help="Time of a launch: a budget that is too small is refused."
    ),
    budget: str = Option("1h", **common.BUDGET_SETTINGS),
    resume: bool = Option(False, help="Continue the newest search of this."),
    wait: bool = common.WAIT_OPTION,
) -> None:
    """Find the first slow version between two, and a second one.

    Each probe launches a version between two others, in rounds, until it differs from one of them
    by a sequential test.  The whole search errs with a probability of at most 5 %.
    Builds are kept, versions that cannot be built are skipped, and a search that was interrupted
    goes on with --resume.  Exit status: 0 there is no step; 1 a step, found or not, or nothing
    could be decided; 2 bad input; 130 interrupted.
    """
    # These take a second to load, which --help need not spend.
    from roundtrip.cause import commands, journal, page
    from roundtrip.cause.journal import Plan
    from roundtrip.cause.order import LAUNCHES_A_ROUND, Changes

    common.require_names(site)
    minutes = common.parse_minutes(budget)
    if launch_time:
        launch_s = 60 * common.parse_minutes(launch_time, "--launch-time")
        journal.require_budget(minutes, launch_s, LAUNCHES_A_ROUND)
    smallest = common.parse_fraction(least, "--least")
    scatter = common.parse_fraction(noise, "--noise")
    _require_metric(metric)
    versions = _list_versions(over, old, new, repository, variable, values)
    store = paths.runs() / "bisect-builds"
    launcher = commands.CommandLauncher(versions, store, build, launch, metric, higher_is_better)
    plan = Plan(
        kind="bisect",
        title=printable(f"Which version between {old} and {new} changed it?")[:1000],
        measures="the number that --metric matches" if metric else "wall time of a launch",
        name=f"bisect-{over}",
        site=site,
        started=journal.now(),
        seed=secrets.randbits(32),
        arms=[printable(version.name) for version in versions],
        step=math.log1p(smallest),
        digest=launcher.digest,
    )
    here = Site(site, paths.checkout())
    context.with_resource(tree.hold_site(here, plan.name, wait, print_status))
    plan, search_journal = journal.open_journal(plan, resume)
    print_status(
        f"{len(versions)} versions; {journal.forecast(plan, scatter, math.log1p(2 * smallest))}"
    )
    with _resumable(common.resume_command(f"--site={site}")):
        result = journal.run_search(plan, search_journal, launcher, minutes, print_status)
    for line in page.plain_sentences(plan, result):
        typer.echo(line)
    typer.echo(f"{result.launches} launches, {launcher.builds} builds")
    _publish_search_report(search_journal)
    assert isinstance(result, Changes)  # noqa: S101  of a plan of this kind
    raise typer.Exit(int(result.ends_differ is not False))


def _require_metric(metric: str) -> None:
    """UserError unless `metric` is "" or a regular expression with one group."""
    try:
        groups = re.compile(metric).groups
    except re.error as error:
        raise UserError(f"--metric {metric!r}: {error}") from None
    if metric and groups != 1:
        raise UserError(f"--metric {metric!r}: right is a regular expression with one group")


def _list_versions(
    over: VersionKind, old: str, new: str, repository: Path, variable: str, values: str
) -> list[Version]:
    """Return the versions from `old` to `new`, in order; UserError if they are one."""
    from roundtrip.cause import commands

    value_list = [value for value in values.split(",") if value]
    if over is VersionKind.GIT:
        versions = commands.git_versions(repository, old, new)
    elif over is VersionKind.SPACK:
        versions = commands.spack_versions(old, new, value_list)
    else:
        versions = commands.variable_versions(variable, old, new, value_list)
    if len(versions) < 2:
        raise UserError(f"{old} and {new} are one version")
    return versions


@command(
    "blame 5b432dfba2a1                a series, by the key in its link",
    "blame 5b432dfba2a1 --budget 1h",
)
def blame(
    context: typer.Context,
    series: str = Argument(help="Text in the name of the series, in any case."),
    site: str = common.SITE_OPTION,
    night: str = Option("", help="Night of the step; the newest by default."),
    campaign: str | None = common.CAMPAIGN_ARGUMENT,
    old_toolchain: str = Option(
        "", metavar="NAME", help="The old toolchain, installed again as NAME."
    ),
    budget: str = Option("2h", **common.BUDGET_SETTINGS),
    resume: bool = Option(False, help="Continue the newest search."),
    wait: bool = common.WAIT_OPTION,
    dry_run: bool = Option(
        False, "--dry-run", help="Print what would be launched, and launch nothing."
    ),
) -> None:
    """Find which changed facts caused a step.

    Each fact that can be switched from here is launched old and new, alone and in groups, in
    rounds with all old and all new, until the named facts are proven to explain the step.  The
    whole search errs with a probability of at most 5 %.  Exit status: 0 the cause is found, or the
    step is gone; 1 not decided; 2 bad input; 130 interrupted.
    """
    # These take a second to load, which --help need not spend.
    from roundtrip.cause import checks, journal, steps
    from roundtrip.cause.facts import LAUNCHES_A_ROUND, Ending

    common.require_names(site, campaign)
    minutes = common.parse_minutes(budget)
    step = steps.find(site, series, night, campaign, paths.reports())
    if old_toolchain:
        step = steps.with_toolchain(step, old_toolchain)
    print_status(f"{step.label}: {_step_percent_text(step)} of its time since {step.night[:10]}")
    for name, test in step.others:
        print_status(f"cannot be switched from here: {name}; what would test it: {test}")
    if not step.switches:
        raise UserError(f"nothing that differs since {step.night[:10]} can be switched from here")
    for switch in step.switches:
        print_status(f"can be switched: {switch.name}")
    plan = steps.plan_blame(step, site)
    print_status(journal.forecast(plan, max(step.noise, 1e-4), step.log_ratio))
    launch_s = steps.launch_s(step, site, paths.reports())
    journal.require_budget(minutes, launch_s, LAUNCHES_A_ROUND)
    if dry_run:
        raise typer.Exit
    here = Site(site, paths.checkout())
    declaration = campaign_file.find_campaign(step.campaign, paths.checkout() / "campaigns")
    case = checks.prepare_case(declaration, here, step, print_status)
    context.with_resource(tree.hold_site(here, plan.name, wait, print_status))
    resume_hint = common.resume_command(f"--night={step.night[:10]}", f"--site={site}")
    causes = _run_search(here, declaration, case, resume, minutes, resume_hint)
    raise typer.Exit(int(causes.ending is Ending.UNKNOWN))


def blame_after_night(
    here: Site, declaration: campaign_file.Campaign, confirmed_keys: Collection[str]
) -> None:
    """Search for the cause of a campaign's largest confirmed step, within its `blame` minutes.

    `confirmed_keys`: keys of series.  Each step has one search; the next night continues a search
    that was not completed.  A UserError becomes a warning: the night has its report.
    """
    from roundtrip.cause import checks, journal, steps  # as above
    from roundtrip.cause.facts import LAUNCHES_A_ROUND

    minutes = declaration.blame_minutes
    assert minutes is not None  # noqa: S101  the caller asked
    try:
        step = steps.largest_unexplained(
            here.name, declaration.name, confirmed_keys, paths.reports()
        )
        if step is None:
            return
        print_status(
            f"searching for what made {step.label} {_step_percent_text(step)} "
            f"since {step.night[:10]}"
        )
        launch_s = steps.launch_s(step, here.name, paths.reports())
        journal.require_budget(minutes, launch_s, LAUNCHES_A_ROUND)
        case = checks.prepare_case(declaration, here, step, print_status)
        names = [step.label, declaration.name, f"--site={here.name}"]
        options = [f"--night={step.night[:10]}", f"--budget={60 * minutes:.0f}s", "--resume"]
        resume_hint = f"the next night, or: {shlex.join(['roundtrip', 'blame', *names, *options])}"
        _run_search(here, declaration, case, None, minutes, resume_hint)
    except UserError as error:
        print_status(f"warning: no search for the cause: {error}")
    except typer.Exit:
        pass  # an interrupted search does not change the status of the night
    finally:
        ignore_sigterm()


def _step_percent_text(step: SeriesStep) -> str:
    return f"{100 * math.expm1(step.log_ratio):+.1f} %"


def _run_search(
    here: Site,
    declaration: campaign_file.Campaign,
    case: StepCase,
    resume: bool | None,
    minutes: float,
    resume_hint: str,
) -> Causes:
    """Launch until the cause is known or the time is over; publish and return the result.
    `resume`: None to resume a search that has begun.  If interrupted, print `resume_hint`; status
    130."""
    from roundtrip.cause import checks, journal, page, steps
    from roundtrip.cause.facts import Causes, Ending

    plan = steps.plan_blame(case.step, here.name)
    resume = journal.is_begun(plan) if resume is None else resume
    plan, search_journal = journal.open_journal(plan, resume)
    with _resumable(resume_hint):
        with TerminalProgress(plan.title, common.console) as progress:
            root = checks.build(search_journal.folder, declaration, here, case, progress)
        launcher = checks.Checks(here, case, root, minutes, print_status)
        causes = journal.run_search(plan, search_journal, launcher, minutes, print_status)
    assert isinstance(causes, Causes)  # noqa: S101  of a plan of this kind
    lines = page.plain_sentences(plan, causes)
    for line in lines:
        typer.echo(line)
    if causes.causes and causes.ending is Ending.FOUND:
        accept = ["roundtrip", "history", here.name, "--accept", case.step.label]
        typer.echo(f"to accept it: {shlex.join([*accept, '--reason', lines[0]])}")
    _publish_search_report(search_journal)
    return causes


@contextlib.contextmanager
def _resumable(resume_hint: str) -> Iterator[None]:
    """Exit with status 130 and print `resume_hint` if SIGTERM or Ctrl-C interrupts the block."""
    raise_on_sigterm()
    try:
        yield
    except KeyboardInterrupt:
        print_status(f"interrupted; nothing is lost. Go on with: {resume_hint}")
        raise typer.Exit(INTERRUPTED_STATUS) from None


def _publish_search_report(search_journal: Journal) -> None:
    """Publish the report of a search, and say where its page is."""
    from roundtrip.cause import journal, page
    from roundtrip.measure import store
    from roundtrip.report import publish

    with (
        report_write_errors(search_journal.folder),
        files.draft_folder(search_journal.folder) as bundle,
    ):
        commit = tree.git_revision(paths.checkout())["commit"]
        page.make_bundle(search_journal.folder, bundle, journal.now(), commit)
        revision = publish.publish(bundle, paths.reports(), print_line=print_status)
    typer.echo(f"report: {store.file_path(revision, store.PAGE_FILE)}")
    write_pages(paths.reports())

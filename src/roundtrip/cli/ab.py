"""``roundtrip ab``: two toolchains measured side by side, until each claim is decided."""

from __future__ import annotations

import secrets
import tempfile
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from roundtrip import paths
from roundtrip.cli import common, current, process
from roundtrip.cli.common import say
from roundtrip.cli.compare import (
    ALL,
    FAIL_ON,
    FORMAT,
    OUTPUT,
    Format,
    parse_percentage,
    write_comparison,
)
from roundtrip.errors import UserError, require_writable, writing
from roundtrip.measure import campaign_file, environment, matrix, tree
from roundtrip.model import NAME_WORDS, is_name
from roundtrip.sites import software
from roundtrip.sites.site import Site

_TOOLCHAIN_ARGUMENT: dict[str, Any] = {"autocompletion": current.toolchains}


class Order(StrEnum):
    """How the order of the two toolchains in a round is chosen."""

    RANDOM = "random"
    ABBA = "abba"


@common.command(
    "ab openmpi41-boost181 mpich40-boost181",
    "ab openmpi41-boost181 mpich40-boost181 --budget 1h --fail-on 3%",
)
def ab(
    context: typer.Context,
    base: Annotated[
        str, typer.Argument(**_TOOLCHAIN_ARGUMENT, help="The toolchain that is compared with.")
    ],
    new: Annotated[
        str, typer.Argument(**_TOOLCHAIN_ARGUMENT, help="The toolchain that is compared.")
    ],
    site: common.SITE_OPTION,
    checks: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[:parameter=value,...]", help="A check to launch; repeatable."),
    ] = None,
    variables: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="variable=value", help="As `reframe -S`; repeatable."),
    ] = None,
    campaign: Annotated[
        str, typer.Option(help="The campaign whose checks are launched, a name or a TOML file.")
    ] = "ab",
    partitions: Annotated[
        list[str] | None, typer.Option("--partition", help="All by default; repeatable.")
    ] = None,
    budget: common.BUDGET = "20m",
    fail_on: FAIL_ON = None,
    resume: Annotated[bool, typer.Option(help="Go on with the newest run of the two.")] = False,
    order: Annotated[
        Order, typer.Option(help="Of a round: drawn anew, or abba: AB BA or BA AB for two rounds.")
    ] = Order.RANDOM,
    wait: common.WAIT = False,
    form: FORMAT = Format.TABLE,
    output: OUTPUT = None,
    everything: ALL = False,
) -> None:
    """Launch two toolchains in rounds, until each claim is decided.

    It stops when each is decided, when the budget is over, or at Ctrl-C, and judges what is there
    by a test that is valid whenever one stops.  Exit status: 0 nothing regressed; 1 NEW is slower
    in something, or a case completed with one of the two only; 2 bad input, or nothing could be
    decided; 130 interrupted.
    """
    if base == new:
        raise UserError(
            f"{base} against itself: for how often a difference is found, see `bench aa`"
        )
    for name in (base, new):
        if not is_name(name):
            raise UserError(f"{name!r} is no toolchain: {NAME_WORDS}")
    minutes, threshold = common.minutes(budget), parse_percentage(fail_on)
    if output:
        require_writable(output)
    checkout = paths.checkout()
    here = Site(site, checkout)
    software.require_ready(here)
    scratch = Path(context.with_resource(tempfile.TemporaryDirectory(prefix="roundtrip-ab-")))
    run_tree = _newest_run_of_two(base, new, site) if resume else None
    if run_tree:
        content = (run_tree.path / "campaign.toml").read_text(encoding="utf-8")
    else:
        source = campaign_file.find_campaign(campaign, checkout / "campaigns")
        plans = campaign_file.select_checks(source.checks, checks or (), variables or ())
        seed = secrets.randbits(32) if order is Order.ABBA else None
        content = campaign_file.campaign_text((base, new), plans, minutes, partitions or (), seed)
    declaration = campaign_file.load_campaign(
        campaign_file.write_campaign(scratch, (base, new), content)
    )
    declaration = replace(declaration, time_limit_minutes=minutes)
    try:
        plan = matrix.shared_cases(matrix.build_matrix(declaration, here), declaration)
    except UserError as error:  # without the name of a generated file
        raise UserError(error.message) if error.file == str(declaration.file) else error from None
    context.with_resource(tree.hold_site(here, declaration.name, wait, say))
    if run_tree:
        tree.require_same_matrix(run_tree, plan)
        environment.require_unchanged(run_tree, declaration.file)
    else:
        with writing(paths.runs()):
            run_tree = tree.create_tree(paths.runs(), declaration, here, plan)
    raise typer.Exit(
        _launch_and_compare(
            declaration, here, plan, run_tree, (base, new), threshold, form, output, everything
        )
    )


def _launch_and_compare(
    declaration: campaign_file.Campaign,
    here: Site,
    plan: matrix.Matrix,
    run_tree: tree.RunTree,
    toolchains: tuple[str, str],
    threshold: float | None,
    form: Format,
    output: Path | None,
    everything: bool,
) -> int:
    """Launch until enough is decided, show the comparison, and return the exit status."""
    # These take a second to load, which a fault in the arguments need not spend.
    from roundtrip.compare.comparison import Watch
    from roundtrip.measure import session
    from roundtrip.measure.outcome import Outcome
    from roundtrip.measure.progress import TerminalProgress
    from roundtrip.measure.runner import Runner

    watch = Watch(run_tree.path, *toolchains, tell=say, fail_on=threshold)
    is_over, is_interrupted = False, False
    process.on_term()
    with writing(run_tree.path), run_tree:
        environment.record_environment(here, plan, run_tree.path / "env")
        for warning in environment.tuning_warnings(here):
            say(f"warning: {warning}")
        with TerminalProgress(declaration.title, common.console) as progress:
            try:
                session.build_all(here, plan.expected, run_tree, progress)
                environment.record_pins(run_tree)
                runner = Runner(declaration, here, run_tree, plan.expected, progress)
                runner.should_stop = watch.should_stop
                is_over = not runner.run()
            except process.Terminated:
                say("stopped by TERM: judging what is there")
                is_over = True
            except KeyboardInterrupt:
                is_interrupted = True
        counts = Outcome.from_tree(run_tree).counts
        run_tree.record_launch_count(max(counts.passed.values(), default=0))
        outcome = Outcome.from_tree(run_tree)
        if outcome.is_complete and not is_interrupted:
            run_tree.finish()
    if stop_reason := run_tree.state.get("stopped"):
        say(f"stopped: {stop_reason}; what was measured before is kept")
    for reason in outcome.failures:
        say(f"failed: {reason}")
    if is_interrupted or is_over:
        ending = "interrupted" if is_interrupted else "the time is over"
        go_on = common.resume_command(f"--site={here.name}")
        say(f"{ending}; nothing is lost. Go on with: {go_on}")
    say(f"run: {run_tree.path}")
    try:
        comparison = watch.compare()
    except UserError as error:
        if not is_interrupted:
            raise
        say(f"nothing to compare yet: {error.message}")
        return process.INTERRUPTED_STATUS
    write_comparison(comparison, form, output, everything)
    return process.INTERRUPTED_STATUS if is_interrupted else comparison.exit_status


def _newest_run_of_two(base: str, new: str, site: str) -> tree.RunTree:
    """The newest run of the two toolchains on `site`, ended or not; UserError if there is none."""
    folder = paths.runs() / campaign_file.campaign_name(base, new) / site
    state_files = sorted(folder.glob("*/state.json"))
    if not state_files:
        raise UserError(f"no run of {base} against {new} on site '{site}' to resume", folder)
    return tree.RunTree(state_files[-1].parent)

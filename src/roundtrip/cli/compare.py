"""``roundtrip compare``, ``ab``: two sides that were measured, or two toolchains that are measured
side by side until each claim is decided."""

from __future__ import annotations

import secrets
import tempfile
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from typer import Argument, Option

from roundtrip import paths
from roundtrip.cli import INTERRUPTED_STATUS, SigtermInterrupt, command, common, raise_on_sigterm
from roundtrip.cli.common import print_status
from roundtrip.errors import UserError, report_write_errors, require_writable
from roundtrip.measure import campaign_file, environment, matrix, session, tree
from roundtrip.measure.progress import TerminalProgress
from roundtrip.model import NAME_RULE, is_name
from roundtrip.sites import software
from roundtrip.sites.site import Site

if TYPE_CHECKING:
    from roundtrip.report.compare.comparison import Watch
    from roundtrip.report.compare.model import Comparison
    from roundtrip.report.compare.side import Sources


class ComparisonFormat(StrEnum):
    """The format of a comparison."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"
    JUNIT = "junit"


class RoundOrder(StrEnum):
    """How the order of the two toolchains in a round is chosen."""

    RANDOM = "random"
    ABBA = "abba"


_FORMAT_OPTION = Option(ComparisonFormat.TABLE, "--format", help="Format of the comparison.")
_OUTPUT_OPTION = Option(None, help="Write to this file, not to the terminal.")
_FAIL_ON_OPTION = Option(
    None, metavar="3%", help="Smallest regression that fails; minimum_effect by default."
)
_ALL_OPTION = Option(False, "--all", help="Show all facts, not only three that differ.")


@command(
    "compare local/smoke/2026-11-24 local/smoke/2026-11-25",
    "compare local/smoke/2026-11-25 --by toolchain",
)
def compare(
    base: str = Argument(help="The base side: SOURCE[:key=value,...]."),
    new: str | None = Argument(None, help="The new side: the same form; may be of BASE's source."),
    toolchains: tuple[str, str] | None = Option(
        None, help="Two toolchains of BASE.", metavar="OLD NEW"
    ),
    by: str | None = Option(
        None, help="Compare BASE's two values of this key: toolchain, mpi, boost, spack, ..."
    ),
    form: ComparisonFormat = _FORMAT_OPTION,
    output: Path | None = _OUTPUT_OPTION,
    fail_on: str | None = _FAIL_ON_OPTION,
    everything: bool = _ALL_OPTION,
) -> None:
    """Compare two reports, bundles, run trees or nights, or two sides of one of them.

    A source is a folder or SITE/CAMPAIGN/DATE of the published reports.  Keys: toolchain, mpi,
    boost, spack, site, partition, check, study.  Exit status: 0 nothing regressed; 1 something did,
    NEW lacks a case of the same run, or nothing could be decided; 2 bad input.
    """
    threshold = None if fail_on is None else common.parse_fraction(fail_on)
    if output:
        require_writable(output)
    if new is not None and (toolchains or by):
        raise UserError("--toolchains and --by choose two sides of one source: leave NEW out")
    from roundtrip.report.compare import comparison, side  # takes a second to load

    with side.open_sources(paths.reports()) as sources:
        if new is not None:
            sides = (sources.side(base), sources.side(new))
        elif toolchains or by:
            key = by if by and not toolchains else "toolchain"
            first, second = toolchains or _two_values_of_key(sources, base, key)
            sides = (sources.side(base, {key: first}), sources.side(base, {key: second}))
        else:
            raise UserError(
                "one source: name a second one, or use --toolchains OLD NEW or --by KEY"
            )
        result = comparison.compare(*sides, fail_on=threshold)
        _write_comparison(result, form, output, everything)
    raise typer.Exit(result.exit_status)


def _two_values_of_key(sources: Sources, source: str, key: str) -> list[str]:
    """The values of `key` in a source that has two."""
    from roundtrip.report.compare.side import KEYS

    if key not in KEYS:
        raise UserError(f"--by {key}: legal are {', '.join(KEYS)}")
    values = sorted({str(getattr(case, key)) for case in sources.side(source).cases})
    if len(values) != 2:
        raise UserError(
            f"{source} has {len(values)} values of {key}, not two ({'; '.join(values)}): "
            f"name both sides, {source}:{key}=..."
        )
    return values


def _write_comparison(
    comparison: Comparison, form: ComparisonFormat, output: Path | None, everything: bool
) -> None:
    """Print the comparison, or write it to `output`."""
    from rich.console import Console

    from roundtrip.report.compare import forms

    if form is ComparisonFormat.TABLE:
        text = forms.as_text(comparison, everything, None if output else Console())
    else:
        render_by_form = {
            ComparisonFormat.JSON: forms.as_json,
            ComparisonFormat.MARKDOWN: forms.as_markdown,
            ComparisonFormat.JUNIT: forms.as_junit,
        }
        text = render_by_form[form](comparison, everything)
    if output is None:
        typer.echo(text, nl=False)
    else:
        with report_write_errors(output):
            output.write_text(text, encoding="utf-8")


@command(
    "ab openmpi41-boost181 mpich40-boost181",
    "ab openmpi41-boost181 mpich40-boost181 --budget 1h --fail-on 3%",
)
def ab(
    context: typer.Context,
    base: str = Argument(autocompletion=common.complete_toolchain, help="The base toolchain."),
    new: str = Argument(autocompletion=common.complete_toolchain, help="The new toolchain."),
    site: str = common.SITE_OPTION,
    checks: list[str] | None = Option(
        None, metavar="NAME[:parameter=value,...]", help="A check to launch; repeatable."
    ),
    variables: list[str] | None = Option(
        None, "--set", metavar="variable=value", help="As `reframe -S`; repeatable."
    ),
    campaign: str = Option(
        "ab", help="The campaign whose checks are launched, a name or a TOML file."
    ),
    partitions: list[str] | None = Option(
        None, "--partition", help="A partition; all by default; repeatable."
    ),
    budget: str = Option("20m", **common.BUDGET_SETTINGS),
    fail_on: str | None = _FAIL_ON_OPTION,
    resume: bool = Option(False, help="Continue the newest run of these two."),
    order: RoundOrder = Option(
        RoundOrder.RANDOM, help="Order in a round: random, or abba: AB BA or BA AB over two rounds."
    ),
    wait: bool = common.WAIT_OPTION,
    form: ComparisonFormat = _FORMAT_OPTION,
    output: Path | None = _OUTPUT_OPTION,
    everything: bool = _ALL_OPTION,
) -> None:
    """Launch two toolchains in rounds, until each claim is decided.

    It stops when each is decided, when the budget is over, or at Ctrl-C.  The test is valid
    whenever it stops.  Exit status: 0 nothing regressed; 1 NEW is slower in a case, a case
    completed with only one of the two, or nothing could be decided; 2 bad input; 130 interrupted.
    """
    _require_two_toolchains(base, new)
    minutes = common.parse_minutes(budget)
    threshold = None if fail_on is None else common.parse_fraction(fail_on)
    if output:
        require_writable(output)
    here = Site(site, paths.checkout())
    software.require_ready_site(here)
    run_tree = _newest_run_of_pair(base, new, site) if resume else None
    if run_tree:
        content = (run_tree.path / "campaign.toml").read_text(encoding="utf-8")
    else:
        source = campaign_file.find_campaign(campaign, paths.checkout() / "campaigns")
        plans = campaign_file.select_checks(source.checks, checks or (), variables or ())
        seed = secrets.randbits(32) if order is RoundOrder.ABBA else None
        content = campaign_file.ab_campaign_toml(
            (base, new), plans, minutes, partitions or (), seed
        )
    scratch = Path(context.with_resource(tempfile.TemporaryDirectory(prefix="roundtrip-ab-")))
    file = campaign_file.write_ab_campaign(scratch, (base, new), content)
    declaration = replace(campaign_file.load_campaign(file), time_limit_minutes=minutes)
    plan = _shared_matrix(declaration, here)
    context.with_resource(tree.hold_site(here, declaration.name, wait, print_status))
    run_tree = _open_tree(run_tree, declaration, here, plan)
    # These take a second to load, which a fault in the arguments need not spend.
    from roundtrip.report.compare.comparison import Watch

    watch = Watch(run_tree.path, base, new, tell=print_status, fail_on=threshold)
    is_interrupted = _launch_until_decided(declaration, here, plan, run_tree, watch)
    print_status(f"run: {run_tree.path}")
    comparison = _compare(watch, is_interrupted)
    _write_comparison(comparison, form, output, everything)
    raise typer.Exit(INTERRUPTED_STATUS if is_interrupted else comparison.exit_status)


def _require_two_toolchains(base: str, new: str) -> None:
    """UserError if both toolchains are the same, or one of them is no valid name."""
    if base == new:
        advice = "`python -m tools.bench aa` counts false differences"
        raise UserError(f"{base} against itself: {advice}")
    for name in (base, new):
        if not is_name(name):
            raise UserError(f"{name!r} is no toolchain: {NAME_RULE}")


def _shared_matrix(declaration: campaign_file.Campaign, here: Site) -> matrix.Matrix:
    """Return the cases that both toolchains can run; a UserError omits the generated file."""
    try:
        return matrix.shared_matrix(matrix.build_matrix(declaration, here), declaration)
    except UserError as error:
        raise UserError(error.message) if error.file == str(declaration.file) else error from None


def _open_tree(
    old_run: tree.RunTree | None,
    declaration: campaign_file.Campaign,
    here: Site,
    plan: matrix.Matrix,
) -> tree.RunTree:
    """Return a new run, or `old_run`; UserError if something has changed since that began."""
    if old_run:
        tree.require_same_matrix(old_run, plan)
        environment.require_unchanged(old_run, declaration.file)
        return old_run
    with report_write_errors(paths.runs()):
        return tree.create_tree(paths.runs(), declaration, here, plan)


def _compare(watch: Watch, is_interrupted: bool) -> Comparison:
    """Return the comparison; exit if the run was interrupted before there was one."""
    try:
        return watch.compare()
    except UserError as error:
        if not is_interrupted:
            raise
        print_status(f"nothing to compare yet: {error.message}")
        raise typer.Exit(INTERRUPTED_STATUS) from None


def _launch_until_decided(
    declaration: campaign_file.Campaign,
    here: Site,
    plan: matrix.Matrix,
    run_tree: tree.RunTree,
    watch: Watch,
) -> bool:
    """Launch until enough is decided, and say how that ended; return whether it was interrupted."""
    from roundtrip.measure.outcome import RunOutcome
    from roundtrip.measure.runner import Runner

    is_over, is_interrupted = False, False
    raise_on_sigterm()
    with report_write_errors(run_tree.path), run_tree:
        environment.record_environment(here, plan, run_tree.path / "env")
        for warning in (*here.warnings, *environment.tuning_warnings(here)):
            print_status(f"warning: {warning}")
        with TerminalProgress(declaration.title, common.console) as progress:
            try:
                session.build_programs(here, plan.expected, run_tree, progress)
                environment.record_pinned_digests(run_tree)
                runner = Runner(declaration, here, run_tree, plan.expected, progress)
                runner.should_stop = watch.should_stop
                is_over = not runner.run()
            except SigtermInterrupt:
                print_status("stopped by TERM: judging the completed launches")
                is_over = True
            except KeyboardInterrupt:
                is_interrupted = True
        counts = RunOutcome.from_tree(run_tree).counts
        run_tree.record_launch_count(max(counts.passed_by_case.values(), default=0))
        outcome = RunOutcome.from_tree(run_tree)
        if outcome.is_complete and not is_interrupted:
            run_tree.record_finish()
    if stop_reason := run_tree.state.get("stopped"):
        print_status(f"stopped: {stop_reason}; what was measured before is kept")
    for launch in outcome.with_status("failed"):
        print_status(f"failed: {launch.case_id}: {launch.reason}")
    if is_interrupted or is_over:
        ending = "interrupted" if is_interrupted else "the time is over"
        go_on = common.resume_command(f"--site={here.name}")
        print_status(f"{ending}; nothing is lost. Go on with: {go_on}")
    return is_interrupted


def _newest_run_of_pair(base: str, new: str, site: str) -> tree.RunTree:
    """The newest run of the two toolchains on `site`, ended or not; UserError if there is none."""
    folder = paths.runs() / campaign_file.ab_campaign_name(base, new) / site
    state_files = sorted(folder.glob("*/state.json"))
    if not state_files:
        raise UserError(f"no run of {base} against {new} on site '{site}' to resume", folder)
    return tree.RunTree(state_files[-1].parent)

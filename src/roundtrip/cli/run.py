"""``roundtrip run``: a campaign on a site, from its declaration to its report."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from typer import Argument, Option

from roundtrip import paths
from roundtrip.cli import cause, command, common, process
from roundtrip.cli.common import print_status
from roundtrip.cli.share import publish_run
from roundtrip.errors import UserError, report_write_errors
from roundtrip.measure import (
    analysis,
    campaign_file,
    environment,
    matrix,
    round_robin,
    session,
    store,
    tree,
)
from roundtrip.measure.progress import TerminalProgress
from roundtrip.sites import software
from roundtrip.sites.site import Site

if TYPE_CHECKING:
    from roundtrip.measure.outcome import ClaimOutlook
    from roundtrip.measure.runner import Runner
    from roundtrip.stats.settings import Levels

#: Maximum number of confirmed series that are printed, the worst first.
_MAX_PRINTED_SERIES = 12


@command(
    "run smoke                      measure this machine",
    "run boost-netpipe --dry-run    what it would launch and claim",
)
def run(
    context: typer.Context,
    campaign: str = Argument(
        autocompletion=common.complete_campaign, help="Name in campaigns/, or a TOML file."
    ),
    site: str = common.SITE_OPTION,
    resume: bool = Option(False, help="Complete the newest unfinished run."),
    tree_path: Path | None = Option(None, "--tree", help="The run to resume, if not the newest."),
    night: str | None = Option(
        None, help="A name: resume the run that began under it, if any; measure it once."
    ),
    dry_run: bool = Option(
        False, help="Print the matrix and what it will be able to claim, then stop."
    ),
    report: bool = Option(True, help="Collect, judge and report at the end."),
    wait: bool = common.WAIT_OPTION,
    allow_underpowered: bool = Option(
        False, "--allow-underpowered", help="Run with too few launches for any verdict."
    ),
    allow_mute: bool = Option(False, "--allow-mute", hidden=True),
) -> None:
    """Run a campaign: launch every case as often as declared, then publish the report.

    Exit status: 0 all completed; 1 something failed or is missing, or nothing can be decided and
    the campaign does not declare allow_undecided; 2 bad input; 130 interrupted.
    TERM (a scheduler's time limit) stops the run, and what is there is reported.
    """
    checkout = paths.checkout()
    declaration = campaign_file.find_campaign(campaign, checkout / "campaigns")
    for warning in declaration.warnings:
        print_status(f"warning: {warning}")
    here = Site(site, checkout)
    software.require_ready_site(here)
    plan = matrix.build_matrix(declaration, here)
    # This loads SciPy, which a fault above does not need.
    from roundtrip.measure.outcome import RunOutcome, assess_claims

    thresholds = analysis.load_for_site(site)
    round_robin.require_node_list(declaration, here, plan)
    # Pairs of nodes are compared with each other, and make no claim of a study.
    claim_matrix = matrix.Matrix((), ()) if declaration.is_round_robin else plan
    outlook = assess_claims(declaration, claim_matrix, thresholds)
    if dry_run:
        arrangement = round_robin.arrange_night(declaration, here, plan, paths.runs(), None, 0)
        _print_matrix(declaration, arrangement, outlook)
        return
    # These take a second to load, which a dry run or a fault in the campaign need not spend.
    from roundtrip.history import annotations
    from roundtrip.measure.runner import Runner

    annotations.load_site(site)  # a fault in them ends the run before any launch
    if allow_mute:
        print_status("warning: --allow-mute is called --allow-underpowered now")
    may_be_underpowered = allow_underpowered or allow_mute or declaration.allow_undecided
    if not may_be_underpowered and not _find_run_to_resume(
        declaration.name, site, resume, tree_path, night
    ):
        outlook.require_enough_launches()
    if advice := outlook.warning():
        print_status(f"warning: {advice}")
    for warning in environment.tuning_warnings(here):
        print_status(f"warning: {warning}")
    if not all(item.simulated for item in plan.expected):  # simulated times need no quiet machine
        context.with_resource(tree.hold_site(here, declaration.name, wait, print_status))
    run_tree = _find_run_to_resume(declaration.name, site, resume, tree_path, night)
    if night and run_tree and run_tree.is_complete:
        print_status(
            f"night {night} has been measured: {run_tree.state['report'] or run_tree.path}"
        )
        raise typer.Exit(int(not run_tree.state.get("decided", True)))
    if run_tree and not _can_resume(run_tree, plan, declaration.file, night):
        run_tree = None
    arrangement = round_robin.arrange_night(declaration, here, plan, paths.runs(), run_tree)
    plan = arrangement.matrix
    if run_tree is None:
        with report_write_errors(paths.runs()):
            run_tree = tree.create_tree(paths.runs(), declaration, here, plan, report, night)
            arrangement.write(run_tree.path)
    process.raise_on_sigterm()
    with report_write_errors(run_tree.path), run_tree:
        resume_command = f"roundtrip run {shlex.quote(campaign)} --site {site} --resume"
        in_time, is_stopped = True, False
        with TerminalProgress(declaration.title, common.console) as progress:
            try:
                environment.record_environment(here, plan, run_tree.path / "env")
                session.build_programs(here, plan.expected, run_tree, progress)
                environment.record_pinned_digests(run_tree)
                runner = Runner(declaration, here, run_tree, arrangement.launch_items, progress)
                in_time = runner.run()
                if report and declaration.confirm_minutes:
                    _launch_confirmation(runner, thresholds.statistics)
            except process.SigtermInterrupt:
                is_stopped = True
                print_status("stopped by TERM: reporting what is there")
            except KeyboardInterrupt:
                print_status(f"interrupted; nothing is lost. Go on with: {resume_command}")
                raise typer.Exit(130) from None
        process.ignore_sigterm()
        outcome = RunOutcome.from_tree(run_tree)
        if outcome.is_complete:
            run_tree.record_finish()
    if stop_reason := run_tree.state.get("stopped"):
        print_status(f"stopped: {stop_reason}; what was measured before is kept")
    if not in_time and not outcome.is_complete:
        limit, counts = f"{declaration.time_limit_minutes:g} minutes", outcome.counts
        print_status(
            f"time limit of {limit} ended this run after {counts.completed_count} of "
            f"{counts.target_count} "
            f"launches; go on with: {resume_command}"
        )
    for line in outcome.describe_lines():
        print_status(line)
    is_decided = True
    if not report and outcome.counts.passed_by_case:
        is_decided = not outcome.all_disturbed or declaration.allow_undecided
        if outcome.all_disturbed:
            print_status("measured, but nothing can be decided: all launches were disturbed")
        print_status(f"not judged; to judge it: roundtrip report {shlex.quote(str(run_tree.path))}")
    elif outcome.counts.passed_by_case:
        revision = publish_run(run_tree.path)
        is_decided = _check_decided(revision, declaration) or declaration.allow_undecided
        confirmed_keys = _print_confirmation(run_tree.path, revision)
        if outcome.is_complete:
            with report_write_errors(run_tree.path):
                run_tree.write_state(
                    report=str(store.file_path(revision, store.PAGE_FILE)), decided=is_decided
                )
            if declaration.blame_minutes and not is_stopped:
                cause.blame_after_night(here, declaration, confirmed_keys)
    raise typer.Exit(0 if outcome.is_complete and is_decided else 1)


def _launch_confirmation(night: Runner, levels: Levels) -> None:
    """Launch the cases of series that were worse last night again, with their controls.

    A UserError becomes a warning: the night still gets its report.
    """
    from roundtrip.history import annotations, ledger
    from roundtrip.measure import bundle, manifest, runner
    from roundtrip.measure.outcome import RunOutcome
    from roundtrip.report import confirmation, data, units
    from roundtrip.report.sections.history import judge_bundle_nights
    from roundtrip.stats.planning import recommended_launches

    if not RunOutcome.from_tree(night.tree).counts.passed_by_case:
        return
    try:
        with tempfile.TemporaryDirectory(prefix="roundtrip-night-") as folder:
            bundle_path = bundle.build_bundle(night.tree.path, Path(folder))
            facts = manifest.verify(bundle_path)
            campaign, site = facts.data["campaign"], facts.data["site"]
            notes = annotations.load_site(site)
            site_ledger = ledger.read_ledger(paths.reports(), campaign, site, notes)
            ledger.attach_history(bundle_path, facts, site_ledger, notes)
            verdicts = judge_bundle_nights(data.read_bundle(bundle_path))
        worse, cases = (
            len(confirmation.worse_series_with_controls(verdicts)),
            confirmation.cases_to_relaunch(verdicts),
        )
        if not worse:
            return
        series, count = units.plural(worse, "series", "series"), units.plural(len(cases), "case")
        print_status(f"worse last night: {series}; launching {count} again, controls included")
        runner.launch_confirmation(night, cases, recommended_launches(worse, levels))
    except UserError as error:
        print_status(f"warning: what was worse last night was not launched again: {error}")


def _print_confirmation(run_dir: Path, revision: Path) -> frozenset[str]:
    """Print what the report of a night confirms, if it was launched; return the keys of series."""
    from roundtrip.measure import records
    from roundtrip.report import confirmation, data, units
    from roundtrip.report.sections import history
    from roundtrip.stats.nights.verdicts import Confirmation

    if not (run_dir / "env" / records.CONFIRMATION_FILE).is_file():
        return frozenset()
    night = data.read_bundle(store.bundle_folder(revision))
    relaunch = confirmation.read_confirmation(night, history.judge_bundle_nights(night))
    print_status(relaunch.sentence)
    results = [] if relaunch.skip_reason else list(relaunch.repeated_by_series_key.values())
    for result in results[:_MAX_PRINTED_SERIES]:
        print_status(f"{result.sentence}: {result.worse_series.full_title}")
    if len(results) > _MAX_PRINTED_SERIES:
        more = units.plural(len(results) - _MAX_PRINTED_SERIES, "series", "series")
        print_status(f"and {more} more, in the report")
    confirmed = (result for result in results if result.verdict is Confirmation.CONFIRMED)
    return frozenset(result.worse_series.series.key for result in confirmed)


def _check_decided(revision: Path, declaration: campaign_file.Campaign) -> bool:
    """Return whether the report `revision` decides anything; print the reason if it does not."""
    from roundtrip.report import build, data

    report_data = data.read_bundle(store.bundle_folder(revision))
    if not (reason := build.undecided_reason(report_data, build.judge_report_claims(report_data))):
        return True
    print_status(f"measured, but nothing can be decided: {reason}")
    if not declaration.allow_undecided:
        print_status(f"where that is meant, declare allow_undecided = true in {declaration.file}")
    return False


def _can_resume(
    run_tree: tree.RunTree, plan: matrix.Matrix, campaign: Path, night: str | None
) -> bool:
    """Return whether the run has the matrix `plan`, and nothing has changed since it began.

    If not, a night begins a new run, as no user is there to decide; UserError without `night`.
    """
    try:
        tree.require_same_matrix(run_tree, plan)
        environment.require_unchanged(run_tree, campaign)
    except UserError as error:
        if night is None:
            raise
        print_status(f"not as night {night} began: {error}: a new run begins")
        return False
    return True


def _find_run_to_resume(
    campaign: str, site: str, resume: bool, path: Path | None, night: str | None
) -> tree.RunTree | None:
    """The run to resume; None to begin a new one.

    A requeued night may have stopped before it began a run or after it finished one, so the newest
    unfinished run could belong to another night.
    """
    if path:
        run_tree = tree.RunTree(path)
        run_night = run_tree.state.get("night")
        if night and run_night != night:
            origin = f"began as night {run_night}" if run_night else "began without a night"
            raise UserError(f"this run {origin}, not as {night}: leave --tree or --night out", path)
        return run_tree
    if night:
        return tree.find_night_run(paths.runs(), campaign, site, night)
    return tree.newest_unfinished_run(paths.runs(), campaign, site) if resume else None


def _print_matrix(
    declaration: campaign_file.Campaign,
    arrangement: round_robin.CampaignNight,
    outlook: ClaimOutlook,
) -> None:
    for item in arrangement.matrix.expected:
        typer.echo(f"run   {item.launch_count(declaration.launches)} x {item.case.id}")
    for skip in arrangement.matrix.skipped:
        typer.echo(f"skip  {skip.case_id}: {skip.reason}")
    for line in arrangement.dry_run_lines():
        typer.echo(line)
    for line in outlook.dry_run_lines():
        typer.echo(line)

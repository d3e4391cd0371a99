"""``roundtrip run``: a campaign on a site, from its declaration to its report."""

from __future__ import annotations

import shlex
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from typer import Argument, Option

from roundtrip import paths
from roundtrip.cli import SigtermInterrupt, cause, command, common, ignore_sigterm, raise_on_sigterm
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
from roundtrip.model import NAME_RULE, is_name
from roundtrip.sites import software
from roundtrip.sites.site import Site

if TYPE_CHECKING:
    from roundtrip.measure.outcome import ClaimOutlook, RunOutcome
    from roundtrip.measure.runner import Runner
    from roundtrip.stats.settings import Levels

#: Maximum number of confirmed series that are printed, the worst first.
_MAX_PRINTED_SERIES = 12


@command(
    "run smoke                      measure this machine",
    "run boost-netpipe --dry-run    its launches and claims",
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
        None, help="Name of the night: resume its run, if any; each night is measured once."
    ),
    dry_run: bool = Option(
        False, help="Print the matrix and the claims that it can decide, then stop."
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
    TERM (a scheduler's time limit) stops the run and reports what is complete.
    """
    if night is not None and not is_name(night):
        raise UserError(f"--night {night!r}: {NAME_RULE}")
    plan = _plan_run(campaign, site)
    if dry_run:
        _print_matrix(plan)
        return
    if allow_mute:
        print_status("warning: --allow-mute is called --allow-underpowered now")
    may_be_underpowered = allow_underpowered or allow_mute or plan.campaign.allow_undecided
    choice = (plan.campaign.name, site, resume, tree_path, night)
    # A run that is resumed has begun with the launches that it has.
    _print_warnings(plan, not may_be_underpowered and not _find_run_to_resume(*choice))
    if not all(item.simulated for item in plan.matrix.expected):  # it needs a quiet machine
        context.with_resource(tree.hold_site(plan.site, plan.campaign.name, wait, print_status))
    run_tree, items = _open_tree(plan, _find_run_to_resume(*choice), report, night)
    resume_command = f"roundtrip run {shlex.quote(campaign)} --site {site} --resume"
    raise_on_sigterm()
    with report_write_errors(run_tree.path), run_tree:
        in_time, is_stopped = _measure(plan, run_tree, items, report, resume_command)
        ignore_sigterm()
        outcome = _finish(plan, run_tree, in_time, resume_command)
    is_decided = True
    if outcome.counts.passed_by_case:
        if report:
            is_decided = _publish(plan, run_tree, outcome.is_complete, is_stopped)
        else:
            is_decided = _leave_unjudged(plan, run_tree, outcome)
    raise typer.Exit(0 if outcome.is_complete and is_decided else 1)


@dataclass(frozen=True)
class _PlannedRun:
    """A campaign on a site: its matrix, the site's thresholds, and the claims it can make."""

    campaign: campaign_file.Campaign
    site: Site
    matrix: matrix.Matrix
    thresholds: analysis.AnalysisSettings
    outlook: ClaimOutlook


def _plan_run(campaign: str, site: str) -> _PlannedRun:
    """Read the campaign and build its matrix; UserError for a fault in either or in the site."""
    checkout = paths.checkout()
    declaration = campaign_file.find_campaign(campaign, checkout / "campaigns")
    here = Site(site, checkout)
    for warning in (*declaration.warnings, *here.warnings):
        print_status(f"warning: {warning}")
    software.require_ready_site(here)
    plan = matrix.build_matrix(declaration, here)
    # This loads SciPy, which a fault above does not need.
    from roundtrip.measure.outcome import assess_claims

    thresholds = analysis.load_site_settings(site)
    round_robin.require_node_list(declaration, here, plan)
    # Pairs of nodes are compared with each other, and make no claim of a study.
    claim_matrix = matrix.Matrix((), ()) if declaration.is_round_robin else plan
    outlook = assess_claims(declaration, claim_matrix, thresholds)
    return _PlannedRun(declaration, here, plan, thresholds, outlook)


def _print_warnings(plan: _PlannedRun, require_enough_launches: bool) -> None:
    """Print what may spoil the run; UserError for a fault in the notes of the site, and for too few
    launches if `require_enough_launches`."""
    from roundtrip.history import annotations  # a dry run need not load it

    annotations.load_site_annotations(plan.site.name)
    if require_enough_launches:
        plan.outlook.require_enough_launches()
    for warning in (plan.outlook.warning(), *environment.tuning_warnings(plan.site)):
        if warning:
            print_status(f"warning: {warning}")


def _open_tree(
    plan: _PlannedRun, old_run: tree.RunTree | None, report: bool, night: str | None
) -> tuple[tree.RunTree, list[matrix.ExpectedCase]]:
    """Return `old_run` if it can be resumed, else a new run, and the launches of a round; exit if
    the night has been measured."""
    if night and old_run and old_run.is_complete:
        print_status(f"night {night} has been measured: {old_run.state['report'] or old_run.path}")
        raise typer.Exit(int(not old_run.state.get("decided", True)))
    if old_run and not _can_resume(old_run, plan.matrix, plan.campaign.file, night):
        old_run = None
    runs = paths.runs()
    arrangement = round_robin.arrange_night(plan.campaign, plan.site, plan.matrix, runs, old_run)
    if old_run:
        return old_run, arrangement.round_launches
    with report_write_errors(runs):
        new_run = tree.create_tree(
            runs, plan.campaign, plan.site, arrangement.matrix, report, night
        )
        arrangement.write(new_run.path)
    return new_run, arrangement.round_launches


def _measure(
    plan: _PlannedRun,
    run_tree: tree.RunTree,
    items: list[matrix.ExpectedCase],
    report: bool,
    resume_command: str,
) -> tuple[bool, bool]:
    """Build, launch and confirm; return whether it ended in time, and whether TERM stopped it."""
    from roundtrip.measure.runner import Runner  # a dry run need not load it

    in_time = True
    with TerminalProgress(plan.campaign.title, common.console) as progress:
        try:
            environment.record_environment(plan.site, plan.matrix, run_tree.path / "env")
            session.build_programs(plan.site, plan.matrix.expected, run_tree, progress)
            environment.record_pinned_digests(run_tree)
            runner = Runner(plan.campaign, plan.site, run_tree, items, progress)
            in_time = runner.run()
            if report and plan.campaign.confirm_minutes:
                _launch_confirmation(runner, plan.thresholds.statistics)
        except SigtermInterrupt:
            print_status("stopped by TERM: reporting the completed launches")
            return in_time, True
        except KeyboardInterrupt:
            print_status(f"interrupted; nothing is lost. Go on with: {resume_command}")
            raise typer.Exit(130) from None
        except OSError:  # such as a full disk, which the caller names
            print_status(f"stopped; what was measured is kept. Go on with: {resume_command}")
            raise
    return in_time, False


def _finish(
    plan: _PlannedRun, run_tree: tree.RunTree, in_time: bool, resume_command: str
) -> RunOutcome:
    """Record the end of a complete run, print what came of it, and return that."""
    from roundtrip.measure.outcome import RunOutcome

    outcome = RunOutcome.from_tree(run_tree)
    if outcome.is_complete:
        run_tree.record_finish()
    if stop_reason := run_tree.state.get("stopped"):
        print_status(f"stopped: {stop_reason}; what was measured before is kept")
    if not in_time and not outcome.is_complete:
        limit, counts = f"{plan.campaign.time_limit_minutes:g} minutes", outcome.counts
        print_status(
            f"time limit of {limit} ended this run after {counts.completed_count} of "
            f"{counts.target_count} launches; go on with: {resume_command}"
        )
    for line in outcome.describe_lines():
        print_status(line)
    return outcome


def _leave_unjudged(plan: _PlannedRun, run_tree: tree.RunTree, outcome: RunOutcome) -> bool:
    """Print how to judge the run; return whether something may be decided, or need not be."""
    if outcome.all_disturbed:
        print_status("measured, but nothing can be decided: all launches were disturbed")
    print_status(f"not judged; to judge it: roundtrip report {shlex.quote(str(run_tree.path))}")
    return not outcome.all_disturbed or plan.campaign.allow_undecided


def _publish(
    plan: _PlannedRun, run_tree: tree.RunTree, is_complete: bool, is_stopped: bool
) -> bool:
    """Publish the report and, of a complete night, search for causes; return whether something is
    decided, or need not be."""
    revision = publish_run(run_tree.path)
    is_decided = _check_decided(revision, plan.campaign) or plan.campaign.allow_undecided
    confirmed_keys = _print_confirmation(run_tree.path, revision)
    if is_complete:
        page = str(store.file_path(revision, store.PAGE_FILE))
        with report_write_errors(run_tree.path):
            run_tree.write_state(report=page, decided=is_decided)
        if plan.campaign.blame_minutes and not is_stopped:
            cause.blame_after_night(plan.site, plan.campaign, confirmed_keys)
    return is_decided


def _launch_confirmation(night: Runner, levels: Levels) -> None:
    """Launch the cases of series that were worse last night again, with their controls; a UserError
    becomes a warning: the night still gets its report."""
    from roundtrip import units
    from roundtrip.content import data
    from roundtrip.history import annotations
    from roundtrip.measure import bundle, manifest, runner
    from roundtrip.measure.outcome import RunOutcome
    from roundtrip.report import confirmation, publish
    from roundtrip.report.sections.history import judge_bundle_nights
    from roundtrip.stats.planning import recommended_launches

    if not RunOutcome.from_tree(night.tree).counts.passed_by_case:
        return
    try:
        with tempfile.TemporaryDirectory(prefix="roundtrip-night-") as folder:
            bundle_path = bundle.build_bundle(night.tree.path, Path(folder))
            facts = manifest.verify(bundle_path)
            notes = annotations.load_site_annotations(facts.data["site"])
            publish.attach_past_nights(bundle_path, facts, paths.reports(), notes)
            verdicts = judge_bundle_nights(data.read_bundle(bundle_path))
        worse = len(confirmation.worse_series_with_controls(verdicts))
        cases = confirmation.cases_to_relaunch(verdicts)
        if not worse:
            return
        series, count = units.plural(worse, "series", "series"), units.plural(len(cases), "case")
        print_status(f"worse last night: {series}; launching {count} again, controls included")
        runner.launch_confirmation(night, cases, recommended_launches(worse, levels))
    except UserError as error:
        print_status(f"warning: the series worse last night were not launched again: {error}")


def _print_confirmation(run_dir: Path, revision: Path) -> frozenset[str]:
    """Print what the report of a night confirms, if it was launched; return the keys of series."""
    from roundtrip import units
    from roundtrip.content import data
    from roundtrip.measure import records
    from roundtrip.report import confirmation
    from roundtrip.report.sections import history

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
    confirmed = (
        result for result in results if result.verdict is confirmation.Confirmation.CONFIRMED
    )
    return frozenset(result.worse_series.data.key for result in confirmed)


def _check_decided(revision: Path, declaration: campaign_file.Campaign) -> bool:
    """Return whether the report `revision` decides anything; print the reason if it does not."""
    from roundtrip.content import data
    from roundtrip.report import build

    report_data = data.read_bundle(store.bundle_folder(revision))
    if not (reason := build.undecided_reason(report_data, build.judge_report_claims(report_data))):
        return True
    print_status(f"measured, but nothing can be decided: {reason}")
    if not declaration.allow_undecided:
        print_status(f"if this is intended, declare allow_undecided = true in {declaration.file}")
    return False


def _can_resume(
    run_tree: tree.RunTree, plan: matrix.Matrix, campaign: Path, night: str | None
) -> bool:
    """Return whether the run has the matrix `plan`, and nothing has changed since it began.  If
    not, a night begins a new run, as no user is there to decide; UserError without `night`."""
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


def _print_matrix(plan: _PlannedRun) -> None:
    arrangement = round_robin.arrange_night(
        plan.campaign, plan.site, plan.matrix, paths.runs(), None, 0
    )
    for item in arrangement.matrix.expected:
        typer.echo(f"run   {item.launch_count(plan.campaign.launches)} x {item.case.id}")
    for skip in arrangement.matrix.skipped:
        typer.echo(f"skip  {skip.case_id}: {skip.reason}")
    for line in (*arrangement.dry_run_lines(), *plan.outlook.dry_run_lines()):
        typer.echo(line)

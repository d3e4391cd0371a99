"""``roundtrip history``, ``calibrate``: changes of series over the nights, and their noise."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table
from typer import Option

from roundtrip import output, paths, units
from roundtrip.cli import command, common
from roundtrip.cli.common import print_warning
from roundtrip.errors import UserError, printable, report_write_errors, require_writable
from roundtrip.measure import analysis, pseudonyms, signature, store
from roundtrip.measure.pseudonyms import HostNames

if TYPE_CHECKING:
    from roundtrip.content.nights import JudgedSeries, NightVerdicts
    from roundtrip.history.annotations import Annotation
    from roundtrip.report.confirmation import ConfirmationResult

_COLUMNS = ("verdict", "series", "ratio", "since", "what differed then; remarks", "would have seen")
#: Maximum number of pairs of values printed if no series can be judged; ``--all`` prints all.
_MAX_NIGHT_PAIRS = 20
#: Maximum number of series printed that changed by less than the least effect.
_MAX_SMALL_CHANGES = 5
#: The value of ``--accept`` for all series.
_ACCEPT_ALL = "--all"
#: A fixed seed, so that simulated histories are the same each time.
_SIMULATION_SEED = 1


@dataclass(frozen=True)
class _JudgedCampaign:
    """The verdicts on the nights of a campaign, and what is printed with them.

    `judged_series` are the series to print.  `relaunch` says what the newest night confirmed, and
    `signatures` how the nights are signed.  `unmatched_renamings` rename none of its cases.
    """

    campaign: str
    verdicts: NightVerdicts
    judged_series: list[JudgedSeries]
    relaunch: ConfirmationResult
    signatures: list[str]
    unmatched_renamings: tuple[Annotation, ...]


@command(
    "history                      all campaigns of the site here",
    "history --series latency     series with this text in their name",
)
def history(
    site: str = common.REPORTED_SITE_ARGUMENT,
    campaign: str | None = common.CAMPAIGN_ARGUMENT,
    everything: bool = Option(False, "--all", help="Also show unchanged series."),
    series: str = Option("", help="Show series whose name contains this text, in any case."),
    accept: str = Option(
        "",
        help="Accept the present level as baseline for series whose name contains this text, or "
        "for every series (--accept --all); needs --reason.",
    ),
    reason: str = Option("", help="Reason for --accept; one line."),
    since: str = Option("", help="Count changes from this date (UTC) on as new."),
    as_json: bool = common.JSON_OPTION,
    reports: Path | None = common.REPORTS_OPTION,
) -> None:
    """Say what changed over the nights of a site: which series, by how much, since when, and which
    recorded facts (kernel, MPI, ...) changed then.

    Series are sorted by verdict, those worse last night first, then by evidence.  Exit status:
    0 nothing got worse; 1 a series is worse last night, regressed or flapping, and not accepted;
    2 bad input.
    """
    if bool(accept) != bool(reason):
        raise UserError("--accept SERIES and --reason TEXT belong together")
    try:
        datetime.date.fromisoformat(since or "2000-01-01")
    except ValueError:
        raise UserError(f"--since {since!r}: right is a date such as 2026-11-03") from None
    folder, names = common.reports_and_campaigns(reports, site, campaign)
    candidates = (_judge_campaign(folder, name, site, series, since) for name in names)
    results = [result for result in candidates if result]
    hosts = pseudonyms.collect_host_names(site, paths.runs())
    if not results:
        raise common.no_night_error(folder, site, campaign)
    if campaign is None:  # another may have the cases
        _warn_of_renamings(results)
    if series and not any(result.judged_series for result in results):
        raise UserError(f"no series has {series!r} in its name")
    if accept:
        _write_acceptance(site, accept, reason, results)
        raise typer.Exit(0)
    if as_json:
        records = [_series_json(result, one) for result in results for one in result.judged_series]
        signatures = {result.campaign: result.signatures for result in results}
        content = {"site": site, "series": records, "signatures": signatures}
        print(output.json_text(output.History, content))
    else:
        for result in results:
            _print_campaign(site, result, everything or bool(series), hosts)
    is_worse = any(one.judgement.is_alarm for result in results for one in result.judged_series)
    raise typer.Exit(int(is_worse))


def _judge_campaign(
    reports: Path, campaign: str, site: str, series: str, since: str
) -> _JudgedCampaign | None:
    """Judge a campaign's nights, and print warnings; None without a night."""
    from roundtrip.content import nights
    from roundtrip.history import annotations
    from roundtrip.report import confirmation

    notes = annotations.load_site_annotations(site)
    ledger = common.read_ledger(reports, campaign, site, notes)
    for remark in ledger.remarks:
        print_warning(printable(remark))
    if ledger.nights.is_empty():
        return None
    settings = analysis.load_site_settings(site).history
    verdicts = nights.judge_all_series(ledger.nights, ledger.provenance, settings, notes, since)
    relaunch = confirmation.NO_CONFIRMATION
    try:
        folder = store.site_folder(reports, campaign, site)
        relaunch = confirmation.read_site_confirmation(folder, verdicts)
    except UserError as error:
        print_warning(printable(str(error)))
    signatures = signature.describe_signatures(ledger.signatures)
    matches, renamings = _matching_series(verdicts, series), ledger.unmatched_renamings
    return _JudgedCampaign(campaign, verdicts, matches, relaunch, signatures, renamings)


def _warn_of_renamings(results: Sequence[_JudgedCampaign]) -> None:
    """Warn of annotations that rename no case of any campaign."""
    first, *others = results
    for annotation in first.unmatched_renamings:
        if all(annotation in other.unmatched_renamings for other in others):
            (example, *_) = first.verdicts.judged_series
            case = str(example.data.identity["case_id"])
            print_warning(printable(annotation.renames_nothing(case)))


def _write_acceptance(
    site: str, text: str, reason: str, results: Sequence[_JudgedCampaign]
) -> None:
    """Write the annotations that accept the level of series; UserError if `text` matches none."""
    from roundtrip.history import annotations

    pattern = "" if text == _ACCEPT_ALL else text
    judged_series = {
        result.campaign: _matching_series(result.verdicts, pattern) for result in results
    }
    if not any(judged_series.values()):
        raise UserError(f"no series has {text!r} in its name")
    newest = max(
        item.verdicts.calendar.nights[-1] for item in results if judged_series[item.campaign]
    )
    labels = [series.full_title for matches in judged_series.values() for series in matches]
    globs = ["*"] if text == _ACCEPT_ALL else sorted({*map(escape, labels)})
    file = annotations.append_acceptances(site, globs, newest, reason)
    print(f"accepted up to {newest}: {len(labels)} series, in {file}")


def _matching_series(verdicts: NightVerdicts, text: str) -> list[JudgedSeries]:
    pattern = text.casefold()
    return [
        series for series in verdicts.judged_series if pattern in _series_name(series).casefold()
    ]


def _series_name(series: JudgedSeries) -> str:
    return printable(" ".join(series.full_title.split()))


def _print_campaign(site: str, result: _JudgedCampaign, everything: bool, hosts: HostNames) -> None:
    """Print a summary line, then what the series to show did, with host names from `hosts`."""
    from roundtrip.stats.nights.verdicts import Verdict

    verdicts, judged_series, relaunch = result.verdicts, result.judged_series, result.relaunch
    first, last = verdicts.calendar.nights[0], verdicts.calendar.nights[-1]
    counts = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.count_by_verdict.items())
    dates = dict.fromkeys((first[:10], last[:10]))
    nights = f"{units.plural(len(verdicts.calendar.nights), 'night')}, {' to '.join(dates)}"
    print(f"{result.campaign} on {site}: {nights}; {len(verdicts.judged_series)} series: {counts}")
    if relaunch.sentence:
        print(f"  {hosts.insert_names(printable(relaunch.sentence))}")
    if all(series.judgement.verdict is Verdict.TOO_FEW_NIGHTS for series in judged_series):
        _print_pairs(result, everything, hosts)
    else:
        _print_changes(result, everything, hosts)
    for sentence in result.signatures:
        print(f"  {printable(sentence)}")


def _print_changes(result: _JudgedCampaign, everything: bool, hosts: HostNames) -> None:
    """Print a table of the series that changed, or of all if `everything`; below it, why series
    have too few nights, and which changes are too small to count."""
    from roundtrip.stats.nights.verdicts import Verdict

    verdicts, judged_series = result.verdicts, result.judged_series
    visible_series = [
        series
        for series in judged_series
        if everything
        or series.judgement.verdict.is_listed
        or series.judgement.ratio_text
        or series.revision_sentences
    ]
    table = Table(*_COLUMNS, box=None)
    for series in visible_series:
        table.add_row(*map(hosts.insert_names, _row_cells(series, result)))
    if visible_series:
        common.print_table(table)
    else:
        print("  these nights show no change")
    reasons = Counter(
        series.judgement.reason
        for series in judged_series
        if series.judgement.verdict is Verdict.TOO_FEW_NIGHTS
    )
    for reason, count in sorted(reasons.items()) if not everything else ():
        print(f"  {count} series {'has' if count == 1 else 'have'} too few nights: {reason}")
    small_changes = [series for series in judged_series if series.has_negligible_step]
    for series in small_changes[:_MAX_SMALL_CHANGES]:
        step = series.history.steps[-1]
        since = verdicts.calendar.date_text(verdicts.calendar.nights[step.night])
        size = f"{units.ratio_to_level(step.ratio)} since {since}, less than the minimum effect"
        print(f"  no alarm: {hosts.insert_names(_series_name(series))}: {size}")
    if (rest := len(small_changes) - _MAX_SMALL_CHANGES) > 0:
        print(f"  no alarm: {rest} more series that changed by less than the minimum effect")


def _print_pairs(result: _JudgedCampaign, everything: bool, hosts: HostNames) -> None:
    """Print the two newest nights side by side, where no series can be judged."""
    from roundtrip.report.pages import answers

    print(f"  {printable(answers.too_few_nights_sentence(result.verdicts))}")
    keys = {series.data.key for series in result.judged_series}
    pairs = [pair for pair in answers.night_pairs(result.verdicts) if pair.series.data.key in keys]
    limit = len(pairs) if everything else _MAX_NIGHT_PAIRS
    table = Table("series", "night before", "last night", "ratio", "distance", box=None)
    for pair in pairs[:limit]:
        label = hosts.insert_names(_series_name(pair.series))
        values = (pair.night_before_value, pair.last_night_value, pair.ratio, pair.distance)
        table.add_row(label, *map(str, values))
    common.print_table(table)
    if len(pairs) > limit:
        which = (
            "series that differ less" if len(result.verdicts.calendar.nights) > 1 else "more series"
        )
        print(f"  and {len(pairs) - limit} {which} (--all)")
    if any(pair.distance for pair in pairs):
        print(f"  {answers.DISTANCE_NOTE}")


def _row_cells(series: JudgedSeries, result: _JudgedCampaign) -> tuple[str, ...]:
    judgement, verdicts = series.judgement, result.verdicts
    since = verdicts.calendar.date_text(series.step_night) if series.step_night else ""
    sensitivity = judgement.detectable_step_text
    if sensitivity:
        sensitivity = f"{sensitivity} {verdicts.detection_period_text}"
    # The last night is always new.
    is_marked = judgement.is_recent and judgement.newest_night is None
    verdict = f"{judgement.verdict} (new)" if is_marked else str(judgement.verdict)
    remarks = (
        series.changes_text or judgement.reason,
        series.zero_text,
        *series.revision_sentences,
        result.relaunch.describe_series(series),
    )
    reason = "; ".join(printable(remark) for remark in remarks if remark)
    return verdict, _series_name(series), judgement.ratio_text, since, reason, sensitivity


def _series_json(result: _JudgedCampaign, series: JudgedSeries) -> dict[str, Any]:
    judgement, step, history = series.judgement, series.judgement.step, series.history
    nights, accepted = result.verdicts.calendar.nights, series.acceptance
    return {
        "campaign": result.campaign,
        "nights": len(nights),
        **series.data.identity,
        "mark": series.emulation_label,
        "verdict": str(judgement.verdict),
        "is_news": judgement.is_recent,
        "since": series.step_night,
        "ratio": step.ratio if step else None,
        "interval": [step.low, step.high] if step else None,
        "drift_a_year": history.drift.yearly_ratio if history.drift else None,
        "changes": [asdict(change) for change in series.changes],
        "would_have_seen": judgement.detectable_step,
        "alarm": judgement.is_alarm,
        "shares_of_modes": asdict(history.mode_shares) if history.mode_shares else None,
        "newest": asdict(history.newest_night) if history.newest_night else None,
        "steps": [{**asdict(point), "night": nights[point.night]} for point in history.steps],
        "incidents": [
            {"first": nights[spell.first], "last": nights[spell.last], "ratio": spell.ratio}
            for spell in history.incidents
        ],
        "revisions": [
            {
                "reported": nights[revision.old_step.night],
                "ratio": revision.old_step.ratio,
                "now": nights[revision.new_step.night] if revision.new_step else None,
                "why": revision.reason,
            }
            for revision in history.revisions
        ],
        "revised": list(series.revision_sentences),
        "minimum_effect": history.min_effect,
        "accepted": {"up_to": accepted.last, "reason": accepted.text} if accepted else None,
        "confirmation": result.relaunch.to_json_object(series),
        "why": judgement.reason,
    }


@command("calibrate local nightly")
def calibrate(
    site: str = common.REPORTED_SITE_ARGUMENT,
    campaign: str | None = common.CAMPAIGN_ARGUMENT,
    series: int = Option(2000, min=500, max=100_000, help="Quiet histories to simulate."),
    nights: int = Option(365, min=40, max=3650, help="Nights of each history."),
    write: Path | None = Option(None, help="Write these thresholds as a new analysis.toml."),
    reports: Path | None = common.REPORTS_OPTION,
) -> None:
    """Say how noisy the nights of a site are, how often this noise alone would raise an alarm, and
    which evidence keeps alarms below one in 500 series.

    The thresholds of a site are in site-configs/<site>/analysis.toml.  Exit status: 0 the
    present thresholds fit; 1 they do not; 2 bad input.
    """
    import numpy as np  # these take a second, which other commands need not spend

    from roundtrip.history import annotations, detection

    folder, names = common.reports_and_campaigns(reports, site, campaign)
    if write and write.exists():
        raise UserError("there is a file already: nothing is overwritten", write)
    if write:
        require_writable(write)
    notes, thresholds = annotations.load_site_annotations(site), analysis.load_site_settings(site)
    settings = thresholds.history
    noises = []
    for name in names:
        frame = common.read_ledger(folder, name, site, notes).nights
        noises += detection.measure_noise(frame, settings)
    result = detection.calibrate(noises, nights, series, _SIMULATION_SEED, settings)
    sd = np.array([noise.sd for noise in noises])
    phi = np.array([noise.phi for noise in noises])
    typer.echo(
        f"{len(noises)} series: a night scatters by {np.median(sd):.2%} (median; "
        f"{sd.min():.2%} to {sd.max():.2%}) and resembles the last one by {np.median(phi):.2f} "
        f"({phi.min():.2f} to {phi.max():.2f}); "
        f"{sum(noise.incidents for noise in noises)} incidents; "
        f"{max(noise.node_sets for noise in noises)} node sets at most"
    )
    typer.echo(f"change points of these nights: {sum(noise.steps for noise in noises)}")
    typer.echo(
        f"{result.false_alarms} of {series} simulated quiet histories of {nights} "
        f"nights have a change point; with the evidence below, {result.remaining_alarms}"
    )
    typer.echo(f"evidence = {result.evidence:.1f}")
    if write:
        with report_write_errors(write.parent):
            write.write_text(
                detection.replace_evidence(result.evidence, thresholds.toml_text), encoding="utf-8"
            )
    raise typer.Exit(int(result.evidence != settings.evidence))

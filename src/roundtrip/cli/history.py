"""``roundtrip history``, ``calibrate``: what changed over the nights, and how noisy they are."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from roundtrip import paths
from roundtrip.cli import app, common
from roundtrip.cli.common import warn
from roundtrip.collect import pseudonyms
from roundtrip.errors import UserError, printable, require_place, writing

if TYPE_CHECKING:
    from roundtrip.collect.pseudonyms import HostNames
    from roundtrip.report.confirmation import Confirmed
    from roundtrip.report.nights import Judged, Line

_COLUMNS = ("verdict", "series", "ratio", "since", "what differed then; remarks", "would have seen")
#: Verdicts that only ``--all`` shows.
_STILL = ("unchanged", "wandering", "too few nights")
#: Pairs of values that are printed of series that cannot be judged; ``--all`` shows every series.
_PAIRS = 20
#: So many series are named that changed by less than the least effect.
_SMALL = 5
#: In place of a name of a series: every series.
_ALL = "--all"
#: Simulated histories are the same each time.
_SEED = 1


@app.command()
def history(
    site: common.SITE,
    campaign: common.CAMPAIGN = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show series that did not change, too.")
    ] = False,
    series: Annotated[
        str, typer.Option(help="Show series whose name holds this text, in any case.")
    ] = "",
    accept: Annotated[
        str,
        typer.Option(
            help="Accept the present level of the series whose name holds this text as its "
            "baseline, or of every series (--accept --all); needs --reason."
        ),
    ] = "",
    reason: Annotated[str, typer.Option(help="Why it is accepted; one line.")] = "",
    since: Annotated[
        str, typer.Option(help="Count as news what began on this date (UTC) or later.")
    ] = "",
    as_json: common.JSON = False,
    reports: common.REPORTS = None,
) -> None:
    """Say what changed over the nights of a site: which series, by how much, since when, and what
    differed then in kernel, MPI and the rest.

    The newest nights first.  Exit status: 0 nothing got worse; 1 something did that nobody
    accepted (worse last night, regressed, flapping); 2 bad input.
    """
    _require_sense(accept, reason, since)
    folder, names = common.campaigns(reports, site, campaign)
    read = {name: _judged(folder, name, site, since) for name in names}
    found = {name: one[0] for name, one in read.items() if one}
    signed = {name: one[1] for name, one in read.items() if one}
    hosts = pseudonyms.known_hosts(site, paths.runs())
    if not found:
        raise common.no_night(folder, site, campaign)
    again = {name: _again(folder, name, site, judged) for name, judged in found.items()}
    kept = {name: _lines(judged, series) for name, judged in found.items()}
    if series and not any(kept.values()):
        raise UserError(f"no series has {series!r} in its name")
    if accept:
        _accept(site, accept, reason, found)
        raise typer.Exit(0)
    if as_json:
        from roundtrip import output

        records = [
            _record(name, line, found[name], again[name]) for name in found for line in kept[name]
        ]
        content = {"site": site, "series": records, "signatures": signed}
        print(output.text(output.History, content))
    else:
        for name, judged in found.items():
            title, whole = f"{name} on {site}", everything or bool(series)
            _print(title, judged, again[name], kept[name], whole, hosts)
            for line in signed[name]:
                print(f"  {printable(line)}")
    worse = any(line.judgement.is_alarm for lines in kept.values() for line in lines)
    raise typer.Exit(int(worse))


def _judged(reports: Path, campaign: str, site: str, since: str) -> tuple[Judged, list[str]] | None:
    """The series of a campaign on a site, and who signed its nights; None without a night.

    Warnings are printed.
    """
    from roundtrip.collect import analysis, signature
    from roundtrip.history import annotations
    from roundtrip.report import nights

    said = annotations.load_site(site)
    known = common.read_ledger(reports, campaign, site, said)
    for remark in known.remarks:
        warn(printable(remark))
    if known.nights.is_empty():
        return None
    accepted = [one for one in said if one.kind == annotations.ACCEPTED]
    settings = analysis.for_site(site).history
    judged = nights.judge(known.nights, known.provenance, settings, accepted, since)
    return judged, signature.summary(known.signed)


def _again(reports: Path, campaign: str, site: str, judged: Judged) -> Confirmed:
    """What the newest night launched again; nothing, and a warning, if it cannot be read."""
    from roundtrip.report import confirmation

    try:
        return confirmation.confirmed_of_site(reports / campaign / site, judged)
    except UserError as error:
        warn(printable(str(error)))
    return confirmation.NOTHING


def _require_sense(accept: str, reason: str, since: str) -> None:
    """UserError for options that do not fit each other."""
    if bool(accept) != bool(reason):
        raise UserError("--accept SERIES and --reason TEXT belong together")
    try:
        datetime.date.fromisoformat(since or "2000-01-01")
    except ValueError:
        raise UserError(f"--since {since!r}: right is a date such as 2026-11-03") from None


def _accept(site: str, text: str, reason: str, found: Mapping[str, Judged]) -> None:
    """Write the annotations that accept the level of series; UserError if none is meant."""
    from roundtrip.history import annotations

    wanted = "" if text == _ALL else text
    every = [(line, judged) for judged in found.values() for line in _lines(judged, wanted)]
    if not every:
        raise UserError(f"no series has {text!r} in its name")
    newest = max(judged.calendar.nights[-1] for _, judged in every)
    globs = ["*"] if text == _ALL else sorted({escape(line.label) for line, _ in every})
    file = annotations.accept(site, globs, newest, reason)
    print(f"accepted up to {newest}: {len(every)} series, in {file}")


def _lines(judged: Judged, series: str) -> list[Line]:
    wanted = series.casefold()
    return [line for line in judged.lines if wanted in _label(line).casefold()]


def _label(line: Line) -> str:
    return printable(" ".join(line.label.split()))


def _print(
    title: str,
    judged: Judged,
    again: Confirmed,
    lines: Sequence[Line],
    everything: bool,
    hosts: HostNames,
) -> None:
    """All series in a line, then a row for each that is shown, with the names of `hosts`."""
    from roundtrip.report import units

    first, last = judged.calendar.nights[0], judged.calendar.nights[-1]
    counts = ", ".join(f"{n} {verdict}" for verdict, n in judged.counts.items() if n)
    number = len(judged.calendar.nights)
    nights = f"{number} night{'s' * (number > 1)}, {first[:10]} to {last[:10]}"
    print(f"{title}: {nights}; {len(judged.lines)} series: {counts}")
    if again.sentence:
        print(f"  {hosts.named(printable(again.sentence))}")
    if all(one.judgement.verdict == "too few nights" for one in lines):
        _pairs(judged, lines, everything, hosts)
        return
    shown = [one for one in lines if everything or _is_shown(one)]
    table = Table(*_COLUMNS, box=None)
    for line in shown:
        table.add_row(*map(hosts.named, _cells(line, judged, again)))
    if shown:
        common.show(table)
    else:
        print("  nothing changed that these nights can show")
    too_few = Counter(
        one.judgement.why for one in lines if one.judgement.verdict == "too few nights"
    )
    for why, count in sorted(too_few.items()) if not everything else ():
        print(f"  {count} series have too few nights: {why}")
    for line in [one for one in lines if one.is_small][:_SMALL]:
        step = line.known.steps[-1]
        since = judged.calendar.label(judged.calendar.nights[step.night])
        size = f"{units.change(step.ratio)} since {since}, less than the least effect"
        print(f"  no alarm: {hosts.named(_label(line))}: {size}")
    if (more := sum(one.is_small for one in lines) - _SMALL) > 0:
        print(f"  no alarm: {more} more series that changed by less than the least effect")


def _pairs(judged: Judged, lines: Sequence[Line], everything: bool, hosts: HostNames) -> None:
    """The two newest nights side by side, where no series can be judged."""
    from roundtrip.report.pages import answers

    print(f"  {printable(answers.young_sentence(judged))}")
    kept = {line.series.key for line in lines}
    pairs = [one for one in answers.night_pairs(judged) if one.line.series.key in kept]
    most = len(pairs) if everything else _PAIRS
    table = Table("series", "night before", "last night", "ratio", "distance", box=None)
    for one in pairs[:most]:
        label = hosts.named(_label(one.line))
        table.add_row(label, *map(str, (one.before, one.newest, one.ratio, one.distance)))
    common.show(table)
    if len(pairs) > most:
        print(f"  and {len(pairs) - most} series that differ less (--all)")
    if any(one.distance for one in pairs):
        print(f"  {answers.DISTANCE}")


def _is_shown(line: Line) -> bool:
    """Whether the series changed, its newest night stands alone, or a change point is revised."""
    is_changed = line.judgement.verdict not in _STILL
    return is_changed or bool(line.judgement.ratio) or bool(line.revised)


def _cells(line: Line, judged: Judged, again: Confirmed) -> tuple[str, ...]:
    from roundtrip.report import units

    said = line.judgement
    since = judged.calendar.label(line.night) if line.night else ""
    seen = f"{units.percent(said.would_see)} within 10 nights" if said.would_see is not None else ""
    is_marked = said.is_news and said.newest is None  # the last night is always new
    word = f"{said.verdict} (new)" if is_marked else str(said.verdict)
    remarks = (line.changed or said.why, *line.revised, again.describe_line(line))
    why = "; ".join(printable(one) for one in remarks if one)
    return word, _label(line), said.ratio, since, why, seen


def _record(campaign: str, line: Line, judged: Judged, again: Confirmed) -> dict[str, Any]:
    said, step = line.judgement, line.judgement.step
    return {
        "campaign": campaign,
        "nights": len(judged.calendar.nights),
        **line.series.names,
        "mark": line.mark,
        "verdict": str(said.verdict),
        "is_news": said.is_news,
        "since": line.night,
        "ratio": step.ratio if step else None,
        "interval": [step.low, step.high] if step else None,
        "drift_a_year": line.known.drift.a_year if line.known.drift else None,
        "changes": [asdict(change) for change in line.changes],
        "would_have_seen": said.would_see,
        "alarm": said.is_alarm,
        "shares_of_modes": asdict(line.known.shares) if line.known.shares else None,
        "newest": asdict(line.known.newest) if line.known.newest else None,
        "steps": [
            {**asdict(one), "night": judged.calendar.nights[one.night]} for one in line.known.steps
        ],
        "incidents": [
            {
                "first": judged.calendar.nights[one.first],
                "last": judged.calendar.nights[one.last],
                "ratio": one.ratio,
            }
            for one in line.known.incidents
        ],
        "revisions": [
            {
                "reported": judged.calendar.nights[one.reported.night],
                "ratio": one.reported.ratio,
                "now": judged.calendar.nights[one.now.night] if one.now else None,
                "why": one.why,
            }
            for one in line.known.revisions
        ],
        "revised": list(line.revised),
        "minimum_effect": line.known.least,
        "accepted": (
            {"up_to": line.accepted.last, "reason": line.accepted.text} if line.accepted else None
        ),
        "confirmation": again.record(line),
        "why": said.why,
    }


@app.command()
def calibrate(
    site: common.SITE,
    campaign: common.CAMPAIGN = None,
    series: Annotated[
        int, typer.Option(min=500, max=100_000, help="Quiet histories to simulate.")
    ] = 2000,
    nights: Annotated[int, typer.Option(min=40, max=3650, help="Nights of each.")] = 365,
    write: Annotated[
        Path | None, typer.Option(help="Write these thresholds as a new analysis.toml.")
    ] = None,
    reports: common.REPORTS = None,
) -> None:
    """Say how noisy the nights of a site are, how often such noise alone would raise an alarm, and
    which evidence keeps that below one in 500 series.

    Runs of a site are judged by its analysis.toml in site-configs/<site>/.  Exit status: 0 the
    present thresholds fit; 1 they do not; 2 bad input.
    """
    import numpy as np  # these take a second, which other commands need not spend

    from roundtrip.collect import analysis
    from roundtrip.history import annotations, detection

    folder, names = common.campaigns(reports, site, campaign)
    if write and write.exists():
        raise UserError("there is a file already: nothing is overwritten", write)
    if write:
        require_place(write)
    marks, thresholds = annotations.load_site(site), analysis.for_site(site)
    settings = thresholds.history
    found = []
    for name in names:
        nights_of = common.read_ledger(folder, name, site, marks).nights
        found += detection.measure_noise(nights_of, settings)
    result = detection.calibrate(found, nights, series, _SEED, settings)
    sd = np.array([one.sd for one in found])
    phi = np.array([one.phi for one in found])
    typer.echo(
        f"{len(found)} series: a night scatters by {np.median(sd):.2%} (median; "
        f"{sd.min():.2%} to {sd.max():.2%}) and resembles the last one by {np.median(phi):.2f} "
        f"({phi.min():.2f} to {phi.max():.2f}); {sum(one.incidents for one in found)} incidents; "
        f"{max(one.node_sets for one in found)} node sets at most"
    )
    typer.echo(f"change points of these nights: {sum(one.steps for one in found)}")
    typer.echo(
        f"{result.false} of {result.simulated} simulated quiet histories of {result.nights} nights "
        f"have a change point; with the evidence below, {result.kept}"
    )
    typer.echo(f"evidence = {result.evidence:.1f}")
    if write:
        with writing(write.parent):
            write.write_text(
                detection.with_evidence(result.evidence, thresholds.text), encoding="utf-8"
            )
    raise typer.Exit(int(result.evidence != settings.evidence))

"""``roundtrip history``: what changed over the nights of a site, and since when."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from roundtrip import paths
from roundtrip.cli import app, listing
from roundtrip.collect import shapes
from roundtrip.collect.text import printable
from roundtrip.errors import UserError

if TYPE_CHECKING:
    from roundtrip.report.nights import Judged, Line

_console = Console(soft_wrap=True, markup=False, highlight=False)
_COLUMNS = ("verdict", "series", "ratio", "since", "what differed then", "would have seen")
#: Verdicts that only ``--all`` shows.
_STILL = ("unchanged", "cannot tell")


@app.command()
def history(
    site: Annotated[str, typer.Argument(help="The site whose reports are read.")],
    campaign: Annotated[str | None, typer.Argument(help="One campaign; all by default.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show series that did not change, too.")
    ] = False,
    series: Annotated[
        str, typer.Option(help="Show series whose name holds this text, in any case.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    reports: Annotated[
        Path | None, typer.Option(help="Where reports are published; reports/ by default.")
    ] = None,
) -> None:
    """Say what changed over the nights of a site: which series, by how much, since when, and what
    differed then in kernel, MPI and the rest.

    Worst first.  Exit status: 0 nothing is slower; 1 something regressed; 2 bad input.
    """
    folder = reports or paths.reports()
    for name in filter(None, (site, campaign)):
        if not re.fullmatch(shapes.NAME_PATTERN, name):
            raise UserError(f"{name!r}: {shapes.NAME['description']}")
    places = [one.parent for one in folder.glob(f"*/{site}")]
    names = [campaign] if campaign else sorted(place.name for place in places)
    found = {name: judged for name in names if (judged := _judged(folder, name, site))}
    if not found:
        of = f"campaign '{campaign}' on " if campaign else ""
        raise UserError(f"no published night of {of}site '{site}'", folder)
    kept = {name: _lines(judged, series) for name, judged in found.items()}
    if series and not any(kept.values()):
        raise UserError(f"no series has {series!r} in its name")
    if as_json:
        told = [_record(name, line, found[name]) for name in found for line in kept[name]]
        print(json.dumps({"site": site, "series": told}, indent=1))
    else:
        for name, judged in found.items():
            _print(f"{name} on {site}", judged, kept[name], everything or bool(series))
    worse = any(line.said.verdict == "regressed" for lines in kept.values() for line in lines)
    raise typer.Exit(int(worse))


def _judged(reports: Path, campaign: str, site: str) -> Judged | None:
    """The series of a campaign on a site; None without a night.  Warnings are printed."""
    from roundtrip.collect import analysis  # takes a second, which other commands need not spend
    from roundtrip.history import annotations, ledger
    from roundtrip.report import nights

    known = ledger.read(reports, campaign, site, annotations.of_site(site))
    for warning in known.warnings:
        print(f"warning: {printable(warning)}", file=sys.stderr)
    if known.nights.is_empty():
        return None
    return nights.judge(known.nights, known.provenance, analysis.of_site(site).history)


def _lines(judged: Judged, series: str) -> list[Line]:
    wanted = series.casefold()
    return [line for line in judged.lines if wanted in _label(line).casefold()]


def _label(line: Line) -> str:
    return printable(" ".join(line.label.split()))


def _print(title: str, judged: Judged, lines: Sequence[Line], everything: bool) -> None:
    """What can be told of all series in a line, then a row for each that is shown."""
    first, last = judged.calendar.nights[0], judged.calendar.nights[-1]
    counts = ", ".join(f"{count} {verdict}" for verdict, count in judged.counts.items())
    number = len(judged.calendar.nights)
    nights = f"{number} night{'s' * (number > 1)}, {first[:10]} to {last[:10]}"
    _console.print(f"{title}: {nights}; {len(judged.lines)} series: {counts}")
    shown = [one for one in lines if everything or _is_shown(one)]
    table = Table(*_COLUMNS, box=None)
    for line in shown:
        table.add_row(*_cells(line, judged))
    if shown:
        listing.show(table)
    else:
        _console.print("  nothing changed that these nights can show")
    mute = Counter(one.said.why for one in lines if one.said.verdict == "cannot tell")
    for why, count in sorted(mute.items()) if not everything else ():
        _console.print(f"  of {count} series nothing can be told: {why or 'they drift'}")


def _is_shown(line: Line) -> bool:
    """Whether the series changed, or its newest night stands alone."""
    return line.said.verdict not in _STILL or bool(line.said.ratio)


def _cells(line: Line, judged: Judged) -> tuple[str, ...]:
    said = line.said
    since = judged.calendar.label(line.night) if line.night else ""
    seen = f"{said.would_see:.1%} within 10 nights" if said.would_see is not None else ""
    word = f"{said.verdict} (new)" if said.is_news else str(said.verdict)
    why = printable(line.changed) or said.why
    return word, _label(line), said.ratio, since, why, seen.replace("%", " %")


def _record(campaign: str, line: Line, judged: Judged) -> dict[str, Any]:
    said, step = line.said, line.said.step
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
        "drift_a_year": line.told.drift.a_year if line.told.drift else None,
        "changes": [asdict(change) for change in line.changes],
        "would_have_seen": said.would_see,
        "why": said.why,
    }

"""``roundtrip nodes``: which node of a site is sick, by all published nights."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roundtrip import paths
from roundtrip.cli import app
from roundtrip.collect import shapes
from roundtrip.collect.text import printable
from roundtrip.errors import UserError

if TYPE_CHECKING:
    from roundtrip.history.absent import Absent
    from roundtrip.stats.nodes.told import Judged, Named


@dataclass(frozen=True)
class _Told:
    """What the nights of a campaign tell, and whom the newest of them did not measure.

    `marks`: what is not real hardware, by environment.
    """

    judged: Judged
    gone: list[Absent]
    marks: dict[str, str]


@app.command()
def nodes(
    site: Annotated[str, typer.Argument(help="The site whose reports are read.")],
    campaign: Annotated[str | None, typer.Argument(help="One campaign; all by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    reports: Annotated[
        Path | None, typer.Option(help="Where reports are published; reports/ by default.")
    ] = None,
) -> None:
    """Name the nodes, switches and links of a site that are sick, by all nights of its campaigns
    over pairs of nodes, and the nodes that the newest night did not measure.

    Worst first.  Exit status: 0 none is sick; 1 some are, or no launch on them completed in the
    newest night; 2 bad input.
    """
    from roundtrip.report import units  # takes a second, which others need not spend

    folder = reports or paths.reports()
    for name in filter(None, (site, campaign)):
        if not re.fullmatch(shapes.NAME_PATTERN, name):
            raise UserError(f"{name!r}: {shapes.NAME['description']}")
    names = [campaign] if campaign else sorted(one.parent.name for one in folder.glob(f"*/{site}"))
    found = {name: one for name in names if (one := _read(folder, name, site))}
    if not found:
        of = f"campaign '{campaign}' on " if campaign else ""
        raise UserError(f"no published night of {of}site '{site}' over pairs of nodes", folder)
    if as_json:
        print(json.dumps(_told(site, found), indent=1))
    else:
        for name, told in found.items():
            for line in _lines(told):
                # The words have no-break spaces, which `printable` knows only as "?".
                print(printable(f"{name}: {line}".translate(units.PLAIN_SPACES)))
    raise typer.Exit(int(any(_alarms(one) for one in found.values())))


def _lines(told: _Told) -> list[str]:
    from roundtrip.report import nodes as words

    judged, marks = told.judged, told.marks
    lines = [f"{words.title(one, marks)}: {words.named(one, judged)}." for one in judged.named]
    lines = lines or [words.healthy(judged, marks)]
    lines += [words.mute(judged.mute)] if judged.mute and judged.named else []
    lines += [_gone(one) for one in told.gone]
    return lines


def _read(reports: Path, campaign: str, site: str) -> _Told | None:
    """What all nights of a campaign tell; None for one that is not over pairs of nodes."""
    from roundtrip.collect import analysis
    from roundtrip.history import absent, ledger
    from roundtrip.history import nodes as measured
    from roundtrip.report import labels
    from roundtrip.stats.nodes.judge import judge

    known = ledger.read(reports, campaign, site)
    for warning in known.warnings:
        print(f"warning: {printable(warning)}", file=sys.stderr)
    if known.pairs.is_empty():
        return None
    thresholds = analysis.of_site(site)
    some = measured.measures(known.pairs, thresholds.nodes)
    judged = judge(some, thresholds.nodes, thresholds.statistics.confidence_level)
    gone = absent.of(reports / campaign / site, known.pairs)
    return _Told(judged, gone, labels.of_history(known.provenance))


def _alarms(told: _Told) -> bool:
    return bool(told.judged.named) or any(one.is_failed for one in told.gone)


def _gone(one: Absent) -> str:
    last = f"last on {one.last[:10]}" if one.last else "nor in any night before"
    why = f"{one.state}: {one.reason}"
    return f"{one.node} was not measured in the night of {one.night[:10]}, {last} ({why})."


def _told(site: str, found: Mapping[str, _Told]) -> dict[str, Any]:
    return {
        "site": site,
        "labels": {name: told.marks for name, told in found.items()},
        "named": [
            _record(name, one, told.marks)
            for name, told in found.items()
            for one in told.judged.named
        ],
        "cannot_tell": [
            {"campaign": name, "node": one.name, "launches": one.launches, "rounds": one.rounds}
            for name, told in found.items()
            for one in told.judged.mute
        ],
        "not_measured": [
            {"campaign": name, **asdict(one)} for name, told in found.items() for one in told.gone
        ],
    }


def _record(campaign: str, one: Named, marks: Mapping[str, str]) -> dict[str, Any]:
    from roundtrip.report import nodes as words

    measures = []
    for each in one.evidence:
        of, told = words.of(each), each.tested
        ends = [
            None if end is None else words.percent(end, of.measure) for end in (told.low, told.high)
        ]
        measures.append(
            {
                "measure": of.measure,
                "inside": of.is_alone,
                "partition": of.place,
                "environ": of.environ,
                "label": marks.get(of.environ, ""),
                "percent": words.percent(told.effect, of.measure),
                "low": ends[0],
                "high": ends[1],
                "launches": told.launches,
                "partners": told.partners,
                "nights": told.nights,
                "q": each.q,
            }
        )
    return {
        "campaign": campaign,
        "kind": str(one.kind),
        "name": one.name,
        "nodes": list(one.members),
        "measures": measures,
    }

"""``roundtrip nodes``: which node of a site is sick or flaky, by all published nights."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roundtrip import paths
from roundtrip.cli import app, common
from roundtrip.collect.pseudonyms import STABLE
from roundtrip.errors import UserError

if TYPE_CHECKING:
    from roundtrip.collect.pseudonyms import HostNames
    from roundtrip.history.nodes import Absent, SlowProcessor
    from roundtrip.stats.nodes.failures import Flaky
    from roundtrip.stats.nodes.judge import NodeVerdicts, Outlier

#: More characters of a reason to drain a node tell an operator nothing.
_REASON = 200


@dataclass(frozen=True)
class _Verdict:
    """What the nights of a campaign say, and which nodes the newest of them did not measure.

    `slow`: nodes whose processor is slow.  `marks`: what is not real hardware, by environment.
    """

    judged: NodeVerdicts
    slow: dict[str, SlowProcessor]
    flaky: tuple[Flaky, ...]
    gone: list[Absent]
    marks: dict[str, str]

    def is_alarm(self) -> bool:
        failed = any(one.is_failed for one in self.gone)
        return bool(self.judged.named or self.flaky) or failed


@app.command()
def nodes(
    site: common.SITE,
    campaign: common.CAMPAIGN = None,
    as_json: common.JSON = False,
    drain: Annotated[
        bool,
        typer.Option(
            "--drain-command",
            help="Print the commands that drain the nodes named, and run none of them.",
        ),
    ] = False,
    reports: common.REPORTS = None,
) -> None:
    """Name the nodes, switches and links of a site that are sick or flaky, by all nights of its
    campaigns over pairs of nodes, and the nodes that the newest night did not measure.

    Worst first; with the names of hosts, where the key of the site is at hand.  Exit status: 0 none
    is sick; 1 some are, or all launches on them failed in the newest night; 2 bad input.
    """
    from roundtrip.collect import pseudonyms
    from roundtrip.report import units  # takes a second, which others need not spend

    folder, names = common.campaigns(reports, site, campaign)
    if drain and as_json:
        raise UserError("--drain-command and --json: give one of them")
    hosts = pseudonyms.known_hosts(site, paths.runs())
    if drain and not hosts.has_key:
        raise UserError(
            f"--drain-command needs the key of site '{site}', which turns pseudonyms into hosts: "
            f"put it at {pseudonyms.site_key_file(site)}, or name it in {pseudonyms.KEY_VARIABLE}"
        )
    found = {name: one for name in names if (one := _read(folder, name, site))}
    if not found:
        raise common.no_night(folder, site, campaign, " over pairs of nodes")
    if drain:
        _print_drain_commands(found, hosts)
    elif as_json:
        from roundtrip import output

        print(output.text(output.Nodes, _record(site, found, hosts)))
    else:
        for name, verdict in found.items():
            for line in _lines(verdict):
                print(hosts.named(units.printable(f"{name}: {line}")))
    raise typer.Exit(int(any(one.is_alarm() for one in found.values())))


def _lines(verdict: _Verdict) -> list[str]:
    from roundtrip.report import nodes as words

    judged, marks = verdict.judged, verdict.marks
    mark = words.marked(marks, marks)
    lines = [
        f"{words.title(one, marks)}: {words.named(one, judged, verdict.slow.get(one.name))}."
        for one in judged.named
    ]
    lines += [
        f"{words.flaky_title(one, mark)}: {words.flaky(one, 'failed')}" for one in verdict.flaky
    ]
    lines = lines or [words.healthy(judged, marks)]
    lines += [words.too_few(judged.too_few)] if judged.too_few and judged.named else []
    lines += [_describe_absent(one) for one in verdict.gone]
    return lines


def _print_drain_commands(found: Mapping[str, _Verdict], hosts: HostNames) -> None:
    """One command a node that is named; on standard error, why there is none for the others."""
    reasons: dict[str, list[str]] = {}
    for campaign, verdict in found.items():
        for who, why in _reasons(verdict):
            reasons.setdefault(who, []).append(f"{campaign}: {why}")
    for who, several in reasons.items():
        host = hosts.known.get(who)
        if host is None:
            print(f"no command for {hosts.named(who)}: {_no_command(who)}", file=sys.stderr)
            continue
        reason = f"roundtrip {'; '.join(several)}"[:_REASON]
        words = ["scontrol", "update", f"NodeName={host}", "State=DRAIN", f"Reason={reason}"]
        print(shlex.join(words))


def _no_command(who: str) -> str:
    if re.fullmatch(STABLE, who):
        return "no host of this name is in `sinfo` or in a run tree here"
    return "it is no single node"


def _reasons(verdict: _Verdict) -> Iterator[tuple[str, str]]:
    """Who is to be drained, and why, without a pseudonym or a space that is not plain."""
    from roundtrip.report import nodes as words
    from roundtrip.report import units

    judged = verdict.judged
    for one in judged.named:
        why = words.named(one, judged, verdict.slow.get(one.name))
        yield one.name, units.printable(why)
    for each in verdict.flaky:
        why = words.flaky(each, "failed").removesuffix(".")
        yield " or ".join(each.names), units.printable(why)


def _read(reports: Path, campaign: str, site: str) -> _Verdict | None:
    """What all nights of a campaign say; None for one that is not over pairs of nodes."""
    from roundtrip.collect import analysis
    from roundtrip.history import nodes
    from roundtrip.report import labels
    from roundtrip.stats.nodes.failures import flaky
    from roundtrip.stats.nodes.judge import judge

    known = common.read_ledger(reports, campaign, site)
    if known.pairs.is_empty():
        return None
    thresholds = analysis.for_site(site)
    some = nodes.measures(known.pairs, thresholds.nodes)
    return _Verdict(
        judge(some, thresholds.nodes, thresholds.statistics.confidence_level),
        nodes.slow_processors(known.pairs, thresholds.nodes),
        flaky(nodes.outcomes(known.pairs), thresholds.nodes),
        nodes.absent_nodes(reports / campaign / site, known.pairs),
        labels.from_history(known.provenance),
    )


def _describe_absent(one: Absent) -> str:
    last = f"last on {one.last[:10]}" if one.last else "nor in any night before"
    why = f"{one.state}: {one.reason}"
    return f"{one.node} was not measured in the night of {one.night[:10]}, {last} ({why})."


def _record(site: str, found: Mapping[str, _Verdict], hosts: HostNames) -> dict[str, Any]:
    """What ``--json`` prints; `hosts`, by pseudonym, of the nodes that it names."""
    record: dict[str, Any] = {
        "site": site,
        "labels": {name: verdict.marks for name, verdict in found.items()},
        "named": [
            _named(name, one, verdict)
            for name, verdict in found.items()
            for one in verdict.judged.named
        ],
        "flaky": [
            {
                "campaign": name,
                "nodes": list(one.names),
                "failed": one.here[0],
                "launches": one.here[1],
                "failed_elsewhere": one.elsewhere[0],
                "launches_elsewhere": one.elsewhere[1],
                "nights": one.nights,
                "chance": one.chance,
            }
            for name, verdict in found.items()
            for one in verdict.flaky
        ],
        "cannot_tell": [
            {"campaign": name, "node": one.name, "launches": one.launches, "rounds": one.rounds}
            for name, verdict in found.items()
            for one in verdict.judged.too_few
        ],
        "not_measured": [
            {"campaign": name, **asdict(one)}
            for name, verdict in found.items()
            for one in verdict.gone
        ],
    }
    text = json.dumps(record)
    return record | {"hosts": {key: host for key, host in hosts.known.items() if key in text}}


def _named(campaign: str, one: Outlier, verdict: _Verdict) -> dict[str, Any]:
    from roundtrip.report import nodes as words

    marks = verdict.marks
    measures = []
    for each in one.evidence:
        name, tested = words.measure_name(each), each.tested
        ends = [
            None if end is None else words.percent(end, name.measure)
            for end in (tested.low, tested.high)
        ]
        measures.append(
            {
                "measure": name.measure,
                "inside": name.is_alone,
                "partition": name.place,
                "environ": name.environ,
                "label": marks.get(name.environ, ""),
                "percent": words.percent(tested.effect, name.measure),
                "low": ends[0],
                "high": ends[1],
                "launches": tested.launches,
                "partners": tested.partners,
                "nights": tested.nights,
                "q": each.q,
            }
        )
    return {
        "campaign": campaign,
        "kind": str(one.kind),
        "name": one.name,
        "nodes": list(one.members),
        "slow_processor": one.name in verdict.slow,
        "measures": measures,
    }

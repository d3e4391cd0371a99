"""``roundtrip nodes``: the sick or flaky nodes of a site, by all published nights."""

from __future__ import annotations

import json
import math
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer import Option

from roundtrip import paths
from roundtrip.cli import command, common
from roundtrip.errors import UserError
from roundtrip.measure import store
from roundtrip.measure.pseudonyms import PSEUDONYM

if TYPE_CHECKING:
    from roundtrip.history.node_faults import AbsentNode, OddClock, SlowProcessor
    from roundtrip.measure.pseudonyms import HostNames
    from roundtrip.stats.nodes.failures import FlakyNode
    from roundtrip.stats.nodes.judge import NodeVerdicts, Outlier

#: Maximum length of a reason to drain a node, in characters: operators need no more.
_MAX_REASON = 200


@dataclass(frozen=True)
class _Verdict:
    """The verdicts of a campaign's nights on nodes, and the nodes that the newest did not measure.

    `slow_processors`: nodes whose processor is slow.  `clocks`: those that run at a wrong rate.
    `marks`: labels of simulated or emulated environments.
    """

    node_verdicts: NodeVerdicts
    slow_processors: dict[str, SlowProcessor]
    suspects: tuple[FlakyNode, ...]
    clocks: list[OddClock]
    absences: list[AbsentNode]
    marks: dict[str, str]

    def is_alarm(self) -> bool:
        has_failed = any(absence.is_failed for absence in self.absences)
        return bool(self.node_verdicts.outliers or self.suspects or self.clocks) or has_failed


@command(
    "nodes                      of the site here",
    "nodes --drain-command      what would drain those that are sick",
)
def nodes(
    site: str = common.SITE,
    campaign: str | None = common.CAMPAIGN,
    as_json: bool = common.JSON,
    drain: bool = Option(
        False,
        "--drain-command",
        help="Print the commands that drain the nodes named, and run none of them.",
    ),
    reports: Path | None = common.REPORTS,
) -> None:
    """Name the nodes, switches and links of a site that are sick or flaky, by all nights of its
    campaigns over pairs of nodes; of the newest night, the nodes whose clock runs at a wrong rate,
    and the nodes that it did not measure.

    Worst first; with the names of hosts, where the key of the site is at hand.  Exit status: 0 none
    is sick; 1 some are, or all launches on them failed in the newest night; 2 bad input.
    """
    from roundtrip.measure import pseudonyms
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
    verdicts = {
        name: campaign_verdict for name in names if (campaign_verdict := _read(folder, name, site))
    }
    if not verdicts:
        raise common.no_night(folder, site, campaign, " over pairs of nodes")
    if drain:
        _print_drain_commands(verdicts, hosts)
    elif as_json:
        from roundtrip import output

        print(output.text(output.Nodes, _record(site, verdicts, hosts)))
    else:
        for name, verdict in verdicts.items():
            for line in _lines(verdict):
                print(hosts.insert_names(units.printable(f"{name}: {line}")))
    raise typer.Exit(int(any(verdict.is_alarm() for verdict in verdicts.values())))


def _lines(verdict: _Verdict) -> list[str]:
    from roundtrip.report import nodes as words

    node_verdicts, marks = verdict.node_verdicts, verdict.marks
    mark = words.environ_mark(marks, marks)
    clocks = [
        f"The clock of {clock.node}{mark} {words.describe_clock_rate(clock)}"
        for clock in verdict.clocks
    ]
    lines = clocks + [
        f"{words.title(outlier, marks)}: "
        + words.describe_outlier(outlier, node_verdicts, verdict.slow_processors.get(outlier.name))
        + "."
        for outlier in node_verdicts.outliers
    ]
    lines += [
        f"{words.flaky_title(suspect, mark)}: {words.describe_flaky(suspect, 'failed')}"
        for suspect in verdict.suspects
    ]
    lines = lines or [words.describe_healthy(node_verdicts, marks)]
    if node_verdicts.unjudged_nodes and node_verdicts.outliers:
        lines.append(words.describe_too_few(node_verdicts.unjudged_nodes))
    return lines + [_describe_absent(absence) for absence in verdict.absences]


def _print_drain_commands(verdicts: Mapping[str, _Verdict], hosts: HostNames) -> None:
    """Print a command for each named node; on standard error, why other targets have none."""
    from roundtrip.sites import schedulers

    scheduler = schedulers.here()
    reasons: dict[str, list[str]] = {}
    for campaign, verdict in verdicts.items():
        for target, fault in _reasons(verdict):
            reasons.setdefault(target, []).append(f"{campaign}: {fault}")
    for target, faults in reasons.items():
        host = hosts.by_pseudonym.get(target)
        if host is None:
            why = "it is no single node"
            if re.fullmatch(PSEUDONYM, target):
                why = f"no host of this name is in `{scheduler.lister}` or in a run tree here"
            print(f"no command for {hosts.insert_names(target)}: {why}", file=sys.stderr)
            continue
        reason = f"roundtrip {'; '.join(faults)}"[:_MAX_REASON]
        print(shlex.join(scheduler.drain_command(host, reason)))


def _reasons(verdict: _Verdict) -> Iterator[tuple[str, str]]:
    """The targets to drain and their reasons, which have no pseudonyms and only plain spaces."""
    from roundtrip.report import nodes as words
    from roundtrip.report import units

    node_verdicts = verdict.node_verdicts
    for outlier in node_verdicts.outliers:
        reason = words.describe_outlier(
            outlier, node_verdicts, verdict.slow_processors.get(outlier.name)
        )
        yield outlier.name, units.printable(reason)
    for clock in verdict.clocks:
        target = " or ".join(filter(None, [clock.node, clock.other]))
        yield target, f"its clock runs {math.exp(clock.excess):.4g} times as fast as others"
    for suspect in verdict.suspects:
        reason = words.describe_flaky(suspect, "failed").removesuffix(".")
        yield " or ".join(suspect.names), units.printable(reason)


def _read(reports: Path, campaign: str, site: str) -> _Verdict | None:
    """The verdict of all nights of a campaign; None if it is not over pairs of nodes."""
    from roundtrip.history import node_faults, nodes
    from roundtrip.history.annotations import load_site
    from roundtrip.measure import analysis
    from roundtrip.report import labels
    from roundtrip.stats.nodes.failures import find_flaky_nodes

    ledger = common.read_ledger(reports, campaign, site, load_site(site))
    if ledger.pairs.is_empty():
        return None
    thresholds = analysis.for_site(site)
    odd_clocks, throttled, absences = node_faults.newest_facts(
        store.site_folder(reports, campaign, site), ledger.pairs, thresholds.disturbance
    )
    level = thresholds.statistics.confidence_level
    return _Verdict(
        nodes.node_verdicts(
            ledger.pairs, [clock.node for clock in odd_clocks], thresholds.nodes, level
        ),
        node_faults.slow_processors(ledger.pairs, thresholds.nodes) | throttled,
        find_flaky_nodes(nodes.outcomes(ledger.pairs), thresholds.nodes),
        odd_clocks,
        absences,
        labels.labels_from_history(ledger.provenance),
    )


def _describe_absent(absence: AbsentNode) -> str:
    last = f"last on {absence.last[:10]}" if absence.last else "nor in any night before"
    reason = f"{absence.state}: {absence.reason}"
    return (
        f"{absence.node} was not measured in the night of {absence.night[:10]}, {last} ({reason})."
    )


def _record(site: str, verdicts: Mapping[str, _Verdict], hosts: HostNames) -> dict[str, Any]:
    """The record that ``--json`` prints, with the hosts of the nodes in it, by pseudonym."""
    lists: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("named", "flaky", "clocks", "cannot_tell", "not_measured")
    }
    for campaign, verdict in verdicts.items():
        label, judged = {"campaign": campaign}, verdict.node_verdicts
        lists["named"] += [_named(campaign, outlier, verdict) for outlier in judged.outliers]
        lists["flaky"] += [
            {
                **label,
                "nodes": list(suspect.names),
                "failed": suspect.counts[0],
                "launches": suspect.counts[1],
                "failed_elsewhere": suspect.other_counts[0],
                "launches_elsewhere": suspect.other_counts[1],
                "nights": suspect.nights,
                "chance": suspect.chance,
            }
            for suspect in verdict.suspects
        ]
        lists["clocks"] += [
            {
                **label,
                "node": clock.node,
                "rate": math.exp(clock.excess),
                "partners": clock.partners,
                "other": clock.other,
            }
            for clock in verdict.clocks
        ]
        lists["cannot_tell"] += [
            {**label, "node": node.name, "launches": node.launches, "rounds": node.extra_rounds}
            for node in judged.unjudged_nodes
        ]
        lists["not_measured"] += [{**label, **asdict(absence)} for absence in verdict.absences]
    labels = {name: verdict.marks for name, verdict in verdicts.items()}
    record = {"site": site, "labels": labels, **lists}
    text = json.dumps(record)
    return record | {
        "hosts": {key: host for key, host in hosts.by_pseudonym.items() if key in text}
    }


def _named(campaign: str, outlier: Outlier, verdict: _Verdict) -> dict[str, Any]:
    from roundtrip.report import nodes as words

    marks = verdict.marks
    measures = []
    for evidence in outlier.evidence:
        name, test = words.measure_name(evidence), evidence.unit_effect
        ends = [
            None if end is None else words.percent(end, name.measure)
            for end in (test.low, test.high)
        ]
        measures.append(
            {
                "measure": name.measure,
                "inside": name.is_alone,
                "partition": name.place,
                "environ": name.environ,
                "label": marks.get(name.environ, ""),
                "percent": words.percent(test.effect, name.measure),
                "low": ends[0],
                "high": ends[1],
                "launches": test.launches,
                "partners": test.partners,
                "nights": test.nights,
                "q": evidence.q,
            }
        )
    return {
        "campaign": campaign,
        "kind": str(outlier.kind),
        "name": outlier.name,
        "nodes": list(outlier.members),
        "slow_processor": outlier.name in verdict.slow_processors,
        "measures": measures,
    }

"""``roundtrip nodes``: the sick or flaky nodes of a site, by all published nights."""

from __future__ import annotations

import json
import math
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer import Option

from roundtrip import output, paths, units
from roundtrip.cli import command, common
from roundtrip.errors import UserError
from roundtrip.measure import analysis, pseudonyms, store
from roundtrip.measure.pseudonyms import PSEUDONYM_PATTERN, HostNames
from roundtrip.sites import schedulers

if TYPE_CHECKING:
    from roundtrip.history.node_faults import AbsentNode, DeviatingClock, SlowProcessor
    from roundtrip.stats.nodes.failures import FlakyNode
    from roundtrip.stats.nodes.judge import NodeVerdicts, Outlier

#: Maximum length of a reason to drain a node, in characters: operators need no more.
_MAX_REASON_CHARACTERS = 200


@dataclass(frozen=True)
class _JudgedNodes:
    """What the nights of a campaign say of nodes, and the nodes that the newest did not measure.

    `slow_processors` are nodes with a slow processor, `wrong_clocks` nodes whose clock has a wrong
    rate.  `labels_by_environ` has the labels of simulated or emulated environments.
    """

    campaign: str
    node_verdicts: NodeVerdicts
    slow_processors: dict[str, SlowProcessor]
    flaky_nodes: tuple[FlakyNode, ...]
    wrong_clocks: list[DeviatingClock]
    absent_nodes: list[AbsentNode]
    labels_by_environ: dict[str, str]

    @property
    def is_alarm(self) -> bool:
        has_failed = any(absence.is_failed for absence in self.absent_nodes)
        return (
            bool(self.node_verdicts.outliers or self.flaky_nodes or self.wrong_clocks) or has_failed
        )


@command(
    "nodes                      of the site here",
    "nodes --drain-command      commands that would drain sick nodes",
)
def nodes(
    site: str = common.REPORTED_SITE_ARGUMENT,
    campaign: str | None = common.CAMPAIGN_ARGUMENT,
    as_json: bool = common.JSON_OPTION,
    drain: bool = Option(
        False, "--drain-command", help="Print commands that drain the named nodes, and run none."
    ),
    reports: Path | None = common.REPORTS_OPTION,
) -> None:
    """Name the sick and flaky nodes, switches and links of a site, from all nights of its campaigns
    over pairs of nodes.  Also name the nodes whose clock rate is wrong in the newest night, and the
    nodes that it did not measure.

    Worst first; with host names if the site's key is here.  Exit status: 0 nothing is wrong; 1 one
    of these is sick or flaky, a clock is wrong, or all launches on a node failed in the newest
    night; 2 bad input.
    """
    folder, names = common.reports_and_campaigns(reports, site, campaign)
    if drain and as_json:
        raise UserError("--drain-command and --json: give one of them")
    hosts = pseudonyms.collect_host_names(site, paths.runs())
    if drain and not hosts.has_key:
        raise UserError(
            f"--drain-command needs the key of site '{site}', which turns pseudonyms into hosts: "
            f"put it at {pseudonyms.site_key_file(site)}, or name it in "
            f"{pseudonyms.SITE_KEY_VARIABLE}"
        )
    results = [result for name in names if (result := _judge_nodes(folder, name, site))]
    if not results:
        raise common.no_night_error(folder, site, campaign, " over pairs of nodes")
    if drain:
        _print_drain_commands(site, results, hosts)
    elif as_json:
        print(output.json_text(output.Nodes, _nodes_json(site, results, hosts)))
    else:
        for result in results:
            for line in _describe_nodes(result):
                print(hosts.insert_names(units.printable(f"{result.campaign}: {line}")))
    raise typer.Exit(int(any(result.is_alarm for result in results)))


def _describe_nodes(result: _JudgedNodes) -> list[str]:
    from roundtrip.report import nodes as words

    node_verdicts, marks = result.node_verdicts, result.labels_by_environ
    mark = words.environ_label_suffix(marks, marks)
    lines = [
        f"The clock of {clock.node}{mark} {words.describe_clock_rate(clock)}"
        for clock in result.wrong_clocks
    ]
    for outlier in node_verdicts.outliers:
        slow_processor = result.slow_processors.get(outlier.name)
        description = words.describe_outlier(outlier, node_verdicts, slow_processor)
        lines.append(f"{words.outlier_title(outlier, marks)}: {description}.")
    for suspect in result.flaky_nodes:
        description = words.describe_flaky(suspect, "failed")
        lines.append(f"{words.flaky_title(suspect, mark)}: {description}")
    lines = lines or [words.describe_healthy(node_verdicts, marks)]
    if node_verdicts.unjudged_nodes and node_verdicts.outliers:
        lines.append(words.describe_unjudged(node_verdicts.unjudged_nodes))
    for absence in result.absent_nodes:
        night = f"was not measured in the night of {absence.night[:10]}"
        last = f"last on {absence.last[:10]}" if absence.last else "nor in any night before"
        lines.append(f"{absence.node} {night}, {last} ({absence.state}: {absence.reason}).")
    return lines


def _print_drain_commands(site: str, results: Sequence[_JudgedNodes], hosts: HostNames) -> None:
    """Print a command for each named node; on standard error, why other targets have none."""
    scheduler = schedulers.scheduler_of_site_here(site)
    if not scheduler.allocates_nodes:
        raise UserError(f"--drain-command: site '{site}' has no scheduler that could drain a node")
    reasons: dict[str, list[str]] = {}
    for result in results:
        for target, fault in _drain_reasons(result):
            reasons.setdefault(target, []).append(f"{result.campaign}: {fault}")
    for target, faults in reasons.items():
        host = hosts.host_by_pseudonym.get(target)
        if host is None:
            why = "it is no single node"
            if re.fullmatch(PSEUDONYM_PATTERN, target):
                command = scheduler.node_list_command
                why = f"no host of this name is in `{command}` or in a run tree here"
            print(f"no command for {hosts.insert_names(target)}: {why}", file=sys.stderr)
            continue
        reason = f"roundtrip {'; '.join(faults)}"[:_MAX_REASON_CHARACTERS]
        print(shlex.join(scheduler.drain_command(host, reason)))


def _drain_reasons(result: _JudgedNodes) -> Iterator[tuple[str, str]]:
    """The targets to drain and their reasons, which have no pseudonyms and only plain spaces."""
    from roundtrip.report import nodes as words

    for outlier in result.node_verdicts.outliers:
        slow_processor = result.slow_processors.get(outlier.name)
        reason = words.describe_outlier(outlier, result.node_verdicts, slow_processor)
        yield outlier.name, units.printable(reason)
    for clock in result.wrong_clocks:
        target = " or ".join(filter(None, [clock.node, clock.other]))
        yield target, f"its clock runs {math.exp(clock.excess):.4g} times as fast as others"
    for suspect in result.flaky_nodes:
        reason = words.describe_flaky(suspect, "failed").removesuffix(".")
        yield " or ".join(suspect.names), units.printable(reason)


def _judge_nodes(reports: Path, campaign: str, site: str) -> _JudgedNodes | None:
    """The verdicts of all nights of a campaign; None if it is not over pairs of nodes."""
    from roundtrip.content import labels
    from roundtrip.history import node_faults, nodes
    from roundtrip.history.annotations import load_site_annotations
    from roundtrip.stats.nodes.failures import find_flaky_nodes

    ledger = common.read_ledger(reports, campaign, site, load_site_annotations(site))
    if ledger.pairs.is_empty():
        return None
    thresholds = analysis.load_site_settings(site)
    odd_clocks, throttled, absences = node_faults.newest_node_faults(
        store.site_folder(reports, campaign, site), ledger.pairs, thresholds.disturbance
    )
    level = thresholds.statistics.confidence_level
    odd_nodes = [clock.node for clock in odd_clocks]
    return _JudgedNodes(
        campaign,
        nodes.node_verdicts(ledger.pairs, odd_nodes, thresholds.nodes, level),
        node_faults.slow_processors(ledger.pairs, thresholds.nodes) | throttled,
        find_flaky_nodes(nodes.outcomes(ledger.pairs), thresholds.nodes),
        odd_clocks,
        absences,
        labels.history_labels_by_environ(ledger.provenance),
    )


def _nodes_json(site: str, results: Sequence[_JudgedNodes], hosts: HostNames) -> dict[str, Any]:
    """What ``--json`` prints, with the hosts of the nodes in it, by pseudonym."""
    record = {
        "site": site,
        "labels": {result.campaign: result.labels_by_environ for result in results},
        "named": [
            _outlier_json(result, outlier)
            for result in results
            for outlier in result.node_verdicts.outliers
        ],
        "flaky": [
            {
                "campaign": result.campaign,
                "nodes": list(suspect.names),
                "failed": suspect.counts[0],
                "launches": suspect.counts[1],
                "failed_elsewhere": suspect.other_counts[0],
                "launches_elsewhere": suspect.other_counts[1],
                "nights": suspect.nights,
                "chance": suspect.chance,
            }
            for result in results
            for suspect in result.flaky_nodes
        ],
        "clocks": [
            {
                "campaign": result.campaign,
                "node": clock.node,
                "rate": math.exp(clock.excess),
                "partners": clock.partners,
                "other": clock.other,
            }
            for result in results
            for clock in result.wrong_clocks
        ],
        "cannot_tell": [
            {
                "campaign": result.campaign,
                "node": node.name,
                "launches": node.launches,
                "rounds": node.extra_rounds,
            }
            for result in results
            for node in result.node_verdicts.unjudged_nodes
        ],
        "not_measured": [
            {"campaign": result.campaign, **asdict(absence)}
            for result in results
            for absence in result.absent_nodes
        ],
    }
    text = json.dumps(record)
    host_names = {key: host for key, host in hosts.host_by_pseudonym.items() if key in text}
    return {**record, "hosts": host_names}


def _outlier_json(result: _JudgedNodes, outlier: Outlier) -> dict[str, Any]:
    from roundtrip.report import nodes as words

    measures = []
    for evidence in outlier.evidence:
        name, test = words.measure_name(evidence), evidence.unit_effect
        ends = (test.low, test.high)
        low, high = (
            None if end is None else words.effect_percent(end, name.measure) for end in ends
        )
        measures.append(
            {
                "measure": name.measure,
                "inside": name.is_alone,
                "partition": name.place,
                "environ": name.environ,
                "label": result.labels_by_environ.get(name.environ, ""),
                "percent": words.effect_percent(test.effect, name.measure),
                "low": low,
                "high": high,
                "launches": test.launches,
                "partners": test.partners,
                "nights": test.nights,
                "q": evidence.q,
            }
        )
    return {
        "campaign": result.campaign,
        "kind": str(outlier.kind),
        "name": outlier.name,
        "nodes": list(outlier.members),
        "slow_processor": outlier.name in result.slow_processors,
        "measures": measures,
    }

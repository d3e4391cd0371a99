"""The section on sick nodes: answers, evidence, maps of all pairs, effects of every node."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from roundtrip import units
from roundtrip.content import labels
from roundtrip.content.blocks import (
    Answer,
    Block,
    Cell,
    CollapsibleBlocks,
    Figure,
    Gallery,
    Heading,
    Paragraph,
    ReportSection,
    StatusColour,
    Table,
    count_cells,
    make_answer,
    number_columns,
    text_cells,
    text_columns,
    text_items,
)
from roundtrip.content.data import BundleData
from roundtrip.content.plot import HeatMap, HeatMapCell
from roundtrip.content.series import SeriesMedians
from roundtrip.history import node_faults
from roundtrip.history import nodes as node_history
from roundtrip.history.node_faults import SlowProcessor
from roundtrip.history.nodes import BANDWIDTH, FAILURE, LATENCY, MeasureName
from roundtrip.report import nodes as words
from roundtrip.stats.nodes.failures import FlakyNode, Outcomes, find_flaky_nodes
from roundtrip.stats.nodes.judge import NodeVerdicts
from roundtrip.stats.summaries import MEDIAN, Summary, ValueKind
from roundtrip.studies.derivation import AuditFacts
from roundtrip.units import Unit

ANCHOR, TITLE = "nodes", "Nodes: which one is sick"
SECTION_QUESTION = "Which node is sick?"
#: Facts about the section for the report's audit.
AUDIT_FACTS = AuditFacts(
    summaries=(
        Summary("a measure of a launch", ValueKind.COST, "the samples of a launch", MEDIAN),
        Summary("an effect of a node", ValueKind.COST, "its launches", MEDIAN),
    ),
    threshold_tables=("nodes",),
)
_MAX_ROWS = 12
#: Number of newest nights in a map.
_MAX_MAP_NIGHTS = 16
_MAP_MEASURES = (LATENCY, BANDWIDTH)
#: Statuses of launches that ran and have no value.
_LOST_STATUSES = ("failed", "partial")
_IS_LOST = pl.col("status").is_in(_LOST_STATUSES)


def evidence_blocks(
    verdicts: NodeVerdicts, series_medians: SeriesMedians, labels_by_environ: Mapping[str, str]
) -> Iterator[Block]:
    """The evidence on each outlier, a row per measure."""
    rows = []
    for outlier in verdicts.outliers:
        for evidence in outlier.evidence:
            name, test = words.measure_name(evidence), evidence.unit_effect
            effect = words.effect_content(test.effect, name.measure)
            interval = words.effect_interval_text(evidence)
            where = words.describe_partition(name, labels_by_environ)
            series = _node_series_key(series_medians, name, test.unit.name)
            row = (
                Cell(outlier.name, "bad"),
                *text_cells(words.describe_measure(name), where),
                Cell((*effect, interval), unit=Unit.PERCENT, series_key=series),
                *count_cells(test.launches, test.partners, test.nights),
                Cell(words.q_quantity(evidence.q)),
            )
            rows.append(row)
    if rows:
        caption = (
            "What stands out, and why. Effect: of the node alone, over the usual value there; "
            "median over its launches with the rank interval. “q”: the corrected p-value of all "
            "its launches together. q can name a node although some launches saw no effect and "
            "the interval includes 0."
        )
        columns = (
            *text_columns("Node, switch or link", "Measure", "Where"),
            *number_columns("Effect", "Launches", "Partners", "Nights", "q"),
        )
        yield Table(caption, columns, tuple(rows))


def _node_series_key(series_medians: SeriesMedians, name: MeasureName, node: str) -> str:
    """The key (`Cell.series_key`) of a node's series in a measure; "" for a switch or a link."""
    case_id, case = node_history.case_columns(name)
    return series_medians.find_key([case_id], 0, case=case, variant=node, phase=name.measure)


def effect_blocks(
    verdicts: NodeVerdicts,
    series_medians: SeriesMedians,
    switch_by_node: Mapping[str, str],
    labels_by_environ: Mapping[str, str],
) -> Iterator[Block]:
    """For each measure the effects of all nodes, worst first, and their switches, if known."""
    sick_nodes = _sick_nodes(verdicts)
    has_switches = any(switch_by_node.values())
    columns = (
        *text_columns("Node", *(["Switch"] if has_switches else [])),
        *number_columns("Effect", "Launches", "Nights", "In its newest night"),
    )
    for name, sensitivity in verdicts.sensitivities.items():
        assert isinstance(name, MeasureName)  # noqa: S101  every measure here does
        rows = []
        for test in sorted(sensitivity.observed_effects, key=lambda test: -test.effect):
            node = test.unit.name
            key = _node_series_key(series_medians, name, node)
            effect, newest_effect = (
                Cell(words.effect_content(value, name.measure), unit=Unit.PERCENT, series_key=key)
                for value in (test.effect, test.newest_effect)
            )
            row = (
                Cell(node, "bad" if node in sick_nodes else "plain"),
                *(text_cells(switch_by_node[node] or units.NO_VALUE) if has_switches else ()),
                effect,
                *count_cells(test.launches, test.nights),
                newest_effect,
            )
            rows.append(row)
        if rows:
            partition = words.describe_partition(name, labels_by_environ)
            title = f"{words.describe_measure(name).capitalize()}, {partition}."
            effect_size = "nothing"
            if sensitivity.detectable_effect:
                effect_size = words.describe_effect(sensitivity.detectable_effect, name.measure)
            caption = f"{title} Usual: {words.describe_usual_level(name)}. An effect of "
            caption += f"{effect_size} would have been seen."
            table = Table(caption, columns, tuple(rows))
            yield CollapsibleBlocks(f"Effects of all nodes: {title}", (table,))


def _sick_nodes(verdicts: NodeVerdicts) -> set[str]:
    return {member for outlier in verdicts.outliers for member in outlier.members}


def node_heat_maps(
    pairs: pl.DataFrame,
    verdicts: NodeVerdicts,
    labels_by_environ: Mapping[str, str],
    scheduler_title: str,
) -> tuple[Gallery | None, list[Block]]:
    """Maps of latency and bandwidth by partition and toolchain, and a table of switches.

    `pairs`: the rows of all nights, columns `PAIRS`.  `scheduler_title` reported the switches.
    """
    newest_nights = sorted(set(pairs["night"]))[-_MAX_MAP_NIGHTS:]
    rows = pairs.filter(pl.col("night").is_in(newest_nights), pl.col("other") != "")
    sick_nodes = _sick_nodes(verdicts)
    split = node_history.split_measures(rows)
    measures = [item for item in split if item[0].measure in _MAP_MEASURES]
    measures.sort(key=lambda item: _MAP_MEASURES.index(item[0].measure))
    figures = []
    for number, (name, frame) in enumerate(measures, 1):
        heat = _heat_map(name, frame, sick_nodes, labels_by_environ)
        figures.append(Figure(f"nodes-{number}", heat.description, heat))
    if not figures:
        return None, []
    nights = units.plural(len(newest_nights), "night")
    caption = (
        f"Median over the launches of each pair in the newest {nights}; each launch is relative "
        "to the usual value of its night. Pairs without a cell had no launch. * marks what "
        "stands out; failures, clocks and tails are not drawn."
    )
    members: dict[str, list[str]] = {}
    for node, switch in node_history.switches(rows).items():
        members.setdefault(switch, []).append(node)
    if not any(members):
        return Gallery((caption,), tuple(figures)), []
    switch_rows = tuple(
        text_cells(switch or "not known", ", ".join(members[switch])) for switch in sorted(members)
    )
    suffix = words.environ_label_suffix(labels_by_environ, labels_by_environ)
    source = f"As {scheduler_title} reported to the ranks{suffix}."
    table = Table(source, text_columns("Switch", "Nodes"), switch_rows)
    caption += " Nodes of one switch are adjacent."
    switch_blocks: list[Block] = [CollapsibleBlocks("Nodes of each switch", (table,))]
    return Gallery((caption,), tuple(figures)), switch_blocks


def processor_heat_maps(data: BundleData, labels_by_environ: Mapping[str, str]) -> Iterator[Block]:
    """Maps of processor pairs, from launches of two ranks on one node, each bound to one."""
    cpu = pl.col("cpus").list.get(0).cast(pl.String)
    bindings = (
        data.placement.filter(pl.col("cpus").list.len() == 1)
        .sort("launch", "rank")
        .group_by("launch", maintain_order=True)
        .agg(first_cpu=cpu.first(), last_cpu=cpu.last(), ranks=pl.len())
        .filter(ranks=2)
    )
    rows = data.node_pairs.filter(other="").join(bindings.drop("ranks"), on="launch")
    figures = []
    for number, (name, frame) in enumerate(node_history.split_measures(rows), 1):
        pairs = frame.with_columns(host="first_cpu", other="last_cpu")
        cpu_count = pairs["host"].n_unique() + pairs["other"].n_unique()
        if name.measure in _MAP_MEASURES and cpu_count > 2:
            heat = _heat_map(name, pairs, set(), labels_by_environ)
            figures.append(Figure(f"cores-{number}", heat.description, heat))
    if figures:
        yield Heading(3, "Processor by processor, inside a node")
        caption = "Median over this night's launches on all nodes, by the processors of the ranks."
        yield Gallery((caption,), tuple(figures))


def _heat_map(
    name: MeasureName,
    rows: pl.DataFrame,
    sick_nodes: set[str],
    labels_by_environ: Mapping[str, str],
) -> HeatMap:
    switches = {} if name.is_alone else node_history.switches(rows)
    names = sorted(
        {*rows["host"], *rows["other"]},
        key=lambda host: (switches.get(host, ""), int(host) if host.isdecimal() else -1, host),
    )
    positions = {host: number for number, host in enumerate(names)}
    cells: dict[tuple[int, int], HeatMapCell] = {}
    for (host, other), pair in rows.group_by("host", "other", maintain_order=True):
        excess = float(np.median(pair["excess"].to_numpy()))
        effect = words.effect_percent(excess, name.measure)
        value = words.measured_amount(name.level * math.exp(excess), Unit.S)
        if name.measure == BANDWIDTH:
            effect = -effect
            value = words.measured_amount(name.level * math.exp(-excess), name.unit)
        i, j = positions[str(host)], positions[str(other)]
        for place in ((i, j), (j, i)):
            # A pair may occur in both rank orders: keep the order with more launches.
            if place not in cells or cells[place].launches < pair.height:
                cells[place] = HeatMapCell(*place, str(value), effect, pair.height)
    description = words.describe_measure(name)
    return HeatMap(
        description.capitalize(),
        words.describe_partition(name, labels_by_environ),
        description,
        tuple(names),
        frozenset(sick_nodes & set(names)),
        tuple(cells[place] for place in sorted(cells)),
    )


def build_section(data: BundleData) -> ReportSection | None:
    """The section; None if no nodes were compared and none is flaky or often disturbed."""
    settings = data.analysis.nodes
    pairs = pl.concat([data.past_nights.pairs, data.node_pairs])
    has_pairs = data.node_pairs.height > 0
    outcomes = node_history.outcomes(pairs) if has_pairs else _launch_outcomes(data, _IS_LOST)
    disturbances = _launch_outcomes(data, pl.col("disturbed").fill_null(False))
    flaky_nodes_by_event = {
        "failed": find_flaky_nodes(outcomes, settings),
        "were disturbed": find_flaky_nodes(disturbances, settings),
    }
    if data.node_pairs.is_empty() and not any(flaky_nodes_by_event.values()):
        return None
    verdicts = _node_verdicts(data, pairs)
    # If all launches of this night failed, only earlier nights tell what was emulated.
    labels_by_environ = labels.history_labels_by_environ(data.past_nights.provenance)
    labels_by_environ |= labels.labels_by_environ(data.launches)
    label_suffix = words.environ_label_suffix(labels_by_environ, labels_by_environ)
    title = data.scheduler.title
    gallery, switches = node_heat_maps(pairs, verdicts, labels_by_environ, title)
    switch_by_node = node_history.switches(pairs)
    blocks: list[Block] = [
        *evidence_blocks(verdicts, data.past_series_medians, labels_by_environ),
        *switches,
        *processor_heat_maps(data, labels_by_environ),
        *effect_blocks(verdicts, data.past_series_medians, switch_by_node, labels_by_environ),
        *_not_measured_blocks(data, label_suffix),
        _basis_paragraph(pairs, verdicts),
    ]
    processors = node_faults.slow_processors(pairs, settings) | node_faults.throttled_nodes(
        data.placement, data.disturbance, data.analysis.disturbance.throttled_fraction
    )
    answers = (*_node_answers(verdicts, processors, flaky_nodes_by_event, data, labels_by_environ),)
    return ReportSection(
        ANCHOR, TITLE, tuple(blocks), answers, question=SECTION_QUESTION, answer_gallery=gallery
    )


def can_detect_sick_node(data: BundleData) -> bool:
    """Whether a sick node would be found, if there is one."""
    verdicts = _node_verdicts(data, pl.concat([data.past_nights.pairs, data.node_pairs]))
    return bool(verdicts.outliers) or verdicts.can_detect_effect


def _node_verdicts(data: BundleData, pairs: pl.DataFrame) -> NodeVerdicts:
    limits = data.analysis
    odd_clocks = node_faults.wrong_clock_rates(
        data.placement, data.disturbance, limits.disturbance.clock_rate
    )
    odd_nodes = [clock.node for clock in odd_clocks]
    level = limits.statistics.confidence_level
    return node_history.node_verdicts(pairs, odd_nodes, limits.nodes, level)


def _launch_outcomes(data: BundleData, is_bad: pl.Expr) -> Outcomes:
    """This night's launches with known hosts; `is_bad`: whether a launch counts as failed."""
    hosts = pl.coalesce("nodes_down", "hosts").alias("hosts")
    launches = data.launches.filter(pl.col("status").is_in(["passed", *_LOST_STATUSES]))
    rows = launches.select(hosts, wrong=is_bad, kind="case_id").drop_nulls("hosts").rows()
    return Outcomes.from_rows((list(hosts), is_fault, "", kind) for hosts, is_fault, kind in rows)


def odd_clock_answers(data: BundleData) -> Iterator[Answer]:
    """Yield nodes whose clock rate or wall clock deviates from those of other nodes."""
    environs = labels.labels_by_environ(data.launches)
    mark = words.environ_label_suffix(environs, environs)
    limit = data.analysis.disturbance.clock_rate
    for clock in node_faults.wrong_clock_rates(data.placement, data.disturbance, limit):
        title = f"The clock of {clock.node}{mark} "
        yield make_answer(title, words.describe_clock_rate(clock), "bad")
    for clock in node_faults.wrong_wall_clocks(data.placement, data.disturbance):
        title = f"The wall clock of {clock.node}{mark} "
        yield make_answer(title, words.describe_wall_clock(clock), "warn")


def _node_answers(
    verdicts: NodeVerdicts,
    processors: Mapping[str, SlowProcessor],
    flaky_nodes_by_event: Mapping[str, Sequence[FlakyNode]],
    data: BundleData,
    labels_by_environ: Mapping[str, str],
) -> Iterator[Answer]:
    for outlier in verdicts.outliers:
        reason = f"{words.describe_outlier(outlier, verdicts, processors.get(outlier.name))}."
        yield make_answer(f"{words.outlier_title(outlier, labels_by_environ)}: ", reason, "bad")
    label_suffix = words.environ_label_suffix(labels_by_environ, labels_by_environ)
    for event, flaky_nodes in flaky_nodes_by_event.items():
        for flaky_node in flaky_nodes:
            verdict = "is flaky" if event == "failed" else "stands out"
            if flaky_node.counts[0] == flaky_node.counts[1] and len(flaky_node.names) == 1:
                verdict = "never works"
            title = words.flaky_title(flaky_node, label_suffix, verdict)
            yield make_answer(f"{title}: ", words.describe_flaky(flaky_node, event), "bad")
    yield from odd_clock_answers(data)
    if verdicts.nodes and not verdicts.outliers and not flaky_nodes_by_event["failed"]:
        tone: StatusColour = "good" if verdicts.can_detect_effect else "plain"
        yield Answer((words.describe_healthy(verdicts, labels_by_environ),), tone)
    if verdicts.unjudged_nodes and verdicts.can_detect_effect:
        yield Answer((words.describe_unjudged(verdicts.unjudged_nodes),))
    if exclusions := data.manifest.data.get("nodes_not_measured"):
        first = f"{exclusions[0]['node']} ({exclusions[0]['state']})"
        rest = f" and {len(exclusions) - 1} more" if len(exclusions) > 1 else ""
        yield make_answer("Not measured: ", f"{first}{rest}.", "warn")


def _not_measured_blocks(data: BundleData, label_suffix: str) -> Iterator[Block]:
    caption = f"Nodes that could not be measured this night{label_suffix}."
    if table := excluded_nodes_table(data, caption):
        yield from (Heading(3, "Not measured"), table)
    if data.node_pairs.is_empty():
        return
    failed_hosts = data.launches.filter(_IS_LOST)["hosts"].drop_nulls()
    failed_pairs = {tuple(sorted(set(hosts))) for hosts in failed_hosts if len(set(hosts)) == 2}
    passed_pairs = (
        data.node_pairs.filter(pl.col("measure") != FAILURE).select("host", "other").unique()
    )
    lost_pairs = sorted(failed_pairs - {tuple(sorted(row)) for row in passed_pairs.rows()})
    items = [f"{a} and {b}: no launch between them completed." for a, b in lost_pairs[:_MAX_ROWS]]
    if len(lost_pairs) > _MAX_ROWS:
        items.append(f"and {len(lost_pairs) - _MAX_ROWS} more pairs")
    if items:
        yield text_items(*items)


def excluded_nodes_table(data: BundleData, caption: str) -> Table | None:
    """A table of nodes out of use when the run began; None without any."""
    nodes = data.manifest.data.get("nodes_not_measured") or []
    rows = tuple(text_cells(node["node"], node["state"], node["reason"]) for node in nodes)
    return Table(caption, text_columns("Node", "State", "Reason"), rows) if rows else None


def _basis_paragraph(pairs: pl.DataFrame, verdicts: NodeVerdicts) -> Paragraph:
    launches = pairs.select("night", "launch").n_unique()
    nights = units.plural(pairs["night"].n_unique(), "night")
    basis = f"{launches} launches of {nights} on {units.plural(len(verdicts.nodes), 'node')}, "
    control = "false discoveries are controlled over all nodes, measures and windows of nights."
    return Paragraph((f"{basis}{verdicts.tests} tests; {control}",), is_note=True)

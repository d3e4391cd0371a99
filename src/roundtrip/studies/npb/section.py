"""The NPB section: benchmarks in one cluster, and over two clusters joined by a slow link.

Also its tables of times, messages and verification.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

import polars as pl

from roundtrip import units
from roundtrip.content.blocks import (
    Block,
    Cell,
    CollapsibleBlocks,
    Column,
    Heading,
    Paragraph,
    ReportSection,
    RichText,
    Table,
    number_columns,
    text_cells,
    text_columns,
    text_items,
)
from roundtrip.content.data import BundleData
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.studies import display
from roundtrip.studies.npb import (
    NATIVE,
    SOURCE_CONTRAST,
    SPEEDUP_CONTRAST,
    STUDY,
    TRANSPORT_CONTRAST,
    scaling,
)
from roundtrip.studies.npb.data import EMULATED_WAN, NPBLaunches, Series
from roundtrip.studies.npb.findings import (
    Finding,
    answers_at_longest_rtt,
    answers_in_one_cluster,
    answers_over_link,
    statement_findings,
    statement_table,
    without_shared_processors,
)
from roundtrip.studies.npb.simulated import simulated_section
from roundtrip.studies.npb.speedup import (
    SeriesVerdicts,
    measured_speedups,
    modelled_speedups,
    ratios_by_claim,
    speedup_table,
    tolerance_table,
    transport_table,
    unpaired_reasons,
    verdicts_of_contrast,
)
from roundtrip.study import Claim
from roundtrip.units import Quantity, Unit


def cluster_time_table(launches: NPBLaunches) -> Table:
    """Table of times of every series in one machine or cluster: the bases of the speed-ups."""
    rows = []
    for series in launches.cluster_series:
        rounds = list(launches.values_by_point[series][None].values())
        place = series.partition + (", ranks share processors" if series.shares_processors else "")
        time = launches.value_cell(series, None, "time")
        rate, *parts = _time_cells(launches, series, None)
        rank_rates = [launch["rate"] / series.ranks for launch in rounds]
        rank_rate = launches.interval_cell(rank_rates, Unit.MOPS)
        per_process = replace(rank_rate, series_key=rate.linked_series_key)
        rows.append((Cell(series.title), Cell(place), time, rate, per_process, *parts))
    return Table(
        launches.level.fill_caption(
            "In one machine or cluster. Rate by NPB's formula, of all processes and of each; "
            "compute and communication (all time inside MPI, waiting included) are sums over the "
            "iterations, means over the ranks; median and {level} interval over launches. The "
            "programs of NPB 3.4 do not report communication time, and their time is computed "
            "from their rate."
        ),
        (
            Column("Benchmark and toolchain"),
            Column("Where"),
            Column("Time", "right", Unit.S),
            _TIME_COLUMNS[0],
            Column("{} per process", "right", Unit.MOPS),
            *_TIME_COLUMNS[1:],
        ),
        tuple(rows),
    )


def link_time_table(launches: NPBLaunches) -> Table:
    """Table of compute, communication and both speed-ups of every series over the link and RTT."""
    rows = []
    for series in launches.link_series:
        base = launches.one_cluster_base(series)
        base_label = base.title if base else ""
        rounds_by_rtt = launches.values_by_point[series]
        min_rtt = next(iter(rounds_by_rtt))
        for rtt_ms, rounds in rounds_by_rtt.items():
            pairs = (
                launches.paired_values(rounds, rounds_by_rtt[min_rtt]) if rtt_ms != min_rtt else []
            )
            added_s = [slow["time"] - fast["time"] for slow, fast in pairs]
            speedups = measured_speedups(launches, series, rtt_ms)
            separated = modelled_speedups(launches, series, rtt_ms)
            measured_cell = launches.interval_cell(speedups, Unit.RATIO, base_label)
            rows.append(
                (
                    Cell(f"{series.title} {rtt_ms:g} ms"),
                    *_time_cells(launches, series, rtt_ms),
                    launches.interval_cell(list(filter(math.isfinite, added_s)), Unit.S),
                    replace(measured_cell, series_key=launches.series_key(series, rtt_ms)),
                    launches.interval_cell(separated, Unit.RATIO, base_label),
                )
            )
    return Table(
        f"Compute and communication separately, {EMULATED_WAN}. Communication is all time inside "
        "MPI, waiting included. Added by the delay: time beyond that at the smallest delay, also "
        "for the programs of NPB 3.4. Speed-up as measured, and as if each rank had its own "
        "processor: (C1 + M1) / (C1 n1 / n2 + M2), with the compute time C and the communication "
        "time M of one cluster (1) and of both (2) with n ranks. Where each rank has its own "
        "processor, the two agree.",
        (
            Column("Benchmark, transport and link"),
            *_TIME_COLUMNS,
            Column("Added by the delay", "right", Unit.S),
            *number_columns("Speed-up, measured", "Speed-up, own processors"),
        ),
        tuple(rows),
    )


def message_table(launches: NPBLaunches) -> Table:
    """Table of messages of one iteration by pattern, all ranks together."""
    natives: dict[tuple[str, int], Series] = {}
    for series in launches.values_by_point:
        if series.source == NATIVE:
            natives.setdefault((series.problem_name, series.ranks), series)
    rows = []
    for series in natives.values():
        counts, iterations = launches.messages_and_iterations(series)
        label_suffix = f", counted on an {EMULATED_WAN}" if series.spans_clusters else ""
        name = f"{series.problem_name}, {units.plural(series.ranks, 'rank')}{label_suffix}"
        for (pattern,), rows_of_pattern in counts.group_by("pattern", maintain_order=True):
            sizes = _message_cells(rows_of_pattern, max(iterations, 1))
            rows.append((Cell(name), Cell(str(pattern)), *sizes))
    return Table(
        "Messages of one iteration, all ranks together, by our counters; they do not depend on the "
        "link. A reduction counts once for each rank. Half of the messages are no longer than "
        "the median.",
        (
            *text_columns("Benchmark", "Pattern"),
            *number_columns("Messages", "Smallest", "Median", "Largest"),
            Column("Bytes", "right", Unit.BYTES),
        ),
        tuple(rows),
    )


_TIME_COLUMNS = (
    Column("Rate", "right", Unit.MOPS),
    Column("Compute", "right", Unit.S),
    Column("Communication", "right", Unit.S),
    Column("Least to most of a rank", "right", Unit.S),
)


def _time_cells(launches: NPBLaunches, series: Series, rtt_ms: float | None) -> tuple[Cell, ...]:
    """Cells of _TIME_COLUMNS; NPB's own programs report only the rate."""
    rate = launches.value_cell(series, rtt_ms, "rate")
    rounds = list(launches.values_by_point[series][rtt_ms].values())
    if not all(launch["compute"] for launch in rounds):
        return rate, *[display.NOT_MEASURED_CELL] * 3
    means = (
        launches.interval_cell([launch[part] for launch in rounds], Unit.S)
        for part in ("compute", "communication")
    )
    by_rank = [launch for launch in rounds if math.isfinite(launch["least"])]
    if not by_rank:
        return rate, *means, display.NOT_MEASURED_CELL
    least, most = (
        Quantity(value=median(launch[end] for launch in by_rank), unit=Unit.S)
        for end in ("least", "most")
    )
    return rate, *means, Cell((least, " to ", most))


def _message_cells(counts: pl.DataFrame, iterations: float) -> tuple[Cell, ...]:
    """Number, smallest, median and largest size, and bytes of an iteration's messages."""
    total = int(counts["messages"].sum())
    upper_half = counts.filter(pl.col("messages").cum_sum() * 2 >= total)
    sizes = [counts["size_bytes"][0], upper_half["size_bytes"][0], counts["size_bytes"][-1]]
    volume = int((counts["size_bytes"] * counts["messages"]).sum())
    return (
        Cell(units.pure_number(total / iterations)),
        *(Cell(units.byte_size(int(size))) for size in sizes),
        Cell(Quantity(value=volume / iterations, unit=Unit.BYTES)),
    )


def verification_table(launches: NPBLaunches) -> Table:
    """Table of verification: a row for each benchmark, class and source, over all settings."""
    histories: dict[str, list[str]] = defaultdict(list)
    for series in launches.values_by_point:
        histories[series.program_name] += launches.verification_histories(series)
    rows = []
    for program, texts in histories.items():
        total, agreement_count = len(texts), texts.count("agrees")
        reasons = ", ".join(dict.fromkeys(text for text in texts if text != "agrees"))
        history = Cell((units.count(agreement_count), f" of {total}"))
        if reasons and not agreement_count:
            history = Cell(reasons, "muted")
        elif reasons:
            words = f" of {units.plural(total, 'launch', 'launches')}; the others: {reasons}"
            history = Cell((units.count(agreement_count), words))
        rows.append((Cell(program), Cell((units.count(total), f" of {total}")), history))
    return Table(
        "Launches counted here, by verification. The specification checks the end of a run (FT "
        "and IS: every iteration). The history compares the result of each iteration with "
        "recorded, verified runs of the class; it finds a wrong message that the end no longer "
        "shows. A launch that fails either counts as failed.",
        text_columns("Benchmark", "As NPB has it", "By its history"),
        tuple(rows),
    )


def _published_library_table() -> Table:
    """Table of the libraries of the publication, what stands for them here, and why."""
    return Table(
        "Our substitutes for the study's libraries. The study's were of one family; if ours are "
        "one MPI library, they differ only in the transport.",
        text_columns("In 2003", "Today", "Because"),
        (
            text_cells(
                "UDP-encapsulated MPICH-SCore",
                "MPICH over libfabric's udp;ofi_rxd, each rank on a node",
                "One library end to end that makes UDP datagrams reliable itself, inside a cluster "
                "and between clusters, without the kernel's TCP.",
            ),
            text_cells(
                "MPICH-G2/SCore",
                "MPICH over shared memory inside a cluster and TCP between, a node for each "
                "cluster",
                "The fast transport inside a cluster, TCP to the other cluster. Shared memory "
                "replaces SCore on Myrinet.",
            ),
            text_cells(
                "MPICH-P4",
                "MPICH over TCP, each rank on a node",
                "TCP sockets for every message, in a cluster and between clusters.",
            ),
        ),
    )


class Section:
    """Eight benchmarks in a cluster, and over an emulated WAN; if all launches are simulated,
    `simulated_section` without claims: a simulation gives the same values each time."""

    def __init__(self, data: BundleData) -> None:
        self._launches = NPBLaunches(data)
        simulated = data.study_launches(STUDY.name)["simulated"]
        self._is_simulated = bool(simulated.fill_null(False).all())

    def ratios_by_claim(self) -> Mapping[Claim, Sequence[float]]:
        return {} if self._is_simulated else ratios_by_claim(self._launches)

    def report_section(self, verdicts: Mapping[Claim, ClaimVerdict]) -> ReportSection:
        if self._is_simulated:
            return simulated_section(self._launches.data)
        launches = self._launches
        has_link = bool(launches.link_series)
        contrasts = SPEEDUP_CONTRAST, TRANSPORT_CONTRAST, SOURCE_CONTRAST
        speedups, transports, sources = (verdicts_of_contrast(one, verdicts) for one in contrasts)
        results = statement_findings(launches, speedups, transports) if has_link else []
        galleries = scaling.link_gallery(launches), scaling.rank_gallery(launches)
        pictures = [gallery for gallery in galleries if gallery]
        rank_table = scaling.rank_speedup_table(launches)
        rank_blocks: list[Block] = [Heading(3, "Speed-up over ranks"), *pictures[1:], rank_table]
        verdict_tables = []
        if results:
            verdict_tables.append(statement_table(launches, without_shared_processors(results)))
        if sources:
            verdict_tables.append(scaling.source_verdict_table(launches, sources))
        blocks: list[Block] = [
            Paragraph(_QUESTION_TEXT),
            *(self._link_blocks(speedups, transports, results) if has_link else []),
            Heading(3, "In one machine or cluster"),
            cluster_time_table(launches),
            *(rank_blocks if rank_table.rows else []),
            *scaling.node_efficiency(launches).blocks("npb-growth"),
            Heading(3, "What is sent"),
            message_table(launches),
            Heading(3, "Verified in two ways"),
            verification_table(launches),
            Heading(3, "Our programs and NPB's own"),
            CollapsibleBlocks("Both rates", (scaling.source_rate_table(launches, sources),))
            if sources
            else Paragraph(_NO_UPSTREAM_TEXT, is_note=True),
        ]
        if refusals := unpaired_reasons(launches):
            reasons = text_items(*(f"{pair}: {reason}." for pair, reason in refusals))
            blocks += [Heading(3, "Not compared, and why"), reasons]
        blocks += [Heading(3, "How to read NPB"), text_items(*_READING_NOTES)]
        if has_link:
            title = "NPB: how do two clusters on a slow link compute as one?"
            answers = answers_at_longest_rtt(speedups)
            panel_answers = answers_over_link(launches, results)
        else:
            title = "NPB: how fast are the NAS Parallel Benchmarks?"
            answers = answers_in_one_cluster(launches, sources)
            panel_answers = scaling.scaling_answers(launches, sources)
        return ReportSection(
            anchor="npb",
            title=title,
            blocks=tuple(blocks),
            answers=tuple(answers),
            panel_answers=tuple(panel_answers),
            verdict_tables=tuple(verdict_tables),
            warnings=tuple(scaling.source_warnings(sources)),
            answer_gallery=pictures[0] if pictures else None,
        )

    def _link_blocks(
        self, speedups: SeriesVerdicts, transports: SeriesVerdicts, results: Sequence[Finding]
    ) -> list[Block]:
        launches = self._launches
        pair_table = transport_table(launches, transports)
        transport_blocks: list[Block] = [
            Heading(3, "Transports against each other"),
            CollapsibleBlocks("Every pair at every delay", (pair_table,)),
        ]
        every_series = CollapsibleBlocks(
            "The study's findings in every series", (statement_table(launches, results),)
        )
        has_others = len(results) > len(without_shared_processors(results))
        return [
            _published_library_table(),
            Heading(3, f"Speed-up over one cluster, {EMULATED_WAN}"),
            speedup_table(launches, speedups),
            *([every_series] if has_others else []),
            Heading(3, "Why: what an iteration waits for"),
            tolerance_table(launches),
            Heading(3, "Compute and communication apart"),
            CollapsibleBlocks("Every benchmark, transport and delay", (link_time_table(launches),)),
            *(transport_blocks if pair_table.rows else []),
        ]


_QUESTION_TEXT: RichText = (
    "The NAS Parallel Benchmarks compute, exchange and verify. In 2003 Matsuda, Kudoh and "
    "Ishikawa ran them on two clusters of 16 hosts whose link had a round-trip time of up to 4 "
    "ms, with three MPI libraries. Every launch counted here verified its results against the "
    "published ones. A launch that did not verify counts as failed.",
)
_NO_UPSTREAM_TEXT: RichText = (
    "NPB 3.4's own programs were not launched, so this report does not compare our programs with "
    "them. They run if an environment names their folder (Spack's package npb, or npb_upstream "
    "in the extras of the site's environments).",
)
_READING_NOTES = (
    "A benchmark tolerates a delay if an iteration waits for few round trips, not if it sends "
    "few messages: messages in flight at the same time share one wait.",
    "A processor of today computes tens of times as fast as one of 2003, so the same delay is a "
    "larger part of an iteration. Compare the round trips waited for, which do not depend on the "
    "processor, and the delay at which the study's speed-up is found.",
    "One cluster and both are measured in the same round in random order. Each round gives a "
    "speed-up; the median is shown. BT and SP take square numbers of ranks: their base is one "
    "cluster with as many ranks, so 1 means that the link costs nothing.",
    "Our programs send the messages of NPB 3.4 but compute faster, so the same delay is a "
    "greater part of their time. To compare the two, use the time that the delay adds and the "
    "round trips waited for: neither depends on how fast a rank computes.",
    "Communication is all time inside MPI, also while a rank waits for a late partner. Compute "
    "is the rest, also while a rank waits for a processor that it shares.",
)

"""Which node is sick: the answer, its evidence, a map of all pairs, and each node's nights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from roundtrip.history import nodes as measured
from roundtrip.history.pairs import FAILURE
from roundtrip.report import labels, units
from roundtrip.report import nodes as words
from roundtrip.report.blocks import (
    Answer,
    Block,
    Column,
    Heading,
    Items,
    Paragraph,
    Part,
    Strong,
    Table,
    text_cells,
)
from roundtrip.report.data import Data
from roundtrip.report.sections import nodes_effects, nodes_map
from roundtrip.stats.nodes.failures import Flaky, Outcomes, flaky
from roundtrip.stats.nodes.judge import judge
from roundtrip.stats.nodes.verdicts import Judged
from roundtrip.stats.summaries import MEDIAN, Kind, Summary
from roundtrip.studies.derivation import Facts

ANCHOR, TITLE = "nodes", "Nodes: which one is sick"
QUESTION = "Which node is sick?"
_OF_LAUNCH = Summary("a measure of a launch", Kind.COST, "the samples of a launch", MEDIAN)
#: For the audit.
FACTS = Facts(
    summaries=(_OF_LAUNCH, Summary("an effect of a node", Kind.COST, "its launches", MEDIAN)),
    tables=("nodes",),
)
_SHOWN = 12
#: Launches that were made and have no value.
_LOST = ("failed", "partial")
_FAILED = pl.col("status").is_in(_LOST)


def part(data: Data) -> Part | None:
    """What stands out; None for a report that compares no nodes and of which none stands out."""
    settings = data.analysis.nodes
    pairs = pl.concat([data.history.pairs, data.pairs])
    failed = measured.outcomes(pairs) if data.pairs.height else _tonight(data, _FAILED)
    counts = {
        "failed": flaky(failed, settings),
        "were disturbed": flaky(_tonight(data, pl.col("disturbed").fill_null(False)), settings),
    }
    if data.pairs.is_empty() and not any(counts.values()):
        return None
    found = _judged(data, pairs)
    # A night all of whose launches failed says by the nights before it what was emulated.
    known = labels.of_history(data.history.provenance) | labels.by_environ(data.launches)
    blocks: list[Block] = [
        *nodes_effects.evidence(found, data.nights, known),
        *nodes_map.galleries(nodes_map.Nights(pairs, known, found)),
        *nodes_map.cores(data, known),
        *nodes_effects.effects(found, data.nights, measured.switches(pairs), known),
        *_not_measured(data, words.marked(known, known)),
        _basis(pairs, found),
    ]
    slow = measured.slow_processors(pairs, settings)
    answers = tuple(_answers(found, slow, counts, data, known))
    return Part(ANCHOR, TITLE, tuple(blocks), answers, question=QUESTION)


def can_tell(data: Data) -> bool:
    """Whether a node was named, or would have been if it had been sick."""
    found = _judged(data, pl.concat([data.history.pairs, data.pairs]))
    return bool(found.named) or _sees(found)


def _judged(data: Data, pairs: pl.DataFrame) -> Judged:
    settings, confidence = data.analysis.nodes, data.analysis.statistics.confidence_level
    return judge(measured.measures(pairs, settings), settings, confidence)


def _tonight(data: Data, wrong: pl.Expr) -> Outcomes:
    """Launches of this night with known hosts; those that failed count as not disturbed."""
    hosts = pl.coalesce("nodes_down", "hosts").alias("hosts")
    ended = data.launches.filter(pl.col("status").is_in(["passed", *_LOST]))
    rows = ended.select(hosts, wrong=wrong, kind="case_id").drop_nulls("hosts").rows()
    return Outcomes.of((list(hosts), bad, "", kind) for hosts, bad, kind in rows)


def _answers(
    found: Judged,
    slow: Mapping[str, measured.SlowProcessor],
    counts: Mapping[str, Sequence[Flaky]],
    data: Data,
    known: Mapping[str, str],
) -> Iterator[Answer]:
    for one in found.named:
        told = f"{words.named(one, found, slow.get(one.name))}."
        yield Answer((Strong(f"{words.title(one, known)}: "), told), "bad")
    for how, some in counts.items():
        for each in some:
            verdict = "is flaky" if how == "failed" else "stands out"
            title = words.flaky_title(each, words.marked(known, known), verdict)
            yield Answer((Strong(f"{title}: "), words.flaky(each, how)), "bad")
    if found.nodes and not found.named and not counts["failed"]:
        yield Answer((words.healthy(found, known),), "good" if _sees(found) else "plain")
    if found.too_few and _sees(found):
        yield Answer((words.too_few(found.too_few),))
    if gone := data.manifest.data.get("nodes_not_measured"):
        first = f"{gone[0]['node']} ({gone[0]['state']})"
        more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
        yield Answer((Strong("Not measured: "), f"{first}{more}."), "warn")


def _sees(found: Judged) -> bool:
    return any(one.would_see is not None for one in found.sight.values())


def _not_measured(data: Data, mark: str) -> Iterator[Block]:
    gone = data.manifest.data.get("nodes_not_measured") or []
    if gone:
        yield Heading(3, "Not measured")
        columns = (Column("Node"), Column("State"), Column("Reason"))
        rows = tuple(text_cells(one["node"], one["state"], one["reason"]) for one in gone)
        yield Table(f"Nodes that could not be measured this night{mark}.", columns, rows)
    if names := _few(data):
        yield Items(tuple((one,) for one in names))


def _few(data: Data) -> list[str]:
    """Pairs of which no launch completed this night."""
    known = data.launches.filter(_FAILED).drop_nulls("hosts")
    pairs = {tuple(sorted(set(hosts))) for hosts in known["hosts"] if len(set(hosts)) == 2}
    passed = data.pairs.filter(pl.col("measure") != FAILURE)
    came = {tuple(sorted(row)) for row in passed.select("host", "other").unique().rows()}
    lost = sorted(pairs - came) if not data.pairs.is_empty() else []
    told = [f"{one} and {other}: no launch between them completed." for one, other in lost[:_SHOWN]]
    return told + ([f"and {len(lost) - _SHOWN} more pairs"] if len(lost) > _SHOWN else [])


def _basis(pairs: pl.DataFrame, found: Judged) -> Paragraph:
    launches = pairs.select("night", "launch").n_unique()
    nights = units.plural(pairs["night"].n_unique(), "night")
    told = f"{launches} launches of {nights} on {units.plural(len(found.nodes), 'node')}, "
    how = "false discoveries are controlled over all nodes, measures and windows of nights."
    return Paragraph((f"{told}{found.tests} tests; {how}",), is_note=True)

"""Maps of a campaign over pairs: node by node, and processor by processor inside nodes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from roundtrip.history import nodes as measured
from roundtrip.history.nodes import Name
from roundtrip.history.pairs import BANDWIDTH, LATENCY
from roundtrip.report import nodes as words
from roundtrip.report import units
from roundtrip.report.blocks import (
    Block,
    Column,
    Figure,
    Fold,
    Gallery,
    Heading,
    Table,
    text_cells,
)
from roundtrip.report.data import Data
from roundtrip.report.plot import Cell, Heat
from roundtrip.stats.nodes.verdicts import Judged

#: Nights behind a map: the newest ones.
_NIGHTS = 16
_SHOWN = (LATENCY, BANDWIDTH)


@dataclass(frozen=True)
class Nights:
    """Rows of `PAIRS` of all nights, and what is told of them.

    `marks`: what is emulated, by environment.
    """

    pairs: pl.DataFrame
    marks: Mapping[str, str]
    found: Judged


def galleries(told: Nights) -> Iterator[Block]:
    """A map of latency and one of bandwidth for each partition and toolchain."""
    newest = sorted(set(told.pairs["night"]))[-_NIGHTS:]
    rows = told.pairs.filter(pl.col("night").is_in(newest), pl.col("other") != "")
    sick = {member for one in told.found.named for member in one.members}
    shown = [one for one in measured.split(rows) if one[0].measure in _SHOWN]
    shown.sort(key=lambda one: _SHOWN.index(one[0].measure))
    figures = [
        _figure(f"nodes-{number}", _between(name, frame, sick, told.marks))
        for number, (name, frame) in enumerate(shown, 1)
    ]
    if figures:
        yield Heading(3, "Node by node")
        nights = units.plural(len(newest), "night")
        caption = (
            f"Median over the launches of each pair in the newest {nights}: a launch against what "
            "was usual in its night. Pairs without a cell had no launch. * marks what stands out."
        )
        members: dict[str, list[str]] = {}
        for node, switch in measured.switches(rows).items():
            members.setdefault(switch, []).append(node)
        if any(members):
            caption += " Nodes of one switch stand together."
        yield Gallery((caption,), tuple(figures))
        if any(members):
            listed = tuple(
                text_cells(switch or "not known", ", ".join(members[switch]))
                for switch in sorted(members)
            )
            by = f"As Slurm told the ranks{words.marked(told.marks, told.marks)}."
            table = Table(by, (Column("Switch"), Column("Nodes")), listed)
            yield Fold("Nodes of each switch", (table,))


def cores(data: Data, marks: Mapping[str, str]) -> Iterator[Block]:
    """Processor by processor: launches on one node whose two ranks were bound to one each.

    `marks`: what is emulated, by environment.
    """
    bound = (
        data.placement.filter(pl.col("cpus").list.len() == 1)
        .with_columns(cpu=pl.col("cpus").list.get(0))
        .sort("launch", "rank")
        .group_by("launch", maintain_order=True)
        .agg("cpu", ranks=pl.len())
        .filter(pl.col("ranks") == 2)
    )
    rows = data.pairs.filter(pl.col("other") == "").join(bound.drop("ranks"), on="launch")
    figures = []
    for number, (name, frame) in enumerate(measured.split(rows), 1):
        pairs = frame.with_columns(
            host=pl.col("cpu").list.get(0).cast(pl.String),
            other=pl.col("cpu").list.get(1).cast(pl.String),
        )
        if name.measure in _SHOWN and pairs["host"].n_unique() + pairs["other"].n_unique() > 2:
            figures.append(_figure(f"cores-{number}", _between(name, pairs, set(), marks)))
    if figures:
        yield Heading(3, "Processor by processor, inside a node")
        caption = "Median over this night's launches on all nodes, by the processors of the ranks."
        yield Gallery((caption,), tuple(figures))


def _figure(name: str, heat: Heat) -> Figure:
    count = len(heat.names)
    return Figure(name, f"{heat.title}, {heat.subtitle}: a map of {count} by {count}", heat)


def _between(name: Name, rows: pl.DataFrame, sick: set[str], marks: Mapping[str, str]) -> Heat:
    switches = {} if name.is_alone else measured.switches(rows)
    names = sorted(
        {*rows["host"], *rows["other"]}, key=lambda one: (switches.get(one, ""), _in_order(one))
    )
    at = {host: number for number, host in enumerate(names)}
    cells = []
    for (host, other), pair in rows.group_by("host", "other", maintain_order=True):
        excess = float(np.median(pair["excess"].to_numpy()))
        value = _value(name, excess)
        effect = words.percent(excess, name.measure) * (-1 if name.measure == BANDWIDTH else 1)
        one, two = at[str(host)], at[str(other)]
        cells += [Cell(one, two, value, effect, pair.height)]
        cells += [Cell(two, one, value, effect, pair.height)] if one != two else []
    what = words.what_of(name)
    return Heat(
        what.capitalize(),
        words.where(name, marks),
        what,
        tuple(names),
        frozenset(sick & set(names)),
        tuple(_once(cells)),
    )


def _once(cells: Sequence[Cell]) -> list[Cell]:
    """One cell a place: two launches of a pair may have had their ranks the other way round."""
    found: dict[tuple[int, int], Cell] = {}
    for cell in cells:
        known = found.get((cell.row, cell.column))
        if known is None or known.n < cell.n:
            found[cell.row, cell.column] = cell
    return [found[place] for place in sorted(found)]


def _value(name: Name, excess: float) -> str:
    if name.measure == BANDWIDTH:
        return f"{units.number(name.level * math.exp(-excess))}\N{NO-BREAK SPACE}{name.unit}"
    return f"{units.number(name.level * math.exp(excess) * 1e6)}\N{NO-BREAK SPACE}µs"


def _in_order(name: str) -> tuple[int, str]:
    return (int(name) if name.isdecimal() else -1, name)

"""A step in the nights of a site: which facts differ there, which of them can be switched from
here, and what would test the others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from roundtrip.collect import analysis
from roundtrip.errors import UserError, printable
from roundtrip.history import annotations as remarks
from roundtrip.history import ledger
from roundtrip.report import nights
from roundtrip.report.nights import Line
from roundtrip.report.pages.series import NODE_SET, NOT_SET, Change
from roundtrip.stats.summaries import robust_sd

#: Names of facts that are environment variables: of a toolchain, of a partition, of the user.
_VARIABLE = re.compile(
    r"variable (?P<own>\w+)|(?P<partition>[A-Z_]\w*) of partition .+|(?P<user>\w+) of the user"
)
#: A value that only its digest stands for cannot be set.
_DIGEST = re.compile(r"\.\.\. \([0-9a-f]{12}\)$|^sha256:|withheld")
#: What changes whenever a variable of the site does.
_FOLLOWS = ("site configuration",)
_NAMED = 4
#: What would test a fact, by words in its name.
_TESTS = (
    (
        (
            "mpi",
            "boost",
            "compiler",
            "flags",
            "spack",
            "ucx",
            "libfabric",
            "rdma",
            "pmix",
            "hwloc",
            "gcc",
        ),
        "install the old one as a toolchain of its own, then: roundtrip ab OLD NEW",
    ),
    (
        ("kernel", "microcode", "firmware", "clock source", "mitigation", "distribution"),
        "boot one node with the old one, and compare it with the others: roundtrip nodes",
    ),
    ((NODE_SET,), 'launch on the nodes of before: roundtrip run with nodes = "all"'),
    (("checkout", "tool "), "check the old commit out, and run the campaign from there"),
    (("binding",), "set the old binding in the site's launch options for one night"),
)
_OTHERWISE = "set it back for a night, and run the campaign"


@dataclass(frozen=True)
class Switch:
    """A variable that is launched with its old and its new value; None where it is not set."""

    variable: str
    old: str | None
    new: str | None

    @property
    def name(self) -> str:
        """``OMPI_MCA_btl_tcp_eager_limit not set → 4096``."""
        old, new = (NOT_SET if one is None else one for one in (self.old, self.new))
        return f"{self.variable} {old} \N{RIGHTWARDS ARROW} {new}"


@dataclass(frozen=True)
class Found:
    """A step of a series of `campaign`: log ratio of times, positive if slower; since `night`."""

    campaign: str
    line: Line
    night: str
    step: float
    noise: float
    switches: tuple[Switch, ...]
    others: tuple[tuple[str, str], ...]


def find(site: str, series: str, night: str, campaign: str | None, reports: Path) -> Found:
    """The step of the one series whose name holds `series`, on date `night` or the newest.

    UserError without such a series or step, with several, and if facts contradict each other.
    """
    lines = list(_lines(site, series, campaign, reports))
    if not lines:
        raise UserError(f"no series of site '{site}' has {series!r} in its name", reports)
    stepped = [(name, line, at) for name, line, at in lines if line.known.steps]
    if not stepped:
        raise UserError(f"no step in {printable(lines[0][1].label)}: nothing to explain")
    if len(stepped) > 1:
        named = "; ".join(printable(line.label) for _, line, _ in stepped[:_NAMED])
        raise UserError(f"{len(stepped)} series with a step have {series!r} in their name: {named}")
    name, line, calendar = stepped[0]
    steps = [
        (calendar[one.night], one, causes)
        for one, causes in zip(line.known.steps, line.causes, strict=True)
        if calendar[one.night].startswith(night)
    ]
    if not steps:
        there = ", ".join(calendar[one.night][:10] for one in line.known.steps)
        raise UserError(f"--night {night}: no step began then; right is one of: {there}")
    since, step, causes = steps[-1]
    size = math.log(step.ratio) if line.series.lower_is_better else -math.log(step.ratio)
    switches, others = split(causes)
    return Found(name, line, since, size, _noise(line), switches, others)


def _lines(
    site: str, series: str, campaign: str | None, reports: Path
) -> Iterator[tuple[str, Line, Sequence[str]]]:
    said = remarks.load_site(site)
    settings = analysis.for_site(site).history
    for folder in sorted(reports.glob(f"{campaign or '*'}/{site}")):
        known = ledger.read_ledger(reports, folder.parent.name, site, said)
        if known.nights.is_empty():
            continue
        judged = nights.judge(known.nights, known.provenance, settings)
        for line in judged.lines:
            if series.casefold() in " ".join(line.label.split()).casefold():
                yield folder.parent.name, line, judged.calendar.nights


def _noise(line: Line) -> float:
    """How nights scatter around the one before, in logarithms."""
    values = [one.median for one in line.series.points if one.median > 0]
    return float(robust_sd(np.diff(np.log(values))) / math.sqrt(2)) if len(values) > 2 else 0.02


def split(changes: Sequence[Change]) -> tuple[tuple[Switch, ...], tuple[tuple[str, str], ...]]:
    """Those that can be switched from here; the others, with what would test them.

    UserError for two that give one variable different values.
    """
    switches: dict[str, Switch] = {}
    others: list[tuple[str, str]] = []
    for one in changes:
        match = _VARIABLE.fullmatch(one.name)
        if not match or any(map(_DIGEST.search, (one.before, one.after))):
            others.append((printable(str(one)), _test(one)))
            continue
        name = next(filter(None, match.groups()))
        old, new = (None if value == NOT_SET else value for value in (one.before, one.after))
        switch = Switch(name, old, new)
        if switches.setdefault(name, switch) != switch:
            raise UserError(
                f"facts contradict each other: {switches[name].name}, and {switch.name}"
            )
    if switches:
        others = [one for one in others if not one[0].startswith(_FOLLOWS)]
    return tuple(switches.values()), tuple(others)


def _test(change: Change) -> str:
    name = change.name.casefold()
    found = (test for words, test in _TESTS if any(word in name for word in words))
    return next(found, _OTHERWISE)

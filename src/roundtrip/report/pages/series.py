"""The series of a history, one by one, in a fixed order, each with an identifier for links.

A report is a function of its bundle alone, so links from it to the derived pages are the same in
every report, ``<campaign>/<site>/<night>/r<N>/``, whether or not the pages lie there.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from roundtrip.collect.night_rows import SERIES
from roundtrip.report import units

#: From a published report to the index, and to the history of its campaign on its site.
INDEX, HISTORY = "../../../../index.html", "../../history.html"
_ORDER = tuple(SERIES)
#: ``<check>/<parameters>@<system>:<partition>+<environment>``, as a campaign names a case.
_CASE = re.compile(r"(?P<check>[^@]*)@(?P<place>[^@+]*)\+(?P<environ>[^@+]+)")

#: The phase of a program that has no other.
_USUAL = "measure"


class Point(NamedTuple):
    """What a series has of a night on a set of nodes: the columns of NIGHTS of these names."""

    night: str
    nodes: str
    median: float
    low: float | None
    high: float | None
    left_out: str
    launches: int
    disturbed: int
    digest: str


@dataclass(frozen=True)
class Series:
    """One series: `names` are its columns of SERIES, `points` its rows of NIGHTS in time order."""

    key: str
    names: Mapping[str, Any]
    points: tuple[Point, ...]
    lower_is_better: bool

    @property
    def environ(self) -> str:
        """The toolchain, as ReFrame names it; "" for a foreign series without one."""
        found = _CASE.fullmatch(str(self.names["case_id"]))
        return found["environ"] if found else ""

    @property
    def title(self) -> str:
        """What tells it from its neighbours: ``mpi, 4 KiB``; without a size, the check, too."""
        names = self.names
        size = units.size(names["size_bytes"]) if names["size_bytes"] else ""
        phase = names["phase"] if names["phase"] != _USUAL else ""
        variant = names["variant"] if names["variant"] != self.metric else ""
        check = "" if size or phase else self._check
        return ", ".join(filter(None, (check, variant, size, phase))) or self.metric

    @property
    def metric(self) -> str:
        """``half round trip time``."""
        return str(self.names["metric"]).replace("_", " ")

    @property
    def place(self) -> str:
        """Metric, check with the values of its parameters unless it is the title, partition and
        toolchain."""
        case = str(self.names["case_id"])
        found = _CASE.fullmatch(case)
        if not found:
            return f"{self.metric}; {case}"
        partition = found["place"].split(":")[-1]
        check = "" if self.title.startswith(self._check) else self._check
        where = ", ".join(filter(None, (check, partition, found["environ"])))
        return f"{self.metric}; {where}"

    @property
    def _check(self) -> str:
        """The check with the values of its parameters; "" for a foreign series without one."""
        found = _CASE.fullmatch(str(self.names["case_id"]))
        if not found:
            return ""
        check, _, parameters = found["check"].partition("/")
        values = [one.partition("=")[2] for one in parameters.split(",")]
        return " ".join([check, *filter(None, values), *self._own([check, *values])])

    def _own(self, others: list[str]) -> list[str]:
        """The column `case`, where the check and its parameters do not say the same."""
        case = self.names["case"]
        return [str(case)] if case and case not in others else []


def key(names: Mapping[str, Any]) -> str:
    """12 hex digits that stay the same for a series from night to night, for ``#series=``."""
    text = json.dumps([names[name] for name in _ORDER], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def link(key: str) -> str:
    """From a published report to the figure of one series."""
    return f"{HISTORY}#series={key}"


def split(nights: pl.DataFrame) -> Iterator[Series]:
    """Every series of a frame of NIGHTS, in the order of its columns; its points in time order."""
    columns = (*_ORDER, "lower_is_better", *Point._fields)
    ordered = nights.sort([*_ORDER, "night", "nodes"]).select(columns).iter_rows()
    width = len(_ORDER)
    for values, rows in itertools.groupby(ordered, key=lambda row: row[:width]):
        its = list(rows)
        names = dict(zip(_ORDER, values, strict=True))
        points = tuple(Point(*row[width + 1 :]) for row in its)
        yield Series(key(names), names, points, its[0][width])

"""The nights of a campaign on a site: calendar, series, and changes from night to night.

A report depends only on its bundle, so every report, ``<campaign>/<site>/<night>/r<N>/``, has the
same links to the derived pages, whether or not the pages exist.  A return to an earlier set of
nodes is no change: detection knows the level of each set.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cached_property
from statistics import median
from typing import Any, NamedTuple

import polars as pl

from roundtrip import units
from roundtrip.history.night_rows import SERIES
from roundtrip.measure.pseudonyms import PSEUDONYM_PATTERN

#: The night of a step is an estimate: changes up to this many nights away may explain it.
_MAX_NEAR_NIGHTS = 2
_DAY_S = 86_400


class Calendar:
    """Nights in time order, each named by its start (UTC, ISO 8601)."""

    def __init__(self, nights: Sequence[str]) -> None:
        self.nights = list(nights)
        self._index = {night: index for index, night in enumerate(self.nights)}
        # The time of day distinguishes two runs of one day.
        self._has_times = len({night[:10] for night in self.nights}) < len(self.nights)

    def __contains__(self, night: object) -> bool:
        return night in self._index

    def index(self, night: str) -> int:
        """The position of a night, from 0."""
        return self._index[night]

    def date_text(self, night: str) -> str:
        """Return the date of a night, with the time of day if any day has two nights."""
        return f"{night[:10]} {night[11:19]}".strip() if self._has_times else night[:10]

    def count_before(self, moment: str, *, is_inclusive: bool = True) -> int:
        """The number of nights that began before a date or time, or on it if `is_inclusive`."""
        starts = [night[: len(moment)] for night in self.nights]
        return sum(start < moment or (is_inclusive and start == moment) for start in starts)

    def describe(self, night: str) -> str:
        """Return the number and the label of a night."""
        return f"night {self._index[night] + 1}, {self.date_text(night)}"

    def days_since_1970(self, night: str) -> float:
        """Return the start of a night in days since 1970, with four decimals."""
        start = datetime.fromisoformat(night.replace("Z", "+00:00"))
        if start.tzinfo is None:
            start = start.replace(tzinfo=timezone.utc)  # noqa: UP017
        return round(start.timestamp() / _DAY_S, 4)

    def nearest(self, night: str, candidates: Container[str]) -> str | None:
        """Return the night in `candidates` nearest to `night`; None if none is near enough."""
        return next((other for other in self.neighbours(night) if other in candidates), None)

    def neighbours(self, night: str) -> Iterator[str]:
        """Yield `night` and the nights up to `_MAX_NEAR_NIGHTS` away from it, the nearest first."""
        position = self._index[night]
        for distance in range(_MAX_NEAR_NIGHTS + 1):
            for index in dict.fromkeys((position - distance, position + distance)):
                if 0 <= index < len(self.nights):
                    yield self.nights[index]


#: Links from a published report to the index, and to the history of its campaign on its site.
INDEX, HISTORY = "../../../../index.html", "../../history.html"
#: ``<check>/<parameters>@<system>:<partition>+<environment>``, as a campaign names a case.
CASE_PATTERN = re.compile(r"(?P<check>[^@]*)@(?P<place>[^@+]*)\+(?P<environ>[^@+]+)")

#: The phase of a program with only one phase.
_DEFAULT_PHASE = "measure"
#: (limit in s, factor, unit): printed times have one to three digits before the point.
_TIME_UNIT_BY_LIMIT = ((1e-6, 1e9, "ns"), (1e-3, 1e6, "µs"), (1.0, 1e3, "ms"))


class SeriesPoint(NamedTuple):
    """The values of a series in a night on a set of nodes: columns of NIGHTS with these names."""

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
class HistorySeries:
    """One series; `identity`: its columns of SERIES; `points`: its rows of NIGHTS by time.

    `is_namesake`: another has the same short name, as on another system or in another unit.
    """

    key: str
    identity: Mapping[str, Any]
    points: tuple[SeriesPoint, ...]
    lower_is_better: bool
    is_namesake: bool = False

    @property
    def environ(self) -> str:
        """The toolchain, as ReFrame names it; "" for a foreign series without one."""
        match = CASE_PATTERN.fullmatch(str(self.identity["case_id"]))
        return match["environ"] if match else ""

    @property
    def title(self) -> str:
        """``mpi, 4 KiB``: variant, size, phase; without size and phase, also the check."""
        names = self.identity
        size = units.size_text(names["size_bytes"]) if names["size_bytes"] else ""
        phase = names["phase"] if names["phase"] != _DEFAULT_PHASE else ""
        # An import without variants repeats the metric.
        variant = names["variant"] if names["variant"] != names["metric"] else ""
        check = "" if size or phase else self._check_text
        return ", ".join(filter(None, (check, variant, size, phase))) or self.metric_text

    @property
    def metric_text(self) -> str:
        """The metric in words: ``half round trip time``."""
        return str(self.identity["metric"]).replace("_", " ")

    def point_at(self, night: str) -> SeriesPoint | None:
        """The point that counts, of the set of nodes with most launches; None without one."""
        points = (point for point in self.points if point.night == night and not point.left_out)
        return min(points, key=lambda point: (-point.launches, point.nodes), default=None)

    @property
    def subtitle(self) -> str:
        """Metric, check with parameters (unless it begins the title), partition and toolchain.

        Of namesakes: metric, unit, whole case id, and the case of the samples.
        """
        case = str(self.identity["case_id"])
        match = CASE_PATTERN.fullmatch(case)
        if self.is_namesake:
            samples = str(self.identity["case"])
            rest = "" if samples in ("", *re.split(r"[/,=@]", case)) else f", {samples}"
            return f"{self.metric_text} ({self.identity['unit']}); {case}{rest}"
        if not match:
            return f"{self.metric_text}; {case}"
        partition = match["place"].split(":")[-1]
        check = "" if self.title.startswith(self._check_text) else self._check_text
        where = ", ".join(filter(None, (check, partition, match["environ"])))
        return f"{self.metric_text}; {where}"

    @property
    def _check_text(self) -> str:
        """Check, its parameters' values, and `case` unless it is one of these; "" if foreign."""
        match = CASE_PATTERN.fullmatch(str(self.identity["case_id"]))
        if not match:
            return ""
        check, _, parameters = match["check"].partition("/")
        words = [check, *(parameter.partition("=")[2] for parameter in parameters.split(","))]
        case = self.identity["case"]
        if case not in words:
            words.append(case)
        return " ".join(filter(None, words))


def display_unit(series: HistorySeries) -> tuple[float, str]:
    """Return the factor and the unit for printing values of a series."""
    unit = str(series.identity["unit"])
    if unit == "1":
        return 1.0, units.Unit.PURE_NUMBER
    level = median(point.median for point in series.points)
    if unit == "s" and level > 0:
        for limit, factor, name in _TIME_UNIT_BY_LIMIT:
            if level < limit:
                return factor, name
    return 1.0, unit


def series_key(names: Mapping[str, Any]) -> str:
    """Return the key of a series for ``#series=``: 12 hex digits, the same in every night."""
    text = json.dumps([names[name] for name in SERIES], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def series_link(key: str) -> str:
    """Return the link from a published report to the figure of one series."""
    return f"{HISTORY}#series={key}"


def split_series(nights: pl.DataFrame) -> Iterator[HistorySeries]:
    """Yield each series of a frame of NIGHTS, sorted by SERIES; points are in time order."""
    columns = (*SERIES, "lower_is_better", *SeriesPoint._fields)
    night_rows = nights.sort([*SERIES, "night", "nodes"]).select(columns).iter_rows()
    width = len(SERIES)
    all_series = []
    for values, rows in itertools.groupby(night_rows, key=lambda row: row[:width]):
        series_rows = list(rows)
        names = dict(zip(SERIES, values, strict=True))
        points = tuple(SeriesPoint(*row[width + 1 :]) for row in series_rows)
        all_series.append(HistorySeries(series_key(names), names, points, series_rows[0][width]))
    counts = Counter((series.title, series.subtitle) for series in all_series)
    for series in all_series:
        yield replace(series, is_namesake=counts[series.title, series.subtitle] > 1)


#: The value of a fact that was not recorded.
NOT_RECORDED_VALUE = "not set"
NODE_SET_FACT = "node set"
#: Maximum nodes that a text names; of larger sets it names only nodes that differ.
_MAX_NAMED_NODES = 4
_FactValues = Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class FactChange:
    """A fact before and in this night, of `nodes`, an environment `subject` or the site."""

    subject: str
    name: str
    before: str
    after: str
    nodes: tuple[str, ...] = ()

    def __str__(self) -> str:
        about = f" ({self.subject})" if self.subject else ""
        change = f"{self.before} \N{RIGHTWARDS ARROW} {self.after}"
        return f"{self.name}{about}: {change}{self.nodes_text}"

    @property
    def nodes_text(self) -> str:
        """`` on node-3fa2c1d9`` or `` on 3 nodes``; "" without nodes."""
        if not self.nodes:
            return ""
        return f" on {self.nodes[0]}" if len(self.nodes) == 1 else f" on {len(self.nodes)} nodes"


def changes_by_night(
    provenance: pl.DataFrame, nights: Sequence[str]
) -> dict[str, list[FactChange]]:
    """What differs from the night before; `nights`: by time; those without facts are skipped."""
    facts: dict[str, dict[tuple[str, str], str]] = defaultdict(dict)
    rows = provenance.select("night", "subject", "name", "value").sort(pl.all())
    for night, subject, name, value in rows.iter_rows():
        values = facts[night].get((subject, name), value)
        facts[night][subject, name] = value if values == value else f"{values}, {value}"
    changes: dict[str, list[FactChange]] = {}
    before: _FactValues | None = None
    for night in nights:
        after = facts.get(night)
        if after is None:
            continue
        if before is not None and (night_changes := merge_changes(_fact_changes(before, after))):
            changes[night] = night_changes
        before = after
    return changes


def changes_of_series(changes: Sequence[FactChange], subjects: Collection[str]) -> list[FactChange]:
    """Return the changes that concern a series: of the site, its environment and its own nodes."""
    series_changes = []
    for change in changes:
        nodes = tuple(node for node in change.nodes if node in subjects)
        if nodes or (not change.nodes and (not change.subject or change.subject in subjects)):
            series_changes.append(replace(change, nodes=nodes))
    return series_changes


def merge_changes(changes: Iterable[FactChange]) -> list[FactChange]:
    """Return `changes` in order, with one change for all nodes that have the same change."""
    nodes: dict[FactChange, set[str]] = {}
    for change in changes:
        nodes.setdefault(replace(change, nodes=()), set()).update(change.nodes)
    return [replace(change, nodes=tuple(sorted(names))) for change, names in nodes.items()]


def describe_changes(changes: Iterable[FactChange | str]) -> str:
    """Return the texts of `changes`, or that none is recorded."""
    return "; ".join(map(str, changes)) or "nothing that is recorded"


def _fact_changes(before: _FactValues, after: _FactValues) -> Iterator[FactChange]:
    """Yield the changes of facts; a subject in only one night (an unused node) is no change."""
    subjects = {subject for subject, _ in before} & {subject for subject, _ in after}
    for subject, name in sorted({*before, *after}):
        key = subject, name
        old_value, new_value = (facts.get(key, NOT_RECORDED_VALUE) for facts in (before, after))
        if subject in subjects and old_value != new_value:
            is_node = re.fullmatch(PSEUDONYM_PATTERN, subject)
            nodes = (subject,) if is_node else ()
            yield FactChange("" if is_node else subject, name, old_value, new_value, nodes)


def node_set_changes(points: Iterable[SeriesPoint]) -> dict[str, FactChange]:
    """By night, the change to a set of nodes that the series has not had before.

    `points`: of one series, in time order.  A night's launches are one set, unknown ones skipped.
    """
    nodes: dict[str, frozenset[str]] = defaultdict(frozenset)
    for point in points:
        if point.nodes:
            nodes[point.night] = nodes[point.night].union(point.nodes.split("+"))
    changes: dict[str, FactChange] = {}
    past_sets: set[frozenset[str]] = set()
    before = frozenset[str]()
    for night, after in nodes.items():
        if past_sets and after not in past_sets:
            old, new, common = before, after, ""
            if max(len(before), len(after)) > _MAX_NAMED_NODES:
                common = f"{len(before & after)} nodes in common, and "
                old, new = before - after, after - before
            values = common + _list_nodes(old), _list_nodes(new)
            changes[night] = FactChange("", NODE_SET_FACT, *values)
        past_sets.add(after)
        before = after
    return changes


def _list_nodes(nodes: Collection[str]) -> str:
    names = sorted(nodes)[:_MAX_NAMED_NODES]
    more = [f"{len(nodes) - _MAX_NAMED_NODES} more"] if len(nodes) > _MAX_NAMED_NODES else []
    return ", ".join([*names, *more]) or "none"


class SeriesMedians:
    """The medians of series, with the keys of the series on the history page."""

    def __init__(self, medians: pl.DataFrame) -> None:
        self._medians = medians
        all_names = medians.select(*SERIES).unique().iter_rows(named=True)
        names_by_key = {series_key(names): names for names in all_names}
        self.keys = frozenset(names_by_key)
        self._by_case: dict[tuple[str, int], list[tuple[str, dict[str, Any]]]] = defaultdict(list)
        for key, names in names_by_key.items():
            self._by_case[names["case_id"], names["size_bytes"]].append((key, names))

    def find_key(self, cases: Collection[str], size_bytes: int, **names: str) -> str:
        """The key of the one series with these case ids, size and columns of SERIES; else ""."""
        rows = (row for case in cases for row in self._by_case.get((case, size_bytes), ()))
        keys = [key for key, series_names in rows if names.items() <= series_names.items()]
        return keys[0] if len(keys) == 1 else ""

    @cached_property
    def medians_by_key(self) -> Mapping[str, tuple[Mapping[str, Any], list[float]]]:
        """By key: the identity of a series (columns SERIES) and its medians in their raw unit."""
        rows = self._medians.group_by(*SERIES).agg("median").iter_rows(named=True)
        return {series_key(row): (row, row.pop("median")) for row in rows}

"""Launches of cases that differ only in the toolchain, paired by round, and their values."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import polars as pl

from roundtrip import studies
from roundtrip.collect.columns import setting_texts
from roundtrip.report import labels, speeds
from roundtrip.report.data import Data
from roundtrip.report.speeds import Point, Value
from roundtrip.stats.rounds import Pairing, in_twos, pair_by_round
from roundtrip.stats.verdicts import Family

#: More toolchains than these in a setting are not compared each with each (`asked`): pairs grow
#: with the square of their number, and so do the claims that are corrected together.
MOST_ENVIRONS = 32


@dataclass(frozen=True)
class Setting:
    """A case without its toolchain; `kind` says that it is emulated or simulated, else ""."""

    study: str
    check: str
    place: str
    parameters: str
    kind: str


@dataclass(frozen=True)
class ToolchainComparison:
    """A claim of the report: the speed with one toolchain over that with the other."""

    setting: Setting
    one: str
    other: str
    what: str
    size_bytes: int | None

    @property
    def family(self) -> Family:
        """What it is corrected together with."""
        return Family.TOOLCHAINS


@dataclass(frozen=True)
class Compared:
    """The values of both sides of a comparison in `unit`, one for each shared round of `numbers`.

    `series` as in `Cell`: those of the one and of the other.  `is_abba`: rounds are in twos.
    """

    pairing: Pairing
    numbers: tuple[int, ...]
    ones: tuple[float, ...]
    others: tuple[float, ...]
    unit: str
    lower_is_better: bool
    series: tuple[str, str]
    is_abba: bool

    @cached_property
    def ratios(self) -> list[float]:
        """Speed of the one over that of the other, one for each round or two; above 1 is faster."""
        both = zip(self.ones, self.others, strict=True)
        found = [b / a if self.lower_is_better else a / b for a, b in both]
        return in_twos(dict(zip(self.numbers, found, strict=True))) if self.is_abba else found


@dataclass(frozen=True)
class Refused:
    """Two toolchains that are not compared in a setting, and why."""

    setting: Setting
    one: str
    other: str
    reason: str


class Toolchains:
    """Every pair of toolchains of a bundle that differ in one thing."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self._groups = _groups(data)

    @cached_property
    def titles(self) -> dict[str, str]:
        """Title of each environment's toolchain, with the environment's name if two are alike."""
        named = {
            environ: str(rows[0]["toolchain"])
            for group in self._groups.values()
            for environ, rows in group.items()
        }
        called = list(named.values())
        return {
            environ: title if called.count(title) == 1 else f"{title} ({environ})"
            for environ, title in named.items()
        }

    @cached_property
    def too_many(self) -> dict[Setting, tuple[int, int]]:
        """Settings with too many toolchains for all pairs: their number, and the pairs asked."""
        pairs = Counter(setting for setting, *_ in self._pairs)
        return {
            setting: (len(group), pairs[setting])
            for setting, group in self._groups.items()
            if len(group) > MOST_ENVIRONS
        }

    @cached_property
    def refused(self) -> list[Refused]:
        """Pairs whose launches were not interleaved."""
        return [
            Refused(setting, one, other, pairing.refused)
            for setting, one, other, pairing, _ in self._pairs
            if pairing.refused
        ]

    @cached_property
    def compared(self) -> dict[ToolchainComparison, Compared]:
        """Every comparison that has values, in the order to be shown."""
        found: dict[ToolchainComparison, Compared] = {}
        for setting, one, other, pairing, depends_on in self._pairs:
            values = self._values
            points = sorted(
                {
                    point
                    for pair in pairing.pairs
                    for point in values.get(pair[0], {})
                    if point.depends_on in depends_on
                },
                key=lambda point: (point.what, point.size_bytes or 0),
            )
            for point in points:
                compared = self._compared(pairing, point)
                if compared and compared.ratios:
                    key = ToolchainComparison(setting, one, other, point.what, point.size_bytes)
                    found[key] = compared
        return found

    def _compared(self, pairing: Pairing, point: Point) -> Compared | None:
        """Of the rounds in which both sides have a value above 0; None without one."""
        values = self._values
        both = {
            number: (values[a][point], values[b][point])
            for number, (a, b) in zip(pairing.numbers, pairing.pairs, strict=True)
            if point in values.get(a, {}) and point in values.get(b, {})
        }
        both = {n: pair for n, pair in both.items() if min(one.number for one in pair) > 0}
        if not both:
            return None
        ones, others = zip(*both.values(), strict=True)
        return Compared(
            pairing,
            tuple(both),
            tuple(value.number for value in ones),
            tuple(value.number for value in others),
            point.unit,
            point.lower_is_better,
            (_single(ones), _single(others)),
            self._data.is_abba,
        )

    @cached_property
    def _pairs(self) -> list[tuple[Setting, str, str, Pairing, tuple[str, ...]]]:
        found = []
        for setting, group in self._groups.items():
            made_of = {environ: speeds.made_of(rows[0]) for environ, rows in group.items()}
            launched = {
                environ: [speeds.launched(row) for row in rows] for environ, rows in group.items()
            }
            there_are = set(made_of.values())
            for one, other in asked(made_of):
                if what := depends_on(made_of[one], made_of[other], there_are):
                    pairing = pair_by_round(launched[one], launched[other])
                    found.append((setting, one, other, pairing, what))
        return found

    @cached_property
    def _values(self) -> speeds.Values:
        """Of the launches that are compared."""
        groups = self._groups.values()
        return speeds.of(
            self._data,
            [row["launch"] for group in groups for rows in group.values() for row in rows],
        )


def _single(values: Iterable[Value]) -> str:
    """The series that all of them are of; "" if there are several."""
    found = {value.series for value in values}
    return found.pop() if len(found) == 1 else ""


Rows = list[dict[str, Any]]


def _groups(data: Data) -> dict[Setting, dict[str, Rows]]:
    """Setting -> environment -> its launches, of settings with two environments or more."""
    apart = {study.name: study.elsewhere for study in studies.load()}
    groups: dict[Setting, dict[str, Rows]] = defaultdict(lambda: defaultdict(list))
    passed = data.launches.filter(pl.col("status") == "passed")
    for row in passed.sort("launch").iter_rows(named=True):
        parameters = setting_texts(row["parameters"])
        if row["study"] in apart and not apart[row["study"]] & parameters.keys():
            setting = Setting(
                str(row["study"]),
                str(row.get("check")),
                f"{row.get('system')}:{row.get('partition')}",
                ", ".join(f"{key} {value}" for key, value in sorted(parameters.items())),
                labels.kind(row["emulation"], row["simulated"]),
            )
            groups[setting][str(row.get("environ"))].append(row)
    chosen = [setting for setting, group in groups.items() if len(group) > 1]
    order = list(apart)
    chosen.sort(key=lambda one: (order.index(one.study), one.check, one.place, one.parameters))
    return {setting: dict(groups[setting]) for setting in chosen}


def asked(made_of: Mapping[str, tuple[str, str]]) -> list[tuple[str, str]]:
    """Which environments are compared, of what each is made of: MPI and Boost.

    Each pair of a few.  Of many, each with the first by name of all, of those with its MPI, and of
    those with its Boost, so that none is left without a comparison.  What is tested must not depend
    on what was measured: these are names and versions, no values.
    """
    environs = sorted(made_of)
    if len(environs) <= MOST_ENVIRONS:
        return list(combinations(environs, 2))
    firsts: dict[tuple[str, str], str] = {}
    asked: dict[tuple[str, str], None] = {}
    for environ in environs:
        mpi, boost = made_of[environ]
        for alike in (("all", ""), ("MPI", mpi), ("Boost", boost)):
            first = firsts.setdefault(alike, environ)
            if first != environ:
                asked[first, environ] = None
    return sorted(asked)


def depends_on(
    one: tuple[str, str], other: tuple[str, str], there_are: set[tuple[str, str]]
) -> tuple[str, ...]:
    """What may differ between two toolchains, MPI or Boost; () if they are not compared.

    Two that differ in both are left out if a third one shares its MPI with one of them and its
    Boost with the other.
    """
    differs = speeds.differs(one, other)
    between = {(one[0], other[1]), (other[0], one[1])}
    is_crossed = one[0] != other[0] and one[1] != other[1]
    return () if is_crossed and between & there_are else differs

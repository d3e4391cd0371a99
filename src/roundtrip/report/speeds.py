"""The values of launches by which toolchains, nights and sites are compared, from every study."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from roundtrip import studies
from roundtrip.report.data import Data
from roundtrip.report.origins import Origins
from roundtrip.stats.rounds import RoundLaunch
from roundtrip.studies.derivation import ORIGIN
from roundtrip.studies.study import BOOST, MPI


@dataclass(frozen=True)
class Point:
    """What a value is of: the columns of `SPEEDS` but launch, value and those of `ORIGIN`."""

    what: str
    size_bytes: int | None
    unit: str
    lower_is_better: bool
    depends_on: str


class Value(NamedTuple):
    """A value of a launch in the unit of its point; `series` as in `Cell`."""

    number: float
    series: str


#: Launch -> point -> value.
Values = Mapping[str, Mapping[Point, Value]]


def of(data: Data, launches: Collection[str]) -> Values:
    """The values of these launches, which passed."""
    values: dict[str, dict[Point, Value]] = defaultdict(dict)
    chosen = data.launches.filter(pl.col("launch").is_in(list(launches)))
    present, cases = set(chosen["study"]), dict(chosen.select("launch", "case_id").iter_rows())
    for study in studies.load():
        if study.name not in present:
            continue
        mine = (pl.col("study") == study.name) & pl.col("launch").is_in(list(launches))
        frame = study.speeds(data.samples.filter(mine), data.analysis)
        for row in frame.iter_rows(named=True):
            launch, number = row.pop("launch"), row.pop("value")
            origin = {name: row.pop(name) for name in ORIGIN}
            point = Point(**row)
            series = _series(data.origins, cases[launch], point, origin)
            values[launch][point] = Value(number, series)
    return values


def _series(origins: Origins, case_id: str, point: Point, origin: Mapping[str, str | None]) -> str:
    named = {name: told for name, told in origin.items() if told is not None}
    return origins.key([case_id], point.size_bytes or 0, **named) if named else ""


def launched(row: Mapping[str, Any]) -> RoundLaunch:
    """A launch with its round; where no round was recorded, a session counts as one."""
    number = row.get("campaign_round")
    if number is None:
        number = int(row["round"]) if str(row.get("round")).isdigit() else -1
    return RoundLaunch(str(row["launch"]), number, str(row.get("started") or ""))


def made_of(row: Mapping[str, Any]) -> tuple[str, str]:
    """(MPI library, Boost) of a launch, as the program itself reports them."""
    return str(row.get("mpi_library")), str(row.get("boost"))


def differs(one: tuple[str, str], other: tuple[str, str]) -> tuple[str, ...]:
    """What values must depend on to tell two toolchains apart, as `made_of` has them: MPI, BOOST.

    Both, if they differ in both or in neither.
    """
    same_mpi, same_boost = one[0] == other[0], one[1] == other[1]
    if same_mpi == same_boost:
        return (MPI, BOOST)
    return (BOOST,) if same_mpi else (MPI,)

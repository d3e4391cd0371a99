"""Machines by metrics: the headline values of each campaign on each site.

They derive from medians of nights as a report's headline derives from samples of launches.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from roundtrip import studies
from roundtrip.collect.analysis import Analysis
from roundtrip.collect.night_rows import SERIES
from roundtrip.report import labels, units
from roundtrip.report.pages.history import History
from roundtrip.report.pages.series import CASE, series_key
from roundtrip.report.units import Quantity
from roundtrip.studies.derivation import ORIGIN
from roundtrip.studies.study import Study

#: Maximum values of a study, and maximum toolchains of a machine for each value, in the table.
MOST_VALUES, MOST_TOOLCHAINS = 8, 4


class Value(BaseModel):
    """A value of a toolchain on a machine in its newest night that counts, and of all nights.

    `mark`: that it is emulated or simulated, "" if it is neither.  `series`: the key of the series
    of which it is the median, "" if of no single one; then it has no interval.  `report` leads from
    the folder of the campaign on its site to that of the night.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    campaign: str
    site: str
    what: str
    where: str
    toolchain: str
    mark: str
    night: str
    report: str
    value: float
    low: float | None
    high: float | None
    launches: int | None
    unit: str
    lower_is_better: bool
    series: str
    levels: list[float | None] = Field(repr=False)

    @property
    def quantity(self) -> Quantity:
        """Value and interval, with the unit."""
        return Quantity(
            value=self.value,
            unit=self.unit,
            low=self.low,
            high=self.high,
            n=self.launches,
            says_unit=self.unit not in units.UNPRINTED_UNITS,
        )

    @property
    def change(self) -> float | None:
        """The value over the median of the nights before; None in the first night."""
        past_levels = [level for level in self.levels if level is not None][:-1]
        return self.value / median(past_levels) if past_levels and median(past_levels) else None

    @property
    def trend(self) -> Quantity | str:
        """The change as a quantity; "" in the first night."""
        change = self.change
        return "" if change is None else Quantity(value=change, unit=units.Unit.RATIO, decimals=2)


def values(history: History, thresholds: Analysis) -> Iterator[Value]:
    """Yield the values of all studies in a history."""
    night_rows = history.nights.filter(~pl.col("foreign") & (pl.col("left_out") == ""))
    is_single = pl.len() == 1  # several sets of nodes in a night have no common interval
    nights = night_rows.group_by("night", *SERIES).agg(
        pl.col("median").median(),
        pl.when(is_single).then(pl.col("low").first()).alias("low"),
        pl.when(is_single).then(pl.col("high").first()).alias("high"),
        pl.col("launches").sum(),
    )
    marks = labels.marks_from_history(history.provenance)
    for study in studies.load():
        study_nights = nights.filter(study=study.name).sort("night", *SERIES)
        if not study_nights.is_empty():
            yield from _values(history, study, study_nights, thresholds, marks)


def _values(
    history: History,
    study: Study,
    nights: pl.DataFrame,
    thresholds: Analysis,
    marks: Mapping[str, str],
) -> Iterator[Value]:
    launch = pl.concat_str("night", pl.lit("\n"), "case_id")
    samples = nights.with_columns(launch=launch, value="median", rep=pl.lit(0, pl.Int64))
    headline = study.headline(samples.lazy(), thresholds)
    launch_parts = pl.col("launch").str.split("\n").list
    headline = headline.with_columns(night=launch_parts.get(0), case_id=launch_parts.get(1))
    all_nights = sorted(set(history.nights["night"]))
    groups: dict[tuple[str, int | None], list[Value]] = defaultdict(list)
    keys = ["what", "size_bytes", "case_id"]
    for rows in headline.partition_by(keys, maintain_order=True):
        what, size, case = rows.select(keys).row(0)
        name = what if size is None else f"{what} at {units.size(size)}"
        value = _value(history, name, case, rows.sort("night"), nights, all_nights, marks)
        groups[what, size].append(value)
    for group in itertools.islice(groups.values(), MOST_VALUES):
        places: dict[str, list[Value]] = defaultdict(list)
        for value in sorted(group, key=lambda v: v.value if v.lower_is_better else -v.value):
            places[value.where].append(value)
        for place_values in places.values():
            yield from sorted(place_values[:MOST_TOOLCHAINS], key=lambda value: value.toolchain)


def _value(
    history: History,
    name: str,
    case: str,
    rows: pl.DataFrame,
    nights: pl.DataFrame,
    all_nights: list[str],
    marks: Mapping[str, str],
) -> Value:
    by_night = dict(rows.group_by("night").agg(pl.col("value").median()).iter_rows())
    last = rows.row(-1, named=True)
    value = by_night[last["night"]]
    origin = _origin(last, nights)
    place = CASE.fullmatch(case)
    environ = place["environ"] if place else ""
    mark = marks.get(environ, "")
    low, high = None, None
    if value and origin and origin["median"] and origin["low"] is not None and not mark:
        factor = value / origin["median"]
        low, high = origin["low"] * factor, origin["high"] * factor
    return Value(
        campaign=history.campaign,
        site=history.site,
        what=name,
        where=_where(place["check"], place["place"]) if place else case,
        toolchain=environ,
        mark=mark,
        night=last["night"],
        report=history.reports.get(last["night"], ""),
        value=value,
        low=low,
        high=high,
        launches=origin["launches"] if origin and not mark else None,
        unit=last["unit"],
        lower_is_better=last["lower_is_better"],
        series=series_key(origin) if origin else "",
        levels=[by_night.get(night) for night in all_nights],
    )


def _origin(value: Mapping[str, Any], nights: pl.DataFrame) -> dict[str, Any]:
    """Return the row of NIGHTS that a value derives from; empty if there is no single one."""
    names = {name: value[name] for name in ORIGIN if value[name] is not None}
    if not names:
        return {}
    size = value["size_bytes"] or 0
    filters = {"night": value["night"], "case_id": value["case_id"], "size_bytes": size, **names}
    rows = nights.filter(**filters)
    return rows.row(0, named=True) if rows.height == 1 else {}


def _where(check: str, place: str) -> str:
    """Return the parameters and the place of a measurement, without the toolchain."""
    _, _, parameters = check.partition("/")
    values = [parameter.partition("=")[2] for parameter in parameters.split(",")]
    words = [labels.PLACEMENTS.get(value, value) for value in values]
    return ", ".join(filter(None, [*words, place]))

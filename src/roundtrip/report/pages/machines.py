"""Machines by metrics: the headline values of each campaign on each site.

A value is that of its night's report.  Its trend derives from the medians of all nights.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import NamedTuple

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from roundtrip import studies
from roundtrip.collect.analysis import Analysis
from roundtrip.collect.night_rows import SERIES
from roundtrip.errors import UserError
from roundtrip.history import facts
from roundtrip.report import labels, speeds, units
from roundtrip.report.data import Data
from roundtrip.report.pages.history import History
from roundtrip.report.pages.series import CASE
from roundtrip.report.units import Quantity
from roundtrip.stats.summaries import median_interval
from roundtrip.studies.study import Study

#: Maximum values of a study, and maximum toolchains of a machine for each value, in the table.
MOST_VALUES, MOST_TOOLCHAINS = 8, 4


class _Key(NamedTuple):
    """What a value is of, in any night."""

    study: str
    what: str
    size_bytes: int | None
    case_id: str

    @property
    def name(self) -> str:
        """Quantity and size."""
        at = "" if self.size_bytes is None else f" at {units.size(self.size_bytes)}"
        return f"{self.what}{at}"


class Value(BaseModel):
    """A value of a toolchain on a machine in its newest night that counts, and of all nights.

    `processor`: as that night recorded it, else "".  `mark`: that it is emulated or simulated, ""
    if it is neither.  `series`: as in `Quantity`.  `report` leads from the folder of the campaign
    on its site to that of the night.  `levels` has None for nights on another processor.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    campaign: str
    site: str
    processor: str
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
    def machine(self) -> str:
        """Site and processor, as on the report."""
        return ", ".join(filter(None, (self.site, self.processor)))

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
        """The newest level over the median of those before; None in the first night."""
        *past_levels, newest = [level for level in self.levels if level is not None]
        return newest / median(past_levels) if past_levels and median(past_levels) else None

    @property
    def trend(self) -> Quantity | str:
        """The change as a quantity; "" in the first night."""
        change = self.change
        return "" if change is None else Quantity(value=change, unit=units.Unit.RATIO, decimals=2)


def values(
    history: History, thresholds: Analysis, read_night: Callable[[str], Data]
) -> Iterator[Value]:
    """Yield the values of all studies in a history.

    `read_night` returns the bundle of a night; if it raises UserError, the night has no values.
    """
    night_rows = history.nights.filter(~pl.col("foreign") & (pl.col("left_out") == ""))
    nights = night_rows.group_by("night", *SERIES).agg(pl.col("median").median())
    sources = _Sources(history, read_night)
    for study in studies.load():
        study_nights = nights.filter(study=study.name).sort("night", *SERIES)
        if not study_nights.is_empty():
            yield from _values(sources, study, study_nights, thresholds)


@dataclass(frozen=True)
class _Sources:
    """A history, and the bundles of its nights."""

    history: History
    read_night: Callable[[str], Data]
    _statements: dict[str, dict[_Key, Quantity]] = field(default_factory=dict)

    @cached_property
    def marks(self) -> Mapping[str, str]:
        """Marks by environment."""
        return labels.marks_from_history(self.history.provenance)

    @cached_property
    def processors(self) -> Mapping[str, str]:
        """The processor of each night that recorded one."""
        rows = self.history.provenance.filter(subject="", name=facts.PROCESSOR)
        return dict(rows.select("night", "value").iter_rows())

    @cached_property
    def nights(self) -> list[str]:
        """All nights, oldest first."""
        return sorted(set(self.history.nights["night"]))

    def statement(self, night: str, key: _Key) -> Quantity | None:
        """The value of a night as the headline of its report has it."""
        if night not in self._statements:
            try:
                self._statements[night] = dict(_statements(self.read_night(night)))
            except UserError:
                self._statements[night] = {}
        return self._statements[night].get(key)


def _statements(data: Data) -> Iterator[tuple[_Key, Quantity]]:
    """Yield the headline values of a bundle."""
    level = data.analysis.statistics.confidence_level
    for study in studies.load():
        cases = dict(data.study_launches(study.name).select("launch", "case_id").iter_rows())
        if not cases:
            continue
        samples = data.samples.filter(pl.col("launch").is_in(list(cases)), study=study.name)
        launch_values: dict[tuple[_Key, str], list[speeds.Value]] = defaultdict(list)
        for row in study.headline(samples, data.analysis).iter_rows(named=True):
            case = cases[row["launch"]]
            key = _Key(study.name, row["what"], row["size_bytes"], case)
            value = speeds.Value(row["value"], data.series_of(case, row))
            launch_values[key, row["unit"]].append(value)
        for (key, unit), numbers in launch_values.items():
            interval = median_interval([value.number for value in numbers], level)
            yield key, Quantity.from_interval(interval, unit, series=speeds.single_series(numbers))


def _values(
    sources: _Sources, study: Study, nights: pl.DataFrame, thresholds: Analysis
) -> Iterator[Value]:
    launch = pl.concat_str("night", pl.lit("\n"), "case_id")
    samples = nights.with_columns(launch=launch, value="median", rep=pl.lit(0, pl.Int64))
    headline = study.headline(samples.lazy(), thresholds)
    launch_parts = pl.col("launch").str.split("\n").list
    headline = headline.with_columns(night=launch_parts.get(0), case_id=launch_parts.get(1))
    groups: dict[tuple[str, int | None], list[Value]] = defaultdict(list)
    keys = ["what", "size_bytes", "case_id"]
    for rows in headline.partition_by(keys, maintain_order=True):
        key = _Key(study.name, *rows.select(keys).row(0))
        if value := _value(sources, key, rows.sort("night")):
            groups[key.what, key.size_bytes].append(value)
    for group in itertools.islice(groups.values(), MOST_VALUES):
        places: dict[str, list[Value]] = defaultdict(list)
        for value in sorted(group, key=lambda v: v.value if v.lower_is_better else -v.value):
            places[value.where].append(value)
        for place_values in places.values():
            yield from sorted(place_values[:MOST_TOOLCHAINS], key=lambda value: value.toolchain)


def _value(sources: _Sources, key: _Key, rows: pl.DataFrame) -> Value | None:
    by_night = dict(rows.group_by("night").agg(pl.col("value").median()).iter_rows())
    last = rows.row(-1, named=True)
    night = last["night"]
    quantity = sources.statement(night, key)
    if quantity is None:
        return None
    place = CASE.fullmatch(key.case_id)
    environ = place["environ"] if place else ""
    processor = sources.processors.get(night, "")
    others = {other for other, name in sources.processors.items() if processor not in ("", name)}
    return Value(
        campaign=sources.history.campaign,
        site=sources.history.site,
        processor=processor,
        what=key.name,
        where=_where(place["check"], place["place"]) if place else key.case_id,
        toolchain=environ,
        mark=sources.marks.get(environ, ""),
        night=night,
        report=sources.history.reports.get(night, ""),
        value=quantity.value,
        low=quantity.low,
        high=quantity.high,
        launches=quantity.n,
        unit=quantity.unit,
        lower_is_better=last["lower_is_better"],
        series=quantity.series,
        levels=[None if other in others else by_night.get(other) for other in sources.nights],
    )


def _where(check: str, place: str) -> str:
    """Return the parameters and the place of a measurement, without the toolchain."""
    _, _, parameters = check.partition("/")
    values = [parameter.partition("=")[2] for parameter in parameters.split(",")]
    words = [labels.PLACEMENTS.get(value, value) for value in values]
    return ", ".join(filter(None, [*words, place]))

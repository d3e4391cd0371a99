"""Machines by metrics: the headline values of each campaign on each site.

A value is that of its night's report.  Its trend derives from the medians of all nights.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from statistics import median
from typing import NamedTuple

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from roundtrip import studies
from roundtrip.errors import UserError
from roundtrip.history import facts
from roundtrip.history.night_rows import SERIES
from roundtrip.measure.analysis import AnalysisSettings
from roundtrip.report import labels, speeds, units
from roundtrip.report.data import BundleData
from roundtrip.report.pages.history import History
from roundtrip.report.pages.series import CASE_PATTERN
from roundtrip.report.units import Quantity
from roundtrip.studies import derivation

#: Maximum values of a study, and maximum toolchains of a machine for each value, in the table.
MOST_VALUES, MOST_TOOLCHAINS = 8, 4


class _ValueKey(NamedTuple):
    """The identity of a headline value, the same in every night."""

    study: str
    what: str
    size_bytes: int | None
    case_id: str

    @property
    def name(self) -> str:
        at = "" if self.size_bytes is None else f" at {units.size_text(self.size_bytes)}"
        return f"{self.what}{at}"


class Value(BaseModel):
    """A value of a toolchain on a machine in its newest night that counts, and of all nights.

    `processor`: as that night recorded it, else "".  `mark`: that it is emulated or simulated, ""
    if it is neither.  `report` leads from the folder of the campaign on its site to that of the
    night.  `levels` has None for nights on another processor.
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
    quantity: Quantity
    levels: list[float | None] = Field(repr=False)

    @property
    def machine(self) -> str:
        """Site and processor, as on the report."""
        return ", ".join(filter(None, (self.site, self.processor)))

    @property
    def change(self) -> float | None:
        """The newest level over the median of those before; None in the first night."""
        levels = [level for level in self.levels if level is not None]
        past_level = median(levels[:-1]) if len(levels) > 1 else 0.0
        return levels[-1] / past_level if past_level else None

    @property
    def trend(self) -> Quantity | str:
        """The change as a quantity; "" in the first night."""
        change = self.change
        return "" if change is None else Quantity(value=change, unit=units.Unit.RATIO, decimals=2)


def values(
    history: History, thresholds: AnalysisSettings, read_night: Callable[[str], BundleData]
) -> Iterator[Value]:
    """The values of all studies; `read_night` reads a bundle; UserError: there is none."""
    night_rows = history.nights.filter(~pl.col("foreign") & (pl.col("left_out") == ""))
    nights = night_rows.group_by("night", *SERIES).agg(pl.col("median").median())
    newest_nights = dict(nights.group_by("case_id").agg(pl.col("night").max()).iter_rows())
    levels = _levels_by_night(nights.sort("night", *SERIES), thresholds)
    marks = labels.history_labels_by_environ(history.provenance)
    processor_rows = history.provenance.filter(subject="", name=facts.PROCESSOR)
    processors = dict(processor_rows.select("night", "value").iter_rows())
    all_nights = sorted(set(history.nights["night"]))

    def value(night: str, key: _ValueKey, quantity: Quantity) -> Value:
        """The value of a night, with all levels on the same processor."""
        place = CASE_PATTERN.fullmatch(key.case_id)
        environ = place["environ"] if place else ""
        processor = processors.get(night, "")
        others = {other for other, name in processors.items() if processor not in ("", name)}
        key_levels = levels.get(key, {})
        return Value(
            campaign=history.campaign,
            site=history.site,
            processor=processor,
            what=key.name,
            where=_place_text(place["check"], place["place"]) if place else key.case_id,
            toolchain=environ,
            mark=marks.get(environ, ""),
            night=night,
            report=history.reports.get(night, ""),
            quantity=quantity,
            levels=[None if other in others else key_levels.get(other) for other in all_nights],
        )

    groups: dict[str, dict[tuple[str, int | None], list[Value]]]
    groups = defaultdict(lambda: defaultdict(list))
    for night in sorted(set(newest_nights.values()), reverse=True):
        for key, quantity in _night_headlines(night, read_night):
            if newest_nights.get(key.case_id) == night:
                group = groups[key.study][key.what, key.size_bytes]
                group.append(value(night, key, quantity))
    for study_groups in groups.values():
        for group in itertools.islice(study_groups.values(), MOST_VALUES):
            yield from _best_values(group)


def _best_values(values: Sequence[Value]) -> Iterator[Value]:
    """The values of the best toolchains of each place."""
    places: dict[str, list[Value]] = defaultdict(list)

    def position(value: Value) -> float:
        return value.quantity.value * (1 if value.quantity.lower_is_better else -1)

    for value in sorted(values, key=position):
        places[value.where].append(value)
    for place_values in places.values():
        yield from sorted(place_values[:MOST_TOOLCHAINS], key=lambda value: value.toolchain)


def _night_headlines(
    night: str, read_night: Callable[[str], BundleData]
) -> Iterator[tuple[_ValueKey, Quantity]]:
    """The headline values of a night; none if it cannot be read."""
    try:
        data = read_night(night)
    except UserError:
        return
    level = data.analysis.statistics.confidence_level
    for study in studies.load():
        cases = dict(data.study_launches(study.name).select("launch", "case_id").iter_rows())
        if not cases:
            continue
        samples = data.samples.filter(pl.col("launch").is_in(list(cases)), study=study.name)
        launch_values: dict[tuple[_ValueKey, str, bool], list[speeds.Value]] = defaultdict(list)
        sizes = data.analysis.compared_sizes(study)
        for row in derivation.headline_speeds(study, samples, sizes).iter_rows(named=True):
            case = cases[row["launch"]]
            key = _ValueKey(study.name, row["what"], row["size_bytes"], case)
            value = speeds.Value(row["value"], data.series_key(case, row))
            launch_values[key, row["unit"], row["lower_is_better"]].append(value)
        for (key, unit, is_lower_better), numbers in launch_values.items():
            quantity = speeds.median_quantity(numbers, unit, level)
            yield key, replace(quantity, lower_is_better=is_lower_better)


def _levels_by_night(
    nights: pl.DataFrame, thresholds: AnalysisSettings
) -> dict[_ValueKey, dict[str, float]]:
    """Headline values derived from the medians of each night, by value and night."""
    levels: dict[_ValueKey, dict[str, float]] = defaultdict(dict)
    launch = pl.concat_str("night", pl.lit("\n"), "case_id")
    samples = nights.with_columns(launch=launch, value="median", rep=pl.lit(0, pl.Int64))
    for study in studies.load():
        study_samples = samples.filter(study=study.name)
        if study_samples.is_empty():
            continue
        sizes = thresholds.compared_sizes(study)
        headline = derivation.headline_speeds(study, study_samples.lazy(), sizes)
        names = ["launch", "what", "size_bytes"]
        rows = headline.group_by(names).agg(pl.col("value").median())
        for launch_name, what, size, value in rows.iter_rows():
            night, _, case = launch_name.partition("\n")
            levels[_ValueKey(study.name, what, size, case)][night] = value
    return levels


def _place_text(check: str, place: str) -> str:
    """The parameters and the place of a measurement, without the toolchain."""
    _, _, parameters = check.partition("/")
    values = [parameter.partition("=")[2] for parameter in parameters.split(",")]
    words = [labels.TEXT_BY_PLACEMENT.get(value, value) for value in values]
    return ", ".join(filter(None, [*words, place]))

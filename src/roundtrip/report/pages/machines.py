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

from roundtrip import units
from roundtrip.content import labels
from roundtrip.content.data import BundleData
from roundtrip.content.series import CASE_PATTERN
from roundtrip.errors import UserError
from roundtrip.history import facts
from roundtrip.history.night_rows import SERIES
from roundtrip.measure.analysis import AnalysisSettings
from roundtrip.report import speeds
from roundtrip.report.pages.history import HistoryPage
from roundtrip.studies import derivation
from roundtrip.study import load_studies
from roundtrip.units import Quantity

#: Maximum values of a study, and maximum toolchains of a machine for each value, in the table.
MOST_VALUES, MOST_TOOLCHAINS = 8, 4


class _ValueKey(NamedTuple):
    """The identity of a headline value, the same in every night."""

    study: str
    quantity: str
    size_bytes: int | None
    case_id: str

    @property
    def quantity_with_size(self) -> str:
        at = "" if self.size_bytes is None else f" at {units.size_text(self.size_bytes)}"
        return f"{self.quantity}{at}"


class HeadlineValue(BaseModel):
    """A value of a toolchain on a machine, in the newest night that counts and in all nights.

    `processor` is the one that the newest night recorded, else "".  `emulation_label` is "" if
    neither emulated nor simulated.  `report_link` leads from the folder of the campaign on its site
    to that of the night.  `level_by_night` is in the order of nights, None for nights on another
    processor.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    campaign: str
    site: str
    processor: str
    quantity_name: str
    setting: str
    toolchain: str
    emulation_label: str
    night: str
    report_link: str
    quantity: Quantity
    level_by_night: list[float | None] = Field(repr=False)

    @property
    def machine(self) -> str:
        return ", ".join(filter(None, (self.site, self.processor)))

    @property
    def trend_ratio(self) -> float | None:
        """The newest level over the median of those before; None in the first night."""
        levels = [level for level in self.level_by_night if level is not None]
        past_level = median(levels[:-1]) if len(levels) > 1 else 0.0
        return levels[-1] / past_level if past_level else None

    @property
    def trend(self) -> Quantity | str:
        change = self.trend_ratio
        return "" if change is None else Quantity(value=change, unit=units.Unit.RATIO, decimals=2)


def headline_values(
    page: HistoryPage, thresholds: AnalysisSettings, read_night: Callable[[str], BundleData]
) -> Iterator[HeadlineValue]:
    """The values of all studies; `read_night` reads a bundle or raises UserError."""
    night_rows = page.nights.filter(~pl.col("foreign") & (pl.col("left_out") == ""))
    nights = night_rows.group_by("night", *SERIES).agg(pl.col("median").median())
    newest_nights = dict(nights.group_by("case_id").agg(pl.col("night").max()).iter_rows())
    levels = _level_by_value_and_night(nights.sort("night", *SERIES), thresholds)
    marks = labels.history_labels_by_environ(page.provenance)
    processor_rows = page.provenance.filter(subject="", name=facts.PROCESSOR_FACT)
    processors = dict(processor_rows.select("night", "value").iter_rows())
    all_nights = sorted(set(page.nights["night"]))

    def value(night: str, key: _ValueKey, quantity: Quantity) -> HeadlineValue:
        """The value of a night, with all levels on the same processor."""
        place = CASE_PATTERN.fullmatch(key.case_id)
        environ = place["environ"] if place else ""
        processor = processors.get(night, "")
        others = {other for other, name in processors.items() if processor not in ("", name)}
        key_levels = levels.get(key, {})
        return HeadlineValue(
            campaign=page.campaign,
            site=page.site,
            processor=processor,
            quantity_name=key.quantity_with_size,
            setting=_setting_text(place["check"], place["place"]) if place else key.case_id,
            toolchain=environ,
            emulation_label=marks.get(environ, ""),
            night=night,
            report_link=page.report_link_by_night.get(night, ""),
            quantity=quantity,
            level_by_night=[
                None if other in others else key_levels.get(other) for other in all_nights
            ],
        )

    groups: dict[str, dict[tuple[str, int | None], list[HeadlineValue]]]
    groups = defaultdict(lambda: defaultdict(list))
    for night in sorted(set(newest_nights.values()), reverse=True):
        for key, quantity in _night_headline_values(night, read_night):
            if newest_nights.get(key.case_id) == night:
                group = groups[key.study][key.quantity, key.size_bytes]
                group.append(value(night, key, quantity))
    for study_groups in groups.values():
        for group in itertools.islice(study_groups.values(), MOST_VALUES):
            yield from _best_values(group)


def _best_values(values: Sequence[HeadlineValue]) -> Iterator[HeadlineValue]:
    places: dict[str, list[HeadlineValue]] = defaultdict(list)

    def position(value: HeadlineValue) -> float:
        return value.quantity.value * (1 if value.quantity.lower_is_better else -1)

    for value in sorted(values, key=position):
        places[value.setting].append(value)
    for place_values in places.values():
        yield from sorted(place_values[:MOST_TOOLCHAINS], key=lambda value: value.toolchain)


def _night_headline_values(
    night: str, read_night: Callable[[str], BundleData]
) -> Iterator[tuple[_ValueKey, Quantity]]:
    """The headline values of a night; none if it cannot be read."""
    try:
        data = read_night(night)
    except UserError:
        return
    level = data.analysis.statistics.confidence_level
    for study in load_studies():
        values: dict[tuple[_ValueKey, str, bool], list[speeds.LaunchValue]] = defaultdict(list)
        for launch, point, value in speeds.headline_values(data, study):
            key = _ValueKey(study.name, point.what, point.size_bytes, launch["case_id"])
            values[key, point.unit, point.lower_is_better].append(value)
        for (key, unit, is_lower_better), numbers in values.items():
            quantity = speeds.median_quantity(numbers, unit, level)
            yield key, replace(quantity, lower_is_better=is_lower_better)


def _level_by_value_and_night(
    nights: pl.DataFrame, thresholds: AnalysisSettings
) -> dict[_ValueKey, dict[str, float]]:
    """Headline values derived from the medians of each night, by value and night."""
    levels: dict[_ValueKey, dict[str, float]] = defaultdict(dict)
    launch = pl.concat_str("night", pl.lit("\n"), "case_id")
    samples = nights.with_columns(launch=launch, value="median", rep=pl.lit(0, pl.Int64))
    for study in load_studies():
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


def _setting_text(check: str, partition: str) -> str:
    """The parameters and the partition of a measurement, without the toolchain."""
    _, _, parameters = check.partition("/")
    values = [parameter.partition("=")[2] for parameter in parameters.split(",")]
    words = [labels.TEXT_BY_PLACEMENT.get(value, value) for value in values]
    return ", ".join(filter(None, [*words, partition]))

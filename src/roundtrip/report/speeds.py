"""The speeds of launches of every study, and comparisons of toolchains by them, paired by round."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import polars as pl

from roundtrip.content import labels
from roundtrip.content.data import BundleData
from roundtrip.measure.columns import setting_texts
from roundtrip.stats.summaries import median_interval
from roundtrip.stats.verdicts import (
    Family,
    Pairing,
    RoundLaunch,
    double_round_ratios,
    pair_by_round,
)
from roundtrip.studies import derivation
from roundtrip.study import BOOST, MPI, Study, load_studies
from roundtrip.units import UNPRINTED_UNITS, Quantity


@dataclass(frozen=True)
class SpeedPoint:
    """What a value measures: `SPEED_COLUMNS` except launch, value and `SERIES_COLUMNS`."""

    what: str
    size_bytes: int | None
    unit: str
    lower_is_better: bool
    depends_on: str


class LaunchValue(NamedTuple):
    """A value of a launch in the unit of its `SpeedPoint`, and the key of its history series."""

    number: float
    series_key: str


#: Launch -> point -> value.
ValuesByLaunch = Mapping[str, Mapping[SpeedPoint, LaunchValue]]
#: The most toolchains in a setting of which all pairs are compared (`compared_pairs`): pairs, and
#: claims that are corrected together, grow with the square of this number.
MAX_ENVIRONS_FOR_ALL_PAIRS = 32


def launch_speeds(data: BundleData, launches: Collection[str]) -> ValuesByLaunch:
    """The values of these launches, all of which completed."""
    values: dict[str, dict[SpeedPoint, LaunchValue]] = defaultdict(dict)
    launch_rows = data.launches.filter(pl.col("launch").is_in(list(launches)))
    for study in load_studies():
        rows = launch_rows.filter(study=study.name)
        for launch, point, value in _derive_values(data, study, rows, derivation.speeds):
            values[launch["launch"]][point] = value
    return values


#: The launch, a row of `BundleData.launches`, what was measured, and its value.
_DerivedValue = tuple[Mapping[str, Any], SpeedPoint, LaunchValue]


def headline_values(data: BundleData, study: Study) -> Iterator[_DerivedValue]:
    """The few values of the launches of `study` that represent a toolchain."""
    launches = data.study_launches(study.name)
    return _derive_values(data, study, launches, derivation.headline_speeds)


def _derive_values(
    data: BundleData, study: Study, launches: pl.DataFrame, derive: Callable[..., pl.DataFrame]
) -> Iterator[_DerivedValue]:
    launch_rows = {row["launch"]: row for row in launches.iter_rows(named=True)}
    if not launch_rows:
        return
    samples = data.samples.filter(pl.col("launch").is_in(list(launch_rows)), study=study.name)
    for row in derive(study, samples, data.analysis.compared_sizes(study)).iter_rows(named=True):
        launch = launch_rows[row["launch"]]
        point = SpeedPoint(**{field.name: row[field.name] for field in fields(SpeedPoint)})
        yield launch, point, LaunchValue(row["value"], data.series_key(launch["case_id"], row))


def round_launch(launch: Mapping[str, Any]) -> RoundLaunch:
    """A launch with its round; where no round was recorded, a session counts as one."""
    number = launch.get("campaign_round")
    if number is None:
        number = int(launch["round"]) if str(launch.get("round")).isdigit() else -1
    return RoundLaunch(str(launch["launch"]), number, str(launch.get("started") or ""))


def mpi_and_boost(launch: Mapping[str, Any]) -> tuple[str, str]:
    """(MPI library, Boost) of a launch, as the program itself reports them."""
    return str(launch.get("mpi_library")), str(launch.get("boost"))


def differing_factors(
    software: tuple[str, str], other_software: tuple[str, str]
) -> tuple[str, ...]:
    """The factors, MPI and BOOST, in which two `mpi_and_boost` differ; both if equal."""
    same_mpi, same_boost = software[0] == other_software[0], software[1] == other_software[1]
    if same_mpi == same_boost:
        return (MPI, BOOST)
    return (BOOST,) if same_mpi else (MPI,)


@dataclass(frozen=True)
class Setting:
    """A case without its toolchain; `emulation_label`: "" if it was measured."""

    study: str
    check: str
    system_partition: str
    parameters: str
    emulation_label: str


@dataclass(frozen=True)
class ToolchainComparison:
    """A claim of the report: the speed with one environment over that with the base."""

    setting: Setting
    environ: str
    base_environ: str
    quantity: str
    size_bytes: int | None

    @property
    def family(self) -> Family:
        return Family.TOOLCHAINS

    @property
    def study(self) -> str:
        return self.setting.study


@dataclass(frozen=True)
class PairedValues:
    """The values of both sides of a comparison in `unit`, one for each of `round_numbers`.

    `series_keys`: of the history series of both.  `is_abba`: one coin toss orders two rounds.
    """

    pairing: Pairing
    round_numbers: tuple[int, ...]
    environ_values: tuple[float, ...]
    base_values: tuple[float, ...]
    unit: str
    lower_is_better: bool
    series_keys: tuple[str, str]
    is_abba: bool

    @cached_property
    def ratios(self) -> list[float]:
        """Speed over the base for each round, or each two if `is_abba`; above 1 is faster."""
        value_pairs = zip(self.environ_values, self.base_values, strict=True)
        ratios = [b / a if self.lower_is_better else a / b for a, b in value_pairs]
        if self.is_abba:
            return double_round_ratios(dict(zip(self.round_numbers, ratios, strict=True)))
        return ratios


def paired_values(
    pairing: Pairing, point: SpeedPoint, values: ValuesByLaunch, is_abba: bool
) -> PairedValues | None:
    """The values of rounds in which both sides are above 0; None if there is no such round."""
    value_pairs: dict[int, tuple[LaunchValue, LaunchValue]] = {}
    for number, launches in zip(pairing.round_numbers, pairing.pairs, strict=True):
        one, other = (values.get(launch, {}).get(point) for launch in launches)
        if one and other and min(one.number, other.number) > 0:
            value_pairs[number] = one, other
    if not value_pairs:
        return None
    ones, others = zip(*value_pairs.values(), strict=True)
    return PairedValues(
        pairing,
        tuple(value_pairs),
        tuple(value.number for value in ones),
        tuple(value.number for value in others),
        point.unit,
        point.lower_is_better,
        (common_series_key(ones), common_series_key(others)),
        is_abba,
    )


def distinct_titles(titles: Mapping[str, str]) -> dict[str, str]:
    """The title of each environment's toolchain, with the environment's name if two are alike."""
    count = Counter(titles.values())
    return {
        environ: title if count[title] == 1 else f"{title} ({environ})"
        for environ, title in titles.items()
    }


class ComparedToolchains:
    """The pairs of toolchains of a bundle that are compared."""

    def __init__(self, data: BundleData) -> None:
        self._data = data
        self._groups = _launches_by_setting(data)

    @cached_property
    def title_by_environ(self) -> dict[str, str]:
        """The title of each environment's toolchain; no two are equal."""
        groups = (item for group in self._groups.values() for item in group.items())
        return distinct_titles({environ: str(rows[0]["toolchain"]) for environ, rows in groups})

    @cached_property
    def pair_count_by_oversized_setting(self) -> dict[Setting, tuple[int, int]]:
        """(Toolchains, compared pairs) of settings with too many toolchains for all pairs."""
        pairs = Counter(setting for setting, *_ in self._pairs)
        return {
            setting: (len(group), pairs[setting])
            for setting, group in self._groups.items()
            if len(group) > MAX_ENVIRONS_FOR_ALL_PAIRS
        }

    @cached_property
    def refusal_by_pair(self) -> dict[tuple[Setting, str, str], str]:
        """By setting and pair: why its launches, not interleaved, are not compared."""
        return {
            (setting, one, other): pairing.refusal
            for setting, one, other, pairing, _ in self._pairs
            if pairing.refusal
        }

    @cached_property
    def comparisons(self) -> dict[ToolchainComparison, PairedValues]:
        """Every comparison with values, in display order."""
        comparisons: dict[ToolchainComparison, PairedValues] = {}
        for setting, one, other, pairing, factors in self._pairs:
            all_points = {p for pair in pairing.pairs for p in self._values.get(pair[0], {})}
            points = [point for point in all_points if point.depends_on in factors]
            for point in sorted(points, key=lambda point: (point.what, point.size_bytes or 0)):
                comparison = paired_values(pairing, point, self._values, self._data.is_abba)
                if comparison and comparison.ratios:
                    key = ToolchainComparison(setting, one, other, point.what, point.size_bytes)
                    comparisons[key] = comparison
        return comparisons

    @cached_property
    def _pairs(self) -> list[tuple[Setting, str, str, Pairing, tuple[str, ...]]]:
        pairs = []
        for setting, group in self._groups.items():
            environ_software = {environ: mpi_and_boost(rows[0]) for environ, rows in group.items()}
            launches = {
                environ: [round_launch(row) for row in rows] for environ, rows in group.items()
            }
            all_software = set(environ_software.values())
            for one, other in compared_pairs(environ_software):
                sides = environ_software[one], environ_software[other]
                if factors := compared_factors(*sides, all_software):
                    pairing = pair_by_round(launches[one], launches[other])
                    pairs.append((setting, one, other, pairing, factors))
        return pairs

    @cached_property
    def _values(self) -> ValuesByLaunch:
        groups = self._groups.values()
        rows = [row for group in groups for rows in group.values() for row in rows]
        return launch_speeds(self._data, [row["launch"] for row in rows])


def common_series_key(values: Iterable[LaunchValue]) -> str:
    """The key of the series to which all `values` belong; "" if there are several."""
    keys = {value.series_key for value in values}
    return keys.pop() if len(keys) == 1 else ""


def median_quantity(values: Sequence[LaunchValue], unit: str, level: float) -> Quantity:
    """The median of `values` and its interval, with the unit if it has one to print."""
    interval = median_interval([value.number for value in values], level)
    says_unit = unit not in UNPRINTED_UNITS
    series = common_series_key(values)
    return Quantity.from_interval(interval, unit, series_key=series, prints_unit=says_unit)


def _launches_by_setting(data: BundleData) -> dict[Setting, dict[str, list[dict[str, Any]]]]:
    """Setting -> environment -> its launches, for settings with at least two environments."""
    exclusions = {study.name: study.uncompared_parameters for study in load_studies()}
    groups: dict[Setting, Any] = defaultdict(lambda: defaultdict(list))
    for row in data.completed_launches.sort("launch").iter_rows(named=True):
        parameters = setting_texts(row["parameters"])
        if row["study"] in exclusions and not exclusions[row["study"]] & parameters.keys():
            setting = Setting(
                str(row["study"]),
                str(row.get("check")),
                f"{row.get('system')}:{row.get('partition')}",
                ", ".join(f"{key} {value}" for key, value in sorted(parameters.items())),
                labels.launch_label(row["emulation"], row["simulated"]),
            )
            groups[setting][str(row.get("environ"))].append(row)
    order = list(exclusions)

    def position(setting: Setting) -> tuple[object, ...]:
        place = setting.check, setting.system_partition, setting.parameters
        return order.index(setting.study), *place

    settings = sorted((s for s, group in groups.items() if len(group) > 1), key=position)
    return {setting: dict(groups[setting]) for setting in settings}


def compared_pairs(software_by_environ: Mapping[str, tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs of environments to compare, from the MPI and Boost of each.

    Up to `MAX_ENVIRONS_FOR_ALL_PAIRS` environments, all pairs.  With more, each is paired with the
    first by name of all, of those with its MPI, and of those with its Boost, so that each is
    compared.  The choice uses only names and versions, because tests must not depend on measured
    values.
    """
    environs = sorted(software_by_environ)
    if len(environs) <= MAX_ENVIRONS_FOR_ALL_PAIRS:
        return list(combinations(environs, 2))
    firsts: dict[tuple[str, str], str] = {}
    pairs: set[tuple[str, str]] = set()
    for environ in environs:
        mpi, boost = software_by_environ[environ]
        for group in (("all", ""), ("MPI", mpi), ("Boost", boost)):
            first = firsts.setdefault(group, environ)
            if first != environ:
                pairs.add((first, environ))
    return sorted(pairs)


def compared_factors(
    software: tuple[str, str], other_software: tuple[str, str], all_software: set[tuple[str, str]]
) -> tuple[str, ...]:
    """The factors, MPI and BOOST, by which two toolchains are compared; () if they are not.

    They are not if both differ and a third shares its MPI with one and its Boost with the other.
    """
    intermediates = {(software[0], other_software[1]), (other_software[0], software[1])}
    is_crossed = software[0] != other_software[0] and software[1] != other_software[1]
    if is_crossed and intermediates & all_software:
        return ()
    return differing_factors(software, other_software)

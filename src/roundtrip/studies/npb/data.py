"""The launches of the NPB study, grouped into series over the round-trip time of the link.

A series is a benchmark with a transport on a number of ranks, and is drawn as one line.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from roundtrip import units
from roundtrip.content import labels
from roundtrip.content.blocks import Cell
from roundtrip.content.data import BundleData
from roundtrip.measure.columns import setting_texts
from roundtrip.stats.summaries import Interval, median_interval
from roundtrip.stats.verdicts import Pairing, RoundLaunch, pair_by_round
from roundtrip.studies import display
from roundtrip.studies.npb import (
    MIXED,
    NATIVE,
    SHARED_MEMORY_PLACEMENTS,
    STUDY,
    TCP,
    UDP,
    UPSTREAM,
    Thresholds,
    base_rank_count,
    derived,
    shares_memory,
)
from roundtrip.units import ConfidenceLevel, Unit

#: Label of every row, table and figure of results over the link.
EMULATED_WAN = "emulated WAN"
_UNIT_BY_METRIC = {"rate": Unit.MOPS, "time": Unit.S}
#: The benchmarks of the published study first.
_POSITION_BY_BENCHMARK = dict(
    zip(("CG", "MG", "LU", "FT", "IS", "EP", "BT", "SP"), range(8), strict=True)
)


@dataclass(frozen=True)
class Series:
    """A benchmark with a transport on `ranks` ranks, half in each cluster if `spans_clusters`."""

    benchmark: str
    problem_class: str
    ranks: int
    toolchain: str
    environ: str
    placement: str
    source: str
    spans_clusters: bool
    partition: str
    shares_processors: bool  # more ranks than processors
    has_real_nodes: bool = True
    transport_name: str = ""  # the transport, as its site declares it

    @property
    def sort_key(self) -> tuple[object, ...]:
        """Sort key of the display order: by benchmark, then by all fields."""
        position = _POSITION_BY_BENCHMARK.get(self.benchmark, len(_POSITION_BY_BENCHMARK))
        return position, astuple(self)

    @property
    def problem_name(self) -> str:
        """``CG A``."""
        return f"{self.benchmark} {self.problem_class}"

    @property
    def program_name(self) -> str:
        """``CG A``, or ``CG A, NPB 3.4`` for NPB's own program."""
        return f"{self.problem_name}{self._source_suffix}"

    @property
    def planned_series(self) -> Series:
        """The series without the fields that are unknown of a launch that never ran."""
        return replace(self, shares_processors=False, toolchain="", has_real_nodes=True)

    @property
    def uses_shared_memory(self) -> bool:
        """Whether the ranks of a cluster share memory."""
        return shares_memory(self.placement, self.ranks, 2 if self.spans_clusters else 1)

    @property
    def transport_role(self) -> str | None:
        """UDP, MIXED or TCP: the published library that the transport stands for, or None."""
        if self.spans_clusters and self.transport_name == "UDP":
            return UDP
        if self.spans_clusters and self.transport_name.endswith("TCP"):
            return MIXED if self.placement in SHARED_MEMORY_PLACEMENTS else TCP
        return None

    @property
    def transport_title(self) -> str:
        """Toolchain, memory if ranks share it inside clusters, NPB 3.4 if NPB's own."""
        memory = ", in memory inside" if self.uses_shared_memory and self.spans_clusters else ""
        return f"{self.toolchain}{memory}{self._source_suffix}"

    @property
    def _source_suffix(self) -> str:
        return ", NPB 3.4" if self.source == UPSTREAM else ""

    @property
    def ranks_and_placement(self) -> str:
        """``2 + 2 ranks``: number and placement of the ranks."""
        place = units.plural(self.ranks, "rank")
        if self.spans_clusters and self.ranks != 1:
            place = f"{self.ranks // 2} + {self.ranks // 2} ranks"
        elif self.ranks > 1 and self.placement:
            place = f"{place} {labels.TEXT_BY_PLACEMENT.get(self.placement, self.placement)}"
        if not self.spans_clusters and not self.has_real_nodes:
            place = f"{place} on emulated nodes"
        return f"{place}, {labels.ON_FEWER_PROCESSORS}" if self.shares_processors else place

    @property
    def title(self) -> str:
        label = f"{self.problem_name}, {self.transport_title}, {self.ranks_and_placement}"
        return f"{label}, {EMULATED_WAN}" if self.spans_clusters else label


LaunchValues = dict[str, float]
#: Values of launches at one RTT, by launch.
ValuesByLaunch = dict[str, LaunchValues]


class NPBLaunches:
    """All NPB launches of a bundle, by series and RTT; intervals are at `level`."""

    def __init__(self, data: BundleData) -> None:
        self.data = data
        self.level = ConfidenceLevel(data.analysis.statistics.confidence_level)
        self.settings = data.analysis.study_thresholds(Thresholds)
        launches = data.launches.filter(pl.col("study") == STUDY.name)
        titles = launches.filter(pl.col("toolchain") != pl.col("environ"))
        titles = titles.sort(pl.col("status") == "passed")  # the dict keeps the last one
        self._titles = dict(titles.select("environ", "toolchain").iter_rows())
        self._case_ids = dict(launches.select("launch", "case_id").iter_rows())
        self._transports = _transport_by_environ(data.env_records.get("toolchains.json"))
        self._rows = launches.rows(named=True)
        self._details = data.workload_records(STUDY.name)
        self._samples = data.samples.filter(pl.col("study") == STUDY.name)

    @cached_property
    def _values_by_launch(self) -> ValuesByLaunch:
        """rate, time, compute, communication, iterations, least and most of each launch.

        least and most: the least and the most seconds of a rank in MPI; NaN if not recorded by
        rank.  NPB 3.4's programs report only their rate: their time is the operations (median of
        rate times time over our launches of the case) over this rate; NaN without our launches.
        Compute time 0: not measured.
        """
        is_time = pl.col("metric") == "time"
        value, phase = pl.col("value"), pl.col("phase")
        is_rank_time = is_time & (phase == "rank communication")
        nan, statistic = pl.lit(float("nan")), derived.OVER_ITERATIONS_SUMMARY.statistic
        frame = self._samples.group_by("launch").agg(
            pl.col("case").first(),
            rate=value.filter((pl.col("metric") == "rate") & (phase == "total")).first(),
            time=value.filter(is_time & (phase == "total")).first(),
            compute=statistic.aggregate(value.filter(is_time & (phase == "compute"))),
            communication=statistic.aggregate(
                value.filter(is_time & phase.is_in(derived.COMMUNICATION_PATTERNS))
            ),
            iterations=(is_time & (phase == "iteration")).sum().cast(pl.Int64),
            least=value.filter(is_rank_time).min(),
            most=value.filter(is_rank_time).max(),
        )
        native = frame.filter(pl.col("time").is_not_null()).group_by("case")
        work = native.agg(
            work=(pl.col("rate") * pl.col("time")).median(), own=pl.col("iterations").max()
        )
        frame = frame.join(work, on="case", how="left").select(
            *("launch", "rate", "compute", "communication"),
            time=pl.coalesce("time", pl.col("work") / pl.col("rate"), nan),
            least=pl.coalesce("least", nan),
            most=pl.coalesce("most", nan),
            iterations=pl.coalesce(pl.col("iterations").replace(0, None), "own", pl.lit(0)),
        )
        return {row.pop("launch"): row for row in frame.collect().iter_rows(named=True)}

    @cached_property
    def values_by_point(self) -> dict[Series, dict[float | None, ValuesByLaunch]]:
        """Values by series, RTT in ms (None inside a cluster) and launch."""
        points: dict[Series, dict[float | None, ValuesByLaunch]] = {}
        for row in self._rows:
            if row["status"] == "passed" and row["launch"] in self._values_by_launch:
                series, rtt_ms = self._series_and_rtt(row)
                rounds = points.setdefault(series, {}).setdefault(rtt_ms, {})
                rounds[row["launch"]] = self._values_by_launch[row["launch"]]
        return {
            series: dict(sorted(points[series].items(), key=lambda item: item[0] or 0.0))
            for series in sorted(points, key=lambda series: series.sort_key)
        }

    def values_at(self, series: Series, rtt_ms: float | None) -> ValuesByLaunch:
        """Values of the launches at one RTT in ms (None inside a cluster); {} without launches."""
        return self.values_by_point.get(series, {}).get(rtt_ms, {})

    @cached_property
    def missing_points(self) -> list[tuple[Series, float | None]]:
        """Series and RTT of launches that failed or are missing; skipped cases have a table."""
        return [
            self._series_and_rtt(row)
            for row in self._rows
            if row["status"] in ("failed", "missing")
        ]

    def value_cell(self, series: Series, rtt_ms: float | None, metric: str) -> Cell:
        """Cell of `metric`, rate or time, over launches, with its series in the history."""
        rounds = self.values_at(series, rtt_ms).values()
        values = [launch[metric] for launch in rounds if math.isfinite(launch[metric])]
        return self.interval_cell(
            values, _UNIT_BY_METRIC[metric], series_key=self.series_key(series, rtt_ms, metric)
        )

    def interval_cell(
        self, values: Sequence[float], unit: Unit, base_name: str = "", series_key: str = ""
    ) -> Cell:
        """Cell with median and interval of `values`; other parameters as of `Quantity`."""
        return display.interval_cell(
            self.interval(values), unit, base_name=base_name, series_key=series_key
        )

    def series_key(self, series: Series, rtt_ms: float | None, metric: str = "rate") -> str:
        """The key of the history series of `metric`, rate or time."""
        cases = {self._case_ids[launch] for launch in self.values_at(series, rtt_ms)}
        return self.data.series_medians.find_key(cases, 0, metric=metric, phase="total")

    @cached_property
    def _messages(self) -> pl.DataFrame:
        return self._samples.filter(pl.col("metric") == "messages").collect()

    def messages_and_iterations(self, series: Series) -> tuple[pl.DataFrame, float]:
        """Messages (columns pattern, size_bytes, messages) and iterations of one launch: all are
        alike."""
        launch, values = next(iter(next(iter(self.values_by_point[series].values())).items()))
        samples = self._messages.filter(pl.col("launch") == launch)
        return derived.messages(samples), values["iterations"]

    def verification_histories(self, series: Series) -> list[str]:
        """Verification history in the record of each launch; "not measured" without one."""
        launches = [launch for rounds in self.values_by_point[series].values() for launch in rounds]
        records = [self._details.get(launch, {}).get("verification") or {} for launch in launches]
        return [str(record.get("history") or "not measured") for record in records]

    @property
    def link_series(self) -> list[Series]:
        """Series with half of the ranks in each cluster."""
        return [series for series in self.values_by_point if series.spans_clusters]

    @property
    def planned_link_points(self) -> set[tuple[Series, float]]:
        """Series as planned and RTT in ms of all launches over the link, completed or not."""
        points = [
            (series, rtt_ms)
            for series in self.values_by_point
            for rtt_ms in self.values_by_point[series]
        ]
        return {
            (series.planned_series, rtt_ms)
            for series, rtt_ms in (*points, *self.missing_points)
            if rtt_ms is not None
        }

    @property
    def cluster_series(self) -> list[Series]:
        """Series in one machine or cluster."""
        return [series for series in self.values_by_point if not series.spans_clusters]

    def min_ranks_base(self, series: Series) -> Series:
        """The series of the same program on the fewest ranks of the same partition: its base."""
        candidates = [
            other
            for other in self.cluster_series
            if (other.problem_name, other.environ, other.source, other.partition)
            == (series.problem_name, series.environ, series.source, series.partition)
            and (other.ranks == 1 or other.placement == series.placement)
        ]
        return min(candidates, key=lambda other: (other.ranks, other.sort_key))

    def ideal_speedup(self, series: Series) -> float:
        """Number of ranks over that of `min_ranks_base`."""
        return series.ranks / self.min_ranks_base(series).ranks

    def one_cluster_base(self, series: Series) -> Series | None:
        """Base of `series` in one cluster, on `base_rank_count`; None if it did not run."""
        ranks = base_rank_count(series.benchmark, series.problem_class, series.ranks)
        candidates = (
            other
            for other in self.cluster_series
            if (other.problem_name, other.environ, other.source, other.ranks)
            == (series.problem_name, series.environ, series.source, ranks)
            and (ranks == 1 or other.uses_shared_memory == series.uses_shared_memory)
        )
        return next(candidates, None)

    def paired_values(
        self, first: ValuesByLaunch, second: ValuesByLaunch
    ) -> list[tuple[LaunchValues, LaunchValues]]:
        """Values of pairs of launches of the same round, so close in time."""
        pairing = self.round_pairing(first, second)
        return [(first[one], second[other]) for one, other in pairing.pairs]

    def round_pairing(self, first: Iterable[str], second: Iterable[str]) -> Pairing:
        """Pairs of launches of the same round, or the reason why none can be compared."""
        one, other = ([self._round_launches[name] for name in names] for names in (first, second))
        return pair_by_round(one, other)

    @cached_property
    def _round_launches(self) -> dict[str, RoundLaunch]:
        """Completed launches with their round; in bundles without rounds, their number by case."""
        rows = [row for row in self._rows if row["status"] == "passed"]
        has_rounds = all(row.get("campaign_round") is not None for row in rows)
        counts: Counter[str] = Counter()
        launches = {}
        for row in sorted(rows, key=lambda row: (len(str(row["round"])), str(row["round"]))):
            counts[row["case_id"]] += 1
            number = row["campaign_round"] if has_rounds else counts[row["case_id"]]
            name = str(row["launch"])
            launches[name] = RoundLaunch(name, number, str(row.get("started") or ""))
        return launches

    def interval(self, values: Sequence[float]) -> Interval | None:
        """Median and interval of `values`; None without values."""
        return median_interval(values, self.level) if values else None

    def _series_and_rtt(self, row: Mapping[str, Any]) -> tuple[Series, float | None]:
        """Series and RTT (ms; None inside a cluster) of a row of cases.parquet; of a launch that
        never ran, they follow from the name of its case."""
        parameters, emulation = setting_texts(row["parameters"]), setting_texts(row["emulation"])
        rtt_ms = emulation.get("wan_rtt_ms", parameters.get("wan_rtt"))
        ranks, environ = parameters.get("ranks", ""), str(row["environ"] or "")
        transport = self._transports.get(environ)
        if not transport:  # a bundle older than `extras.transport_title`
            words = set(environ.split("-"))
            transport = "UDP" if "udp" in words else "TCP" if {"tcp", "ucx"} & words else ""
        series = Series(
            benchmark=parameters.get("benchmark", ""),
            problem_class=parameters.get("problem_class", ""),
            ranks=int(ranks) if ranks.isdigit() else int(row["ranks"] or 0),
            toolchain=str(self._titles.get(environ) or environ),
            environ=environ,
            placement=parameters.get("placement", ""),
            source=parameters.get("source", NATIVE),
            spans_clusters=rtt_ms is not None,
            partition=str(row["partition"] or ""),
            shares_processors="shared_processors" in emulation,
            has_real_nodes="nodes" not in emulation,
            transport_name=transport,
        )
        return series, None if rtt_ms is None else float(rtt_ms)


def _transport_by_environ(toolchains: object) -> dict[str, str]:
    """Transports by environment from a bundle's toolchains.json, which may have any structure."""
    transports = {}
    for name, value in toolchains.items() if isinstance(toolchains, dict) else ():
        for key in ("reframe", "extras", "transport"):
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, str):
            transports[str(name)] = value
    return transports

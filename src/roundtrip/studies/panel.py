"""Panels: the launches of a study that are shown together, as a row of a table or as a figure.

A study with one value for each launch and arm needs only this::

    panels = CasePanels(data, "barrier", "operation_time")
    for panel in panels.panels:
        interval = panels.interval_at(panels.intervals, panel, variant="mpi", size_bytes=0)
        print(panel.label, units.interval(interval, 1e6))  # seconds to µs
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import polars as pl

from roundtrip.measure.columns import setting_texts
from roundtrip.report import labels, units
from roundtrip.report.data import Data
from roundtrip.report.units import Level
from roundtrip.stats.summaries import Interval, median_interval, median_intervals
from roundtrip.studies.derivation import METRICS, launch_medians

#: A row of cases.parquet, with the columns that `Panels` adds.
Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One toolchain in one setting.

    `key` has its values of the columns `Panels.key_columns`.  `where` follows the toolchain in the
    label ("2 ranks in one node").  `kind` is "" for measured values; otherwise it says that they
    are emulated or simulated.  `facts` describe the setting in words; `distinguishing_facts`
    distinguish the panel from others with the same label.
    """

    key: tuple[str, ...]
    toolchain: str
    where: str = ""
    kind: str = ""
    launches: int = 0
    facts: tuple[str, ...] = ()
    distinguishing_facts: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The name of the panel on every row and figure."""
        name = ", ".join(filter(None, (self.toolchain, self.where, *self.distinguishing_facts)))
        return f"{name} ({self.kind})" if self.kind else name

    @property
    def launch_count_text(self) -> str:
        """``8 launches``."""
        return units.plural(self.launches, "launch", "launches")

    @property
    def order(self) -> tuple[Any, ...]:
        """Sort key of panels for display: measured before emulated."""
        return bool(self.kind), self.label, self.key


P = TypeVar("P", bound=Panel)


class Panels(Generic[P]):
    """The completed launches of a study, and its panels; intervals are over launches.

    `launches`: `Data.study_launches`, with the columns `placement` (the parameter) and `kind`;
    `points` and `samples`: the rows of this study in `Data`; `details`: `Data.study_records`.
    `level`: the confidence level of the intervals, the only one that captions print.
    """

    #: Columns whose values the rows of a panel share, in `values` and in frames made from it.
    key_columns: tuple[str, ...] = ("case_id", "case")
    #: What names the series of a value in the history, besides its variant and size.
    series_names: Mapping[str, str] = {}

    def __init__(self, data: Data, study: str) -> None:
        self.level = Level(data.analysis.statistics.confidence_level)
        self.launches = with_placement_and_kind(data.study_launches(study))
        self.points = data.points.filter(pl.col("study") == study)
        self.details = data.study_records(study)
        self.samples = data.samples.filter(pl.col("study") == study)
        self._origins = data.origins
        self._parts: dict[int, tuple[pl.DataFrame, Mapping[Any, pl.DataFrame]]] = {}

    @property
    def values(self) -> pl.DataFrame:
        """A row for each launch and point: launch, the `key_columns`, and the measured values."""
        raise NotImplementedError

    def _panel(self, row: Row) -> P:
        """The panel of `row`, which has its first launch, `key_columns` and number of launches."""
        raise NotImplementedError

    def _panel_fields(self, row: Row) -> dict[str, Any]:
        """The fields of a `Panel` that are columns of `row` in every study."""
        key = tuple(row[name] for name in self.key_columns)
        return {"key": key, **{name: row[name] for name in ("toolchain", "kind", "launches")}}

    @cached_property
    def panels(self) -> tuple[P, ...]:
        """All panels, each a toolchain in one setting, in the order in which they are shown."""
        panels_by_label: dict[str, list[P]] = defaultdict(list)
        for row in self._panel_rows().iter_rows(named=True):
            panel = self._panel(row)
            panels_by_label[panel.label].append(panel)
        panels = []
        for group in panels_by_label.values():
            common_facts = set.intersection(*(set(panel.facts) for panel in group))
            for panel in group:
                facts = tuple(fact for fact in panel.facts if fact and fact not in common_facts)
                panels.append(replace(panel, distinguishing_facts=facts))
        return tuple(sorted(panels, key=lambda panel: panel.order))

    def _panel_rows(self) -> pl.DataFrame:
        launch_count = pl.col("launch").n_unique().cast(pl.Int64)
        counts = self.values.group_by(self.key_columns).agg(launches=launch_count)
        return counts.join(self.launches.unique("case_id", keep="first"), on="case_id")

    def rows(self, frame: pl.DataFrame, panel: Panel, **where: str | int) -> pl.DataFrame:
        """The rows of `frame` for `panel` that have the values of `where`; all columns."""
        if id(frame) not in self._parts:
            # Keep the frame with its parts, so that no other frame gets its id.
            self._parts[id(frame)] = frame, frame.partition_by(self.key_columns, as_dict=True)
        rows = self._parts[id(frame)][1].get(panel.key)
        return frame.clear() if rows is None else rows.filter(**where)

    def interval_at(self, frame: pl.DataFrame, panel: Panel, **where: str | int) -> Interval | None:
        """The interval in the one row of `frame` for `panel` and `where`; None without that row."""
        rows = self.rows(frame, panel, **where)
        return interval_in_row(rows.row(0, named=True), self.level) if rows.height else None

    def point_series(self, panel: Panel, variant: str, size: int) -> str:
        """The key of the series of a variant's value at one size, as `Cell.series`."""
        return self.history_series_key(panel, size, variant=variant, **self.series_names)

    def history_series_key(self, panel: Panel, size_bytes: int, **names: str) -> str:
        """The key of the one series in the history of the panel's cases with these `names`.

        `names`: values of columns of `history.night_rows.SERIES`; `case` defaults to the panel's,
        if it is among the `key_columns`.  "" if no series, or more than one, matches.
        """
        key_values = dict(zip(self.key_columns, panel.key, strict=True))
        case = {"case": key_values["case"]} if "case" in key_values else {}
        return self._origins.key(self._cases[panel.key], size_bytes, **{**case, **names})

    def batches(self, panel: Panel) -> dict[tuple[str, int], list[int]]:
        """Events per sample by variant and size in bytes, one number for each launch."""
        points = self.rows(self.points, panel).filter(pl.col("batch") > 0)
        counts = points.group_by("variant", "size_bytes").agg("batch")
        return {(variant, size): batches for variant, size, batches in counts.iter_rows()}

    def intervals_of(self, column: str, scale: float = 1.0) -> pl.DataFrame:
        """Columns `key_columns`, variant, size_bytes; median, low, high (times `scale`) and n of a
        column of `values`.
        """
        keys = [*self.key_columns, "variant", "size_bytes"]
        intervals = median_intervals(self.values, keys, column, self.level)
        return intervals.with_columns(pl.col("median", "low", "high") * scale)

    @cached_property
    def _cases(self) -> Mapping[tuple[str, ...], list[str]]:
        columns = [name for name in self.key_columns if name in self.launches.columns]
        cases = {}
        for panel in self.panels:
            key_values = dict(zip(self.key_columns, panel.key, strict=True))
            launches = self.launches.filter(pl.col(name) == key_values[name] for name in columns)
            cases[panel.key] = launches["case_id"].unique().sort().to_list()
        return cases

    def interval(self, values: Sequence[float]) -> Interval | None:
        """Median and interval of `values`, one for each launch; None without values."""
        return median_interval(values, self.level) if values else None


class CasePanels(Panels[Panel]):
    """A panel for each case_id of the campaign and case of the samples, with one `metric`."""

    def __init__(self, data: Data, study: str, metric: str) -> None:
        super().__init__(data, study)
        self.metric = metric
        self.series_names = {"phase": "measure", "metric": metric}
        self.unit = METRICS[metric].unit

    @cached_property
    def values(self) -> pl.DataFrame:
        """Launch medians: columns launch, case_id, case, variant, size_bytes; value, in `unit`; and
        cost, which is less where the launch is better.
        """
        keys = ["launch", "case_id", "case", "variant", "size_bytes"]
        medians = launch_medians(self.samples, self.metric, keys)
        is_cost = METRICS[self.metric].lower_is_better
        return medians.with_columns(cost=pl.col("value") if is_cost else 1 / pl.col("value"))

    @cached_property
    def intervals(self) -> pl.DataFrame:
        """Launch medians over launches: columns of `intervals_of`."""
        return self.intervals_of("value")

    def _panel(self, row: Row) -> Panel:
        """A panel labelled by toolchain, ranks and placement; `facts` has the other settings."""
        placement = labels.PLACEMENTS.get(row["placement"], row["placement"])
        ranks = units.plural(row["ranks"], "rank") if row["ranks"] else ""
        rest = [f"{name} {value}" for name, value in sorted(parameters(row).items())]
        return Panel(
            **self._panel_fields(row),
            where=" ".join(filter(None, (ranks, placement))),
            facts=(row["case"], *rest, place(row), row["environ"]),
        )


def with_placement_and_kind(launches: pl.DataFrame) -> pl.DataFrame:
    """`launches` with the columns `placement` (a parameter of the check) and `kind`."""
    rows = launches.select("parameters", "emulation", "simulated").rows(named=True)
    placements = [parameters(row).get("placement", "") for row in rows]
    kinds = [labels.kind(row["emulation"], row["simulated"]) for row in rows]
    return launches.with_columns(
        placement=pl.Series(placements, dtype=pl.String), kind=pl.Series(kinds, dtype=pl.String)
    )


def place(row: Row) -> str:
    """``on simulated:odin``: system and partition of the launch of `row`, as a fact of a panel."""
    return f"on {row['system']}:{row['partition']}"


def parameters(row: Row) -> dict[str, str]:
    """The parameters of the launch's check, as text."""
    return setting_texts(row["parameters"])


def interval_in_row(row: Row, level: float) -> Interval:
    """The interval at `level` in a row with the columns median, low, high, n."""
    return Interval(row["median"], row["low"], row["high"], row["n"], level)


def percentiles(samples: pl.LazyFrame, by: list[str], parts: Iterable[int]) -> pl.DataFrame:
    """Percentiles of samples, each a value that was measured: columns `by`, samples (their number),
    and p<part> for each of `parts`; sorted by `by`.
    """
    value = pl.col("value")
    quantiles = {f"p{part}": value.quantile(part / 100, "higher") for part in parts}
    counts = pl.len().cast(pl.Int64)
    return samples.group_by(by).agg(samples=counts, **quantiles).sort(by).collect()

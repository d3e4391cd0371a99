"""Panels: the launches of a study that are shown together, as a row of a table or as a figure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import polars as pl

from roundtrip import units
from roundtrip.content import labels
from roundtrip.content.data import BundleData
from roundtrip.measure.columns import setting_texts
from roundtrip.stats.summaries import Interval, median_interval, median_intervals
from roundtrip.studies.derivation import launch_medians
from roundtrip.study import METRICS
from roundtrip.units import ConfidenceLevel

#: A row of cases.parquet, with the columns that `Panels` adds.
CaseRow = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One toolchain in one setting.

    `key` has its values of the columns `Panels.key_columns`.  `placement_text` follows the
    toolchain in the title ("2 ranks in one node").  `emulation_label` is "" for measured values;
    otherwise it says that they are emulated or simulated.  `setting_clauses` describe the setting
    in words; `distinguishing_clauses` are those that panels with the same title do not share.
    """

    key: tuple[str, ...]
    toolchain: str
    placement_text: str = ""
    emulation_label: str = ""
    launch_count: int = 0
    setting_clauses: tuple[str, ...] = ()
    distinguishing_clauses: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The name of the panel on every row and figure: ``Open MPI 4.1, 2 ranks in one node``."""
        parts = (self.toolchain, self.placement_text, *self.distinguishing_clauses)
        name = ", ".join(filter(None, parts))
        return f"{name} ({self.emulation_label})" if self.emulation_label else name

    @property
    def setting_title(self) -> str:
        """The title without the toolchain: ``2 ranks in one node``."""
        return self.title.removeprefix(self.toolchain).lstrip(", ")

    @property
    def launch_count_text(self) -> str:
        """``8 launches``."""
        return units.plural(self.launch_count, "launch", "launches")

    @property
    def sort_key(self) -> tuple[Any, ...]:
        """Sort key of panels for display: measured before emulated."""
        return bool(self.emulation_label), self.title, self.key


PanelT = TypeVar("PanelT", bound=Panel)


class Panels(Generic[PanelT]):
    """The completed launches of a study, and its panels; intervals are over launches.

    `launches`: `BundleData.study_launches`, with the columns `placement` (the parameter) and
    `emulation_label`; `points` and `samples`: the rows of this study in `BundleData`.
    `run_records`: the study's entries of each run.json, by launch.  `level`: the confidence level
    of the intervals, the only one that captions print.
    """

    #: Columns whose values the rows of a panel share, in `launch_values` and frames made from it.
    key_columns: tuple[str, ...] = ("case_id", "case")
    #: Values of columns of `history.night_rows.SERIES`, by column, that all series of the study's
    #: values share; variant and size tell the series apart.
    series_values: Mapping[str, str] = {}

    def __init__(self, data: BundleData, study: str) -> None:
        self.data = data
        self.level = ConfidenceLevel(data.analysis.statistics.confidence_level)
        self.launches = with_placement_and_label(data.study_launches(study))
        self.points = data.points.filter(pl.col("study") == study)
        self.run_records = data.workload_records(study)
        self.samples = data.samples.filter(pl.col("study") == study)
        self._rows_by_panel: dict[int, tuple[pl.DataFrame, Mapping[Any, pl.DataFrame]]] = {}

    @property
    def launch_values(self) -> pl.DataFrame:
        """A row for each launch and point: launch, the `key_columns`, and the measured values."""
        raise NotImplementedError

    def _panel(self, row: CaseRow) -> PanelT:
        """The panel of `row`: its first launch, with `key_columns` and the column launch_count."""
        raise NotImplementedError

    def _panel_fields(self, row: CaseRow) -> dict[str, Any]:
        """The fields of a `Panel` that are columns of `row` in every study."""
        key = tuple(row[name] for name in self.key_columns)
        names = ("toolchain", "emulation_label", "launch_count")
        return {"key": key, **{name: row[name] for name in names}}

    @cached_property
    def panels(self) -> tuple[PanelT, ...]:
        """All panels, each a toolchain in one setting, in the order in which they are shown."""
        panels_by_title: dict[str, list[PanelT]] = defaultdict(list)
        for row in self._row_per_panel().iter_rows(named=True):
            panel = self._panel(row)
            panels_by_title[panel.title].append(panel)
        panels = []
        for group in panels_by_title.values():
            common_clauses = set.intersection(*(set(panel.setting_clauses) for panel in group))
            for panel in group:
                clauses = tuple(
                    clause
                    for clause in panel.setting_clauses
                    if clause and clause not in common_clauses
                )
                panels.append(replace(panel, distinguishing_clauses=clauses))
        return tuple(sorted(panels, key=lambda panel: panel.sort_key))

    def _row_per_panel(self) -> pl.DataFrame:
        launch_count = pl.col("launch").n_unique().cast(pl.Int64)
        counts = self.launch_values.group_by(self.key_columns).agg(launch_count=launch_count)
        return counts.join(self.launches.unique("case_id", keep="first"), on="case_id")

    def panel_rows(
        self, frame: pl.DataFrame, panel: Panel, **column_values: str | int
    ) -> pl.DataFrame:
        """The rows of `frame` for `panel` with these `column_values`; all columns stay."""
        if id(frame) not in self._rows_by_panel:
            # Keep the frame with its parts, so that no other frame gets its id.
            self._rows_by_panel[id(frame)] = (
                frame,
                frame.partition_by(self.key_columns, as_dict=True),
            )
        rows = self._rows_by_panel[id(frame)][1].get(panel.key)
        return frame.clear() if rows is None else rows.filter(**column_values)

    def interval_at(
        self, frame: pl.DataFrame, panel: Panel, **column_values: str | int
    ) -> Interval | None:
        """The interval in the row of `frame` with `panel` and `column_values`; None without it."""
        rows = self.panel_rows(frame, panel, **column_values)
        return interval_in_row(rows.row(0, named=True), self.level) if rows.height else None

    def point_series_key(self, panel: PanelT, variant: str, size: int) -> str:
        """The key of the history series of a variant's value at one size."""
        return self.history_series_key(panel, size, variant=variant, **self.series_values)

    def history_series_key(self, panel: Panel, size_bytes: int, **names: str) -> str:
        """The key of the one history series of the panel's cases with these `names`: values of
        columns of `history.night_rows.SERIES`, `case` by default the panel's, if it is among the
        `key_columns`.  "" if no series, or more than one, matches."""
        key_values = dict(zip(self.key_columns, panel.key, strict=True))
        case = {"case": key_values["case"]} if "case" in key_values else {}
        case_ids = self._case_ids_by_panel_key[panel.key]
        return self.data.series_medians.find_key(case_ids, size_bytes, **{**case, **names})

    def batch_sizes(self, panel: Panel) -> dict[tuple[str, int], list[int]]:
        """Events per sample by variant and size in bytes, one number for each launch."""
        points = self.panel_rows(self.points, panel).filter(pl.col("batch") > 0)
        counts = points.group_by("variant", "size_bytes").agg("batch")
        return {(variant, size): batches for variant, size, batches in counts.iter_rows()}

    def column_intervals(self, column: str, scale: float = 1.0) -> pl.DataFrame:
        """Intervals over launches of a column of `launch_values`: columns `key_columns`, variant,
        size_bytes; median, low and high (times `scale`); n."""
        keys = [*self.key_columns, "variant", "size_bytes"]
        intervals = median_intervals(self.launch_values, keys, column, self.level)
        return intervals.with_columns(pl.col("median", "low", "high") * scale)

    @cached_property
    def _case_ids_by_panel_key(self) -> Mapping[tuple[str, ...], list[str]]:
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

    def __init__(self, data: BundleData, study: str, metric: str) -> None:
        super().__init__(data, study)
        self.metric = metric
        self.series_values = {"phase": "measure", "metric": metric}
        self.unit = METRICS[metric].unit

    @cached_property
    def launch_values(self) -> pl.DataFrame:
        """Launch medians: columns launch, case_id, case, variant, size_bytes; value, in `unit`; and
        cost, which is less where the launch is better.
        """
        keys = ["launch", "case_id", "case", "variant", "size_bytes"]
        medians = launch_medians(self.samples, self.metric, keys)
        is_cost = METRICS[self.metric].lower_is_better
        return medians.with_columns(cost=pl.col("value") if is_cost else 1 / pl.col("value"))

    @cached_property
    def intervals(self) -> pl.DataFrame:
        """Intervals over launches of the launch medians; columns as of `column_intervals`."""
        return self.column_intervals("value")

    def _panel(self, row: CaseRow) -> Panel:
        """A panel titled by toolchain, ranks and placement; `setting_clauses`: other settings."""
        placement = labels.TEXT_BY_PLACEMENT.get(row["placement"], row["placement"])
        ranks = units.plural(row["ranks"], "rank") if row["ranks"] else ""
        words = row["case"].split("/")
        rest = [
            f"{name} {value}"
            for name, value in sorted(check_parameters(row).items())
            if value not in words
        ]
        return Panel(
            **self._panel_fields(row),
            placement_text=" ".join(filter(None, (ranks, placement))),
            setting_clauses=(row["case"], *rest, describe_partition(row), row["environ"]),
        )


def with_placement_and_label(launches: pl.DataFrame) -> pl.DataFrame:
    """`launches` with the columns `placement` (a parameter of the check) and `emulation_label`."""
    rows = launches.select("parameters", "emulation", "simulated").rows(named=True)
    placements = [check_parameters(row).get("placement", "") for row in rows]
    emulation_labels = [labels.launch_label(row["emulation"], row["simulated"]) for row in rows]
    return launches.with_columns(
        placement=pl.Series(placements, dtype=pl.String),
        emulation_label=pl.Series(emulation_labels, dtype=pl.String),
    )


def describe_partition(row: CaseRow) -> str:
    """``on simulated:odin``: the system and partition of a launch."""
    return f"on {row['system']}:{row['partition']}"


def check_parameters(row: CaseRow) -> dict[str, str]:
    """The parameters of the launch's check, as text."""
    return setting_texts(row["parameters"])


def interval_in_row(row: CaseRow, level: float) -> Interval:
    """The interval at `level` in a row with the columns median, low, high, n."""
    return Interval(row["median"], row["low"], row["high"], row["n"], level)


def percentiles(samples: pl.LazyFrame, by: list[str], percents: Iterable[int]) -> pl.DataFrame:
    """Percentiles of samples, each a measured value: columns `by`, samples (their number),
    and p<percent> for each of `percents`; sorted by `by`.
    """
    value = pl.col("value")
    quantiles = {f"p{percent}": value.quantile(percent / 100, "higher") for percent in percents}
    counts = pl.len().cast(pl.Int64)
    return samples.group_by(by).agg(samples=counts, **quantiles).sort(by).collect()

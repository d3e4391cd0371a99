"""A verified bundle, opened for reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from roundtrip import files
from roundtrip.content.series import SeriesMedians
from roundtrip.errors import UserError
from roundtrip.history import ledger, nodes
from roundtrip.history.ledger import Ledger
from roundtrip.history.night_rows import SERIES_COLUMNS
from roundtrip.measure import analysis, bundle_tables, manifest
from roundtrip.measure.bundle_rows import SampleRow
from roundtrip.measure.columns import settings_by_launch
from roundtrip.sites import schedulers
from roundtrip.sites.schedulers.interface import Scheduler
from roundtrip.stats import sequential, verdicts
from roundtrip.stats.settings import Levels
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.study import Claim

_ClaimT = TypeVar("_ClaimT", bound=Claim)


@dataclass(frozen=True)
class BundleData:
    """The tables of a bundle, with columns as in `bundle_rows`, keyed by launch.

    `launches` is cases.parquet with two more columns, `parameters` and `emulation`: lists of
    settings, null if empty.  `points` are those of completed launches.  `records_by_study` has the
    other records of workloads.  `samples` is read lazily, because it grows large.  `launch_medians`
    has a row for each launch and series.  `env_records` has the JSON files of ``env/`` by name,
    None if unreadable.  `past_nights` are the earlier nights that the bundle holds.

    Launches of a campaign over pairs of nodes are in `launches` and `placement`, and their values
    in `node_pairs` (columns `PAIRS`).  No study compares them, so `points`, `samples` and
    `launch_medians` lack them.
    """

    folder: Path
    manifest: manifest.Manifest
    launches: pl.DataFrame
    points: pl.DataFrame
    placement: pl.DataFrame
    records_by_study: Mapping[str, pl.DataFrame]
    samples: pl.LazyFrame
    analysis: analysis.AnalysisSettings
    campaign_text: str
    env_records: dict[str, Any]
    past_nights: Ledger
    launch_medians: pl.DataFrame
    node_facts: pl.DataFrame
    disturbance: pl.DataFrame
    node_pairs: pl.DataFrame

    @property
    def title(self) -> str:
        title = self._campaign_value("title")
        return title if isinstance(title, str) and title else str(self.manifest.data["campaign"])

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler of the site; that of a machine without one if the bundle does not say."""
        site = self.env_records.get("site-config.json")
        partitions = site.get("partitions") if isinstance(site, dict) else None
        items = partitions if isinstance(partitions, list) else []
        names = (str(item.get("scheduler")) for item in items if isinstance(item, dict))
        return schedulers.scheduler_of_reframe_names(names)

    @cached_property
    def completed_launches(self) -> pl.DataFrame:
        return self.launches.filter(pl.col("status") == "passed")

    @cached_property
    def simulated_launches(self) -> pl.DataFrame:
        return self.completed_launches.filter(pl.col("simulated").fill_null(False))

    @cached_property
    def series_medians(self) -> SeriesMedians:
        """The medians of completed launches by history series."""
        completed = self.launch_medians.join(self.completed_launches, on="launch", how="semi")
        return SeriesMedians(completed)

    def series_key(self, case_id: str, value: Mapping[str, Any]) -> str:
        """Key of the history series of a value (columns `SERIES_COLUMNS`); "" without one."""
        names = {name: value[name] for name in SERIES_COLUMNS if value[name] is not None}
        if not names:
            return ""
        return self.series_medians.find_key([case_id], value["size_bytes"] or 0, **names)

    @cached_property
    def node_series(self) -> pl.DataFrame:
        """This night's values of the series of nodes, from its pairs of nodes: columns `NIGHTS`."""
        level = self.analysis.statistics.confidence_level
        return nodes.node_series(self.node_pairs, self.analysis.nodes, level)

    @cached_property
    def past_series_medians(self) -> SeriesMedians:
        """The medians of all series of earlier nights, and of this night's series of nodes."""
        return SeriesMedians(pl.concat([self.past_nights.nights, self.node_series]))

    @cached_property
    def is_sequential(self) -> bool:
        """Whether the run was sequential: it ended once decided, as ``roundtrip ab`` does."""
        return self._campaign_value("sequential") is True

    @cached_property
    def is_abba(self) -> bool:
        """Whether one coin toss orders two rounds, AB BA or BA AB."""
        return self.is_sequential and self._campaign_value("abba_seed") is not None

    def _campaign_value(self, key: str) -> Any:
        """A top-level value of the campaign file; None if it is missing or cannot be read."""
        try:
            return files.parse_toml(self.campaign_text).get(key)
        except UserError:
            return None

    def study_launches(self, study: str) -> pl.DataFrame:
        """The rows of `completed_launches` of `study`, without launches on node pairs."""
        in_pairs = pl.col("launch").is_in(self.node_pairs["launch"].to_list())
        return self.completed_launches.filter(pl.col("study") == study, ~in_pairs)

    def workload_records(self, study: str) -> dict[str, dict[str, Any]]:
        """By launch, what a study's workload recorded: the fields of the study's run record."""
        if study not in self.records_by_study:
            return {}
        return {
            row.pop("launch"): row for row in self.records_by_study[study].iter_rows(named=True)
        }


def read_bundle(bundle: Path) -> BundleData:
    """Compare each file of `bundle` with its manifest, and open it; UserError if it is invalid."""
    bundle_manifest = manifest.verify(bundle)
    tables = bundle_tables.read_tables(bundle)
    launches = tables.frames["cases"]
    for name in ("parameters", "emulation"):
        lists = settings_by_launch(tables.frames[name], name)
        launches = launches.join(lists, on="launch", how="left", maintain_order="left")
    with bundle_tables.parquet_errors(bundle / manifest.table_file("samples")) as file:
        samples = bundle_tables.scan_table(file, SampleRow)
        # This decodes every page once, so that no later reader can fail on one.
        rows = samples.collect().lazy()
        bundle_tables.require_valid_samples(rows, launches, file)
    thresholds = analysis.load(bundle / analysis.ANALYSIS_FILE)
    level = thresholds.statistics.confidence_level
    launch_medians = bundle_tables.launch_medians(rows, launches, level)
    if (bundle_medians := bundle_tables.read_stored_medians(bundle, launches)) is not None:
        bundle_tables.require_medians(bundle_medians, launch_medians, bundle)
    is_apart = ~pl.col("launch").is_in(nodes.pair_launch_names(tables.frames["parameters"]))
    environment: dict[str, Any] = {}
    for record in sorted((bundle / "env").glob("*.json")):
        try:
            environment[record.name] = files.read_json(record)
        except UserError:
            environment[record.name] = None
    return BundleData(
        folder=bundle,
        manifest=bundle_manifest,
        launches=launches,
        points=tables.frames["points"].filter(is_apart),
        placement=tables.frames["placement"],
        node_facts=tables.frames["nodes"],
        disturbance=tables.frames["disturbance"],
        records_by_study=tables.details,
        samples=samples.filter(is_apart),
        analysis=thresholds,
        campaign_text=files.read_text(bundle / "campaign.toml"),
        env_records=environment,
        launch_medians=launch_medians.filter(is_apart),
        past_nights=ledger.read_attached_history(bundle, bundle_manifest),
        node_pairs=nodes.measure_pairs(rows, tables.frames, thresholds.nodes, bundle_manifest),
    )


def judge_claims(
    data: BundleData, claims: Mapping[_ClaimT, Sequence[float]], levels: Levels | None = None
) -> dict[_ClaimT, ClaimVerdict]:
    """The verdict on each claim, by its ratios in the order of rounds; each family corrected alone.

    Without `levels`, those of the bundle, with the equivalence margin of each claim's study.
    """
    test = sequential.judge if data.is_sequential else verdicts.judge
    levels = levels or data.analysis.statistics
    return test(claims, levels, family=attrgetter("family"), study=attrgetter("study"))

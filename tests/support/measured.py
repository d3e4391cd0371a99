"""Bundles of the example study `barrier`, of invented values: one for each launch and arm."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, cast

import polars as pl

from roundtrip.content.blocks import ReportSection, Table
from roundtrip.content.data import BundleData
from roundtrip.history.ledger import Ledger
from roundtrip.history.night_rows import PAIRS
from roundtrip.measure import analysis, samples
from roundtrip.measure.bundle_rows import (
    CASES_SCHEMA,
    DISTURBANCE_SCHEMA,
    LAUNCH_COLUMNS,
    MEDIANS_SCHEMA,
    NODES_SCHEMA,
    PLACEMENT_SCHEMA,
    POINTS_SCHEMA,
)
from roundtrip.measure.columns import SETTINGS_DTYPE, setting_rows
from roundtrip.stats.verdicts import judge
from roundtrip.studies.section import find_section
from roundtrip.study import get_study

STUDY = "barrier"
METRIC = "operation_time"


@dataclass(frozen=True)
class MeasuredCase:
    """A case whose launch number n (from 0) takes `base_us_by_arm` + n, in µs, for each arm."""

    case_id: str
    base_us_by_arm: Mapping[str, float]
    launches: int = 8
    sizes: tuple[int, ...] = (0,)
    row_changes: Mapping[str, Any] = field(default_factory=dict)


def launch_row(launch: str, case_id: str, study: str = STUDY, **changes: Any) -> dict[str, Any]:
    """The row of cases.parquet of a passed launch, two ranks in one node, with `changes`."""
    return {
        "launch": launch,
        "case_id": case_id,
        "study": study,
        "system": "local",
        "partition": "smp",
        "environ": "openmpi",
        "toolchain": "Open MPI",
        "parameters": setting_rows({"placement": "shared-memory"}),
        "emulation": setting_rows({}),
        "status": "passed",
        "ranks": 2,
        "hosts": ["node-0"],
        "simulated": False,
        **changes,
    }


def sample_frame(rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    """Samples of several launches: launch, case_id and the columns of samples.csv."""
    return pl.DataFrame(rows, schema={**LAUNCH_COLUMNS, **samples.CSV_SCHEMA}, orient="row")


def launch_samples(
    values: Mapping[tuple[str, int], Sequence[float]],
    study: str = STUDY,
    case: str = "2",
    metric: str = METRIC,
    unit: str = "s",
) -> pl.DataFrame:
    """Samples of one launch, from values by variant and size."""
    rows = [
        (study, case, variant, size, "measure", rep, metric, value, unit)
        for (variant, size), samples_of_point in values.items()
        for rep, value in enumerate(samples_of_point)
    ]
    return pl.DataFrame(rows, schema=samples.CSV_SCHEMA, orient="row")


def bundle_data(
    launches: Iterable[Mapping[str, Any]],
    rows: Sequence[tuple[Any, ...]],
    details: Mapping[str, pl.DataFrame] | None = None,
    **more: Any,
) -> BundleData:
    """The data of a bundle of these launches and samples; `more` replaces its empty tables."""
    columns = {**CASES_SCHEMA, "parameters": SETTINGS_DTYPE, "emulation": SETTINGS_DTYPE}
    launch_rows = [{**dict.fromkeys(columns), **launch} for launch in launches]
    schemas: dict[str, Any] = {"points": POINTS_SCHEMA, "placement": PLACEMENT_SCHEMA}
    schemas |= {"launch_medians": MEDIANS_SCHEMA, "node_facts": NODES_SCHEMA}
    schemas |= {"disturbance": DISTURBANCE_SCHEMA, "node_pairs": PAIRS}
    tables = {name: pl.DataFrame(schema=schema) for name, schema in schemas.items()}
    return BundleData(
        folder=cast(Any, None),
        manifest=cast(Any, None),
        launches=pl.DataFrame(launch_rows, schema=columns),
        samples=sample_frame(rows).lazy(),
        analysis=analysis.default_settings(),
        campaign_text="",
        env_records={},
        records_by_study=details or {},
        past_nights=Ledger(),
        **{**tables, **more},
    )


def measured_bundle(measured: Iterable[MeasuredCase]) -> BundleData:
    """The data of a bundle of these cases: three samples of each launch, arm and size."""
    launches, rows = [], []
    for case in measured:
        for number in range(case.launches):
            name = f"{number:03d}/{case.case_id}"
            launches.append(launch_row(name, case.case_id, **case.row_changes))
            for arm, base in case.base_us_by_arm.items():
                for size in case.sizes:
                    median = (base + number) * 1e-6 * max(1, size)
                    values = (median, 9 * median, median / 9)
                    key = (name, case.case_id, STUDY, STUDY, arm, size, "measure")
                    rows += [(*key, i, METRIC, value, "s") for i, value in enumerate(values)]
    return bundle_data(launches, rows)


def study_section(data: BundleData) -> ReportSection:
    """The section, with its verdicts, of the study of the first launch in `data`."""
    section = find_section(get_study(data.launches["study"][0]), data)
    assert section is not None
    verdicts = judge(section.ratios_by_claim(), data.analysis.statistics, attrgetter("family"))
    return section.report_section(verdicts)


def find_table(section: ReportSection, start: str) -> Table:
    (match,) = [table for table in section.tables if table.caption.startswith(start)]
    return match

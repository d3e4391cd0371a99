"""An audited report that keeps every rule (`SOUND`), and parts to change in it."""

from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from roundtrip.content.blocks import (
    Block,
    Cell,
    Column,
    Figure,
    Gallery,
    ReportSection,
    RichText,
    Table,
)
from roundtrip.content.plot import LINK_BOUND_NAME, Axis, Curve, HeatMap, Plot, ReferenceLine, View
from roundtrip.content.series import SeriesMedians
from roundtrip.measure import analysis
from roundtrip.measure.bundle_rows import TIMING_COLUMNS
from roundtrip.measure.columns import SETTINGS_DTYPE
from roundtrip.report.audit.subject import AuditedSection, AuditSubject
from roundtrip.stats.summaries import MEDIAN, Summary, ValueKind, median_interval
from roundtrip.stats.verdicts import ClaimVerdict, Family, judge
from roundtrip.studies.derivation import AuditedLatency, AuditedRatio, AuditFacts, PairingScope
from roundtrip.study import Study
from roundtrip.units import ConfidenceLevel, Quantity, Unit, count

STATISTICS = analysis.default_settings().statistics
TIME_SUMMARY = Summary("time", ValueKind.COST, "the samples of a launch", MEDIAN)
CLAIM_RATIOS = [1.3 + 0.01 * k for k in range(9)]
LAUNCH_MEDIANS_S = [(1.8 + 0.05 * number) * 1e-6 for number in range(9)]
#: One series, of nine launches.
SERIES_NAMES = {
    **{"case_id": "one", "study": "thing", "case": "c", "variant": "ring", "size_bytes": 4},
    **{"phase": "measure", "metric": "time", "unit": "s"},
}
SERIES_MEDIANS = SeriesMedians(
    pl.DataFrame([{**SERIES_NAMES, "median": median} for median in LAUNCH_MEDIANS_S])
)
(KEY,) = SERIES_MEDIANS.keys
CONFIDENCE = ConfidenceLevel(STATISTICS.confidence_level)


def time_cell(value: float, **more: Any) -> Cell:
    """A cell with a time in µs."""
    return Cell(Quantity(value=value, unit=Unit.US, **more))


def measured_cell(**changes: Any) -> Cell:
    """A cell with the median of the series' launches and its interval, with `changes`."""
    interval = median_interval([median * 1e6 for median in LAUNCH_MEDIANS_S], CONFIDENCE)
    return Cell(replace(Quantity.from_interval(interval, Unit.US, series_key=KEY), **changes))


def ratio_cell(base: str = "", **changes: Any) -> Cell:
    """A cell with the ratio of the first claim."""
    quantity = Quantity.from_claim(judged_claims()[Claim(1)].interval, base)
    return Cell(replace(quantity, **changes))


def table_of(*cells: Cell, **changes: Any) -> Table:
    """A table with one row of these cells, by default of one that keeps the rules."""
    row = cells or (
        measured_cell(),
        time_cell(1.0),
        time_cell(3.0, percentile=99),
        ratio_cell(),
        Cell(count(9)),
    )
    defaults: dict[str, Any] = {
        "rich_caption": ("Times in µs, with ", CONFIDENCE, " intervals."),
        "columns": (Column("Arm"), *TABLE_COLUMNS[: len(row)]),
        "rows": ((Cell("MPI"), *row),),
        "caption_units": (Unit.US,),
    }
    return Table(**{**defaults, **changes})


TABLE_COLUMNS = (
    Column("Ring", "right"),
    Column("Tree", "right", Unit.US),
    Column("p99", "right", Unit.US),
    Column("Ring / tree", "right", base_name="Tree"),
    Column("Launches", "right"),
)
AUDIT_FACTS = AuditFacts(
    summaries=(TIME_SUMMARY,),
    ratios=(AuditedRatio("ring over tree", TIME_SUMMARY, PairingScope.LAUNCH, MEDIAN),),
    latencies=(AuditedLatency("time", {"phase": "measure"}),),
    clock="rank 0 reads its own clock",
    synchronisation="a barrier before each sample",
    over_ranks="the slowest rank",
    cache="warm",
    build_columns=("mpi_library", "compiler"),
)
CLOCK_COLUMNS = {"clock_resolution_s": 1e-9, "clock_overhead_s": 1e-9}


@dataclass(frozen=True)
class Claim:
    """A claim of an invented study."""

    size: int
    family: Family = Family.PRIMARY
    study: str = "thing"


def judged_claims(**changes: Any) -> dict[Any, ClaimVerdict]:
    """Verdicts on two claims; those on the first with `changes`, to break a rule."""
    verdicts = judge(
        {Claim(1): CLAIM_RATIOS, Claim(2): [1 / ratio for ratio in CLAIM_RATIOS]}, STATISTICS
    )
    return {**verdicts, Claim(1): replace(verdicts[Claim(1)], **changes)}


def make_figure(view: View, is_published: bool = False, name: str = "one") -> Figure:
    return Figure(name, f"Figure {name}", Plot(name, "", (view,), is_published))


def line_chart(low: float | None = 0.9, line_meaning: str = "sizes", unit: str = Unit.US) -> View:
    """A chart of one line with a band from `low`, without one for None."""
    ends = [(low, 1.1), (low, 2.2)] if low is not None else [(None, None)] * 2
    points = tuple((x, float(x), *end, 9) for x, end in zip((1, 2), ends, strict=True))
    curve = Curve("arm", ("#000000", "#ffffff"), points, line_meaning=line_meaning)
    x, y = Axis("Message size", Unit.BYTES, 1, 2, True), Axis("Time", unit, 0, 3, False)
    return View("Time", x, y, (curve,))


def chart_with_limit() -> View:
    return replace(line_chart(), reference_lines=(ReferenceLine(3.0, LINK_BOUND_NAME),))


HEAT_MAP_FIGURE = Figure(
    "map", "A map", HeatMap("A map", "", "latency", ("a", "b"), frozenset(), ())
)


def gallery(
    *figures: Figure, caption: RichText = ("Bands are ", CONFIDENCE, " rank intervals.")
) -> Gallery:
    return Gallery(caption, figures)


def report_section(*blocks: Block) -> ReportSection:
    return ReportSection("thing", "A thing", blocks)


def launch_frame(count: int = 9, **columns: Any) -> pl.DataFrame:
    rows = [
        {
            **{"launch": f"{case}/{number}", "case_id": case},
            **{"mpi_library": "MPI 1", "compiler": "GNU 12", "warmup_discarded": 10, "taken": 20},
            **{"simulated": False, "emulation": None, "reason": "", "campaign_round": number},
            "started": f"2026-11-21T07:{number:02d}:{int((number % 2 == 0) != (case == 'one'))}0Z",
            **dict.fromkeys(TIMING_COLUMNS),
            **columns,
        }
        for number in range(1, count + 1)
        for case in ("one", "other")
    ]
    kinds = {
        **dict.fromkeys(("warmup_discarded", "taken", "campaign_round"), pl.Int64),
        **dict.fromkeys(("compiler", *TIMING_COLUMNS), pl.String),
        "emulation": SETTINGS_DTYPE,
    }
    return pl.DataFrame(rows, schema_overrides=kinds)


def sample_frame(frame: pl.DataFrame, samples_per_launch: int = 20) -> pl.LazyFrame:
    names = [name for name in frame["launch"] for _ in range(samples_per_launch)]
    return pl.LazyFrame({"launch": names}).with_columns(phase=pl.lit("measure"), value=pl.lit(1.0))


def point_frame(*changes: dict[str, Any]) -> pl.DataFrame:
    defaults = {"status": "converged", "batch": 1, "median_s": 1e-6, **CLOCK_COLUMNS}
    schema = {"batch": pl.Int64, "median_s": pl.Float64, **dict.fromkeys(CLOCK_COLUMNS, pl.Float64)}
    return pl.DataFrame(
        [{**defaults, **change} for change in changes or ({},)], schema_overrides=schema
    )


def study_named(study: str, words: str) -> Study:
    """An invented study of this name, with the title `words`."""

    class Thing(Study):
        name = study
        title = words

    return Thing()


ANALYSIS = analysis.default_settings()
PRINTED_FILES = {ANALYSIS.toml_text: "“Provenance”"}
SECTION = AuditedSection(
    report_section(table_of(), gallery(make_figure(chart_with_limit()))),
    AUDIT_FACTS,
    study_named("thing", "A thing"),
    (),
)
SOUND = AuditSubject(
    title="A thing",
    section=SECTION,
    launches=launch_frame(),
    lost_launches=launch_frame().head(1).with_columns(reason=pl.lit("the node went down")),
    points=point_frame(),
    launches_with_placement=frozenset(launch_frame()["launch"]),
    samples=sample_frame(launch_frame()),
    verdicts=judged_claims(),
    analysis=ANALYSIS,
    env_records={"host.json": {"cpu": {}}},
    section_title_by_text=PRINTED_FILES,
    series_medians=SERIES_MEDIANS,
)


def with_facts(**changes: Any) -> AuditSubject:
    facts = replace(AUDIT_FACTS, **changes)
    return replace(SOUND, section=replace(SECTION, audit_facts=facts))


def with_blocks(*blocks: Block, **changes: Any) -> AuditSubject:
    section = replace(SECTION, section=report_section(*blocks))
    return replace(SOUND, section=section, **changes)


def with_launches(**changes: Any) -> AuditSubject:
    return replace(SOUND, launches=launch_frame(**changes))


def with_table(*cells: Cell, **changes: Any) -> AuditSubject:
    return with_blocks(table_of(*cells, **changes))


def with_figure(figure: View | Figure, **changes: Any) -> AuditSubject:
    """A subject with a gallery of one figure, or of one chart; `changes` of the gallery."""
    shown = make_figure(figure) if isinstance(figure, View) else figure
    return with_blocks(gallery(shown, **changes))


def with_points(*changes: dict[str, Any]) -> AuditSubject:
    return replace(SOUND, points=point_frame(*changes))


def with_verdicts(**changes: Any) -> AuditSubject:
    return replace(SOUND, verdicts=judged_claims(**changes))


def with_thresholds(**changes: Any) -> AuditSubject:
    """Other thresholds than those that the report prints."""
    statistics = STATISTICS.model_copy(update=changes)
    return replace(SOUND, analysis=replace(ANALYSIS, statistics=statistics))

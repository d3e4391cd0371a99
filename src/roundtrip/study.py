"""The declaration of a study, from which its plan, its report and its audit follow; metrics.

A study is a package ``studies/<name>/`` whose ``__init__`` sets `STUDY` to an object of a class
that derives from `Study`; `load_studies` finds it.  Roundtrip imports every study whenever it
starts, so an ``__init__`` holds the declaration and no heavy import.  Code with heavy
imports is in two modules beside it, ``derived`` and ``section``, which are imported when they are
used.  A study that interleaves arms needs neither.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.units import Unit

if TYPE_CHECKING:
    from roundtrip.model import Record, StrictRecord
    from roundtrip.stats.verdicts import Family


#: Colours of a curve on a light page and on a dark page, as CSS has them.
Colour = tuple[str, str]

BLUE: Colour = ("#0b4f94", "#a9d3fb")
ORANGE: Colour = ("#d95f02", "#ffb27a")
TEAL: Colour = ("#2a9d8f", "#6fd3c6")
PURPLE: Colour = ("#6a3d9a", "#c9a3f5")
RUST: Colour = ("#a84600", "#ffc892")
GREY: Colour = ("#7a7a7a", "#c0c0c0")
#: For values that a study published.
PINK: Colour = ("#c2185b", "#ff7fb0")

_PALETTE = (BLUE, ORANGE, TEAL, PURPLE, RUST, GREY)


@dataclass(frozen=True)
class Arm:
    """Name and appearance of a curve or a dot; `point_radius` is half the width of a point.

    `line_width` 0: points without a line; `point_radius` 0: a line without points.  `shape` "":
    chosen by the position among the arms, so that overlapping curves can be distinguished.
    `is_upper_bound`: an upper bound of measured values, itself not measured.  `metric`: the only
    one of the study's metrics that it has; "" if it has all.
    """

    title: str
    colour: Colour
    line_width: float = 2.0
    point_radius: float = 3.0
    shape: str = ""
    is_dashed: bool = False
    is_upper_bound: bool = False
    metric: str = ""


def palette(names: Iterable[str]) -> dict[str, Colour]:
    """Colours by name, in order; the seventh name has the colour of the first again."""
    return {name: _PALETTE[number % len(_PALETTE)] for number, name in enumerate(names)}


#: What distinguishes claims of a contrast and is known before any launch: for arms that share a
#: launch, the last value of a panel's key, such as the case in samples.csv.
Setting = Any
#: What a value depends on besides the machine.  Two toolchains that differ only in Boost are
#: compared only by values that depend on Boost.
MPI, BOOST = "mpi", "boost"


def always_primary(setting: Setting) -> bool:
    """`Contrast.is_primary` that is always True."""
    return True


def never_primary(setting: Setting) -> bool:
    """`Contrast.is_primary` that is always False."""
    return False


@dataclass(frozen=True)
class Contrast:
    """A claimed ratio of rates, `arm` over `base`, the same in the plan and in the report.

    `description` names it in the plan.  `is_primary` returns whether it is a primary claim in a
    setting; plan and report both call it, and nothing else decides the family of a claim.
    `metric`: the metric whose rates are compared; "" for the study's first.
    """

    arm: str
    base: str
    description: str = ""
    is_primary: Callable[[Setting], bool] = never_primary
    metric: str = ""

    def family(self, setting: Setting) -> Family:
        """The family in which the claim in `setting` is corrected for false discoveries."""
        from roundtrip.stats.verdicts import Family

        return Family.PRIMARY if self.is_primary(setting) else Family.SECONDARY


@dataclass(frozen=True)
class PlannedPoints:
    """The points that launches of a case will measure: `arms` at `sizes` (bytes) in one setting.

    Cases with the same `panel`, unless it is None, are shown together and share their claims.
    """

    arms: Collection[str]
    setting: Setting
    sizes: tuple[int, ...] = (0,)
    panel: Hashable = None


@dataclass(frozen=True)
class PlannedCase:
    """A case that a campaign will launch, and the `variables` that it sets in the check."""

    id: str
    study: str
    check: str
    system_partition: str  # ``local:node``
    environ: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)

    def numeric_variable(self, variable: str, default: float) -> float:
        """The value of a variable of the check; `default` if it is not set, or is not a number."""
        try:
            return float(self.variables.get(variable, default))
        except ValueError:
            return default


@dataclass(frozen=True)
class PlannedClaims:
    """`count` primary claims of one case; `description` says what they compare."""

    case: str
    description: str
    count: int


@dataclass(frozen=True)
class SpreadMetric:
    """A value that shows how launches differ: its name, its unit, and its rows of samples.csv.

    `row_filter` selects the rows by column and value; each metric among them is a value of its
    own, if its values have the unit or are times and the unit is one of time.  If the samples are
    times, a value in MB/s is the bytes of the message over the sample.
    """

    name: str
    unit: Unit
    row_filter: tuple[tuple[str, str | int], ...]


class Claim(Hashable, Protocol):
    """The name of one ratio of the report, its study, and the family in which it is corrected."""

    @property
    def family(self) -> Family:
        """The family, which the study's definition fixes, never the data."""

    @property
    def study(self) -> str:
        """The name of the study, which may have an equivalence margin of its own."""


class Study:
    """A study: its question, measurements, claims and report.

    Modules beside it may say more than a declaration can: `perf_variables` with
    `PERF_VARIABLE_UNITS`, `speeds`, `headline_speeds` and `AUDIT_FACTS` of ``derived``, and the
    class `Section` of ``section``.  What they lack, and all of `more_metrics`, `derivation` and
    `section` of this package derive from the arms, metric by metric.
    """

    #: Name in case.json and samples.csv, and of the folder of its checks.
    name: ClassVar[str]
    #: One line each, for lists and for the report.
    title: ClassVar[str]
    question: ClassVar[str]
    #: A paragraph for the report on how it measures.
    method: ClassVar[str] = ""
    #: Sort key of its place in the report and in analysis.toml, ascending.
    order: ClassVar[int] = 100
    #: Metrics of its samples, by name in a ``metrics.json``, the main one first; rows of any other
    #: metric are faults.
    metrics: ClassVar[tuple[str, ...]] = ()
    #: Metrics of its samples besides these, which no module beside it treats; ratios of them are
    #: claimed of arms that share a launch.
    more_metrics: ClassVar[tuple[str, ...]] = ()
    #: Its table in analysis.toml, of numbers and tuples of numbers; ``thresholds.toml`` in the
    #: study's package has the text of the table with the default values.
    thresholds: ClassVar[type[StrictRecord] | None] = None
    #: Entries that only its workload writes to run.json, under the study's name.
    run_record: ClassVar[type[Record] | None] = None
    #: A few values that show how its launches differ from each other.
    spread_metrics: ClassVar[tuple[SpreadMetric, ...]] = ()
    #: The arms that its launches interleave, by name in samples.csv, in display order.
    arms: ClassVar[Mapping[str, Arm]] = {}
    #: The ratios of arms that it claims.
    contrasts: ClassVar[tuple[Contrast, ...]] = ()
    #: Replaces the common equivalence margin for all its claims, of toolchains too; None: it does
    #: not.  A site's analysis.toml may have yet another, in ``[statistics.equivalence_margins]``.
    equivalence_margin: ClassVar[float | None] = None
    #: A sentence for the report on its primary claims; "" if it has none.
    primary_description: ClassVar[str] = ""
    #: Parameters of cases that its own section compares, so that no claim is made between
    #: toolchains.
    uncompared_parameters: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        """ValueError if a contrast names an arm or a metric that the class does not declare, or is
        primary in some settings, which only a class with its own `planned_points` knows before a
        launch.
        """
        names = {name for contrast in cls.contrasts for name in (contrast.arm, contrast.base)}
        if unknown := sorted(names - set(cls.arms)):
            raise ValueError(f"{cls.__name__} contrasts what is no arm of it: {unknown[0]!r}")
        metrics = {arm.metric for arm in cls.arms.values()}
        metrics |= {contrast.metric for contrast in cls.contrasts}
        if unknown := sorted(metrics - {"", *cls.metrics, *cls.more_metrics}):
            raise ValueError(
                f"{cls.__name__} has no metric {unknown[0]!r}: right is one of `metrics`"
            )
        for contrast in cls.contrasts:
            metric = contrast.metric or next(iter(cls.metrics), "")
            for name in (contrast.arm, contrast.base):
                if cls.arms[name].metric not in ("", metric):
                    raise ValueError(f"{cls.__name__} contrasts {name!r}, which has no {metric!r}")
        is_primary = {contrast.is_primary for contrast in cls.contrasts}
        if cls.planned_points is Study.planned_points and is_primary - {
            always_primary,
            never_primary,
        }:
            raise ValueError(
                f"{cls.__name__} has no points of its own: right for `is_primary` is "
                "`always_primary` or `never_primary`"
            )

    @property
    def all_metrics(self) -> tuple[str, ...]:
        """All metrics of its samples, the main one first."""
        return (*self.metrics, *self.more_metrics)

    def contrast(self, arm: str, base: str) -> Contrast:
        """The contrast of `arm` over `base` that names no metric; KeyError if there is none."""
        return {(one.arm, one.base): one for one in self.contrasts if not one.metric}[arm, base]

    def contrasts_of(self, metric: str = "") -> tuple[Contrast, ...]:
        """The contrasts of the values of a metric, by default of the first."""
        main = self.metrics[0]
        return tuple(one for one in self.contrasts if (one.metric or main) == (metric or main))

    def planned_points(
        self, case: PlannedCase, cases: Sequence[PlannedCase], sizes: tuple[int, ...]
    ) -> Sequence[PlannedPoints]:
        """The contrasted points that launches of `case` will measure.

        `cases` are all cases of the study, `sizes` the sizes [bytes] that its claims compare.
        """
        return [PlannedPoints(tuple(self.arms), case.id, sizes)]

    def primary_claims(
        self, cases: Sequence[PlannedCase], sizes: tuple[int, ...]
    ) -> list[PlannedClaims]:
        """The primary `contrasts` at `planned_points` of `cases`, for which launches are
        planned."""
        claims_by_key: dict[Hashable, PlannedClaims] = {}
        for case in cases:
            for points in self.planned_points(case, cases, sizes):
                panel = case.id if points.panel is None else points.panel
                for contrast in self.contrasts:
                    sides = {contrast.arm, contrast.base}
                    if sides <= {*points.arms} and contrast.is_primary(points.setting):
                        claims = PlannedClaims(case.id, contrast.description, len(points.sizes))
                        claims_by_key.setdefault((panel, contrast), claims)
        return list(claims_by_key.values())


@cache
def load_studies() -> tuple[Study, ...]:
    """The `STUDY` of each package in ``studies/`` that has one, sorted by `order` and name."""
    folder = importlib.import_module("roundtrip.studies")
    packages = (
        importlib.import_module(f"{folder.__name__}.{module.name}")
        for module in pkgutil.iter_modules(folder.__path__)
        if module.ispkg
    )
    studies: list[Study] = [package.STUDY for package in packages if hasattr(package, "STUDY")]
    return tuple(sorted(studies, key=lambda study: (study.order, study.name)))


def get_study(name: str) -> Study:
    """The study called `name`, as in case.json; KeyError if there is none."""
    return {study.name: study for study in load_studies()}[name]


@dataclass(frozen=True)
class Metric:
    """A metric: unit of its samples, whether less is better, and whether a sample may be 0."""

    unit: str
    lower_is_better: bool
    may_be_zero: bool = False


def read_metrics(folder: Path) -> dict[str, Metric]:
    """All metrics in files ``metrics.json`` below `folder`, by name; UserError if two differ."""
    metrics: dict[str, Metric] = {}
    for file in sorted(folder.rglob("metrics.json")):
        for name, entry in files.parse_json(file.read_text()).items():
            if metrics.setdefault(name, Metric(**entry)) != Metric(**entry):
                fault = f"another study declares the metric {name!r} differently"
                raise UserError(f"{fault}: right is the same declaration, or another name", file)
    return metrics


METRICS = read_metrics(Path(__file__).with_name("studies"))


@cache
def metrics_by_study() -> Mapping[str, tuple[str, ...]]:
    """Names of the metrics that each study declares for its samples, by name of the study."""
    return {study.name: study.all_metrics for study in load_studies()}

"""All thresholds of a report, from one file: analysis.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from roundtrip import files, paths, studies, tables
from roundtrip.errors import UserError
from roundtrip.model import Limit, Table, extend_model
from roundtrip.stats.settings import Levels, NightSettings, NodeSettings
from roundtrip.studies.study import Study

FILE_NAME = "analysis.toml"
_Thresholds = TypeVar("_Thresholds")


class Disturbance(Table):
    """Limits above which a launch counts as disturbed, or below which it is partial;
    analysis.toml has their units."""

    steal_fraction: Limit
    involuntary_context_switches_per_s: Limit
    core_migrations: Limit
    load_above_cores: Limit
    throttled_fraction: Limit = 0.01
    waited_fraction: Limit = 0.1
    stop_s: Limit = 0.5
    clock_rate: Limit = 0.002
    sizes_fraction: Limit = 0.9


class _Shared(Table):
    """The tables that every analysis.toml has; those of the studies follow."""

    statistics: Levels
    disturbance: Disturbance
    history: NightSettings
    nodes: NodeSettings


@dataclass(frozen=True)
class Analysis:
    """The content of analysis.toml; `text` is copied into the bundle and printed in the report.

    `defaults` is TOML with the thresholds that tables of an older file lack; "" if it has all.
    """

    disturbance: Disturbance
    statistics: Levels
    history: NightSettings
    nodes: NodeSettings
    text: str
    defaults: str = ""
    #: Each study's own table, by its class.
    studies: Mapping[type, Any] = field(default_factory=dict)

    def study_thresholds(self, kind: type[_Thresholds]) -> _Thresholds:
        """Return a study's thresholds, which are of class `kind`."""
        table: _Thresholds = self.studies[kind]
        return table

    def compared_sizes(self, study: Study) -> tuple[int, ...]:
        """The sizes (bytes) of a study's claims: `compared_sizes` of its table, or only 0."""
        table = self.studies[study.thresholds] if study.thresholds else None
        return getattr(table, "compared_sizes", (0,))


def default_text() -> str:
    """Return the package's thresholds as TOML: the shared ones, then those of each study."""
    shared_file = resources.files("roundtrip.report").joinpath(FILE_NAME)
    packages = [resources.files(study.__module__) for study in studies.load() if study.thresholds]
    parts = [shared_file, *(package.joinpath("thresholds.toml") for package in packages)]
    return "\n".join(part.read_text(encoding="utf-8") for part in parts)


def default() -> Analysis:
    """Return the package's thresholds, parsed."""
    return parse(default_text(), Path(FILE_NAME))


def for_site(site: str) -> Analysis:
    """Return ``site-configs/<site>/analysis.toml`` of this checkout, else the package's thresholds;
    UserError, with the line, if the file is no analysis.toml."""
    try:
        file = paths.checkout() / "site-configs" / site / FILE_NAME
    except UserError:
        return default()
    return load(file) if file.is_file() else default()


def for_run(run_dir: Path) -> Analysis:
    """Return a run's own copy of its site's analysis.toml, else the package's thresholds."""
    file = run_dir / FILE_NAME
    return load(file) if files.stamp(file) else default()


def load(file: Path) -> Analysis:
    """Read an analysis.toml; UserError if it is not one."""
    return parse(files.read_text_in_tree(file), file)


def parse(text: str, file: Path) -> Analysis:
    """Parse and validate; UserError with the line of the first fault, as an unknown or missing key.

    A file may lack a key that is newer than its table: the class of the table has its default.  It
    may also lack the tables of newer studies, of the history and of the nodes, which then get the
    package's thresholds.
    """
    file_tables, key_lines = tables.parse(text, file)
    shared_tables, study_models = _Shared.model_fields.keys(), _study_models()
    package = files.parse_toml(default_text())
    defaults = {name: package[name] for name in ("history", "nodes", *study_models)}
    content = {**defaults, **file_tables}
    if isinstance(statistics := content.get("statistics"), dict):
        margins = {"equivalence_margins": _declared_margins()}
        content["statistics"] = tables.merge(margins, statistics)
    model = tables.validate(content, _model(), key_lines, file)
    names = sorted(study.name for study in studies.load())
    for name, _ in model.statistics.equivalence_margins:
        if name not in names:
            message = f"no study is called {name!r}: right is one of {', '.join(names)}"
            path = ("statistics", "equivalence_margins", name)
            raise tables.fault(message, path, key_lines, file)
    thresholds = {name: getattr(model, name) for name in (*shared_tables, *study_models)}
    return Analysis(
        **{name: thresholds[name] for name in shared_tables},
        text=text,
        defaults=_missing_toml(file_tables, thresholds),
        studies={kind: thresholds[name] for name, kind in study_models.items()},
    )


def _declared_margins() -> dict[str, float]:
    margins = ((study.name, study.equivalence_margin) for study in studies.load())
    return {name: margin for name, margin in margins if margin is not None}


def _study_models() -> dict[str, type[Table]]:
    return {study.name: study.thresholds for study in studies.load() if study.thresholds}


@cache
def _model() -> type[_Shared]:
    return extend_model(_Shared, {name: (kind, ...) for name, kind in _study_models().items()})


def _missing_toml(file_tables: Mapping[str, Any], thresholds: Mapping[str, Table]) -> str:
    """Return as TOML what a file lacks: keys, with their defaults, and margins of studies."""
    lines: list[str] = []
    for name, values in thresholds.items():
        missing = vars(values).keys() - file_tables[name].keys() if name in file_tables else set()
        missing -= {"minimum_effects", "equivalence_margins"}
        lines += [f"[{name}]"] * bool(missing)
        lines += [f"{key} = {vars(values)[key]}" for key in sorted(missing)]
    own = file_tables["statistics"].get("equivalence_margins", {})
    declared = {name: value for name, value in _declared_margins().items() if name not in own}
    lines += ["[statistics.equivalence_margins]"] * bool(declared)
    lines += [f"{name} = {value}" for name, value in declared.items()]
    return "\n".join(lines)

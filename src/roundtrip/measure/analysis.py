"""Reads analysis.toml, the one file with all thresholds of a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from roundtrip import files, paths, tables
from roundtrip.errors import UserError
from roundtrip.model import StrictRecord, Threshold, extend_model
from roundtrip.stats.settings import Levels, NightSettings, NodeSettings
from roundtrip.study import Study, load_studies

ANALYSIS_FILE = "analysis.toml"
_ThresholdsT = TypeVar("_ThresholdsT")


class DisturbanceLimits(StrictRecord):
    """Limits above which a launch counts as disturbed; below `sizes_fraction` it is partial.
    analysis.toml has their units."""

    steal_fraction: Threshold
    involuntary_context_switches_per_s: Threshold
    core_migrations: Threshold
    load_above_cores: Threshold
    throttled_fraction: Threshold
    waited_fraction: Threshold
    stop_s: Threshold
    clock_rate: Threshold
    sizes_fraction: Threshold


class _SharedTables(StrictRecord):
    """The tables of analysis.toml that belong to no study."""

    statistics: Levels
    disturbance: DisturbanceLimits
    history: NightSettings
    nodes: NodeSettings


@dataclass(frozen=True)
class AnalysisSettings:
    """The thresholds of analysis.toml; `toml_text` is its text, which bundle and report repeat.

    `default_toml` is TOML with the thresholds that the file lacks; "" if it has all.
    """

    disturbance: DisturbanceLimits
    statistics: Levels
    history: NightSettings
    nodes: NodeSettings
    toml_text: str
    default_toml: str = ""
    #: Thresholds of each study, by the class of its table.
    study_tables: Mapping[type, Any] = field(default_factory=dict)

    def study_thresholds(self, model: type[_ThresholdsT]) -> _ThresholdsT:
        """Return the thresholds of the study whose table in analysis.toml is of class `model`."""
        table: _ThresholdsT = self.study_tables[model]
        return table

    def compared_sizes(self, study: Study) -> tuple[int, ...]:
        """Return the message sizes (bytes) at which a study makes claims; (0,) without any."""
        table = self.study_tables[study.thresholds] if study.thresholds else None
        return getattr(table, "compared_sizes", (0,))


def default_toml() -> str:
    """Return the default thresholds as TOML: the shared ones, then those of each study."""
    shared_file = resources.files("roundtrip.report").joinpath(ANALYSIS_FILE)
    packages = [resources.files(study.__module__) for study in load_studies() if study.thresholds]
    parts = [shared_file, *(package.joinpath("thresholds.toml") for package in packages)]
    return "\n".join(part.read_text(encoding="utf-8") for part in parts)


def default_settings() -> AnalysisSettings:
    """Return the default thresholds."""
    return parse(default_toml(), Path(ANALYSIS_FILE))


def load_site_settings(site: str) -> AnalysisSettings:
    """Read ``site-configs/<site>/analysis.toml`` of this checkout; the default thresholds without
    such a file, UserError with the line for an invalid one."""
    try:
        file = paths.checkout() / "site-configs" / site / ANALYSIS_FILE
    except UserError:
        return default_settings()
    return load(file) if file.is_file() else default_settings()


def load_run_settings(run_dir: Path) -> AnalysisSettings:
    """Read the analysis.toml that the run in `run_dir` began with; or the default thresholds."""
    file = run_dir / ANALYSIS_FILE
    return load(file) if files.change_stamp(file) else default_settings()


def load(file: Path) -> AnalysisSettings:
    """Read an analysis.toml; UserError with the line if it is invalid."""
    return parse(files.read_text_in_tree(file), file)


def parse(text: str, file: Path) -> AnalysisSettings:
    """Parse the `text` of an analysis.toml; UserError with the line in `file` of its first fault.

    Keys and tables that are missing get the default thresholds.
    """
    file_tables, key_lines = tables.parse_toml(text, file)
    defaults = files.parse_toml(default_toml())
    defaults["statistics"]["equivalence_margins"] = _declared_margins()
    content = tables.merge_tables(defaults, file_tables)
    model = tables.validate_table(content, _file_model(), key_lines, file)
    names = sorted(study.name for study in load_studies())
    for name, _ in model.statistics.equivalence_margins:
        if name not in names:
            message = f"no study is called {name!r}: right is one of {', '.join(names)}"
            path = ("statistics", "equivalence_margins", name)
            raise tables.error_at_key(message, path, key_lines, file)
    return AnalysisSettings(
        **{name: getattr(model, name) for name in _SharedTables.model_fields},
        toml_text=text,
        default_toml=_missing_toml(file_tables, defaults),
        study_tables={kind: getattr(model, name) for name, kind in _study_models().items()},
    )


def _declared_margins() -> dict[str, float]:
    margins = ((study.name, study.equivalence_margin) for study in load_studies())
    return {name: margin for name, margin in margins if margin is not None}


def _study_models() -> dict[str, type[StrictRecord]]:
    return {study.name: study.thresholds for study in load_studies() if study.thresholds}


@cache
def _file_model() -> type[_SharedTables]:
    return extend_model(
        _SharedTables, {name: (kind, ...) for name, kind in _study_models().items()}
    )


def _missing_toml(file_tables: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """Return as TOML the keys of `defaults`, and margins of studies, that a file lacks."""
    lines: list[str] = []
    margins = defaults["statistics"].pop("equivalence_margins")
    own_margins = file_tables.get("statistics", {}).get("equivalence_margins", {})
    for name, values, own in (
        *((name, table, file_tables.get(name, {})) for name, table in defaults.items()),
        ("statistics.equivalence_margins", margins, own_margins),
    ):
        missing = sorted(values.keys() - own.keys())
        lines += [f"[{name}]"] * bool(missing)
        lines += [f"{key} = {values[key]}" for key in missing]
    return "\n".join(lines)

"""Every threshold of a report, from one file: analysis.toml."""

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
from roundtrip.stats.settings import Levels, NightSettings
from roundtrip.stats.settings import NodeSettings as NodeSettings

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
    """The whole file; `text` is copied into the bundle and printed in the report.

    `defaults` is TOML with the thresholds that the file does not have, because it is older than
    they are; "" if it has all.
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
        """The thresholds of the study whose class of them is `kind`."""
        table: _Thresholds = self.studies[kind]
        return table


#: Tables that a file may lack, beside those of studies: it is then older than the table.
_OPTIONAL_TABLES = ("history", "nodes")


def default_text() -> str:
    """The thresholds that come with the package: the shared ones, then those of each study."""
    shared_file = resources.files("roundtrip.report").joinpath(FILE_NAME)
    packages = [resources.files(study.__module__) for study in studies.load() if study.thresholds]
    parts = [shared_file, *(package.joinpath("thresholds.toml") for package in packages)]
    return "\n".join(part.read_text(encoding="utf-8") for part in parts)


def default() -> Analysis:
    """The thresholds that come with the package, parsed."""
    return parse(default_text(), Path(FILE_NAME))


def for_site(site: str) -> Analysis:
    """Those of ``site-configs/<site>/analysis.toml`` in this checkout, else those of the package.

    UserError, with the line, if the file is no analysis.toml.
    """
    try:
        file = paths.checkout() / "site-configs" / site / FILE_NAME
    except UserError:
        return default()
    return load(file) if file.is_file() else default()


def for_run(run_dir: Path) -> Analysis:
    """Those that a run began with: its own copy of its site's, else those of the package."""
    file = run_dir / FILE_NAME
    return load(file) if files.stamp(file) else default()


def load(file: Path) -> Analysis:
    """Read an analysis.toml; UserError if it is not one."""
    return parse(files.read_text_in_tree(file), file)


def parse(text: str, file: Path) -> Analysis:
    """Parse and validate; no table or key may be unknown, none of a table may be missing.

    UserError with the line of the first fault.  A key that came later than its table has a default
    in the class of the table, and a file may lack it.

    A study that the file does not know (it is older than the study) gets the package's
    thresholds: a bundle with such a file has no launches of it.  So do the history and the nodes.
    """
    file_tables, places = tables.parse(text, file)
    study_models = {study.name: study.thresholds for study in studies.load() if study.thresholds}
    package = files.parse_toml(default_text())
    defaults = {name: package[name] for name in (*_OPTIONAL_TABLES, *study_models)}
    model = tables.validate({**defaults, **file_tables}, _file(), places, file)
    thresholds = {name: getattr(model, name) for name in (*_Shared.model_fields, *study_models)}
    return Analysis(
        **{name: thresholds[name] for name in _Shared.model_fields},
        text=text,
        defaults=_missing_toml(file_tables, thresholds),
        studies={kind: thresholds[name] for name, kind in study_models.items()},
    )


@cache
def _file() -> type[_Shared]:
    study_models = {
        study.name: (study.thresholds, ...) for study in studies.load() if study.thresholds
    }
    return extend_model(_Shared, study_models)


def _missing_toml(file_tables: Mapping[str, Any], thresholds: Mapping[str, Table]) -> str:
    """As TOML: what is used of the tables given, and not given."""
    lines: list[str] = []
    for name, values in thresholds.items():
        missing = vars(values).keys() - file_tables[name].keys() if name in file_tables else set()
        missing -= {"minimum_effects"}
        lines += [f"[{name}]"] * bool(missing)
        lines += [f"{key} = {vars(values)[key]}" for key in sorted(missing)]
    return "\n".join(lines)

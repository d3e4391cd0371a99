"""Every threshold of a report, from one file: analysis.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar, get_origin, get_type_hints

from roundtrip import files, paths, studies, tables
from roundtrip.collect import confined
from roundtrip.errors import UserError
from roundtrip.stats.levels import Levels
from roundtrip.stats.nights.settings import Settings
from roundtrip.stats.nodes.settings import Settings as NodeSettings
from roundtrip.tables import Places

FILE_NAME = "analysis.toml"
_Thresholds = TypeVar("_Thresholds")


@dataclass(frozen=True)
class Disturbance:
    """Limits above which a launch counts as disturbed, or below which it is partial;
    analysis.toml has their units."""

    steal_fraction: float
    involuntary_context_switches_per_s: float
    core_migrations: float
    load_above_cores: float
    throttled_fraction: float = 0.01
    waited_fraction: float = 0.1
    stop_s: float = 0.5
    clock_rate: float = 0.002
    sizes_fraction: float = 0.9


@dataclass(frozen=True)
class Analysis:
    """The whole file; `text` is copied into the bundle and printed in the report.

    `later` is TOML with the thresholds that the file does not have, because it is older than they
    are; "" if it has all.
    """

    disturbance: Disturbance
    statistics: Levels
    history: Settings
    nodes: NodeSettings
    text: str
    later: str = ""
    #: Each study's own table, by its class.
    studies: Mapping[type, Any] = field(default_factory=dict)

    def of(self, kind: type[_Thresholds]) -> _Thresholds:
        """The thresholds of the study whose class of them is `kind`."""
        table: _Thresholds = self.studies[kind]
        return table


#: Larger than any sensible threshold; it excludes infinity and integers that no float can hold.
_MOST = 2.0**53
_SHARED = {
    **{"disturbance": Disturbance, "statistics": Levels},
    **{"history": Settings, "nodes": NodeSettings},
}
#: Tables that a file may lack: it is then older than the table.
_LATER = ("history", "nodes")
#: The table in [history] of what a study, or a metric of it, has in place of minimum_effect.
_EFFECTS = "minimum_effects"


def default_text() -> str:
    """The thresholds that come with the package: the shared ones, then those of each study."""
    shared = resources.files("roundtrip.report").joinpath(FILE_NAME)
    rooms = [resources.files(study.__module__) for study in studies.found() if study.thresholds]
    parts = [shared, *(room.joinpath("thresholds.toml") for room in rooms)]
    return "\n".join(part.read_text(encoding="utf-8") for part in parts)


def default() -> Analysis:
    """The thresholds that come with the package, parsed."""
    return parse(default_text(), Path(FILE_NAME))


def of_site(site: str) -> Analysis:
    """Those of ``site-configs/<site>/analysis.toml`` in this checkout, else those of the package.

    UserError, with the line, if the file is no analysis.toml.
    """
    try:
        own = paths.checkout() / "site-configs" / site / FILE_NAME
    except UserError:
        return default()
    return load(own) if own.is_file() else default()


def of_run(run_dir: Path) -> Analysis:
    """Those that a run began with: its own copy of its site's, else those of the package."""
    own = run_dir / FILE_NAME
    return load(own) if confined.stamp(own) else default()


def load(file: Path) -> Analysis:
    """Read an analysis.toml; UserError if it is not one."""
    return parse(confined.text(file), file)


def parse(text: str, file: Path) -> Analysis:
    """Parse and validate; no table or key may be unknown, none of a table may be missing.

    UserError with the line of the first fault.  A key that came later than its table has a default
    in the class of the table, and a file may lack it.

    A study that the file does not know (it is older than the study) gets the package's
    thresholds: a bundle with such a file has no launches of it.  So do the history and the nodes.
    """
    data, places = tables.parse(text, file)
    own = {study.name: study.thresholds for study in studies.found() if study.thresholds}
    if unknown := sorted(set(data) - {*_SHARED, *own}):
        legal = ", ".join([*_SHARED, *own])
        told = f"unknown table [{unknown[0]}]; legal are {legal}"
        raise tables.fault(told, (unknown[0],), places, file)
    if missing := [name for name in _SHARED if name not in {*data, *_LATER}]:
        raise UserError(f"the table [{missing[0]}] is missing", file)
    package = files.parse_toml(default_text())
    if _is_retired(data.get("history")):
        data = {name: table for name, table in data.items() if name != "history"}
    given, data = data, {**package, **data}
    data, effects = _minimum_effects(data, places, file)
    shared = {name: _table(kind, data[name], name, places, file) for name, kind in _SHARED.items()}
    shared["history"] = replace(shared["history"], minimum_effects=effects)
    levels = shared["statistics"]
    for key in ("confidence_level", "false_discovery_level"):
        if not 0 < getattr(levels, key) < 1:
            told = f"[statistics] {key} must lie between 0 and 1"
            raise tables.fault(told, ("statistics", key), places, file)
    for name in _LATER:
        for key, right in shared[name].faults():
            raise tables.fault(f"[{name}] {key} {right}", (name, key), places, file)
    thresholds = {kind: _table(kind, data[name], name, places, file) for name, kind in own.items()}
    used = shared | {name: thresholds[kind] for name, kind in own.items()}
    return Analysis(**shared, text=text, later=_later(given, used), studies=thresholds)


def _is_retired(table: Any) -> bool:
    """Whether a table [history] is of an older detection, whose thresholds mean nothing now."""
    return isinstance(table, dict) and "schedule_thresholds" in table and "evidence" not in table


def _minimum_effects(
    data: Mapping[str, Any], places: Places, file: Path
) -> tuple[dict[str, Any], tuple[tuple[str, float], ...]]:
    """The tables without [history.minimum_effects], and what that says of studies and metrics."""
    history = data["history"]
    if not isinstance(history, dict) or _EFFECTS not in history:
        return dict(data), ()
    effects = history[_EFFECTS]
    for name, value in effects.items() if isinstance(effects, dict) else [("", effects)]:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= value < 1:
            told = f"[history.{_EFFECTS}] {name or _EFFECTS} must be a number from 0 to 1"
            right = "under the name of a study, or of a study and a metric: 'STUDY METRIC'"
            raise tables.fault(f"{told}, {right}", ("history", _EFFECTS, name), places, file)
    kept = {key: value for key, value in history.items() if key != _EFFECTS}
    return {**data, "history": kept}, tuple(sorted(effects.items()))


def _later(given: Mapping[str, Any], used: Mapping[str, Any]) -> str:
    """As TOML: what is used of the tables given, and not given."""
    lines: list[str] = []
    for name, values in used.items():
        missing = vars(values).keys() - given[name].keys() if name in given else set()
        missing -= {_EFFECTS}
        lines += [f"[{name}]"] * bool(missing)
        lines += [f"{key} = {vars(values)[key]}" for key in sorted(missing)]
    return "\n".join(lines)


def _table(kind: Any, data: Any, table: str, places: Places, file: Path) -> Any:
    names = {one.name for one in fields(kind)}
    needed = {one.name for one in fields(kind) if one.default is MISSING}
    if not isinstance(data, dict) or not needed <= set(data) <= names:
        told = f"[{table}] needs exactly the keys {', '.join(sorted(names))}"
        odd = next((key for key in data if key not in names), "") if isinstance(data, dict) else ""
        raise tables.fault(told, (table, odd), places, file)
    lists = {key for key, hint in get_type_hints(kind).items() if get_origin(hint) is tuple}
    for key, value in data.items():
        if isinstance(value, list) != (key in lists):
            told = f"[{table}] {key} must be a {'list' if key in lists else 'number'}"
            raise tables.fault(f"{told}, not {value!r}"[:200], (table, key), places, file)
        numbers = value if isinstance(value, list) else [value]
        if not numbers or not all(
            isinstance(v, int | float) and not isinstance(v, bool) and 0 <= v <= _MOST
            for v in numbers
        ):
            told = f"[{table}] {key} must be a number from 0 to {_MOST:g}, not {value!r}"
            raise tables.fault(told[:200], (table, key), places, file)
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in data.items()})

"""Every threshold of a report, from one file: analysis.toml."""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.collect import confined
from roundtrip.errors import UserError
from roundtrip.stats.levels import Levels

FILE_NAME = "analysis.toml"


@dataclass(frozen=True)
class Disturbance:
    """Above any of these a launch counts as disturbed."""

    steal_fraction: float
    involuntary_context_switches_per_s: float
    core_migrations: float
    load_above_cores: float


@dataclass(frozen=True)
class NetPIPE:
    """Where the variants are compared (bytes), and the ratio below which a loss is great."""

    compared_sizes: tuple[int, ...]
    great_loss: float


@dataclass(frozen=True)
class Ring:
    """Where transports are compared (bytes), and what a region's pass is expected to be like.

    `flat_within`: largest over smallest time over the sizes, less 1; `most_hand_overs`: its time
    in bare hand-overs of a cache line; `least_gain`: its bandwidth over the best two-sided MPI.
    """

    compared_sizes: tuple[int, ...]
    flat_within: float
    most_hand_overs: float
    least_gain: float


@dataclass(frozen=True)
class OSU:
    """Where OSU is laid beside NetPIPE (bytes), and from which part on they disagree."""

    compared_sizes: tuple[int, ...]
    disagreement: float


@dataclass(frozen=True)
class NPB:
    """When a finding of the WAN study holds: see analysis.toml."""

    published_within: float
    critical_difference: float


@dataclass(frozen=True)
class Analysis:
    """The whole file; `text` is what is copied into the bundle and printed in the report."""

    disturbance: Disturbance
    statistics: Levels
    netpipe: NetPIPE
    ring: Ring
    osu: OSU
    npb: NPB
    text: str


#: Above any threshold that means something; also no infinity, and nothing a float cannot hold.
_MOST = 2.0**53
_REQUIRED = ("disturbance", "statistics")
_TABLES = {
    "disturbance": Disturbance,
    "statistics": Levels,
    "netpipe": NetPIPE,
    "ring": Ring,
    "osu": OSU,
    "npb": NPB,
}


def default_text() -> str:
    """The thresholds that come with the package."""
    return resources.files("roundtrip.report").joinpath(FILE_NAME).read_text(encoding="utf-8")


def default() -> Analysis:
    """The thresholds that come with the package, parsed."""
    return parse(default_text(), FILE_NAME)


def load(file: Path) -> Analysis:
    """Read an analysis.toml; UserError if it is not one."""
    return parse(confined.text(file), file)


def parse(text: str, file: Path | str) -> Analysis:
    """Parse and validate; no table or key may be unknown, none of a table may be missing.

    A study that the file does not know (it is older than the study) gets the package's
    thresholds: a bundle with such a file has no launches of it.
    """
    data = files.parse_toml(text, file)
    if unknown := sorted(set(data) - set(_TABLES)):
        raise UserError(f"unknown table [{unknown[0]}]; legal are {', '.join(_TABLES)}", file)
    if missing := [name for name in _REQUIRED if name not in data]:
        raise UserError(f"the table [{missing[0]}] is missing", file)
    data = {**files.parse_toml(default_text()), **data}
    parsed = {name: _table(kind, data[name], name, file) for name, kind in _TABLES.items()}
    levels = parsed["statistics"]
    for key in ("confidence_level", "false_discovery_level"):
        if not 0 < getattr(levels, key) < 1:
            raise UserError(f"[statistics] {key} must lie between 0 and 1", file)
    return Analysis(**parsed, text=text)


def _table(kind: Any, data: Any, table: str, file: Path | str) -> Any:
    names = {field.name for field in fields(kind)}
    if not isinstance(data, dict) or set(data) != names:
        raise UserError(f"[{table}] needs exactly the keys {', '.join(sorted(names))}", file)
    for key, value in data.items():
        numbers = value if isinstance(value, list) else [value]
        if not numbers or not all(
            isinstance(v, int | float) and not isinstance(v, bool) and 0 <= v <= _MOST
            for v in numbers
        ):
            told = f"[{table}] {key} must be a number from 0 to {_MOST:g}, not {value!r}"
            raise UserError(told[:200], file)
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in data.items()})

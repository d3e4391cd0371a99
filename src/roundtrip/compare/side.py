"""One side of a comparison: a bundle, or the launches of it that a selector chooses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from roundtrip.collect.tables import settings
from roundtrip.errors import UserError
from roundtrip.report import labels
from roundtrip.report.data import Data

#: What a selector may name, and what it means.
KEYS = {
    "toolchain": "name of the environment",
    "mpi": "words of what the MPI library says of itself, such as `Open MPI v4.1`",
    "boost": "beginning of the version of Boost",
    "spack": "beginning of the hash of the concrete Spack spec",
    "site": "name of the site",
    "partition": "name of the partition",
    "check": "name of the check",
    "study": "name of the study",
}
_BEGINNING = ("boost", "spack")
_WORDS = ("mpi",)


@dataclass(frozen=True)
class Unit:
    """A case that one side launched: `launches` are rows of cases.parquet that passed.

    `kind` says what is emulated or simulated, "" for measured.
    """

    study: str
    check: str
    parameters: str
    kind: str
    site: str
    partition: str
    toolchain: str
    mpi: str
    boost: str
    compiler: str
    flags: str
    spack: str
    launches: tuple[Mapping[str, Any], ...]

    @property
    def what(self) -> tuple[str, str, str]:
        """What was launched, wherever and with whatever: study, check and parameters."""
        return self.study, self.check, self.parameters

    @property
    def simulated(self) -> bool:
        """Whether its values come from a model, which gives the same ones each time."""
        return bool(self.launches[0]["simulated"])

    @property
    def told(self) -> str:
        """The case in words."""
        case = f"{self.check}, {self.parameters}" if self.parameters else self.check
        place = f"on {self.site}:{self.partition} with {self.toolchain}"
        return f"{case}, {place}" + (f", {self.kind}" if self.kind else "")


@dataclass(frozen=True)
class Side:
    """`name` is what the user called it; `chosen` are keys of `KEYS` and their values."""

    name: str
    data: Data
    chosen: Mapping[str, str]

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The cases of this side that completed; UserError if the selector chooses none."""
        units = tuple(_units(self.data))
        for key, value in self.chosen.items():
            found = tuple(unit for unit in units if _fits(key, getattr(unit, key), value))
            if not found:
                there_are = sorted({str(getattr(unit, key)) for unit in units})
                known = "; ".join(there_are) or "none"
                raise UserError(f"{self.name}: no launch with {key}={value}; there are: {known}")
            units = found
        if not units:
            raise UserError(f"{self.name}: no launch completed, so there is nothing to compare")
        return units

    @property
    def night(self) -> str:
        """The UTC date and minute at which the run began."""
        started = str(self.data.manifest.data["started"])
        return f"{started[:10]} {started[11:16]} UTC"


def _fits(key: str, held: str, wanted: str) -> bool:
    if key in _WORDS:
        return wanted.casefold() in held.casefold()
    return held.startswith(wanted) if key in _BEGINNING else held == wanted


def _units(data: Data) -> list[Unit]:
    specs = _specs(data)
    grouped: dict[tuple[str, str, str, str, str, str, str], list[dict[str, Any]]] = {}
    passed = data.launches.filter(pl.col("status") == "passed")
    for row in passed.sort("launch").iter_rows(named=True):
        told = settings.texts(row["parameters"])
        key = (
            str(row["study"]),
            str(row.get("check")),
            ", ".join(f"{name} {value}" for name, value in sorted(told.items())),
            labels.kind(row["emulation"], row["simulated"]),
            str(row.get("system")),
            str(row.get("partition")),
            str(row.get("environ")),
        )
        grouped.setdefault(key, []).append(row)
    return [
        Unit(
            study,
            check,
            parameters,
            kind,
            site,
            partition,
            toolchain,
            mpi=_all(rows, "mpi_library"),
            boost=_all(rows, "boost"),
            compiler=_all(rows, "compiler"),
            flags=_all(rows, "compiler_flags"),
            spack=specs.get(toolchain, "not recorded"),
            launches=tuple(rows),
        )
        for (study, check, parameters, kind, site, partition, toolchain), rows in grouped.items()
    ]


def _all(rows: list[dict[str, Any]], column: str) -> str:
    """What the launches say; all of it, if they do not agree."""
    return " / ".join(sorted({str(row.get(column) or "not recorded") for row in rows}))


def _specs(data: Data) -> dict[str, str]:
    """By environment: the hash of its concrete Spack spec, where Spack built it."""
    toolchains = data.environment.get("toolchains.json")
    found: dict[str, str] = {}
    for name, told in toolchains.items() if isinstance(toolchains, dict) else ():
        reframe = told.get("reframe") if isinstance(told, dict) else None
        extras = reframe.get("extras") if isinstance(reframe, dict) else None
        if isinstance(extras, dict) and extras.get("spec"):
            found[name] = str(extras["spec"])
    return found

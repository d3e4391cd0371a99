"""What was measured elsewhere and is marked in the figure of a sweep over host speeds.

A file of marks is made from the bundle of a measured campaign (`markings.py`), names it, and is
given to the sweep, which copies what is of its benchmark and class into its run.json: so a report
still follows from its bundle alone.  No claim joins a mark with anything simulated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roundtrip import files, model
from roundtrip.errors import UserError
from roundtrip.studies.npb import MarksRecord


@dataclass(frozen=True)
class Origin:
    """The night of a measured campaign: when it began, and the digest of its bundle."""

    campaign: str
    site: str
    started: str
    digest: str
    processor: str

    @property
    def label(self) -> str:
        """``wan-marks on virtual, 2026-11-22T14:11:20Z, bundle 5e5e5e5e``."""
        return f"{self.campaign} on {self.site}, {self.started}, bundle {self.digest[:8]}"


@dataclass(frozen=True)
class Alone:
    """How fast one rank of a processor is at a benchmark, Mop/s: median over `launches`."""

    origin: Origin
    benchmark: str
    problem_class: str
    toolchain: str
    mops: float
    launches: int


@dataclass(frozen=True)
class Emulated:
    """A speed-up over an emulated link, median and interval over `launches` rounds.

    `mops` is the rate of one rank alone in the same night; `is_separated`: computed from separated
    times, because ranks share processors.
    """

    origin: Origin
    benchmark: str
    problem_class: str
    toolchain: str
    ranks: int
    rtt_ms: float
    mops: float
    speedup: float
    low: float | None
    high: float | None
    is_separated: bool
    launches: int

    @property
    def setup(self) -> str:
        """``1 + 1 ranks``."""
        return f"{self.ranks // 2} + {self.ranks // 2} ranks"


@dataclass(frozen=True)
class Marks:
    """All that is marked in one figure, in order."""

    alone: tuple[Alone, ...] = ()
    emulated: tuple[Emulated, ...] = ()

    @property
    def origins(self) -> list[Origin]:
        """Where they are from, each once."""
        found = [one.origin for one in self.alone] + [one.origin for one in self.emulated]
        return list(dict.fromkeys(found))


def read(file: Path, benchmark: str, problem_class: str) -> dict[str, Any]:
    """What `file` has of a benchmark and class, as run.json keeps it; its origin is kept anyway.

    UserError for what is no file of marks.
    """
    told = files.read_json(file)
    if fault := model.fault(MarksRecord, told):
        raise UserError(f"no file of marks: {fault.where or 'the file'}: {fault.why}", file)
    wanted = {"benchmark": benchmark, "class": problem_class}
    return {
        name: [one for one in value if wanted.items() <= one.items()]
        if isinstance(value, list)
        else value
        for name, value in told.items()
    }


def from_record(told: Iterable[Mapping[str, Any]] | None) -> Marks:
    """The marks that a launch tells in its `marks`."""
    alone: list[Alone] = []
    emulated: list[Emulated] = []
    for one in told or ():
        names = "campaign", "site", "started", "digest", "processor"
        origin = Origin(*(str(one[name]) for name in names))
        alone += [Alone(origin, *_of(row), row["mops"], row["launches"]) for row in one["alone"]]
        emulated += [_emulated(origin, row) for row in one["emulated"]]
    order = sorted(emulated, key=lambda mark: (mark.ranks, mark.rtt_ms, mark.toolchain))
    return Marks(tuple(alone), tuple(order))


def _of(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["benchmark"], row["class"], row["toolchain"]


def _emulated(origin: Origin, row: Mapping[str, Any]) -> Emulated:
    return Emulated(
        origin,
        *_of(row),
        ranks=row["ranks"],
        rtt_ms=row["rtt_ms"],
        mops=row["mops"],
        speedup=row["speedup"],
        low=row.get("low"),
        high=row.get("high"),
        is_separated=bool(row.get("separated")),
        launches=row["launches"],
    )

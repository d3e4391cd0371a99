"""The metrics of samples, as ``metrics.json`` here and in the room of each study declares them.

CMake makes ``core/metrics.hpp`` of the workloads from the same files.  A row of samples.csv with
any other metric is a fault, also with one that its study does not name in `Study.metrics`.  Several
studies may declare a metric, if they declare it alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from roundtrip import files
from roundtrip.errors import UserError

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Metric:
    """The unit of the raw value, whether less is better, and whether 0 is a legal value."""

    unit: str
    lower_is_better: bool
    may_be_zero: bool = False


def declared(folder: Path) -> dict[str, Metric]:
    """The metrics of every ``metrics.json`` below `folder` by name.

    UserError if two files declare one of them differently.
    """
    found: dict[str, Metric] = {}
    for file in sorted(folder.rglob("metrics.json")):
        for name, entry in files.parse_json(file.read_text()).items():
            if found.setdefault(name, Metric(**entry)) != Metric(**entry):
                told = f"another study declares the metric {name!r} differently"
                raise UserError(f"{told}: right is the same declaration, or another name", file)
    return found


METRICS = declared(_FOLDER)


@cache
def by_study() -> Mapping[str, tuple[str, ...]]:
    """The metrics that each study declares for its samples."""
    from roundtrip import studies

    return {study.name: study.metrics for study in studies.found()}

"""The metrics of samples, as ``metrics.json`` here and in the room of each study declares them.

CMake makes ``core/metrics.hpp`` of the workloads from the same files.  A row of samples.csv with
any other metric is a fault.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from roundtrip import files

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Metric:
    """The unit of the raw value, whether less is better, and whether 0 is a legal value."""

    unit: str
    lower_is_better: bool
    may_be_zero: bool = False


def declared(folder: Path) -> dict[str, Metric]:
    """The metrics of every ``metrics.json`` below `folder` by name; ValueError if one is there
    twice.
    """
    found: dict[str, Metric] = {}
    for file in sorted(folder.rglob("metrics.json")):
        for name, entry in files.parse_json(file.read_text()).items():
            if name in found:
                raise ValueError(f"{file}: another study has a metric {name!r} already")
            found[name] = Metric(**entry)
    return found


METRICS = declared(_FOLDER)

"""The metrics that a sample may be of: unit, and which direction is better.

A new study adds its metrics here; a row of samples.csv with any other metric is a problem.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """Unit of the raw value, and whether less is better."""

    unit: str
    lower_is_better: bool


METRICS: dict[str, Metric] = {
    "half_round_trip_time": Metric("s", lower_is_better=True),
    "time_per_message": Metric("s", lower_is_better=True),
    "time_per_pass": Metric("s", lower_is_better=True),
    "lap_time": Metric("s", lower_is_better=True),
}

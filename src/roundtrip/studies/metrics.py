"""The metrics that a sample may be of: unit, and which direction is better.

A new study adds its metrics here; a row of samples.csv with any other metric is a problem.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """Unit of the raw value, whether less is better, and whether a coarse clock may show 0."""

    unit: str
    lower_is_better: bool
    may_be_zero: bool = False


METRICS: dict[str, Metric] = {
    "half_round_trip_time": Metric("s", lower_is_better=True),
    "time_per_message": Metric("s", lower_is_better=True),
    "time_per_pass": Metric("s", lower_is_better=True),
    "lap_time": Metric("s", lower_is_better=True),
    # One rank alone communicates with nobody: that takes 0 s.
    "time": Metric("s", lower_is_better=True, may_be_zero=True),
    "rate": Metric("Mop/s", lower_is_better=False),
    "messages": Metric("1", lower_is_better=True),
    # OSU prints two decimals: what rounds to 0 was measured all the same.
    "operation_time": Metric("s", lower_is_better=True, may_be_zero=True),
    "bandwidth": Metric("MB/s", lower_is_better=False, may_be_zero=True),
    "message_rate": Metric("1/s", lower_is_better=False, may_be_zero=True),
    "epoch_time": Metric("s", lower_is_better=True, may_be_zero=True),
}

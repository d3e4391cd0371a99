"""When a finding of the NPB study holds; the values are in thresholds.toml."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Thresholds:
    """When a finding of the WAN study holds: see analysis.toml."""

    published_within: float
    critical_difference: float

"""When a finding of the Ring study holds; the values are in thresholds.toml."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Thresholds:
    """Where transports are compared (bytes), and what a region's pass is expected to be like.

    `flat_within`: largest over smallest time over the sizes, less 1; `most_hand_overs`: its time
    in bare hand-overs of a cache line; `least_gain`: its bandwidth over the best two-sided MPI;
    `least_goodput`: its share of what a hub can carry.
    """

    compared_sizes: tuple[int, ...]
    flat_within: float
    most_hand_overs: float
    least_gain: float
    least_goodput: float = 0.95

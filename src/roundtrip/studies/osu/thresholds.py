"""When a finding of the OSU study holds; the values are in thresholds.toml."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Thresholds:
    """Where OSU is laid beside NetPIPE (bytes), and from which part on they disagree."""

    compared_sizes: tuple[int, ...]
    disagreement: float

"""When a finding of the NetPIPE study holds; the values are in thresholds.toml."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Thresholds:
    """Where the variants are compared (bytes), and the ratio below which a loss is great.

    `many_bytes`: from here on, what the study says of datatypes and of serializing is tested.
    """

    compared_sizes: tuple[int, ...]
    great_loss: float
    many_bytes: int = 1024

"""Figures by which launches are compared with each other."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Yardstick:
    """A figure: its name with its unit, and the rows of samples.csv that are its samples.

    `where` are columns and their values.  What is shown is `scale` times the sample, or with
    `bandwidth` the bytes of the message over it, in MB/s.
    """

    name: str
    where: tuple[tuple[str, str | int], ...]
    scale: float = 1.0
    bandwidth: bool = False

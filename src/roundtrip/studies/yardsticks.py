"""Figures by which launches are compared with each other."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Yardstick:
    """A figure: its name with its unit, and the rows of samples.csv that are its samples.

    `where` are columns and their values.  The shown value is `scale` times the sample; with
    `bandwidth` it is the bytes of the message over the sample, in MB/s.
    """

    name: str
    where: tuple[tuple[str, str | int], ...]
    scale: float = 1.0
    bandwidth: bool = False

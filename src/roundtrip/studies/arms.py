"""How the arms of a study look: their titles, and their colours on a light page and a dark one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Colour = tuple[str, str]

BLUE: Colour = ("#0b4f94", "#a9d3fb")
ORANGE: Colour = ("#d95f02", "#ffb27a")
TEAL: Colour = ("#2a9d8f", "#6fd3c6")
PURPLE: Colour = ("#6a3d9a", "#c9a3f5")
RUST: Colour = ("#a84600", "#ffc892")
GREY: Colour = ("#7a7a7a", "#c0c0c0")
#: What a study published.
PINK: Colour = ("#c2185b", "#ff7fb0")

_PALETTE = (BLUE, ORANGE, TEAL, PURPLE, RUST, GREY)


@dataclass(frozen=True)
class Arm:
    """How a curve or a dot looks, and the name beside it; `point` is half as wide as its points.

    `width` 0: points that no line joins; `point` 0: a line without points.  `shape` "": that of its
    place among the arms, so that curves which lie on each other are told apart.
    `is_bound`: not measured, but what nothing that is measured can exceed.
    """

    title: str
    colour: Colour
    width: float = 2.0
    point: float = 3.0
    shape: str = ""
    is_dashed: bool = False
    is_bound: bool = False


def palette(names: Iterable[str]) -> dict[str, Colour]:
    """A colour for each name, in order; the seventh name has the colour of the first again."""
    return {name: _PALETTE[number % len(_PALETTE)] for number, name in enumerate(names)}

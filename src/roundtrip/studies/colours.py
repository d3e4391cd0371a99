"""Colours of curves, in pairs: on a light page and on a dark one."""

from __future__ import annotations

from collections.abc import Iterable

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


def palette(names: Iterable[str]) -> dict[str, Colour]:
    """A colour for each name, in order; the seventh name has the colour of the first again."""
    return {name: _PALETTE[number % len(_PALETTE)] for number, name in enumerate(names)}

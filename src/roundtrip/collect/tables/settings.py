"""Names and values of a launch: parameters of its check, facts of what was emulated for it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

#: What `by_launch` makes of the settings of a launch.
CELL = pl.List(pl.Struct({"name": pl.String, "value": pl.String, "number": pl.Float64}))
_NUMBER = re.compile(r"[+-]?\d{1,300}(\.\d{0,300})?([eE][+-]?\d{1,3})?", re.ASCII)


def rows(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Columns name, value (as text) and number (None if it is none), by name."""
    return [
        {"name": name, "value": str(value), "number": _number(value)}
        for name, value in sorted(facts.items())
    ]


def by_launch(settings: pl.DataFrame, name: str) -> pl.DataFrame:
    """Columns launch and `name`, a list of the settings' structs; launches without any are left."""
    cells = pl.struct("name", "value", "number").alias(name)
    return settings.group_by("launch", maintain_order=True).agg(cells)


def texts(settings: Sequence[Mapping[str, Any]] | None) -> dict[str, str]:
    """Values by name, of a launch's cell as `by_launch` has it; nothing of None."""
    return {one["name"]: one["value"] for one in settings or ()}


def number(settings: Sequence[Mapping[str, Any]] | None, name: str) -> float | None:
    """The number of that name; None if there is none."""
    return next((one["number"] for one in settings or () if one["name"] == name), None)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return None
    found = float(value)
    return found if math.isfinite(found) else None

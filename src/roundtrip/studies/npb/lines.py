"""The lines of NPB's figures: dashed where ranks share processors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from roundtrip.studies.charts import Arm
from roundtrip.studies.colours import Colour

Rows = list[dict[str, Any]]


def told_apart(rows: Sequence[dict[str, Any]]) -> tuple[Rows, dict[str, Arm]]:
    """The rows with the key arm, and the arms.

    A row has the keys name, colour and shared: whether its ranks share processors.  Points of one
    name of which some do and some do not are two lines, and say so.
    """
    alone = {row["name"] for row in rows if not row["shared"]}
    arms: dict[str, Arm] = {}
    found = []
    for row in rows:
        name, shared = row["name"], row["shared"]
        title = f"{name}, fewer processors" if shared and name in alone else name
        arms[title] = _arm(title, row["colour"], shared)
        found.append({**row, "arm": title})
    return found, dict(sorted(arms.items()))


def _arm(title: str, colour: Colour, shared: bool) -> Arm:
    return Arm(title, colour, point=3.3, is_dashed=shared)

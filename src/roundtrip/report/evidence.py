"""Which of the compared sizes support a finding."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from roundtrip.report import units


def where_measured(measured: Collection[int], compared: Sequence[int]) -> str:
    """What to add to a finding: nothing if every compared size was measured, else which were.

    `` where measured (1 B to 64 KiB)``; sizes are listed if one between them is lacking.
    """
    found = [size for size in sorted(compared) if size in measured]
    if not found or len(found) == len(compared):
        return ""
    first = sorted(compared).index(found[0])
    unbroken = sorted(compared)[first : first + len(found)] == found
    if unbroken and len(found) > 1:
        return f" where measured ({units.size(found[0])} to {units.size(found[-1])})"
    return f" where measured ({', '.join(map(units.size, found))})"

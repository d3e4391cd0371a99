"""Which direction of a value is better, as its limits or its unit tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

_TIME = r"(?:[numµμ]?s|secs?|seconds?|(?:micro|milli|nano)seconds?|min|minutes?|h|hours?)"
_LOWER = re.compile(rf"{_TIME}(?:/\S+|\s+per\s+\S+)?", re.IGNORECASE)
_HIGHER = re.compile(
    r".+/\s*(?:s|secs?|seconds?|min|h|hour|day)|[kmgtpe]?i?(?:bps|i?ops|flops)|\S*hz|.+ per second",
    re.IGNORECASE,
)


def lower_is_better(
    metric: str,
    unit: str,
    lower: float | None,
    upper: float | None,
    *,
    says_lower: Sequence[str] = (),
    says_higher: Sequence[str] = (),
) -> bool | None:
    """True, False, or None where nothing tells.

    First what the user says, by globs of names of variables; then a reference that is bounded on
    one side only, because ReFrame fails what is worse; then the unit.
    """
    if any(fnmatchcase(metric, glob) for glob in says_lower):
        return True
    if any(fnmatchcase(metric, glob) for glob in says_higher):
        return False
    if (lower is None) != (upper is None):
        return lower is None
    if _HIGHER.fullmatch(unit):
        return False
    return True if _LOWER.fullmatch(unit) else None

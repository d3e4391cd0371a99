"""The numbers of a history page as compact JSON, for the script of the page.

A page of 500 series and 365 nights holds 182,500 medians with two interval ends each.  A median is
the upper 24 bits of a 32-bit float, which is more than four digits.  An end is its distance from
the median in parts of 20,000 of it, in 16 bits.  Nodes, reason, launches and disturbed launches of
a point are an index into the combinations of the page.  All are little-endian, in base64.
"""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np
from markupsafe import Markup

from roundtrip.report.pages.series import Point, Series
from roundtrip.stats.nights.verdicts import SeriesHistory

PARTS = 20_000
NO_END = 65_535
_LARGEST = NO_END - 1
_BYTE = 256
#: Times are printed in the unit that gives them one to three digits before the point.
_TIMES = ((1e-6, 1e9, "ns"), (1e-3, 1e6, "µs"), (1.0, 1e3, "ms"))


def data(
    lines: Sequence[tuple[Series, SeriesHistory, Mapping[str, Any]]], nights: Sequence[str]
) -> dict[str, Any]:
    """All series, each with its spikes and the outline of its figure; and the kinds of points."""
    kinds = sorted({_kind(point) for series, _, _ in lines for point in series.points})
    at = {kind: index for index, kind in enumerate(kinds)}
    return {
        "kinds": [list(kind) for kind in kinds],
        "series": [
            {**_series(series, known, nights, at), **_short(dict(outline))}
            for series, known, outline in lines
        ],
    }


def _series(
    one: Series, known: SeriesHistory, nights: Sequence[str], kinds: Mapping[tuple[Any, ...], int]
) -> dict[str, Any]:
    points = one.points
    factor, unit = shown_in(one)
    medians = np.array([point.median for point in points])
    ends = [[getattr(point, end) for point in points] for end in ("low", "high")]
    at = {night: index for index, night in enumerate(nights)}
    width = "<u2" if len(kinds) > _BYTE else "u1"
    return {
        "key": one.key,
        "environ": one.environ,
        "unit": unit,
        "factor": factor,
        "night": _runs(at[point.night] for point in points),
        "median": _base64(_upper(medians.astype("<f4"))),
        "ends": _base64(_ends(np.array(ends, float), medians)),
        "kind": _base64(np.array([kinds[_kind(point)] for point in points], width)),
        "spikes": list(known.spikes),
    }


def _kind(point: Point) -> tuple[str, str, int, int]:
    """Nodes, reason to leave it out, launches, disturbed launches."""
    return point.nodes, point.left_out, point.launches, point.disturbed


def shown_in(series: Series) -> tuple[float, str]:
    """By what to multiply values of a series to print them, and in which unit."""
    unit = str(series.names["unit"])
    level = median(point.median for point in series.points)
    if unit == "s" and level > 0:
        for below, factor, name in _TIMES:
            if level < below:
                return factor, name
    return 1.0, unit


def text(data: Mapping[str, Any]) -> Markup:
    """JSON that may stand inside a <script> element."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704  no < in it


def _short(value: Any) -> Any:
    """The same with six digits of each number, which are more than are printed."""
    if isinstance(value, dict):
        return {key: _short(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_short(inner) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _runs(nights: Iterable[int]) -> list[int]:
    """``[first, count, first, count, ...]`` of nights that follow one another."""
    found: list[int] = []
    for _, group in itertools.groupby(enumerate(nights), key=lambda pair: pair[1] - pair[0]):
        run = list(group)
        found += [run[0][1], len(run)]
    return found


def _upper(values: Any) -> Any:
    """The upper three bytes of each 32-bit float, rounded."""
    rounded = values.view("<u4") + np.uint32(0x80)
    return rounded.view("u1").reshape(-1, 4)[:, 1:]


def _ends(ends: Any, medians: Any) -> Any:
    """The distance of both rows of `ends` from their medians, in parts of these."""
    distance = np.abs(ends - medians)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.rint(distance / np.abs(medians) * PARTS)
    whole = np.where(np.isfinite(parts), np.minimum(parts, _LARGEST), NO_END)
    return whole.astype("<u2")


def _base64(values: Any) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")

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
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from roundtrip.report.pages.series import Series
from roundtrip.stats.nights.verdicts import SeriesHistory

KIND = ("nodes", "left_out", "launches", "disturbed")
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
    frames = [series.points.select(KIND) for series, _, _ in lines]
    kinds = pl.concat(frames).unique().sort(KIND).rows()
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
    factor, unit = shown_in(points["median"], str(one.names["unit"]))
    at = {night: index for index, night in enumerate(nights)}
    width = "<u2" if len(kinds) > _BYTE else "u1"
    return {
        "key": one.key,
        "environ": one.environ,
        "unit": unit,
        "factor": factor,
        "night": _runs(at[night] for night in points["night"]),
        "median": _base64(_upper(points["median"].to_numpy().astype("<f4"))),
        "ends": _base64(np.concatenate([_ends(points, "low"), _ends(points, "high")])),
        "kind": _base64(np.array([kinds[row] for row in points.select(KIND).rows()], width)),
        "spikes": list(known.spikes),
    }


def shown_in(values: pl.Series, unit: str) -> tuple[float, str]:
    """By what to multiply values of a series to print them, and in which unit."""
    level = values.median()
    if unit == "s" and isinstance(level, float) and level > 0:
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


def _ends(points: pl.DataFrame, end: str) -> Any:
    medians = points["median"].to_numpy()
    distance = np.abs(points[end].cast(pl.Float64).to_numpy() - medians)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.rint(distance / np.abs(medians) * PARTS)
    whole = np.where(np.isfinite(parts), np.minimum(parts, _LARGEST), NO_END)
    return whole.astype("<u2")


def _base64(values: Any) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")

"""Small pictures of a series: drawn as SVG without a library, because a page has hundreds."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from statistics import median

from markupsafe import Markup

_Place = Callable[[float], int]
WIDTH, HEIGHT = 150, 28
_MARGIN = 3
_BUCKETS = 75
#: Noise must not look like news: the picture shows at least this part of the level.
_LEAST = 0.04


def draw(values: Sequence[float | None], steps: Collection[int], spikes: Collection[int]) -> Markup:
    """The nights of a series from left to right; its steps as upright lines.

    `spikes` are nights that do not decide how much of the scale is shown.  A gap is a night
    without a value.
    """
    usual = [v for i, v in enumerate(values) if v is not None and i not in spikes]
    if not usual:
        return Markup("")
    low, high = _range(usual)
    count = len(values)

    def across(index: float) -> int:
        return round(_MARGIN + (WIDTH - 2 * _MARGIN) * (index / max(1, count - 1)))

    def down(value: float) -> int:
        part = (min(max(value, low), high) - low) / (high - low)
        return round(HEIGHT - _MARGIN - (HEIGHT - 2 * _MARGIN) * part)

    lines = "".join(f"M{across(at - 0.5)} 0V{HEIGHT}" for at in sorted(steps))
    last = next(i for i in range(count - 1, -1, -1) if values[i] is not None)
    newest = values[last] or 0.0
    return Markup(  # noqa: S704  numbers only
        f'<svg class="spark" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">'
        f'<path class="step" d="{lines}"/><path d="{_path(values, across, down)}"/>'
        f'<circle cx="{across(last)}" cy="{down(newest)}" r="2.5"/></svg>'
    )


def _range(usual: Sequence[float]) -> tuple[float, float]:
    low, high = min(usual), max(usual)
    middle = (low + high) / 2
    half = max((high - low) / 2, _LEAST / 2 * abs(middle), math.ulp(1.0))
    return middle - half, middle + half


def _path(values: Sequence[float | None], across: _Place, down: _Place) -> str:
    """A line through the medians of a few nights each, broken where there are none.

    Each place is relative to the one before, which is half as long.
    """
    width = max(1, math.ceil(len(values) / _BUCKETS))
    parts: list[str] = []
    x = y = 0
    is_open = False
    for start in range(0, len(values), width):
        here = [v for v in values[start : start + width] if v is not None]
        if here:
            middle = start + (min(width, len(values) - start) - 1) / 2
            to_x, to_y = across(middle), down(median(here))
            parts.append(f"{'' if is_open else 'm'}{to_x - x} {to_y - y}")
            x, y = to_x, to_y
        is_open = bool(here)
    return " ".join(parts).replace(" -", "-")

"""Where the labels of an axis stand, and what they say: as `templates/scales.js` has them."""

from __future__ import annotations

import math

from roundtrip.report import units
from roundtrip.report.plot import Scale

_BYTES = "bytes"
_SLACK = 1e-9
_FEW = 2  # so few powers of ten have values between them


def ticks(scale: Scale, count: float) -> tuple[float, ...]:
    """About `count` values from `low` to `high` that read well; the scale's own ones, if it has."""
    inside = tuple(one for one in scale.ticks if _is_inside(one, scale))
    if len(inside) > 1:
        return inside
    binary = unit(scale) == _BYTES and math.log2(scale.low or 1.0).is_integer()
    powers = _powers(scale, count, 2 if binary else 10) if scale.is_log else ()
    return powers if len(powers) > 1 else _even(scale, count, binary)


def label(value: float, scale: Scale) -> str:
    """The label of a tick: the scale's own one, else as short as it may be."""
    if scale.labels and value in scale.ticks:
        return scale.labels[scale.ticks.index(value)]
    if unit(scale) == _BYTES and value >= 1 and float(value).is_integer():
        return units.size(int(value))
    text = f"{value:.12g}"
    return units.number(value) if "e" in text else _grouped(text)


def unit(scale: Scale) -> str:
    """What stands in brackets at the end of the title, "" without it."""
    before, _, last = scale.title.rpartition("(")
    return last.removesuffix(")") if before and last.endswith(")") else ""


def _grouped(text: str) -> str:
    sign = "\N{MINUS SIGN}" if text.startswith("-") else ""
    whole, dot, part = text.lstrip("-").partition(".")
    return f"{sign}{int(whole):,}".replace(",", "\N{NARROW NO-BREAK SPACE}") + dot + part


def _is_inside(value: float, scale: Scale) -> bool:
    slack = _SLACK * max(abs(scale.low), abs(scale.high))
    return scale.low - slack <= value <= scale.high + slack


def _powers(scale: Scale, count: float, base: int) -> tuple[float, ...]:
    first = math.ceil(math.log(scale.low, base) - _SLACK)
    last = math.floor(math.log(scale.high, base) + _SLACK)
    few = base != 2 and last - first < _FEW
    step = next((one for one in (1, 2, 3, 5, 10, 20) if (last - first) / one < count), 50)
    exponents = range(first - 1, last + 1) if few else range(first, last + 1, step)
    times = (1, 2, 5) if few else (1,)
    values = (_clean(one * float(base) ** exponent) for exponent in exponents for one in times)
    return tuple(value for value in values if _is_inside_log(value, scale))


def _is_inside_log(value: float, scale: Scale) -> bool:
    return scale.low * (1 - _SLACK) <= value <= scale.high * (1 + _SLACK)


def _even(scale: Scale, count: float, binary: bool) -> tuple[float, ...]:
    least = (scale.high - scale.low) / count or 1.0
    power = 10.0 ** math.floor(math.log10(least))
    step = next(one * power for one in (1, 2, 5, 10) if one * power >= least * (1 - _SLACK))
    if binary and least > 1:
        step = 2.0 ** math.ceil(math.log2(least))
    first = math.ceil(scale.low / step - _SLACK)
    last = math.floor(scale.high / step + _SLACK)
    if first > last and scale.high > scale.low:
        return _even(scale, 2 * count, binary)
    return tuple(_clean(at * step) for at in range(first, last + 1))


def _clean(value: float) -> float:
    """Without the last bits that arithmetic leaves."""
    return float(f"{value:.12g}")

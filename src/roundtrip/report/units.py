"""Numbers for people: three digits, units, intervals."""

from __future__ import annotations

import math

from roundtrip.stats.intervals import Interval

NOTHING = "\N{EN DASH}"
_THIN = "\N{NARROW NO-BREAK SPACE}"
_SPACE = "\N{NO-BREAK SPACE}"
#: For `str.translate`: blanks that a terminal need not know become plain ones.
PLAIN_SPACES = {ord(_THIN): " ", ord(_SPACE): " "}
_BYTES = {
    1: "B",
    1_000: "kB",
    1 << 10: "KiB",
    1_000_000: "MB",
    1 << 20: "MiB",
    1_000_000_000: "GB",
    1 << 30: "GiB",
}


def number(value: float, digits: int = 3) -> str:
    """`value` with `digits` significant digits and spaces between thousands, never an exponent."""
    if not math.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}".replace(",", _THIN)


def size(size_bytes: int) -> str:
    """Bytes in the largest unit that divides them, binary or decimal: 64 KiB, 10 kB, 65539 B."""
    unit = max(unit for unit in _BYTES if size_bytes % unit == 0) if size_bytes else 1
    return f"{size_bytes // unit}{_SPACE}{_BYTES[unit]}"


def microseconds(seconds: float) -> str:
    """A time in µs."""
    return number(seconds * 1e6)


def interval(value: Interval, scale: float = 1.0, digits: int = 3) -> str:
    """Median and interval, times `scale`; "no CI" where there is no interval."""
    median = number(value.median * scale, digits)
    if value.low is None or value.high is None:
        return f"{median} (no CI, n{_SPACE}={_SPACE}{value.n})"
    low, high = number(value.low * scale, digits), number(value.high * scale, digits)
    return f"{median} [{low},{_SPACE}{high}]"


def spread(values: list[float]) -> str:
    """The smallest and the largest of some ratios, or the one, with two digits."""
    low, high = (f"{v:.2f}" if v >= 0.1 else number(v, 2) for v in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def factor(ratio: float) -> str:
    """How many times slower a ratio below 1 is."""
    return f"{number(1 / ratio, 2)} times"


def percent(part: float) -> str:
    """A fraction as a percentage."""
    digits = number(100 * part, 2)
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits}{_SPACE}%"


def plural(count: int, one: str, many: str = "") -> str:
    """``1 launch``, ``2 launches``."""
    return f"{count} {one if count == 1 else many or one + 's'}"

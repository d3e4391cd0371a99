"""Numbers for people: quantities with their units, three digits, intervals.

Every printed number is a `Quantity`; checks of a report read its value, never its text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from roundtrip import errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roundtrip.stats.summaries import Interval

NO_VALUE = "\N{EN DASH}"
_NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"
_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
_SYMBOL_BY_BYTES = {
    1: "B",
    1_000: "kB",
    1 << 10: "KiB",
    1_000_000: "MB",
    1 << 20: "MiB",
    1_000_000_000: "GB",
    1 << 30: "GiB",
}


class Unit(StrEnum):
    """Unambiguous units: bytes or bits, powers of 2 or of 10.

    COUNT, RATIO (one value over another) and PURE_NUMBER (any other) need no printed unit.
    BYTE_SIZE (printed in the largest unit that divides it) and FRACTION (printed as a percentage)
    are printed by the number itself.
    """

    S = "s"
    MS = "ms"
    US = "µs"
    NS = "ns"
    BYTES = "bytes"
    MB_S = "MB/s"
    MOPS = "Mop/s"
    MFLOPS = "Mflop/s"
    MILLION_MESSAGES_S = "Million messages/s"
    PER_S = "1/s"
    PERCENT = "%"
    COUNT = "count"
    RATIO = "ratio"
    PURE_NUMBER = "pure"
    BYTE_SIZE = "size"
    FRACTION = "part"


#: Units that need not be printed beside the number.
UNPRINTED_UNITS: frozenset[str] = frozenset(
    {Unit.COUNT, Unit.RATIO, Unit.PURE_NUMBER, Unit.BYTE_SIZE, Unit.FRACTION}
)
#: Units of a number that a metric has in unit "1".
_DIMENSIONLESS_UNITS = UNPRINTED_UNITS - {Unit.BYTE_SIZE}
#: The number of each unit in one second.
FACTOR_FROM_SECONDS: dict[str, float] = {Unit.S: 1.0, Unit.MS: 1e3, Unit.US: 1e6, Unit.NS: 1e9}
#: Units of which higher values are better.
_RATE_UNITS = frozenset({Unit.MB_S, Unit.MOPS, Unit.MFLOPS, Unit.MILLION_MESSAGES_S, Unit.PER_S})
#: `Quantity.label` of a value that is neither emulated nor simulated.
MEASURED_LABEL = "measured"


def conversion_factor(metric_unit: str, unit: str) -> float:
    """The factor from a metric's unit to `unit`; ValueError if there is none."""
    if metric_unit == Unit.S and unit in FACTOR_FROM_SECONDS:
        return FACTOR_FROM_SECONDS[unit]
    if metric_unit == unit or (metric_unit == "1" and unit in _DIMENSIONLESS_UNITS):
        return 1.0
    if (metric_unit, unit) == (Unit.PER_S, Unit.MILLION_MESSAGES_S):
        return 1e-6
    raise ValueError(f"values in {metric_unit} are never so many {unit}")


def convert(value: float, metric_unit: str, unit: str, size_bytes: int) -> float:
    """A metric's value in `unit`, seconds in MB/s by `size_bytes`; ValueError for other units."""
    if metric_unit == Unit.S and unit == Unit.MB_S:
        return size_bytes / value / 1e6
    return value * conversion_factor(metric_unit, unit)


class ConfidenceLevel(float):
    """The confidence level of intervals, printed in captions as ``95 %``."""

    def __str__(self) -> str:
        return percent_text(self)

    def fill_caption(self, template: str) -> tuple[str, ConfidenceLevel, str]:
        """A caption with the level in place of ``{level}``; ValueError without a ``{level}``."""
        before, placeholder, after = template.partition("{level}")
        if not placeholder:
            raise ValueError(f"no level is named in “{template}”")
        return before, self, after


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A printed number: `value` in `unit`, with `digits` significant digits, or with `decimals`.

    `low` and `high` are the ends of its interval at `level`, over `n` launches or rounds; None if
    there are too few for one, which is printed if `n` is known.  For a percentile of samples,
    `percentile` is its order, 0 for the least.  `is_claim`: it is the ratio of a claim of the
    report.  `base_name` names the column or row that has the value of a ratio's base.  `series_key`
    is the key of the history series whose median over launches it is, in any unit; "" if there is
    no single one.  `prints_unit`: it prints its unit.  `emulation_label` says what is emulated or
    simulated, "" if it is measured.  `lower_is_better` is given if the unit does not imply it.
    """

    value: float
    unit: str
    low: float | None = None
    high: float | None = None
    level: float | None = None
    n: int | None = None
    digits: int = 3
    decimals: int | None = None
    percentile: float | None = None
    is_signed: bool = False
    is_claim: bool = False
    base_name: str = ""
    series_key: str = ""
    prints_unit: bool = False
    emulation_label: str = ""
    lower_is_better: bool | None = None

    @property
    def label(self) -> str:
        """``measured``, or what is emulated or simulated."""
        return self.emulation_label or MEASURED_LABEL

    @property
    def better_direction(self) -> str:
        """Which values are better: ``lower``, ``higher``, "" if neither is."""
        if self.lower_is_better is not None:
            return "lower" if self.lower_is_better else "higher"
        if self.unit in FACTOR_FROM_SECONDS:
            return "lower"
        return "higher" if self.unit in _RATE_UNITS else ""

    @property
    def without_interval(self) -> Quantity:
        return replace(self, low=None, high=None, n=None)

    def to_json_object(self) -> dict[str, float | int | str | None]:
        """The quantity as a JSON object; numbers are not rounded."""
        return {
            "median": self.value,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "n": self.n,
            "unit": self.unit,
            "direction": self.better_direction,
            "label": self.label,
        }

    @staticmethod
    def from_interval(
        interval: Interval,
        unit: str,
        factor: float = 1.0,
        base_name: str = "",
        series_key: str = "",
        prints_unit: bool = False,
    ) -> Quantity:
        """Median and interval over launches, times `factor`, which converts them to `unit`."""
        ends = [None if end is None else end * factor for end in (interval.low, interval.high)]
        return Quantity(
            value=interval.median * factor,
            unit=unit,
            low=ends[0],
            high=ends[1],
            level=interval.level,
            n=interval.n,
            base_name=base_name,
            series_key=series_key,
            prints_unit=prints_unit,
        )

    @staticmethod
    def from_claim(interval: Interval, base_name: str = "") -> Quantity:
        """The ratio of a claim."""
        ratio = Quantity.from_interval(interval, Unit.RATIO, base_name=base_name)
        return replace(ratio, is_claim=True)

    def __str__(self) -> str:
        return f"{self._number_text(self.value)}{self.interval_and_unit}"

    @property
    def interval_and_unit(self) -> str:
        """What follows the digits: the interval and the unit, each after a blank."""
        unit = f"{_NO_BREAK_SPACE}{self.unit}" if self.prints_unit else ""
        return f"{f' {self.interval_text}' if self.interval_text else ''}{unit}"

    def _number_text(self, value: float) -> str:
        if self.unit is Unit.COUNT:
            return str(int(value))
        if self.unit is Unit.BYTE_SIZE:
            return size_text(int(value))
        if self.unit is Unit.FRACTION:
            return percent_text(value)
        magnitude = abs(value) if self.is_signed else value
        text = number_text(magnitude, self.digits)
        if self.decimals is not None:
            text = f"{magnitude:.{self.decimals}f}"
        sign = "+" if value >= 0 else "\N{MINUS SIGN}"
        return f"{sign}{text}" if self.is_signed else text.replace("-", "\N{MINUS SIGN}")

    @property
    def interval_text(self) -> str:
        """``[31, 45]``, or ``(no CI, n = 3)``; "" if `n` is not known either."""
        if self.low is not None and self.high is not None:
            return (
                f"[{self._number_text(self.low)},{_NO_BREAK_SPACE}{self._number_text(self.high)}]"
            )
        return "" if self.n is None else f"(no CI, n{_NO_BREAK_SPACE}={_NO_BREAK_SPACE}{self.n})"


def printable(text: str) -> str:
    """A line for a terminal, XML or any encoding: plain blanks, "?" for unprintable characters."""
    return errors.printable(text.replace(_NARROW_SPACE, " ").replace(_NO_BREAK_SPACE, " "))


def count(value: int) -> Quantity:
    """A count as a quantity."""
    return Quantity(value=value, unit=Unit.COUNT)


def count_range(values: Sequence[int]) -> tuple[Quantity | str, ...]:
    """The smallest and the largest count, or a single one if equal; parts of a text."""
    least, most = count(min(values)), count(max(values))
    return (least,) if least == most else (least, " to ", most)


def pure_number(value: float, digits: int = 3) -> Quantity:
    """A quantity without a unit."""
    return Quantity(value=value, unit=Unit.PURE_NUMBER, digits=digits)


def amount(value: float, unit: str, digits: int = 3) -> Quantity:
    """A quantity that prints its unit, if it has one to print."""
    says_unit = unit not in UNPRINTED_UNITS
    return Quantity(value=value, unit=unit, digits=digits, prints_unit=says_unit)


def ratio_to_level(ratio: float, low: float | None = None, high: float | None = None) -> Quantity:
    """A ratio to a level, and the ends of its interval; three decimals: nights differ little."""
    return Quantity(value=ratio, unit=Unit.RATIO, low=low, high=high, decimals=3)


def byte_size(size_bytes: int) -> Quantity:
    """A size as a quantity, printed in the largest unit that divides it."""
    return Quantity(value=size_bytes, unit=Unit.BYTE_SIZE)


def percentage(fraction: float) -> Quantity:
    """A fraction as a quantity, printed as a percentage."""
    return Quantity(value=fraction, unit=Unit.FRACTION)


def number_text(value: float, digits: int = 3) -> str:
    """`value` with `digits` significant digits and spaces between thousands, never an exponent."""
    if not math.isfinite(value):
        return NO_VALUE
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}".replace(",", _NARROW_SPACE)


def size_text(size_bytes: int) -> str:
    """Bytes in the largest unit that divides them, binary or decimal: 64 KiB, 10 kB, 65539 B."""
    unit = max(unit for unit in _SYMBOL_BY_BYTES if size_bytes % unit == 0) if size_bytes else 1
    return f"{size_bytes // unit}{_NO_BREAK_SPACE}{_SYMBOL_BY_BYTES[unit]}"


def interval_text(value: Interval, factor: float = 1.0) -> str:
    """The text of median and interval, times `factor`, for a sentence that names the unit."""
    return str(Quantity.from_interval(value, Unit.PURE_NUMBER, factor))


def ratio_range(ratios: Sequence[float]) -> tuple[Quantity | str, ...]:
    """The smallest and largest ratio, or a single one if equal; two decimals; parts of a text."""
    low, high = (
        Quantity(value=ratio, unit=Unit.RATIO, digits=2, decimals=2 if ratio >= 0.1 else None)
        for ratio in (min(ratios), max(ratios))
    )
    return (low,) if str(low) == str(high) else (low, " to ", high)


def ratio_range_text(ratios: Sequence[float]) -> str:
    """The text of `ratio_range`."""
    return "".join(map(str, ratio_range(ratios)))


def range_text(values: Sequence[float], factor: float = 1.0, digits: int = 3) -> str:
    """The smallest and largest of `values`, times `factor`; one number if both print the same."""
    return _join_ends(*(number_text(end * factor, digits) for end in (min(values), max(values))))


#: A ratio of speeds beyond this, or below one over it, is written as times, not as a percentage.
_MAX_PERCENT_RATIO = 2.0


def speed_ratio_text(low: float, high: float) -> str:
    """``2 to 6 % faster``; half the speed is 100 % slower; ratios above 2 are printed as times."""
    if low < 1 < high:
        return f"{speed_ratio_text(low, low)} to {speed_ratio_text(high, high)}"
    factors, comparative = ((low, high), "faster") if low >= 1 else ((1 / high, 1 / low), "slower")
    if factors[1] > _MAX_PERCENT_RATIO:
        phrase = f"times {'as fast' if comparative == 'faster' else comparative}"
        return f"{range_text(factors, digits=2)} {phrase}"
    shares = (percent_text(factor - 1).removesuffix(f"{_NO_BREAK_SPACE}%") for factor in factors)
    return f"{_join_ends(*shares)}{_NO_BREAK_SPACE}% {comparative}"


def _join_ends(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def percent_text(fraction: float) -> str:
    """``5 %``: the text of a fraction as a percentage."""
    digits = number_text(100 * fraction, 2)
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits}{_NO_BREAK_SPACE}%"


def plural(count: int, singular: str, plural_form: str = "") -> str:
    """``1 launch``, ``2 launches``, ``2 series``; `plural_form` for other irregular nouns."""
    ending = "" if singular.endswith("series") else "es" if singular.endswith("ch") else "s"
    return f"{count} {singular if count == 1 else plural_form or singular + ending}"

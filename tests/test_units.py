"""Numbers for people."""

from dataclasses import replace

import pytest

from roundtrip import units
from roundtrip.content.blocks import Cell, Column, Table
from roundtrip.stats.summaries import Interval, median_interval
from roundtrip.units import ConfidenceLevel, Quantity, Unit

THREE_DIGITS = (
    *((0.0, "0"), (0.012345, "0.0123"), (1.0, "1.00"), (-2.5, "\N{MINUS SIGN}2.50")),
    *((float("nan"), units.NO_VALUE), (float("inf"), units.NO_VALUE)),
)


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (10, "10 B"),
        (1_000, "1 kB"),
        (10_000, "10 kB"),
        (100_000, "100 kB"),
        (1_000_000, "1 MB"),
        (10_000_000, "10 MB"),
        (10_000_000_000, "10 GB"),  # 1024 divides it as well
        (1_500, "1500 B"),
        (1_024, "1 KiB"),
        (65_536, "64 KiB"),
        (65_539, "65539 B"),
        (1_024_000, "1000 KiB"),
        (16 << 20, "16 MiB"),
        (1 << 30, "1 GiB"),
    ],
)
def test_a_size_is_in_the_largest_unit_that_divides_it(size_bytes: int, text: str) -> None:
    assert units.size_text(size_bytes) == text.replace(" ", "\N{NO-BREAK SPACE}")


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        (Quantity(value=1234.5, unit=Unit.US), "1 234"),
        (Quantity(value=1.25, unit=Unit.RATIO, low=1.1, high=1.4, n=8), "1.25 [1.10, 1.40]"),
        (Quantity(value=1.25, unit=Unit.RATIO, n=3), "1.25 (no CI, n = 3)"),
        (Quantity(value=3e-6, unit=Unit.US, prints_unit=True), "0.00000300 µs"),
        (Quantity(value=-12.4, unit=Unit.PERCENT, decimals=0, is_signed=True), "\N{MINUS SIGN}12"),
        (units.count(12345), "12345"),
        (units.byte_size(65_536), "64 KiB"),
        (units.percentage(0.125), "12 %"),
        (units.percentage(0.05), "5 %"),
        (units.percentage(1.0), "100 %"),
        *((units.pure_number(value), text) for value, text in THREE_DIGITS),
    ],
)
def test_a_quantity_prints_itself(quantity: Quantity, text: str) -> None:
    assert units.printable(str(quantity)) == text


def test_an_interval_keeps_its_level_and_prints_in_any_unit() -> None:
    interval = median_interval([1e-6 * number for number in range(1, 10)], 0.9)
    quantity = Quantity.from_interval(interval, Unit.US, 1e6)
    assert (quantity.level, quantity.n) == (0.9, 9)
    assert str(quantity) == "5.00 [2.00,\N{NO-BREAK SPACE}8.00]"


def test_a_caption_names_no_other_level_than_its_intervals_have() -> None:
    interval = median_interval([float(number) for number in range(1, 10)], 0.9)
    columns = Column("Arm"), Column("Time", "right", Unit.US)
    rows = ((Cell("MPI"), Cell(Quantity.from_interval(interval, Unit.US))),)
    assert (
        "90"
        in Table(
            ("Median, ", ConfidenceLevel(interval.level or 0), " interval."), columns, rows
        ).caption
    )
    with pytest.raises(ValueError, match="another level"):
        Table(("Median, ", ConfidenceLevel(0.95), " interval."), columns, rows)


def test_a_caption_prints_the_units_that_it_is_said_to_print() -> None:
    with pytest.raises(ValueError, match="does not print MB/s"):
        Table("Bandwidth.", (Column("Arm"),), (), (Unit.MB_S,))


def test_a_heading_prints_the_unit_of_its_column() -> None:
    columns = (
        *(
            Column("Peak", unit=Unit.MB_S),
            Column("", unit=Unit.MB_S),
            Column("{} at 8 B", unit="s"),
        ),
        *(Column("Bytes", unit=Unit.BYTES), Column("Ratio")),
    )
    headings = [column.heading for column in columns]
    assert headings == ["Peak, MB/s", "MB/s", "s at 8 B", "Bytes", "Ratio"]


def test_values_are_converted_only_between_units_of_a_kind() -> None:
    assert units.convert(2e-6, "s", Unit.US, 0) == pytest.approx(2.0)
    assert units.convert(1e-3, "s", Unit.MB_S, 1 << 20) == pytest.approx(1048.576)
    assert units.convert(3e6, "1/s", Unit.MILLION_MESSAGES_S, 8) == pytest.approx(3.0)
    with pytest.raises(ValueError, match="never"):
        units.convert(1.0, "Mop/s", Unit.US, 0)


@pytest.mark.parametrize(
    ("unit", "better"),
    [(Unit.US, "lower"), (Unit.MB_S, "higher"), (Unit.RATIO, ""), ("jobs/h", "")],
)
def test_which_values_are_better_follows_from_the_unit(unit: str, better: str) -> None:
    assert Quantity(value=1.0, unit=unit).better_direction == better


def test_a_quantity_says_in_json_all_that_is_known_of_it() -> None:
    interval = Interval(2.0, 1.0, 3.0, 8, 0.95)
    quantity = Quantity.from_interval(interval, "jobs/h", prints_unit=True)
    emulated = replace(quantity, emulation_label="EMULATED NODES", lower_is_better=False)
    expected = {"median": 2.0, "low": 1.0, "high": 3.0, "level": 0.95, "n": 8, "unit": "jobs/h"}
    assert quantity.to_json_object() == {**expected, "direction": "", "label": "measured"}
    assert emulated.to_json_object() == {
        **expected,
        "direction": "higher",
        "label": "EMULATED NODES",
    }
    assert str(quantity.without_interval) == "2.00\N{NO-BREAK SPACE}jobs/h"


def test_a_change_of_nights_has_three_decimals_and_its_interval() -> None:
    assert str(units.ratio_to_level(1.08)) == "1.080"
    assert str(units.ratio_to_level(1.08, 1.0611, 1.1)) == "1.080 [1.061,\N{NO-BREAK SPACE}1.100]"

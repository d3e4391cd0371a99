"""Numbers in somebody else's output are read if they can be nothing else."""

import pytest

from roundtrip.studies import third_party


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0.0), ("12.50", 12.5), (".5", 0.5), ("3.", 3.0), ("0.1E+03", 100.0), ("2e-05", 2e-5)],
)
def test_what_c_and_fortran_print_is_a_number(text: str, value: float) -> None:
    assert third_party.parse_number(text) == value


@pytest.mark.parametrize(
    "text",
    ["", ".", "-1", "+1", "nan", "inf", "1_0", "1 ", "\u0661", "0x1", "1e", "9e999", "1e+-3"],
)
def test_what_else_python_takes_for_a_number_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number >= 0"):
        third_party.parse_number(text)


@pytest.mark.parametrize("text", ["", "-1", "1.0", "1_0", " 1", "\u0663", "9" * 16, "x" * 99])
def test_a_whole_number_has_digits_only_and_a_long_text_is_shown_in_part(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{text[:60]!r} is not a whole number$"):
        third_party.parse_whole_number(text)
    assert third_party.parse_whole_number("007") == 7

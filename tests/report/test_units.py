"""Numbers for people."""

from __future__ import annotations

import pytest

from roundtrip.report import units


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
    assert units.size(size_bytes) == text.replace(" ", "\N{NO-BREAK SPACE}")

from __future__ import annotations

import pytest
from vclusterlib import units
from vclusterlib.errors import UserError


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (units.rtt, "2ms", 0.002),
        (units.rtt, "500us", 0.0005),
        (units.rtt, "0.1s", 0.1),
        (units.rtt, "0", 0),
        (units.rate, "1Gbit/s", 1e9),
        (units.rate, "10 Mbit/s", 1e7),
        (units.rate, "unlimited", 0),
        (units.size, "1MiB", 2**20),
        (units.size, "2048B", 2048),
        (units.loss, "0.1%", 0.001),
        (units.loss, "0", 0),
        (units.cut, "5s", 5),
    ],
)
def test_reads(parse, text, value):
    assert parse(text) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("parse", "text", "reason"),
    [
        (units.rtt, "2", "write a number and one of us, ms, s"),
        (units.rtt, "101ms", "0 to 100ms"),
        (units.rtt, "-1ms", "write a number"),
        (units.rtt, "nanms", "write a number"),
        (units.rate, "1Gb", "Gbit/s"),
        (units.rate, "1bit/s", "64kbit/s"),
        (units.size, "1MB", "MiB"),
        (units.size, "100B", "2KiB"),
        (units.loss, "0.1", "%"),
        (units.loss, "60%", "50%"),
        (units.cut, "0s", "1ms"),
    ],
)
def test_refuses(parse, text, reason):
    with pytest.raises(UserError) as error:
        parse(text)
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


def test_shows_rates_and_sizes_as_people_write_them():
    assert units.show_rate(1e7) == "10 Mbit/s"
    assert units.show_rate(0) == "unlimited"
    assert units.show_size(64 * 2**20) == "64 MiB"
    assert units.show_size(1536) == "1.5 KiB"

from __future__ import annotations

from roundtrip.imported.values import lower_is_better

LOWER = ["s", "us", "µs", "ms", "ns", "sec", "seconds", "min", "us/op", "s/iteration", "hours"]
HIGHER = ["MB/s", "GB/s", "Mop/s", "1/s", "GFLOPS", "Gflop/s", "ns/day", "MHz", "Gbps", "tokens/s"]
NEITHER = ["", "%", "W", "J", "widgets", "MB", "shops"]


def test_less_time_is_better_more_rate_is_better_other_units_say_nothing() -> None:
    units = [*LOWER, *HIGHER, *NEITHER]
    directions = {unit: lower_is_better("x", unit, None, None) for unit in units}
    assert directions == {
        **dict.fromkeys(LOWER, True),
        **dict.fromkeys(HIGHER, False),
        **dict.fromkeys(NEITHER),
    }


def test_a_reference_with_one_limit_goes_before_the_unit() -> None:
    assert lower_is_better("x", "s", -0.1, None) is False
    assert lower_is_better("x", "W", None, 0.1) is True
    assert lower_is_better("x", "W", -0.1, 0.1) is None


def test_what_the_user_says_comes_first() -> None:
    assert lower_is_better("x_1", "MB/s", -0.1, None, lower_globs=["x_*"]) is True
    assert lower_is_better("y", "s", None, None, higher_globs=["y"]) is False

from __future__ import annotations

import pytest
from vclusterlib.link import LinkSettings
from vclusterlib.selftest import expected_ms, parse


def ping(*times):
    start = "64 bytes from 10.78.2.1: icmp_seq="
    lines = [f"{start}{number} ttl=64 time={ms} ms" for number, ms in enumerate(times)]
    return "\n".join([*lines, f"5 packets transmitted, {len(times)} received, 0% packet loss"])


def test_serialisation_of_the_ping_is_expected_too():
    assert expected_ms(LinkSettings(rtt=0.002)) == pytest.approx(2)
    # 2 x (98 + 24) bytes at 10 Mbit/s
    assert expected_ms(LinkSettings(rate=1e7)) == pytest.approx(0.1952)


def test_passes_what_is_a_little_late_and_calls_a_busy_machine_busy():
    calm_test = parse(ping("2.03", "2.04", "2.05"), 2.0)
    assert calm_test.passed
    assert not calm_test.disturbed
    busy_test = parse(ping("2.03", "9.1", "8.2"), 2.0)
    assert busy_test.passed
    assert busy_test.disturbed


@pytest.mark.parametrize("times", [("1.95", "2.03"), ("2.6", "2.7"), ()])
def test_fails_what_is_too_fast_too_slow_or_silent(times):
    assert not parse(ping(*times), 2.0).passed


def test_counts_what_came_back():
    test = parse(ping("0.03"), 0.0)
    assert (test.sent, test.received) == (5, 1)


def test_nothing_at_all_is_a_failure():
    assert not parse("", 0.0).passed

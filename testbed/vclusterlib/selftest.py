"""Tests the fabric: compares ping from a1 to b1 with the expected round-trip time."""

from __future__ import annotations

import re
import statistics
import subprocess
from dataclasses import asdict, dataclass
from typing import Any

from vclusterlib import network
from vclusterlib.errors import VclusterError
from vclusterlib.link import LinkSettings

_PINGS = 25
_ATTEMPTS = 3
#: Bits on the wire of one 56-byte ping: 98 of frame, 24 of preamble, FCS and gap.
_PING_BITS = 8 * (98 + 24)
#: The fastest ping may exceed the expected time by this, or by a twentieth.
_TOLERANCE_MS = 0.5
#: It may not be faster, within the three digits that ping prints: 0.031, 2.03, 40.1, 100.
_CLOCK_MS = 0.02
_TYPICAL_MS = 0.25


@dataclass(frozen=True)
class SelfTest:
    """Times in ms, infinite (in JSON null) if nothing was received.

    `asked_ms` includes the serialisation of the ping itself.
    """

    asked_ms: float
    min_ms: float
    p50_ms: float
    sent: int
    received: int

    @property
    def passed(self) -> bool:
        ceiling = self.asked_ms + max(_TOLERANCE_MS, self.asked_ms / 20)
        floor = self.asked_ms - max(_CLOCK_MS, self.asked_ms / 200)
        return self.received > 0 and floor <= self.min_ms <= ceiling

    @property
    def disturbed(self) -> bool:
        """Whether the fastest ping is right, but the median is late: the machine is busy."""
        return self.passed and self.p50_ms - self.asked_ms > _TYPICAL_MS

    def to_json(self) -> dict[str, Any]:
        times = {} if self.received else {"min_ms": None, "p50_ms": None}
        return {**asdict(self), **times, "passed": self.passed, "disturbed": self.disturbed}

    def __str__(self) -> str:
        return (
            f"ping a1 -> b1 asked {self.asked_ms:.3f} ms, min {self.min_ms:.3f}, "
            f"p50 {self.p50_ms:.3f} ms, {self.received} of {self.sent} received"
        )


def expected_ms(settings: LinkSettings) -> float:
    """The round-trip time that the link adds to a ping: delay, and serialisation both ways."""
    serialisation = 2 * _PING_BITS / settings.rate if settings.rate else 0.0
    return (settings.rtt + serialisation) * 1e3


def parse(output: str, asked_ms: float) -> SelfTest:
    """Read what ping printed."""
    times = [float(t) for t in re.findall(r"time[=<]([\d.]+) ms", output)]
    counts = re.search(r"(\d+) packets transmitted, (\d+)", output)
    sent = int(counts[1]) if counts else 0
    if not times:
        return SelfTest(asked_ms, float("inf"), float("inf"), sent, 0)
    return SelfTest(asked_ms, min(times), statistics.median(times), sent, len(times))


def _ping(target: str, count: int, interval: float, patience: float) -> str:
    prefix = ["nsenter", f"--net={network.NAMESPACES / 'a1'}"]
    pace = ["-c", str(count), "-i", f"{interval:.3f}", "-W", f"{patience:g}"]
    command = ["ping", "-n", *pace, target]
    process = subprocess.run([*prefix, *command], capture_output=True, text=True)
    return process.stdout


def run(settings: LinkSettings, target: str) -> SelfTest:
    """Measure up to three times; VclusterError if no test passes."""
    if not settings.up:
        return _silence(target)
    rtt_ms = expected_ms(settings)
    count = _PINGS if settings.loss < 0.2 else 4 * _PINGS
    # so far apart that no ping waits for the one before
    interval = max(0.01, 2 * _PING_BITS / settings.rate) if settings.rate else 0.01
    tests = []
    for _ in range(_ATTEMPTS):
        tests.append(parse(_ping(target, count, interval, 0.5), rtt_ms))
        if tests[-1].passed and not tests[-1].disturbed:
            break
    good_tests = [test for test in tests if test.passed]
    if not good_tests:
        raise VclusterError(f"self-test failed: {tests[-1]}")
    return min(good_tests, key=lambda test: test.p50_ms)


def _silence(target: str) -> SelfTest:
    test = parse(_ping(target, 2, 0.01, 0.2), 0.0)
    if test.received:
        raise VclusterError(f"self-test failed: the link is down, but {test}")
    return test

"""Times, rates, sizes and fractions as people write them: 2ms, 1Gbit/s, 1MiB, 0.1%."""

from __future__ import annotations

import re
from collections.abc import Mapping

from vclusterlib.errors import UserError

_TIMES = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_RATES = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
_SIZES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_NUMBER = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(\S*)")


def _parse(text: str, quantity: str, units: Mapping[str, float], example: str) -> float:
    match = _NUMBER.fullmatch(text.strip())
    if not match or match[2] not in units:
        raise UserError(
            f"{quantity} {text!r}: write a number and one of {', '.join(units)}: {example}"
        )
    return float(match[1]) * units[match[2]]


def _within(value: float, low: float, high: float, quantity: str, text: str, span: str) -> float:
    if not low <= value <= high:
        raise UserError(f"{quantity} {text} is out of range: allowed is {span}")
    return value


def rtt(text: str) -> float:
    """Round-trip time in seconds, 0 to 100 ms; a bare 0 needs no unit."""
    value = 0.0 if text.strip() == "0" else _parse(text, "RTT", _TIMES, "2ms")
    return _within(value, 0, 0.1, "RTT", text, "0 to 100ms")


def cut(text: str) -> float:
    """Duration of a cut of the link in seconds, 1 ms to 1 hour."""
    value = _parse(text, "cut", _TIMES, "5s")
    return _within(value, 1e-3, 3600, "cut", text, "1ms to 3600s")


def wait(text: str) -> float:
    """Waiting time in seconds, 0 to 1 day."""
    value = 0.0 if text.strip() == "0" else _parse(text, "wait", _TIMES, "60s")
    return _within(value, 0, 86400, "wait", text, "0 to 86400s")


def rate(text: str) -> float:
    """Bits per second, 64 kbit/s to 100 Gbit/s; ``unlimited`` is 0."""
    if text == "unlimited":
        return 0.0
    value = _parse(text, "rate", _RATES, "1Gbit/s, or unlimited")
    return _within(value, 64e3, 100e9, "rate", text, "64kbit/s to 100Gbit/s, or unlimited")


def size(text: str) -> int:
    """Bytes of a queue, 2 KiB (one frame) to 1 GiB."""
    value = _parse(text, "queue", _SIZES, "1MiB")
    return int(_within(value, 2**11, 2**30, "queue", text, "2KiB to 1GiB"))


def loss(text: str) -> float:
    """Fraction of frames lost in one direction, 0 to 0.5."""
    value = 0.0 if text.strip() == "0" else _parse(text, "loss", {"%": 0.01}, "0.1%")
    return _within(value, 0, 0.5, "loss", text, "0% to 50%")


def cpu(text: str) -> float:
    """Share of a processor, 0.25 to 64; more than the machine has is no limit."""
    value = _parse(text, "cpu", {"%": 0.01}, "25%")
    return _within(value, 0.25, 64, "cpu", text, "25% to 6400%")


def show_rate(bits_per_second: float) -> str:
    """``1 Gbit/s``; 0 is ``unlimited``."""
    if not bits_per_second:
        return "unlimited"
    unit = max((u for u in _RATES if _RATES[u] <= bits_per_second), key=lambda u: _RATES[u])
    return f"{bits_per_second / _RATES[unit]:g} {unit}"


def show_size(count: int) -> str:
    """``64 MiB``."""
    unit = max((u for u in _SIZES if _SIZES[u] <= max(count, 1)), key=lambda u: _SIZES[u])
    return f"{count / _SIZES[unit]:g} {unit}"

"""link.json: an emulated link before and after a launch, and whether the launch is valid.

``testbed/vcluster lease --record`` writes it.  A launch is valid only if nobody changed the link.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from roundtrip import files
from roundtrip.measure import records
from roundtrip.model import Count, Record, Text

FILE_NAME = "link.json"
#: Mean lateness of frames at which a launch fails, µs.
LATENESS_US = 500.0
#: A program may see so many times the link's own delay, or so many ms if that is more.
_MAX_SLOWDOWN, _SLACK_MS = 10.0, 1.0
_SETTING_NAMES = {
    "rtt_ms": "RTT {:g} ms",
    "rate_bit_s": "{:g} bit/s",
    "loss": "loss {:g}",
    "queue_bytes": "queue {:g} B",
    "seed": "seed {:g}",
    "up": "up: {}",
}


class _LinkSettings(Record):
    rtt_ms: float
    rate_bit_s: float
    loss: float
    queue_bytes: float
    seed: int
    up: bool


class _SelfTest(Record):
    asked_ms: float
    received: Count
    p50_ms: float | None


class _Direction(Record):
    name: Text
    cut: Count = 0
    dropped: Count = 0
    late_us_mean: float | None = None


class _LinkStatus(_LinkSettings):
    started_ns: int
    changes: Count
    directions: list[_Direction]
    self_test: _SelfTest | None
    send_errors: Count = 0


class Link(Record):
    """link.json: an emulated link before and after a launch."""

    schema_: Literal[1] = Field(alias="schema")
    holder: Text
    asked: _LinkSettings
    before: _LinkStatus
    after: _LinkStatus | None
    broken: list[Text]


def read(folder: Path, root: Path | None = None) -> dict[str, Any] | None:
    """Return the record of the launch in `folder`, None if no link was leased; UserError if bad.

    `root` is as in `records.read_record`.
    """
    file = folder / FILE_NAME
    return records.read_record(file, root, Link) if files.stamp(file) else None


def fault(record: dict[str, Any]) -> str:
    """Return why a launch over this link is not valid; "" if it is."""
    settings, before, after = record["asked"], record["before"], record["after"]
    if after is None:
        return "the link did not answer when the launch ended"
    if after["started_ns"] != before["started_ns"]:
        return "the link was started anew under the launch"
    changes = after["changes"] - before["changes"]
    differences = _setting_differences(settings, before) or _setting_differences(settings, after)
    if changes or record["broken"] or differences:
        times = f" {changes} times" if changes > 1 else ""
        details = [f"lease broken by {request}" for request in record["broken"]]
        details += differences or _outages(after)
        return f"link changed{times}" + (f": {', '.join(details)}" if details else "")
    if cut := _outages(after):
        return cut[0]
    drops = _sum_counter(after, "dropped") + (after.get("send_errors") or 0)
    if drops and not settings["loss"] and not settings["rate_bit_s"]:
        return f"{drops} frames dropped by the link, which was to lose none"
    lateness = max((d.get("late_us_mean") or 0.0 for d in after["directions"]), default=0.0)
    if lateness >= LATENESS_US:
        return f"the link was late by {lateness:.0f} us on average"
    return ""


def longest_one_way_ms(record: dict[str, Any]) -> float | None:
    """Return the longest plausible half of the fastest round trip, ms; None if unknown.

    It is half the requested RTT, plus ample time according to the link's own pings.
    """
    tests = [record["before"]["self_test"], (record["after"] or {}).get("self_test")]
    excesses = [t["p50_ms"] - t["asked_ms"] for t in tests if t and t["p50_ms"] is not None]
    if not excesses:
        return None
    half: float = record["asked"]["rtt_ms"] / 2
    slack: float = max(_SLACK_MS, _MAX_SLOWDOWN * max(excesses))
    return half + slack


def _setting_differences(settings: dict[str, Any], status: dict[str, Any]) -> list[str]:
    return [
        f"{form.format(settings[name])} asked, {form.format(status[name])} found"
        for name, form in _SETTING_NAMES.items()
        if settings[name] != status[name]
    ]


def _outages(after: dict[str, Any]) -> list[str]:
    cut = _sum_counter(after, "cut")
    return [f"{cut} frames cut" if cut > 1 else "1 frame cut"] if cut else []


def _sum_counter(link: dict[str, Any], counter: str) -> int:
    return sum(direction.get(counter) or 0 for direction in link["directions"])

"""The reader of link.json: a record of an untouched link to mutate."""

from __future__ import annotations

import json
from pathlib import Path

from roundtrip.measure import link

_SETTINGS = {
    **{"rtt_ms": 2.0, "rate_bit_s": 0, "loss": 0},
    **{"queue_bytes": 67108864, "seed": 1, "up": True},
}
_STATUS = {
    **_SETTINGS,
    **{"started_ns": 5, "changes": 2, "send_errors": 0},
    "directions": [{"name": "A->B", "frames": 9, "cut": 0, "dropped": 0, "late_us_mean": 3.2}],
    "self_test": {"asked_ms": 2.0, "min_ms": 2.031, "p50_ms": 2.04, "received": 25},
}
_RECORD = {
    **{"schema": 1, "holder": "job 7", "status": 0, "broken": []},
    **{"asked": _SETTINGS, "before": _STATUS, "after": _STATUS},
}


def seeds() -> list[bytes]:
    """One good record."""
    return [json.dumps(_RECORD).encode()]


def check(content: bytes, seed: bytes, folder: Path) -> bool:
    """Whether it is a record; its fault is one line."""
    (folder / link.FILE_NAME).write_bytes(content)
    record = link.read(folder)
    assert record is not None
    assert "\n" not in link.fault(record)
    return True

"""Which round of its campaign a session's launches are of: ``rounds/NNN/round.json``.

A round launches every case that lacks a launch once, in one or several sessions of ReFrame.  What
was launched in the same round was launched near each other in time, in random order.
"""

from __future__ import annotations

import json
from pathlib import Path

from roundtrip.collect import confined
from roundtrip.errors import UserError

_FILE = "round.json"
_MOST = 2**31


def write(session: Path, number: int) -> None:
    """Mark the folder of a session as of round `number`."""
    (session / _FILE).write_text(json.dumps({"round": number}) + "\n")


def read(session: Path, root: Path | None = None) -> int | None:
    """The round, in the run tree `root`; None where none is told, or nothing that could be one."""
    try:
        told = confined.json(session / _FILE, root)
    except UserError:
        return None
    number = told.get("round") if isinstance(told, dict) else None
    is_one = isinstance(number, int) and not isinstance(number, bool) and 0 < number < _MOST
    return number if is_one else None

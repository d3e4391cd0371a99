"""The round of a session: ``rounds/NNN/round.json``.

A round launches every case that lacks a launch once, in one or several sessions of ReFrame.
Launches of the same round were near each other in time and in random order.
"""

from __future__ import annotations

import json
from pathlib import Path

from roundtrip import files
from roundtrip.errors import UserError

#: The folder, in a run tree and in its bundle, of launches that were made again to confirm what was
#: worse: a tree, or a bundle, of its own.  They are no part of the night's values.
CONFIRMATION = "confirmation"
#: The file in ``env/`` that says how often they were planned, or why they were not made.
CONFIRMED = "confirmation.json"
_FILE = "round.json"
_MOST = 2**31


def write(session: Path, number: int) -> None:
    """Mark the folder of a session as part of round `number`."""
    (session / _FILE).write_text(json.dumps({"round": number}) + "\n")


def read(session: Path, root: Path | None = None) -> int | None:
    """The round of a session in the run tree `root`; None if there is no valid number."""
    try:
        told = files.read_json_in_tree(session / _FILE, root)
    except UserError:
        return None
    number = told.get("round") if isinstance(told, dict) else None
    is_one = isinstance(number, int) and not isinstance(number, bool) and 0 < number < _MOST
    return number if is_one else None

"""Errors that are the user's to mend: one clear line, exit status 2, never a traceback."""

from __future__ import annotations

from pathlib import Path


class UserError(Exception):
    """Bad input, told as ``file:line: what is wrong, what would be right``.

    `what` is one line.  `file` and `line` (1-based) are given where the fault has a place.
    The command line turns it into exit status 2.
    """

    def __init__(self, what: str, file: Path | str | None = None, line: int | None = None) -> None:
        self.what = what
        self.file = None if file is None else str(file)
        self.line = line
        place = "" if self.file is None else f"{self.file}:" + (f"{line}:" if line else "")
        super().__init__(f"{place} {what}".strip())

"""Makes text that somebody else wrote fit for our tables."""

from __future__ import annotations

import re

_FOLDERS = re.compile(r"(?<![\w./-])/(?:[^\s/:;,'\"]+/)+")


def printable(text: str) -> str:
    """`text` with "?" for each character that cannot be printed, such as a control character."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def without_folders(text: str) -> str:
    """`text` with ".../" for the folders of each absolute path, which are a site's own affair."""
    return _FOLDERS.sub(".../", text)

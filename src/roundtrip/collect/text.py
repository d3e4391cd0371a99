"""Text that somebody else wrote, made fit for a table of ours."""

from __future__ import annotations


def printable(text: str) -> str:
    """`text` with "?" for whatever cannot be printed: control characters, halves of characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)

"""Makes text that somebody else wrote fit for our tables."""

from __future__ import annotations


def printable(text: str) -> str:
    """`text` with "?" for each character that cannot be printed, such as a control character."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)

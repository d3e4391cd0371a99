"""From a published report, ``<campaign>/<site>/<night>/r<N>/``, to the pages that are derived.

A report is a function of its bundle alone, so these are the same in every report, whether or not
the pages lie there.
"""

from __future__ import annotations

INDEX = "../../../../index.html"
HISTORY = "../../history.html"


def series(key: str) -> str:
    """To the view of one series."""
    return f"{HISTORY}#series={key}"

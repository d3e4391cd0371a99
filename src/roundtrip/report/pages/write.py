"""Writes the derived pages of a folder of published reports: they may be written again any time."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from roundtrip.errors import writing
from roundtrip.report.pages import history, index, shelf

INDEX, HISTORY = "index.html", "history.html"
_LOCK = ".pages.lock"


def write(reports: Path) -> None:
    """Write ``index.html``, and ``<campaign>/<site>/history.html`` of each campaign and site.

    The same reports give the same bytes.  A reader sees an old page or a new one, never a part;
    the last of several writers has seen all reports.  UserError if a page cannot be written.
    """
    with writing(reports), _alone(reports):
        shelves = list(shelf.read(reports))
        for one in shelves:
            if one.history is not None:
                _replace(reports / one.path / HISTORY, history.render(one.history))
        _replace(reports / INDEX, index.render(shelves))


@contextmanager
def _alone(reports: Path) -> Iterator[None]:
    with (reports / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _replace(file: Path, text: str) -> None:
    """Put `text` there at once, readable by all who may read the folder; not if it is the same."""
    content = text.encode()
    if file.is_file() and file.read_bytes() == content:
        return
    handle, name = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
    partial = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        partial.chmod(0o644)
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)

"""Writes the derived pages of a folder of published reports: they may be written again any time."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from roundtrip.errors import writing
from roundtrip.report.pages import history, index, kept, shelf
from roundtrip.report.pages.kept import Summary
from roundtrip.report.pages.shelf import Shelf

INDEX, HISTORY = "index.html", "history.html"
_LOCK = ".pages.lock"


def write(reports: Path) -> None:
    """Write ``index.html``, and ``<campaign>/<site>/history.html`` of each campaign and site.

    The same reports give the same bytes.  A reader sees an old page or a new one, never a part;
    the last of several writers has seen all reports.  UserError if a page cannot be written.
    """
    with writing(reports), _alone(reports):
        entries = [index.Entry(one, _history(reports, one)) for one in shelf.read(reports)]
        _replace(reports / INDEX, index.render(entries))


def _history(reports: Path, one: Shelf) -> Summary:
    """Write the history page of a shelf, unless it lies there as it would be; what it tells."""
    folder = reports / one.path
    page, source = folder / HISTORY, shelf.source(reports, one)
    if known := kept.load(folder, source.digest, page):
        return known
    found = shelf.history(source)
    told = index.summary(one, found)
    if found is not None:
        _replace(page, history.render(found))
    _replace(folder / kept.FILE_NAME, kept.text(source.digest, page, told))
    return told


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

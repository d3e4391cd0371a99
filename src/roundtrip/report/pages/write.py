"""Writes the derived pages of a folder of published reports: they may be written again any time."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from roundtrip.errors import UserError, writing
from roundtrip.report import labels
from roundtrip.report.pages import chart, history, page, shelf
from roundtrip.report.pages.history import History
from roundtrip.report.pages.series import split
from roundtrip.report.pages.shelf import Shelf, Summary, overall
from roundtrip.report.pages.verdict import TONES, judgement
from roundtrip.stats.nights.verdicts import Verdict

INDEX, HISTORY = "index.html", "history.html"
_LOCK = ".pages.lock"


def write(reports: Path) -> None:
    """Write ``index.html``, and ``<campaign>/<site>/history.html`` of each campaign and site.

    The same reports give the same bytes.  A reader sees an old page or a new one, never a part;
    the last of several writers has seen all reports.  UserError if a page cannot be written: the
    others are.
    """
    faults: list[UserError] = []
    with writing(reports), _alone(reports):
        entries = []
        for one in shelf.read(reports):
            try:
                summary = _history(reports, one)
            except Exception as error:
                what = (
                    str(error)
                    if isinstance(error, UserError)
                    else f"{type(error).__name__}: {error}"
                )
                faults.append(UserError(what, reports / one.path))
                summary = _summary(one, None)
            entries.append(_Entry(one, summary))
        _replace(reports / INDEX, _index(entries))
    if faults:
        raise faults[0]


def _history(reports: Path, one: Shelf) -> Summary:
    """Write the history page of a shelf, unless it lies there as it would be; its summary."""
    folder = reports / one.path
    file, source = folder / HISTORY, shelf.source(reports, one)
    if known := shelf.stored(folder, source.digest, file):
        return known
    found = shelf.history(source)
    summary = _summary(one, found)
    if found is not None:
        _replace(file, history.render(found))
    _replace(folder / shelf.STATE, shelf.state(source.digest, file, summary))
    return summary


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


@dataclass(frozen=True)
class _Entry:
    """A campaign on a site, and what its history tells."""

    shelf: Shelf
    summary: Summary

    @property
    def picture(self) -> Markup:
        """All nights, from left to right."""
        return chart.small(self.summary.levels)


def _index(entries: Sequence[_Entry]) -> str:
    """The page as one HTML text: the same bytes for the same entries."""
    return page.render("index.html.j2", (), entries=entries, tones=TONES)


def _summary(shelf: Shelf, made: History | None) -> Summary:
    """What the index says of a history; of none, how many nights there are."""
    if made is None:
        return Summary((), (), "", len(shelf.nights), has_page=False)
    counts = Counter(
        judgement(
            made.known[tuple(one.names.values())], lower_is_better=one.lower_is_better
        ).verdict
        for one in split(made.nights)
    )
    found = [(one, counts[one]) for one in Verdict if counts[one]]
    mark = "; ".join(sorted(set(labels.of_history(made.provenance).values())))
    nights = made.nights["night"].n_unique()
    return Summary(found, overall(made.nights), mark, nights, has_page=True)

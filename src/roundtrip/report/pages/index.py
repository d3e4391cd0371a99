"""The page of all campaigns and sites: their newest report, their verdicts, all their nights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from roundtrip.report.pages import marks, page, sparkline
from roundtrip.report.pages.series import split
from roundtrip.report.pages.shelf import Shelf, overall
from roundtrip.report.pages.verdict import TONES, Verdict, say


@dataclass(frozen=True)
class Entry:
    """A campaign on a site: how many series have each verdict, all nights as a picture, its marks.

    `nights` counts imported ones too.
    """

    shelf: Shelf
    counts: Sequence[tuple[Verdict, int]]
    picture: Markup
    mark: str
    nights: int


def render(shelves: Sequence[Shelf]) -> str:
    """The page as one HTML text: the same bytes for the same shelves."""
    entries = [_entry(shelf) for shelf in shelves]
    return page.render("index.html.j2", (), entries=entries, tones=TONES)


def _entry(shelf: Shelf) -> Entry:
    if shelf.history is None:
        return Entry(shelf, (), Markup(""), "", len(shelf.nights))
    told = shelf.history.told
    counts = Counter(
        say(told[tuple(one.names.values())], lower_is_better=one.lower_is_better).verdict
        for one in split(shelf.history.nights)
    )
    picture = sparkline.draw(overall(shelf.history.nights), (), ())
    found = [(one, counts[one]) for one in Verdict if counts[one]]
    mark = "; ".join(sorted(set(marks.by_environ(shelf.history.provenance).values())))
    return Entry(shelf, found, picture, mark, shelf.history.nights["night"].n_unique())

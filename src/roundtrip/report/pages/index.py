"""The page of all campaigns and sites: their newest report, their verdicts, all their nights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from roundtrip.report.pages import marks, page, sparkline
from roundtrip.report.pages.history import History
from roundtrip.report.pages.kept import Summary
from roundtrip.report.pages.series import split
from roundtrip.report.pages.shelf import Shelf, overall
from roundtrip.report.pages.verdict import TONES, say
from roundtrip.stats.nights.verdicts import Verdict


@dataclass(frozen=True)
class Entry:
    """A campaign on a site, and what its history tells."""

    shelf: Shelf
    summary: Summary

    @property
    def picture(self) -> Markup:
        """All nights, from left to right."""
        return sparkline.draw(self.summary.levels, (), ())


def render(entries: Sequence[Entry]) -> str:
    """The page as one HTML text: the same bytes for the same entries."""
    return page.render("index.html.j2", (), entries=entries, tones=TONES)


def summary(shelf: Shelf, history: History | None) -> Summary:
    """What the index says of a history; of none, how many nights there are."""
    if history is None:
        return Summary((), (), "", len(shelf.nights), has_page=False)
    counts = Counter(
        say(history.told[tuple(one.names.values())], lower_is_better=one.lower_is_better).verdict
        for one in split(history.nights)
    )
    found = [(one, counts[one]) for one in Verdict if counts[one]]
    mark = "; ".join(sorted(set(marks.by_environ(history.provenance).values())))
    nights = history.nights["night"].n_unique()
    return Summary(found, overall(history.nights), mark, nights, has_page=True)

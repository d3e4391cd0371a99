"""What the nights of a campaign on a site tell, a line a series: for the terminal and a report."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import polars as pl

from roundtrip.collect.night_rows import SERIES
from roundtrip.history import detection
from roundtrip.history.annotations import Annotation
from roundtrip.history.detection import Names
from roundtrip.report import labels, units
from roundtrip.report.pages import changes, packed
from roundtrip.report.pages.calendar import Calendar
from roundtrip.report.pages.changes import Change
from roundtrip.report.pages.series import Series, split
from roundtrip.report.pages.verdict import Judgement, judgement
from roundtrip.report.units import Quantity
from roundtrip.stats.nights.verdicts import SeriesHistory, Verdict
from roundtrip.stats.settings import NightSettings


@dataclass(frozen=True)
class Line:
    """One series and its verdict; `night` its step began, and what changed `near` there.

    `changes` are those of its step; of a series that is worse last night, those of that night.
    `causes`: what changed near each change point, in their order.  `accepted` is the newest
    annotation by which somebody accepted its level.  `revised` says in words what was reported
    otherwise after the night before.
    """

    series: Series
    known: SeriesHistory
    judgement: Judgement
    night: str | None
    near: str | None
    changes: tuple[Change, ...]
    causes: tuple[tuple[Change, ...], ...] = ()
    mark: str = ""
    accepted: Annotation | None = None
    revised: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """``mpi, 1 B; half round trip time; pingpong, smp, openmpi41``, after the check's name.

        After it stands `mark`, what is emulated or simulated of it.
        """
        return _named(self.series, self.mark)

    @property
    def is_small(self) -> bool:
        """Whether its newest change point is smaller than the least effect."""
        steps = self.known.steps
        return bool(steps) and not steps[-1].is_effect(self.known.least)

    @property
    def comes_and_goes(self) -> bool:
        """Whether its verdict rests on how often nights are bad, or in the worse of two modes."""
        said = self.judgement
        return said.verdict in (Verdict.FLAPPING, Verdict.IMPROVED) and said.step is None

    @property
    def changed(self) -> str:
        """What differs in provenance where its step is, or last night if it is worse; else ""."""
        if self.night is None and self.judgement.verdict is not Verdict.WORSE_LAST_NIGHT:
            return ""
        return "; ".join(map(str, self.changes)) or "nothing that is recorded"

    @property
    def before(self) -> Quantity | str:
        """The level before its step: the median of the nights before; else ""."""
        points = self.series.points
        if self.night is None:
            return ""
        earlier = [one.median for one in points if one.night < self.night and not one.left_out]
        if not earlier:
            return units.NOTHING
        factor, unit = packed.shown_in(self.series)
        return Quantity(value=median(earlier) * factor, unit=unit, says_unit=True)


@dataclass(frozen=True)
class Judged:
    """`lines` of all series, worst first; `calendar` has the nights that they count.

    `changed` has, by night, every recorded fact that differs from the night before.
    """

    calendar: Calendar
    lines: tuple[Line, ...]
    changed: Mapping[str, Sequence[Change]]

    def of(self, verdict: Verdict) -> list[Line]:
        """Those with this verdict."""
        return [line for line in self.lines if line.judgement.verdict is verdict]

    @property
    def counts(self) -> Mapping[Verdict, int]:
        """How many series have each verdict."""
        return {verdict: len(self.of(verdict)) for verdict in Verdict}


def judge(
    nights: pl.DataFrame,
    provenance: pl.DataFrame,
    settings: NightSettings,
    accepted: Sequence[Annotation] = (),
    since: str = "",
) -> Judged:
    """Every series of `nights`; the frames have the columns `NIGHTS` and `PROVENANCE`.

    Annotations `accepted` make levels the baseline; what began before the date `since` is no alarm.
    """
    return judged_lines(nights, provenance, detection.histories(nights, settings), accepted, since)


def judged_lines(
    nights: pl.DataFrame,
    provenance: pl.DataFrame,
    known: Mapping[Names, SeriesHistory],
    accepted: Sequence[Annotation] = (),
    since: str = "",
) -> Judged:
    """The same of what is `known` of each series, by its names."""
    calendar = Calendar(nights["night"].unique().sort().to_list())
    changed = changes.by_night(provenance, calendar.nights)
    marked = labels.of_history(provenance)
    lines = []
    for series in split(nights):
        found = known[tuple(series.names[name] for name in SERIES)]
        mark = marked.get(series.environ, "")
        names = _named(series, mark), str(series.names["case_id"])
        newest = max(
            (one for one in accepted if one.accepts(*names)),
            key=lambda one: one.last,
            default=None,
        )
        baseline = calendar.before(newest.last) - 1 if newest else -1
        verdict = judgement(
            found,
            lower_is_better=series.lower_is_better,
            accepted=baseline,
            since=calendar.before(since, inclusive=False),
        )
        own = subjects(series)
        beside = {
            step: _beside(series, own, calendar.nights[step.night], calendar, changed)
            for step in dict.fromkeys((*found.steps, *([verdict.step] if verdict.step else [])))
        }
        night, near, there = None, None, tuple[Change, ...]()
        if verdict.step:
            night, (near, there) = calendar.nights[verdict.step.night], beside[verdict.step]
        elif verdict.verdict is Verdict.WORSE_LAST_NIGHT:
            there = _on(series, own, calendar.nights[-1], changed)
        causes = tuple(beside[step][1] for step in found.steps)
        revised = tuple(_revised(found, calendar, series.lower_is_better, baseline))
        lines.append(
            Line(series, found, verdict, night, near, there, causes, mark, newest, revised)
        )
    ordered = sorted(lines, key=lambda one: (*one.judgement.rank, one.label))
    return Judged(calendar, tuple(ordered), changed)


def _revised(
    known: SeriesHistory, calendar: Calendar, lower_is_better: bool, baseline: int
) -> Iterator[str]:
    """``change point moved from night 41 (2026-02-10) to night 40 (2026-02-09)``, and the like."""

    def at(night: int) -> str:
        return f"night {night + 1} ({calendar.label(calendar.nights[night])})"

    for one in known.revisions:
        was = one.reported.night
        if was > baseline and one.now:
            yield f"change point moved from {at(was)} to {at(one.now.night)}"
        elif was > baseline:
            yield f"change point of {at(was)}, {one.reported.ratio:.3f}, withdrawn: {one.why}"
    if known.before and (newest := known.went_back(lower_is_better=lower_is_better)):
        night = known.before.segments[-1].end - 1
        if night > baseline:
            yield f"worse on {at(night)}, {newest.ratio:.3f}, and back last night: an incident"


def subjects(series: Series) -> frozenset[str]:
    """What recorded facts of a series are about: its toolchain and its nodes."""
    return frozenset(
        (series.environ, *"+".join({point.nodes for point in series.points}).split("+"))
    )


def _named(series: Series, mark: str) -> str:
    named = f"{series.title}; {series.place}"
    return f"{named} ({mark})" if mark else named


def _on(
    series: Series, own: Collection[str], night: str, changed: Mapping[str, Sequence[Change]]
) -> tuple[Change, ...]:
    """What of the series differs on a night from the night before: recorded facts, then nodes."""
    moved = changes.of_nodes(series.points).get(night)
    return (*changes.of_series(changed.get(night, ()), own), *([moved] if moved else []))


def _beside(
    series: Series,
    own: Collection[str],
    night: str,
    calendar: Calendar,
    changed: Mapping[str, Sequence[Change]],
) -> tuple[str | None, tuple[Change, ...]]:
    """The night near to a step at which something of the series changed, and what did.

    A recorded fact decides which night it is, before a change of nodes, which may come every night.
    """
    facts = {
        one: some
        for one in calendar.around(night)
        if (some := changes.of_series(changed.get(one, ()), own))
    }
    sets = changes.of_nodes(series.points)
    near = calendar.near(night, facts) or calendar.near(night, sets)
    at = calendar.near(night, sets)
    moved = [sets[at]] if at in (night, near) and at is not None else []
    return near, (*(facts.get(near, []) if near else []), *moved)

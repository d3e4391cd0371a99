"""Judges repeated launches of the series that were worse last night.

The series and their controls follow from the history, so the night that launches them and the
report that judges them choose the same ones.

The edge of a series is the worse end of what its earlier nights predict for one night.  The series
is launched again n times in the same night, in rounds of random order together with a control: a
series that had not changed.  The null hypothesis is that the median of its launches tonight is
inside the edge, so that each launch lies beyond it with a probability of at most 1/2, whatever the
distribution.  Then k or more of n launches lie beyond the edge with a probability of at most
P(Binomial(n, 1/2) >= k): the sign test (J. Arbuthnot 1710; W. J. Conover, Practical Nonparametric
Statistics, 1999, section 3.4).  For nine of nine it is 1 in 512.  These p are corrected over all
series that were worse last night (Y. Benjamini and Y. Hochberg, 1995), at the site's false
discovery level.  n is planned before the first launch; only lack of time reduces it, never a value.
The launches that showed the night worse are not used.

A disturbance of this night that slows everything would confirm every series.  So the control is
tested first: if more than half of its launches lie beyond its own edge, the machine is slower, and
the series get no verdict.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import scipy

from roundtrip import files, units
from roundtrip.content import data
from roundtrip.content.blocks import (
    Block,
    Cell,
    Column,
    Heading,
    Paragraph,
    StatusColour,
    Table,
    fold_if_long,
    number_columns,
    text_columns,
)
from roundtrip.content.data import BundleData
from roundtrip.content.nights import JudgedSeries, NightVerdicts
from roundtrip.history import published
from roundtrip.measure import reader, records
from roundtrip.measure.bundle_rows import MEDIANS_SCHEMA
from roundtrip.stats.nights.verdicts import Verdict
from roundtrip.stats.verdicts import q_values


class Confirmation(StrEnum):
    """The result of new launches of a series that was worse last night."""

    CONFIRMED = "confirmed"
    NOT_CONFIRMED = "not confirmed"
    MACHINE_SLOWER = "the machine as a whole is slower"
    TOO_FEW_LAUNCHES = "too few launches to tell"
    NOT_LAUNCHED = "not launched again"


_COLOUR_BY_CONFIRMATION: dict[Confirmation, StatusColour] = {
    Confirmation.CONFIRMED: "bad",
    Confirmation.MACHINE_SLOWER: "warn",
    Confirmation.NOT_CONFIRMED: "good",
}
_METHOD_NOTE = (
    "These cases were launched again in the rest of the night, on the same nodes if these were "
    "up, in rounds with their controls: unchanged series of the same study and toolchain. A "
    "launch counts as worse if it is worse than the range that earlier nights predict for one "
    "night. Confirmed: more launches are worse than chance explains at the false discovery level "
    "(sign test, corrected over these series), and at most half of the control's are. The "
    "night's values do not include these launches."
)


@dataclass(frozen=True)
class SignTest:
    """Of a series' `launches`, `beyond` lie beyond its edge."""

    beyond: int
    launches: int

    @property
    def p(self) -> float:
        """The sign test's one-sided p-value of "the series is inside its edge"."""
        return float(scipy.stats.binom.sf(self.beyond - 1, self.launches, 0.5))

    @property
    def is_majority(self) -> bool:
        return 2 * self.beyond > self.launches

    def __str__(self) -> str:
        return f"{self.beyond} of {self.launches}"


def judge_repetitions(
    tests: Sequence[SignTest], controls: Sequence[SignTest | None], level: float
) -> list[Confirmation]:
    """Apply the rule of this module to series and their controls, if any, at a false discovery
    `level`."""
    result = []
    for test, control, q in zip(tests, controls, q_values([test.p for test in tests]), strict=True):
        if not test.launches:
            result.append(Confirmation.NOT_LAUNCHED)
        elif control and control.is_majority:
            result.append(Confirmation.MACHINE_SLOWER)
        elif q <= level:
            result.append(Confirmation.CONFIRMED)
        elif len(tests) * 0.5**test.launches <= level:
            result.append(Confirmation.NOT_CONFIRMED)
        else:
            result.append(Confirmation.TOO_FEW_LAUNCHES)
    return result


@dataclass(frozen=True)
class RepeatedSeries:
    """A series worse last night, its control, both sign tests, and launches of both elsewhere."""

    worse_series: JudgedSeries
    control: JudgedSeries | None
    sign_test: SignTest
    control_test: SignTest | None
    verdict: Confirmation
    launches_on_other_nodes: int = 0

    @property
    def sentence(self) -> str:
        """``confirmed: 9 of 9 launches, 0 of 9 of the control``, and the count on other nodes."""
        if not self.sign_test.launches:
            return str(self.verdict)
        test = self.control_test
        control = f"{test} of the control" if test else "without a control"
        sentence = f"{self.verdict}: {self.sign_test} launches, {control}"
        if self.launches_on_other_nodes:
            sentence += f"; {self.launches_on_other_nodes} on other nodes than the night's"
        return sentence


@dataclass(frozen=True)
class ConfirmationResult:
    """All series that were worse, by key; `skip_reason`: why none was launched again."""

    repeated_by_series_key: Mapping[str, RepeatedSeries]
    skip_reason: str = ""

    @property
    def sentence(self) -> str:
        """One sentence on all series; "" if there are none."""
        if not self.repeated_by_series_key:
            return ""
        if self.skip_reason:
            return f"Not launched again: {self.skip_reason}."
        verdicts = [repeat.verdict for repeat in self.repeated_by_series_key.values()]
        counts = [
            f"{verdict} ({units.plural(n, 'series')})"
            for verdict in Confirmation
            if (n := verdicts.count(verdict))
        ]
        return f"Launched again: {', '.join(counts)}."

    def describe_series(self, series: JudgedSeries) -> str:
        """The sentence on a series; "" if it was no candidate for a repetition."""
        repeat = self.repeated_by_series_key.get(series.data.key)
        if repeat is None:
            return ""
        if self.skip_reason:
            return f"{Confirmation.NOT_LAUNCHED}: {self.skip_reason}"
        return repeat.sentence

    def to_json_object(self, series: JudgedSeries) -> dict[str, Any] | None:
        """The result for a series as a JSON object; None if it was no candidate."""
        repeat = self.repeated_by_series_key.get(series.data.key)
        if repeat is None:
            return None
        control = None
        if repeat.control:
            control_test = asdict(repeat.control_test) if repeat.control_test else {}
            control = {"series": repeat.control.full_title, **control_test}
        return {
            "verdict": str(repeat.verdict),
            "why_not": self.skip_reason,
            **asdict(repeat.sign_test),
            "on_other_nodes": repeat.launches_on_other_nodes,
            "control": control,
        }


#: Nothing was launched again.
NO_CONFIRMATION = ConfirmationResult({})


def worse_series_with_controls(
    verdicts: NightVerdicts, launched_cases: Collection[str] | None = None
) -> list[tuple[JudgedSeries, JudgedSeries | None]]:
    """Every series that was worse last night, each with its control or None.

    A control is an unchanged series of the same study and toolchain, of `launched_cases` if given.
    Cases in which nothing was worse are preferred, then cases on the same partition; within a case,
    the most similar series is chosen.
    """
    worse_series = verdicts.with_verdict(Verdict.WORSE_LAST_NIGHT)
    worse_cases = {series.data.identity["case_id"] for series in worse_series}
    groups: dict[tuple[Any, str], list[JudgedSeries]] = defaultdict(list)
    for series in verdicts.with_verdict(Verdict.UNCHANGED):
        newest, names = series.history.newest_night, series.data.identity
        is_launched = launched_cases is None or names["case_id"] in launched_cases
        if is_launched and newest is not None and not newest.is_outside:
            groups[names["study"], series.data.environ].append(series)
    series_pairs = []
    for series in worse_series:
        peers = groups[series.data.identity["study"], series.data.environ]
        distance = partial(_control_sort_key, series, worse_cases)
        series_pairs.append((series, min(peers, key=distance, default=None)))
    return series_pairs


def _control_sort_key(
    series: JudgedSeries, worse_cases: set[Any], peer: JudgedSeries
) -> tuple[Any, ...]:
    def partition(names: Mapping[str, Any]) -> str:
        return str(names["case_id"]).rpartition("@")[2].partition("+")[0]

    names, peer_names = series.data.identity, peer.data.identity
    case = str(peer_names["case_id"])
    size, peer_size = (math.log2(1 + (n["size_bytes"] or 0)) for n in (names, peer_names))
    return (
        case in worse_cases,
        partition(names) != partition(peer_names),
        case,
        *(names[name] != peer_names[name] for name in ("phase", "metric", "variant")),
        abs(size - peer_size),
        peer.full_title,
    )


def cases_to_relaunch(verdicts: NightVerdicts) -> set[str]:
    """Ids of the cases of `worse_series_with_controls`, controls included."""
    pairs = worse_series_with_controls(verdicts)
    return {str(series.data.identity["case_id"]) for pair in pairs for series in pair if series}


def read_site_confirmation(site: Path, verdicts: NightVerdicts) -> ConfirmationResult:
    """The confirmation of the newest night of a site; UserError if its bundle cannot be read."""
    worse_series = verdicts.with_verdict(Verdict.WORSE_LAST_NIGHT)
    digests = {series.data.points[-1].digest for series in worse_series}
    for revision in published.current_revisions(site)[0] if digests else ():
        if revision.digest in digests:
            reader.require_decodable_bundle(revision.bundle)
            return read_confirmation(data.read_bundle(revision.bundle), verdicts)
    return NO_CONFIRMATION


def read_confirmation(night_data: BundleData, night_verdicts: NightVerdicts) -> ConfirmationResult:
    """Judge the launches of series worse last night; `night_data`: the bundle of that night.

    NO_CONFIRMATION if none were asked for or nothing was worse.  UserError for a damaged bundle.
    """
    declaration = files.parse_toml(night_data.campaign_text).get("confirm")
    if declaration is None or not night_verdicts.with_verdict(Verdict.WORSE_LAST_NIGHT):
        return NO_CONFIRMATION
    medians, reason = _repeated_medians(night_data)
    series_pairs = worse_series_with_controls(night_verdicts, set(medians["case_id"]))
    night = night_verdicts.calendar.nights[-1]
    repeats, tests, control_tests = [], [], []
    for series, control in series_pairs:
        test, away = _sign_test(series, night, medians)
        control_test, control_away = _sign_test(control, night, medians) if control else (None, 0)
        repeats.append((series, control, away + control_away))
        tests.append(test)
        control_tests.append(control_test)
    level = night_data.analysis.statistics.false_discovery_level
    verdicts = judge_repetitions(tests, control_tests, level)
    repeated = {
        series.data.key: RepeatedSeries(series, control, test, control_test, verdict, away)
        for (series, control, away), test, control_test, verdict in zip(
            repeats, tests, control_tests, verdicts, strict=True
        )
    }
    return ConfirmationResult(repeated, reason)


def _repeated_medians(night_data: BundleData) -> tuple[pl.DataFrame, str]:
    """Medians of the undisturbed repeated launches, and the reason if there are none, else ""."""
    folder = night_data.folder / records.CONFIRMATION_FOLDER
    if folder.is_dir():
        repeats = data.read_bundle(folder)
        launches = repeats.launches.filter(~pl.col("disturbed"))
        return repeats.launch_medians.join(launches.select("launch"), on="launch", how="semi"), ""
    absent = {"why_not": "the night ended before"}
    record = night_data.env_records.get(records.CONFIRMATION_FILE, absent)
    reason = record.get("why_not") if isinstance(record, dict) else None
    return pl.DataFrame(schema=MEDIANS_SCHEMA), str(reason or "none of their launches completed")


def _sign_test(series: JudgedSeries, night: str, medians: pl.DataFrame) -> tuple[SignTest, int]:
    """The sign test of the repeated launches, and how many ran on other nodes than the night's."""
    newest = series.history.newest_night
    assert newest is not None  # noqa: S101  of those that have one
    points = [point for point in series.data.points if point.night == night]
    value = min(points, key=lambda point: (point.left_out != "", -point.launches, point.nodes))
    filters = [pl.col(name).eq_missing(entry) for name, entry in series.data.identity.items()]
    launches = medians.filter(*filters)
    ratios = launches["median"] / (value.median / newest.ratio)
    is_worse = ratios > newest.high if series.data.lower_is_better else ratios < newest.low
    is_away = launches["nodes"] != value.nodes if value.nodes else pl.Series([False])
    return SignTest(int(is_worse.sum()), launches.height), int(is_away.sum())


def confirmation_blocks(result: ConfirmationResult) -> Iterator[Block]:
    """A table with a row for each series that was worse last night; nothing without such series."""
    if not result.repeated_by_series_key:
        return
    yield Heading(3, "Launched again")
    if result.skip_reason:
        yield Paragraph((result.sentence,))
        return
    yield Paragraph((_METHOD_NOTE,), is_note=True)
    rows = tuple(
        (
            Cell(repeat.worse_series.full_title, series_key=repeat.worse_series.data.key),
            Cell(str(repeat.verdict), _COLOUR_BY_CONFIRMATION.get(repeat.verdict, "plain")),
            _sign_test_cell(repeat.sign_test),
            Cell(repeat.control.full_title if repeat.control else "every series changed"),
            _sign_test_cell(repeat.control_test) if repeat.control_test else Cell(""),
            Cell(units.count(repeat.launches_on_other_nodes)),
        )
        for repeat in result.repeated_by_series_key.values()
    )
    caption = "Repeated, undisturbed launches that are worse than predicted."
    series_columns = (*text_columns("Series", "Verdict"), Column("Worse launches", "right"))
    counts = number_columns("Its worse launches", "Launches on other nodes")
    columns = (*series_columns, Column("Control"), *counts)
    yield fold_if_long(f"{len(rows)} series", Table(caption, columns, rows))


def _sign_test_cell(test: SignTest) -> Cell:
    return Cell((units.count(test.beyond), f" of {test.launches}"))

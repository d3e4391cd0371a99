"""Finds the first slow one of ordered versions: bisection by sequential tests.

It keeps two versions that are proven to differ, so that a change lies between them.  A probe of a
version in between launches all three in rounds until that version is proven to differ from one of
the two, by the test of `stats.sequential`; whichever it differs from first is an end of the next
interval.  Where it equals one end, only a false difference from that end is a wrong turn, so that
the sum over probes is at most `ERROR`, with no assumption about noise, or about a single step.  A
version that lies between both ends differs from both: then either turn leads to a change.

When neighbours are left, what lies before and behind them is launched beside the first and the last
version of all: if these still differ, a second change is searched for there.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from roundtrip.cause import questions
from roundtrip.cause.questions import ERROR, Question, Search, Span, evidence, evidence_threshold
from roundtrip.stats.sequential import Floats
from roundtrip.stats.summaries import Interval

#: Parts of `ERROR`: the test of the ends, the probes of the first search, and its tests for further
#: changes.  In each further search, both parts halve: their sums are twice as large.
_ENDS_ERROR, _PROBES_ERROR, _FURTHER_ERROR = (part * ERROR for part in (0.15, 0.35, 0.075))
#: A gap smaller than this share of the step is no second change.
_MIN_SECOND_CHANGE_SHARE = 1 / 3
#: Minimum number of rounds for the size of a change: with fewer, it often has no interval.
_MIN_SIZE_ROUNDS = 8
#: Launches of a round that compares the first and the last version; later rounds have more.
LAUNCHES_A_ROUND = 2
#: Verdicts of a probe: its version is already slow, or still fast.
SLOW, FAST = "slow", "fast"


@dataclass(frozen=True)
class Change:
    """A change between versions `before` and `after`, by index; none between them can be built.

    `step`: the ratio of their times; None until further changes were searched for.
    """

    before: int
    after: int
    step: Interval | None


@dataclass(frozen=True)
class Probe:
    """A test of version `place` between `low` and `high`, all by index: its `verdict`, its `share`
    of their gap, 0 at `low`, and the number of `rounds` until the verdict."""

    low: int
    place: int
    high: int
    verdict: str
    share: Span
    rounds: int


@dataclass
class Changes:
    """The result of a search over ordered versions, with its probes."""

    changes: list[Change] = field(default_factory=list)
    #: Intervals of versions with a change that was not located in time.
    open_intervals: list[tuple[int, int]] = field(default_factory=list)
    probes: list[Probe] = field(default_factory=list)
    skip_reasons: dict[int, str] = field(default_factory=dict)
    #: The ratio of the times of the last and the first version.
    step: Interval | None = None
    #: Whether first and last version differ; None if neither is proven.
    ends_differ: bool | None = None
    launches: int = 0


class _SearchEndError(Exception):
    """The search must stop: the time is over, or a version besides the probed one fails."""


def find_changes(count: int, min_step: float) -> Search[Changes]:
    """Search for the changes among `count` ordered versions; an arm is the index of a version.

    `min_step`: the smallest absolute log ratio of the ends that counts as a step.
    """
    result = Changes()
    with contextlib.suppress(_SearchEndError):
        yield from _bisect_versions(result, count, min_step)
    result.changes.sort(key=lambda change: change.before)
    return result


def _bisect_versions(result: Changes, count: int, min_step: float) -> Search[None]:
    """Yield questions that compare the ends, then bisect; add each change to `result`."""
    first, last = 0, count - 1
    steps: list[float] = []
    while result.ends_differ is None:
        (step,) = yield from _measure_gaps(result, "whether they differ", [(first, last)])
        steps.append(step)
        if questions.is_evaluation_due(len(steps)):
            result.step = questions.ratio(steps)
            if _is_proven_to_differ(steps, min_step, _ENDS_ERROR):
                result.ends_differ = True
            elif questions.is_within(steps, min_step, _ENDS_ERROR):
                result.ends_differ = False
    if not result.ends_differ:
        return
    size = abs(float(np.median(steps)))
    result.open_intervals = [(first, last)]
    number = 0
    while result.open_intervals:
        low, high = result.open_intervals[0]
        before, after = yield from _find_neighbours(result, low, high, _PROBES_ERROR / 2**number)
        result.open_intervals = result.open_intervals[1:]
        result.changes.append(Change(before, after, None))
        gaps = [(a, b) for a, b in ((low, before), (after, high)) if a < b]
        margin = max(min_step, _MIN_SECOND_CHANGE_SHARE * size)
        further_gaps, change_size = yield from _further_gaps(
            result, (before, after), gaps, margin, _FURTHER_ERROR / 2**number
        )
        result.changes[-1] = Change(before, after, change_size)
        result.open_intervals += further_gaps
        number += 1


def _find_neighbours(result: Changes, low: int, high: int, error: float) -> Search[tuple[int, int]]:
    """The two neighbours, among the versions that can be built, between which the change lies."""
    # The median halves what is left whichever versions are skipped, so no more probes are made.
    probe_error = error / max(1, (high - low - 1).bit_length())
    while candidates := [at for at in range(low + 1, high) if at not in result.skip_reasons]:
        at = candidates[(len(candidates) - 1) // 2]
        probe = yield from _probe(result, low, at, high, probe_error)
        if probe is None:
            continue
        result.probes.append(probe)
        low, high = (low, at) if probe.verdict == SLOW else (at, high)
        result.open_intervals = [(low, high), *result.open_intervals[1:]]
    return low, high


def _probe(result: Changes, low: int, at: int, high: int, error: float) -> Search[Probe | None]:
    """Test which end version `at` differs from; None if it cannot be launched."""
    pairs = [(low, at), (at, high)]
    gaps: list[list[float]] = []
    while True:
        row = yield from _measure_gaps(result, "which end it equals", pairs, at)
        if at in result.skip_reasons:
            return None
        gaps.append(row)
        if questions.is_evaluation_due(len(gaps)):
            below, above = np.asarray(gaps).T
            strength = evidence(below), evidence(above)
            if max(strength) >= evidence_threshold(error):
                verdict = SLOW if strength[0] >= strength[1] else FAST
                part = questions.share(below, below + above, ERROR)
                return Probe(low, at, high, verdict, part, len(gaps))


def _further_gaps(
    result: Changes,
    change: tuple[int, int],
    gaps: list[tuple[int, int]],
    margin: float,
    error: float,
) -> Search[tuple[list[tuple[int, int]], Interval | None]]:
    """The `gaps` proven to differ too, all at `error` together; and the size of `change`."""
    gap_error = error / max(1, len(gaps))
    rows: list[list[float]] = []
    open_places, further_gaps = list(range(len(gaps))), []
    while open_places or len(rows) < _MIN_SIZE_ROUNDS:
        rows.append(
            (yield from _measure_gaps(result, "whether there is another change", [change, *gaps]))
        )
        columns = np.asarray(rows).T
        for at in list(open_places):
            logs = columns[at + 1]
            differs = _is_proven_to_differ(logs, margin, gap_error)
            is_decided = differs or questions.is_within(logs, margin, gap_error)
            if is_decided and questions.is_evaluation_due(len(rows)):
                open_places.remove(at)
                further_gaps += [gaps[at]] if differs else []
    return further_gaps, questions.ratio([row[0] for row in rows])


def _is_proven_to_differ(logs: Sequence[float] | Floats, margin: float, error: float) -> bool:
    """Whether the true value of `logs` is proven not to be 0, and more than half of `margin`."""
    is_sure = evidence(logs) >= evidence_threshold(error)
    return is_sure and abs(float(np.median(logs))) >= margin / 2


def _measure_gaps(
    result: Changes, kind: str, pairs: Sequence[tuple[int, int]], middle: int | None = None
) -> Search[list[float]]:
    """For each pair, the log ratio of the times of its second and first version in a round.

    If the `middle` version cannot be built or fails in `MAX_FAILED_ROUNDS`, it is skipped, and the
    returned numbers are void; if another version does, the search is over.
    """
    arms = tuple(dict.fromkeys(at for pair in pairs for at in pair))
    failures: Counter[int] = Counter()
    while True:
        answer: questions.Answer | None = yield Question(kind, arms)
        if answer is None:
            raise _SearchEndError
        result.launches += answer.launches
        skips = {at: answer.unbuilt[at] for at in arms if at in answer.unbuilt}
        if not skips:
            failures.update(
                a for a, value in zip(arms, answer.values, strict=True) if value is None
            )
            skips = {
                at: "its launches fail"
                for at in arms
                if failures[at] >= questions.MAX_FAILED_ROUNDS
            }
        if skips:
            result.skip_reasons |= skips
            if {*skips} != {middle}:
                raise _SearchEndError
            return [0.0] * len(pairs)
        if values := answer.complete_values():
            by_arm = dict(zip(arms, values, strict=True))
            return [by_arm[b] - by_arm[a] for a, b in pairs]

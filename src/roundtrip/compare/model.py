"""What a comparison is: its rows, its facts, and what has no partner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from roundtrip.compare.provenance import Fact
from roundtrip.compare.side import Side, Unit
from roundtrip.report.speeds import Point
from roundtrip.stats.levels import Levels
from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import Family, Judged, Verdict


class Status(StrEnum):
    """What a series comes to; each is about the new side."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    ON_PAR = "on par"
    CANNOT_TELL = "cannot tell"
    NO_CLAIM = "no claim"


_STATUS = {
    Verdict.SLOWER: Status.REGRESSED,
    Verdict.FASTER: Status.IMPROVED,
    Verdict.ON_PAR: Status.ON_PAR,
    Verdict.CANNOT_TELL: Status.CANNOT_TELL,
}


@dataclass(frozen=True)
class Series:
    """Names a value of a case that both sides have: the claim that is tested."""

    base: Unit
    new: Unit
    point: Point

    @property
    def family(self) -> Family:
        """All claims of a comparison are corrected together."""
        return Family.TOOLCHAINS

    def __hash__(self) -> int:
        return hash((self.base.told, self.new.told, self.point))


@dataclass(frozen=True)
class Row:
    """A series: the median of each side in the unit of its point, and the ratio of speeds.

    The ratio is that of the new side over the base; above 1 the new one is faster.  `judged` is
    None where nothing is claimed, and `why` says why; each of its ratios is of `each` rounds.
    `more` is the number of ratios that an open claim of a sequential run still needs, more than
    `foresight.FARTHEST` if not even these would do; None if nothing is open or nothing can be said
    yet.
    """

    series: Series
    base: Interval
    new: Interval
    ratio: float
    judged: Judged | None = None
    why: str = ""
    more: int | None = None
    each: int = 1

    @property
    def status(self) -> Status:
        """Its outcome."""
        return _STATUS[self.judged.verdict] if self.judged else Status.NO_CLAIM


@dataclass(frozen=True)
class Comparison:
    """Rows are ranked: claims by their evidence, then ratios without a claim by their size.

    `removed` and `added` are cases of the base and of the new side alone.  `advice` says what would
    allow a claim where none was made, "" where all were.
    """

    base: Side
    new: Side
    facts: tuple[Fact, ...]
    rows: tuple[Row, ...]
    removed: tuple[Unit, ...]
    added: tuple[Unit, ...]
    refused: tuple[str, ...]
    levels: Levels
    is_sequential: bool = False
    advice: str = ""

    @property
    def counts(self) -> Mapping[Status, int]:
        """How many rows came to each status."""
        return Counter(row.status for row in self.rows)

    @property
    def exit_status(self) -> int:
        """1 if a series regressed, 0 if others were told and none did, 2 if nothing was told."""
        if self.counts[Status.REGRESSED]:
            return 1
        return 0 if self.counts[Status.IMPROVED] or self.counts[Status.ON_PAR] else 2

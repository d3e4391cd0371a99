"""What the self-audit of a report has to know of a section, and cannot see in the report itself.

Where a room forms a number itself, the `Summary` that it supplies is the object that forms it.
What a section does not supply stays unknown, and no rule passes on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from roundtrip.stats.summaries import Statistic, Summary


class Pairing(StrEnum):
    """Between which values a ratio is formed."""

    LAUNCH = "within a launch"
    ROUND = "between two launches of a round"
    APART = "between summaries over launches, not paired"


@dataclass(frozen=True)
class Ratio:
    """`what` over what; `of` is how each of the two values was formed before.

    `then`: how the ratios of several launches or rounds become one; None if there is one ratio.
    `costs_lost`: why a geometric mean had to be taken, "" where none is.
    """

    what: str
    of: Summary
    paired: Pairing
    then: Statistic | None = None
    costs_lost: str = ""


@dataclass(frozen=True)
class Tail:
    """Of which rows of samples.csv the slowest matter: columns and their values."""

    what: str
    where: Mapping[str, str | int]


@dataclass(frozen=True)
class Facts:
    """All that a section supplies.

    `tails`: None if nothing is known; empty if its values are no latencies, because of `no_tails`.
    `clock`, `synchronised`, `over_ranks`, `cache`: one clause each for the reader, "" if unknown.
    `made_with`: columns of cases.parquet that say what its programs are built with.
    `tables` of analysis.toml decide about its words, besides those of statistics and disturbance.
    `median_is_whole`: `median_s` of a point is the time of its whole batch, not of one event of it.
    """

    summaries: tuple[Summary, ...] = ()
    ratios: tuple[Ratio, ...] | None = None
    tails: tuple[Tail, ...] | None = None
    no_tails: str = ""
    clock: str = ""
    synchronised: str = ""
    over_ranks: str = ""
    cache: str = ""
    made_with: tuple[str, ...] = ()
    median_is_whole: bool = False
    tables: tuple[str, ...] = ()

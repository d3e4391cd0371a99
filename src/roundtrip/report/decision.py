"""Verdicts on the claims of a run; whether anything can be decided, and if not, what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import polars as pl

from roundtrip.report import units
from roundtrip.report.data import Data
from roundtrip.report.sections import nodes
from roundtrip.stats import sequential, verdicts
from roundtrip.stats.settings import Levels
from roundtrip.stats.verdicts import ClaimVerdict, Verdict
from roundtrip.studies.study import Claim

#: Of a study or toolchains; a campaign of such launches says so by allow_untold.
NO_CLAIM = "these launches support no claim; what they measured is described in the report"
SEQUENTIAL = (
    "this run went on until its claims were told or its time was over. Intervals, p and q of "
    "ratios are those of a sequential test, which is valid at whatever round a run stops; the "
    "usual rank intervals would not be."
)
ABBA = (
    "the two toolchains were launched in the order AB BA or BA AB, by one coin for two rounds: "
    "their ratios are means over two rounds, which are one value of n."
)
_Claim = TypeVar("_Claim", bound=Claim)


def judge(
    data: Data, claims: Mapping[_Claim, Sequence[float]], levels: Levels | None = None
) -> dict[_Claim, ClaimVerdict]:
    """Judge `claims`, whose ratios are in the order of rounds, each family together.

    `levels` are those of the bundle by default.
    """
    test = sequential.judge if data.is_sequential else verdicts.judge
    held = levels or data.analysis.statistics
    return test(claims, held, family=lambda claim: claim.family)


def launches_made(data: Data) -> int:
    """The launches that passed, of the case that has most."""
    passed = data.launches.filter(pl.col("status") == "passed")
    return max(passed.group_by("case_id").len()["len"], default=0)


def launches_needed(judged: Mapping[_Claim, ClaimVerdict], made: int) -> int | None:
    """Of each case, with which every claim that lacks launches could be told; None if none does.

    A claim may have a value of only some of the `made` launches: then it will of as large a share.
    """
    needed = [
        -(-one.would_do * max(made, one.interval.n) // one.interval.n)
        for one in judged.values()
        if one.would_do is not None
    ]
    return max(needed, default=None)


def advice(judged: Mapping[_Claim, ClaimVerdict], made: int) -> str:
    """How many launches were made and would do, of each case; "" where more are of no use."""
    needed = launches_needed(judged, made)
    if needed is None:
        return ""
    were = "1 launch of each case was" if made == 1 else f"{made} launches of each case were"
    return f"{were} made, {needed} would do"


def undecided(data: Data, judged: Mapping[_Claim, ClaimVerdict]) -> str | None:
    """Why nothing can be decided and what to do, a line for people; None if something can."""
    passed = data.launches.filter(pl.col("status") == "passed")
    disturbed = passed.filter(pl.col("disturbed"))
    if passed.height and disturbed.height == passed.height:
        why = str(disturbed["disturbed_why"][0])
        return (
            f"all {units.plural(passed.height, 'launch', 'launches')} were disturbed, the first by "
            f"this: {why}. Find out what else uses the machine (`roundtrip doctor`) and measure "
            "again; where that is as usual, raise [disturbance] in the site's analysis.toml"
        )
    if data.is_sequential:  # it went on until its claims had verdicts or its time was over
        return None
    if not data.pairs.is_empty():
        return None if nodes.can_tell(data) else "nodes have too few launches yet to be compared"
    if not judged:
        return NO_CLAIM
    if any(one.verdict is not Verdict.CANNOT_TELL for one in judged.values()):
        return None
    why = f"none of {units.plural(len(judged), 'claim')} has a verdict"
    if few := advice(judged, launches_made(data)):
        return f"{why}: {few}"
    return (
        f"{why}, and too few launches are not the reason: they scatter more than what is to be "
        "decided. Make them longer (`budget`), or measure on a quieter machine"
    )

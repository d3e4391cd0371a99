"""The verdicts on the claims of a bundle, by the test that fits how its launches were chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from roundtrip.report.data import Data
from roundtrip.stats import sequential, verdicts
from roundtrip.stats.levels import Levels
from roundtrip.stats.verdicts import Judged
from roundtrip.studies.study import Claim

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


def of(
    data: Data, claims: Mapping[_Claim, Sequence[float]], levels: Levels | None = None
) -> dict[_Claim, Judged]:
    """Judge `claims`, whose ratios are in the order of rounds, each family together.

    `levels` are those of the bundle by default.
    """
    judge = sequential.judge if data.is_sequential else verdicts.judge
    held = levels or data.analysis.statistics
    return judge(claims, held, family=lambda claim: claim.family)

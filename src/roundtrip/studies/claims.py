"""What each study claims, in one list: for the plan of a campaign and for its report."""

from __future__ import annotations

from collections.abc import Sequence

from roundtrip.collect.analysis import Analysis
from roundtrip.studies.ddtbench import planned as ddtbench_claims
from roundtrip.studies.netpipe import planned as netpipe_claims
from roundtrip.studies.npb import planned as npb_claims
from roundtrip.studies.osu import planned as osu_claims
from roundtrip.studies.planned import PlannedCase, PlannedClaims, Study
from roundtrip.studies.ring import planned as ring_claims

STUDIES: tuple[Study, ...] = (
    netpipe_claims,
    ddtbench_claims,
    ring_claims,
    osu_claims,
    npb_claims,
)


def primary(cases: Sequence[PlannedCase], settings: Analysis) -> list[PlannedClaims]:
    """The primary claims that launches of `cases` will support, study by study."""
    return [
        claim
        for study in STUDIES
        for claim in study.primary_claims(
            [case for case in cases if case.study == study.STUDY], settings
        )
    ]

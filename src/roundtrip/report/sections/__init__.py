"""One module a study, and one each for what all studies share.

A study's section is built from the bundle, makes claims (ratios, one a launch) that are judged
with those of their family in all studies, and then gives its part of the report.  A new study adds
a module and a line to STUDIES of `report.build`, and its ``<study>_claims`` to `studies.claims`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Protocol

from roundtrip.report.blocks import Part
from roundtrip.stats.verdicts import Family, Judged


class Claim(Hashable, Protocol):
    """Names one ratio of the report, and says what it is corrected together with."""

    @property
    def family(self) -> Family:
        """Fixed by the study's definition, never by what was found."""


class StudySection(Protocol):
    """What the report needs of a study."""

    def claims(self) -> Mapping[Claim, Sequence[float]]:
        """Ratios to be judged, one a launch."""

    def part(self, judged: Mapping[Claim, Judged]) -> Part:
        """The study's part of the report."""

"""What a campaign will be able to claim; said before it runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from roundtrip import studies
from roundtrip.campaign.matrix import Matrix
from roundtrip.campaign.model import Campaign
from roundtrip.collect import analysis
from roundtrip.errors import UserError
from roundtrip.stats.planning import (
    Reach,
    fewest_launches,
    needed_together,
    reach,
    recommended_launches,
)
from roundtrip.stats.settings import Levels
from roundtrip.studies.study import PlannedCase, PlannedClaims


@dataclass(frozen=True)
class Outlook:
    """What a campaign can claim: its primary claims, and the toolchains that share a case.

    Nothing is claimed of what is `simulated`: it gives the same values each time.
    """

    campaign: Campaign
    primary: tuple[PlannedClaims, ...]
    toolchains: tuple[str, ...]
    levels: Levels
    simulated: bool = False

    @property
    def count(self) -> int:
        """The number of primary claims, which are tested together."""
        return sum(claim.count for claim in self.primary)

    @property
    def reach(self) -> Reach:
        """Which of the primary claims can be told with the launches of the campaign."""
        return reach(self.campaign.launches, self.count, self.levels)

    @property
    def _would_do(self) -> str:
        fewest = fewest_launches(self.count, self.levels)
        recommended = recommended_launches(self.count, self.levels)
        also = f" ({recommended} recommended)" if recommended > fewest else ""
        return f"{fewest}{also} would do"

    def require_speech(self) -> None:
        """UserError if no primary claim can ever be told with so few launches."""
        if self.count and self.reach is Reach.UNDERPOWERED:
            file, line = self.campaign.file, self.campaign.launches_line
            raise UserError(
                f"{_launches(self.campaign.launches)} cannot support any of the "
                f"{self.count} primary claims of this campaign, however large a difference: "
                f"{self._would_do}; to run it without verdicts: --allow-mute",
                file,
                line,
            )

    def warning(self) -> str | None:
        """What too few launches mean for the claims; None if each claim can be told alone."""
        if not self.count or self.reach is Reach.ALONE:
            return None
        launches = _launches(self.campaign.launches)
        together = needed_together(self.campaign.launches, self.count, self.levels)
        if together is None:
            return f"{launches} support none of {self.count} primary claims; {self._would_do}"
        return (
            f"{launches} support {self.count} primary claims only together: {together} must be as "
            f"clear as can be before any is told; {self._would_do}"
        )

    def lines(self) -> Iterator[str]:
        """The lines of ``--dry-run`` that say what can be claimed."""
        for claim in self.primary:
            yield f"claim {claim.count} x {claim.case}: {claim.what}"
        if len(self.toolchains) > 1:
            yield f"claim toolchains, pairwise, by round: {', '.join(self.toolchains)}"
        if self.simulated:
            yield "claims: none: a simulation gives the same values each time"
            return
        if not self.count:
            also = "; toolchains are compared" if len(self.toolchains) > 1 else ""
            yield f"claims: no primary claims are planned: descriptive{also}"
            return
        yield (
            f"claims: {self.count} primary, tested together; {self.campaign.launches} launches "
            f"declared, {fewest_launches(self.count, self.levels)} needed to tell any one of them, "
            f"{recommended_launches(self.count, self.levels)} recommended"
        )
        if warning := self.warning():
            yield f"warning: {warning}"


def outlook(campaign: Campaign, plan: Matrix, settings: analysis.Analysis) -> Outlook:
    """Ask each study what launches of `plan` will support, with the thresholds `settings`."""
    cases = [
        PlannedCase(
            id=item.case.id,
            study=item.study,
            check=item.case.check,
            place=f"{item.case.system}:{item.case.partition}",
            environ=item.case.environ,
            parameters=dict(item.case.parameters),
            variables=dict(item.variables),
        )
        for item in plan.expected
        if not item.simulated
    ]
    return Outlook(
        campaign,
        tuple(primary(cases, settings)),
        _compared_toolchains(cases),
        settings.statistics,
        simulated=bool(plan.expected) and not cases,
    )


def _compared_toolchains(cases: list[PlannedCase]) -> tuple[str, ...]:
    """Toolchains with a case that differs from another case in the toolchain alone."""
    alike: dict[tuple[object, ...], set[str]] = defaultdict(set)
    for case in cases:
        alike[case.check, case.place, tuple(sorted(case.parameters.items()))].add(case.environ)
    return tuple(sorted({name for names in alike.values() if len(names) > 1 for name in names}))


def _launches(count: int) -> str:
    return f"{count} launch of each case" if count == 1 else f"{count} launches of each case"


def primary(cases: Sequence[PlannedCase], settings: analysis.Analysis) -> Iterator[PlannedClaims]:
    """The primary claims that launches of `cases` will support, study by study."""
    for study in studies.load():
        mine = [case for case in cases if case.study == study.name]
        yield from study.primary_claims(mine, settings)

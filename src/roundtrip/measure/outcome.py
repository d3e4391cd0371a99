"""Which claims a campaign can make, before its run; what came of the launches, after it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from roundtrip.errors import UserError
from roundtrip.measure import analysis, completion, scheduler
from roundtrip.measure.bundle_rows import Status
from roundtrip.measure.campaign_file import Campaign
from roundtrip.measure.completion import LaunchCounts
from roundtrip.measure.launch import Launch
from roundtrip.measure.launches import scan_launches
from roundtrip.measure.matrix import Matrix
from roundtrip.measure.tree import RunTree
from roundtrip.stats.planning import (
    Decidability,
    decidability,
    joint_claims_needed,
    min_launches,
    recommended_launches,
)
from roundtrip.stats.settings import Levels
from roundtrip.study import PlannedCase, PlannedClaims, load_studies
from roundtrip.units import plural


@dataclass(frozen=True)
class ClaimOutlook:
    """The claims that a campaign can make: its primary claims, and `toolchains` that share a case;
    none if it is `simulated`, because each launch gives the same values."""

    campaign: Campaign
    claims: tuple[PlannedClaims, ...]
    toolchains: tuple[str, ...]
    levels: Levels
    simulated: bool = False

    @property
    def claim_count(self) -> int:
        return sum(claim.count for claim in self.claims)

    @property
    def reach(self) -> Decidability:
        """Whether the declared launches are enough for verdicts on the primary claims."""
        return decidability(self.campaign.launches, self.claim_count, self.levels)

    @property
    def _needed_launches_text(self) -> str:
        minimum = min_launches(self.claim_count, self.levels)
        recommendation = recommended_launches(self.claim_count, self.levels)
        suffix = f" ({recommendation} recommended)" if recommendation > minimum else ""
        return f"{minimum}{suffix} are enough"

    def require_enough_launches(self) -> None:
        """UserError if the declared launches are too few for a verdict on any primary claim."""
        if self.claim_count and self.reach is Decidability.UNDERPOWERED:
            raise UserError(
                f"launches = {self.campaign.launches} is too few for a verdict on any of the "
                f"{self.claim_count} primary claims: {self._needed_launches_text}; to run it "
                "without "
                "verdicts: --allow-underpowered",
                self.campaign.file,
                self.campaign.launches_line,
            )

    def warning(self) -> str | None:
        """Describe the effect of too few launches; None if each claim can get a verdict."""
        if not self.claim_count or self.reach is Decidability.ALONE:
            return None
        count = self.campaign.launches
        launches = f"{plural(count, 'launch')} of each case"
        quorum = joint_claims_needed(self.campaign.launches, self.claim_count, self.levels)
        if quorum is None:
            return (
                f"{launches} support none of {self.claim_count} primary claims; "
                f"{self._needed_launches_text}"
            )
        return (
            f"{launches} support {self.claim_count} primary claims only together: {quorum} must "
            f"be as clear as possible before any gets a verdict; {self._needed_launches_text}"
        )

    def dry_run_lines(self) -> Iterator[str]:
        """Yield the lines of ``--dry-run`` about claims, and whether the launches suffice."""
        for claim in self.claims:
            yield f"claim {claim.count} x {claim.case}: {claim.description}"
        if len(self.toolchains) > 1:
            yield f"claim toolchains, pairwise, by round: {', '.join(self.toolchains)}"
        if self.simulated:
            yield "claims: none: a simulation gives the same values each time"
            return
        if not self.claim_count:
            suffix = "; toolchains are compared" if len(self.toolchains) > 1 else ""
            yield f"claims: no primary claims are planned: descriptive{suffix}"
            return
        yield (
            f"claims: {self.claim_count} primary, tested together; "
            f"{self.campaign.launches} launches declared, "
            f"{min_launches(self.claim_count, self.levels)} needed for any one of them, "
            f"{recommended_launches(self.claim_count, self.levels)} recommended"
        )
        if warning := self.warning():
            yield f"warning: {warning}"


def assess_claims(
    campaign: Campaign, plan: Matrix, settings: analysis.AnalysisSettings
) -> ClaimOutlook:
    """Return the claims that the campaign can make with the cases of `plan`."""
    cases = [
        PlannedCase(
            id=item.case.id,
            study=item.study,
            check=item.case.check,
            system_partition=f"{item.case.system}:{item.case.partition}",
            environ=item.case.environ,
            parameters=dict(item.case.parameters),
            variables=dict(item.variables),
        )
        for item in plan.expected
        if not item.simulated
    ]
    groups: dict[tuple[object, ...], set[str]] = defaultdict(set)
    for case in cases:
        groups[case.check, case.system_partition, tuple(sorted(case.parameters.items()))].add(
            case.environ
        )
    compared = set[str]().union(*(names for names in groups.values() if len(names) > 1))
    claims, toolchains = tuple(primary_claims(cases, settings)), tuple(sorted(compared))
    simulated = bool(plan.expected) and not cases
    return ClaimOutlook(campaign, claims, toolchains, settings.statistics, simulated)


def primary_claims(
    cases: Sequence[PlannedCase], settings: analysis.AnalysisSettings
) -> Iterator[PlannedClaims]:
    """Yield the primary claims of each study that launches of `cases` can support."""
    for study in load_studies():
        study_cases = [case for case in cases if case.study == study.name]
        yield from study.primary_claims(study_cases, settings.compared_sizes(study))


@dataclass(frozen=True)
class RunOutcome:
    """What came of a run: its launches, and the wanted number of them by case.

    `skipped_count` is the number of cases that the site cannot run; `outage_note` describes outages
    of the scheduler, "" without any.
    """

    launches: Sequence[Launch]
    target_by_case: Mapping[str, int]
    skipped_count: int = 0
    outage_note: str = ""

    @staticmethod
    def from_tree(tree: RunTree) -> RunOutcome:
        """Scan the launches of `tree`, and return their outcome."""
        state = tree.state
        targets = {item["case"]: item["launches"] for item in state["expected"]}
        note = scheduler.describe_outage_record(scheduler.outage_record(tree.path))
        return RunOutcome(scan_launches(tree.path), targets, len(state["skipped"]), note)

    def with_status(self, status: Status) -> list[Launch]:
        """Return the launches with this status."""
        return [item for item in self.launches if item.status == status]

    @property
    def counts(self) -> LaunchCounts:
        """Numbers of wanted, passed, disturbed and partial launches."""
        return LaunchCounts(
            self.target_by_case,
            Counter(item.case_id for item in self.with_status("passed")),
            sum(bool(item.disturbance_reasons) for item in self.launches),
            len(self.with_status("partial")),
        )

    @property
    def is_complete(self) -> bool:
        """Whether every case has its launches; False without cases."""
        return bool(self.target_by_case) and not self.counts.missing_by_case

    @property
    def all_disturbed(self) -> bool:
        """Whether launches passed, but each was disturbed, so that nothing can be decided."""
        return 0 < len(self.with_status("passed")) == self.counts.disturbed_count

    def describe_lines(self) -> Iterator[str]:
        """Yield lines for people that describe the outcome, the worst last."""
        counts = self.counts
        yield f"{plural(len(self.target_by_case), 'case')}: {counts.describe()}"
        if self.skipped_count:
            yield f"{self.skipped_count} cases cannot run on this site (listed in the report)"
        displaced = (item.reason for item in self.with_status("displaced"))
        yield from filter(None, (self.outage_note, completion.describe_displacements(displaced)))
        # One line for each kind of reason, numbers ignored, with its first reason.
        examples: dict[str, str] = {}
        disturbed: Counter[str] = Counter()
        for item in self.launches:
            kinds = {re.sub(r"[+-]?\d+(\.\d+)?", "#", why): why for why in item.disturbance_reasons}
            disturbed.update(kinds.keys())
            examples = kinds | examples
        for kind, count in disturbed.items():
            yield f"disturbed {count} x: {examples[kind]}"
        verdicts: dict[Status, str] = {
            "partial": "partial",
            "skipped": "skipped itself",
            "failed": "failed",
        }
        for status, verdict in verdicts.items():
            reasons = Counter(f"{item.case_id}: {item.reason}" for item in self.with_status(status))
            for reason, count in reasons.items():
                yield f"{verdict} {count} x {reason}"
        last_failures = {item.case_id: item.reason for item in self.with_status("failed")}
        for case, count in counts.missing_by_case.items():
            last = last_failures.get(case)
            yield f"missing {count} x {case}" + (f"; the last failure: {last}" if last else "")

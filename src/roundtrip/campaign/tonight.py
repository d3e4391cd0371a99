"""What a campaign launches tonight: its matrix, and pairs of nodes where it runs on all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from roundtrip.campaign import nodes, rotation, scheduler
from roundtrip.campaign.matrix import Expected, Matrix
from roundtrip.campaign.model import Campaign
from roundtrip.campaign.site import Site
from roundtrip.campaign.tree import RunTree
from roundtrip.errors import UserError


@dataclass(frozen=True)
class Tonight:
    """The matrix of a night; its `plan` of meetings and the `nodes` that Slurm told, if any."""

    matrix: Matrix
    plan: rotation.Plan | None = None
    nodes: Mapping[str, Sequence[nodes.Node]] = field(default_factory=dict)

    @property
    def launched(self) -> list[Expected]:
        """What the runner launches: each case, or each case for each meeting."""
        return rotation.each(self.matrix.expected)

    def write(self, run_dir: Path) -> None:
        """Note plan and nodes in the tree of a new run."""
        if self.plan:
            self.plan.write(run_dir)
        if self.nodes:
            nodes.record(self.nodes, run_dir)

    def lines(self) -> Iterator[str]:
        """The meetings and the nodes without any, for ``--dry-run``."""
        for partition, meetings in (self.plan.meetings if self.plan else {}).items():
            for one in meetings:
                who = " and ".join(one.hosts) if len(one.hosts) > 1 else f"{one.hosts[0]} alone"
                yield f"pair  {partition}: {who}, round {one.pair_round}"
        for partition, found in self.nodes.items():
            for node in found:
                if node.lost:
                    yield f"lost  {partition}: {node.name} is {node.state}: {node.lost}"


def require(campaign: Campaign, site: Site, plan: Matrix) -> None:
    """UserError for a campaign on all nodes where no Slurm tells which there are."""
    if not campaign.in_pairs:
        return
    for partition in sorted({item.case.partition for item in plan.expected}):
        kind = site.partitions[partition]["scheduler"]
        if not scheduler.is_slurm(kind):
            raise UserError(
                f'nodes = "all" asks Slurm which nodes there are, and the scheduler of '
                f"{site.name}:{partition} is '{kind}': choose a site or partitions of Slurm",
                campaign.file,
                campaign.nodes_line,
            )


def arrange(
    campaign: Campaign, site: Site, plan: Matrix, runs: Path, begun: RunTree | None
) -> Tonight:
    """The night of a campaign: that which `begun` began, or the one after the last below `runs`.

    UserError, of a campaign on all nodes, if Slurm does not tell them, or too few of a partition
    work.  Any other campaign has them listed if Slurm tells them.
    """
    if not campaign.in_pairs:
        return Tonight(plan, nodes={} if begun else _told(site, plan))
    if begun:
        night = rotation.read(begun.path)
        return Tonight(replace(plan, expected=rotation.meeting(night, plan.expected)), night)
    asked = nodes.of_partitions(site, (item.case.partition for item in plan.expected))
    last = rotation.newest(runs / campaign.name / site.name)
    night = rotation.plan(plan.expected, asked, campaign.rounds_a_night, last)
    expected = rotation.meeting(night, plan.expected)
    return Tonight(replace(plan, expected=expected), night, asked)


def _told(site: Site, plan: Matrix) -> dict[str, list[nodes.Node]]:
    """The nodes of the plan's partitions of Slurm; none if Slurm does not tell them."""
    partitions = {item.case.partition for item in plan.expected}
    slurms = [p for p in partitions if scheduler.is_slurm(site.partitions[p]["scheduler"])]
    try:
        return nodes.of_partitions(site, slurms)
    except UserError:
        return {}

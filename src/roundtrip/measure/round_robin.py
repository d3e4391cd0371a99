"""The node pairs of a night: some rounds of a round robin that continues over the nights.

A campaign with ``nodes = "all"`` launches checks of two nodes on node pairs, and checks of one node
on each single node.  In a round, no node takes part twice.  Pairs follow `pairs_in_round`; a round
of single nodes has half of the nodes.  The round robin has all nodes of a partition, even those
that are down this night, so that it stays the same when a node is drained.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.measure import records
from roundtrip.measure.campaign_file import Campaign
from roundtrip.measure.matrix import ExpectedCase, Matrix, NodePair
from roundtrip.measure.tree import RunTree
from roundtrip.sites import schedulers
from roundtrip.sites.schedulers.interface import Node
from roundtrip.sites.site import Site

#: In the tree of a run: the plan of its night.
NIGHT_PLAN_FILE = Path("env", "pairs.json")
#: How long to wait for a scheduler that does not answer which nodes there are, s.
MAX_WAIT_S = 600.0


def round_count(node_count: int) -> int:
    """Return the number of rounds after which each pair of nodes has had one launch."""
    return node_count - 1 + node_count % 2 if node_count > 1 else 0


def pairs_in_round(node_count: int, number: int) -> list[tuple[int, int]]:
    """Return the pairs of nodes of round `number` (from 0): indices of nodes, the smaller first.

    Circle method: one node stays, the others rotate by one position a round.  With an odd count,
    one node has a bye. Kirkman, "On a problem in combinations", 1847; Wallis, "One-Factorizations",
    1997.
    """
    rounds = round_count(node_count)
    if not 0 <= number < rounds:
        raise ValueError(f"round {number} of {rounds}")
    turns = [((number + step) % rounds, (number - step) % rounds) for step in range(1, rounds)]
    pairs = {(min(pair), max(pair)) for pair in turns}
    if node_count % 2 == 0:  # else the node in the middle has a bye
        pairs.add((number, node_count - 1))
    return sorted(pairs)


@dataclass(frozen=True)
class RoundRobin:
    """A round robin of the nodes `hosts` of a partition; a launch takes `size` of them, 1 or 2.  By
    number of round, `before` counts its launches in earlier nights; `rounds` are this night's."""

    size: int
    hosts: tuple[str, ...]
    before: tuple[int, ...]
    rounds: tuple[int, ...]

    def pairs(self, down_hosts: frozenset[str] = frozenset()) -> list[NodePair]:
        """Return the node pairs of this night's rounds, but for those of `down_hosts`."""
        return [
            NodePair(number, night, tuple(self.hosts[index] for index in indices))
            for night, number in enumerate(self.rounds, 1)
            for indices in self._host_indices(number)
            if not down_hosts & {self.hosts[index] for index in indices}
        ]

    def _host_indices(self, number: int) -> list[tuple[int, ...]]:
        if self.size == 1:
            return [(index,) for index in range(number, len(self.hosts), 2)]
        return list(pairs_in_round(len(self.hosts), number))


@dataclass(frozen=True)
class PartitionPlan:
    """The plan of a night for a partition: its round robins, and the node pairs to launch on."""

    tournaments: tuple[RoundRobin, ...]
    pairs: tuple[NodePair, ...]


@dataclass(frozen=True)
class NightPlan:
    """The plan of a night by partition: the content of ``env/pairs.json``."""

    partitions: Mapping[str, PartitionPlan]
    schema: int = 1

    def pairs_for(self, item: ExpectedCase) -> tuple[NodePair, ...]:
        """Return the node pairs (or single nodes) on which a case is launched this night."""
        pairs = self.partitions[item.case.partition].pairs
        return tuple(pair for pair in pairs if len(pair.hosts) == item.node_count)

    def write(self, run_dir: Path) -> None:
        """Write ``env/pairs.json`` into the tree of the run."""
        file = run_dir / NIGHT_PLAN_FILE
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(asdict(self), indent=1) + "\n")


def plan_night(
    expected: Sequence[ExpectedCase],
    node_lists: Mapping[str, Sequence[Node]],
    max_rounds: int | None,
    last_run: Path | None,
) -> NightPlan:
    """Plan a night for the cases `expected`; `node_lists` has all nodes of each partition.

    At most `max_rounds` rounds are chosen (None: all), those with the fewest launches up to
    `last_run`, the tree of the last night, if any.  UserError if too few nodes are up.
    """
    sizes: dict[str, set[int]] = {}
    for item in expected:
        sizes.setdefault(item.case.partition, set()).add(item.node_count)
    plans = {}
    for partition, group_sizes in sizes.items():
        hosts = tuple(node.name for node in node_lists[partition])
        outages = {node.name: node for node in node_lists[partition] if node.down_reason}
        if len(hosts) - len(outages) < max(group_sizes):
            reasons = "; ".join(f"{name} is {node.state}" for name, node in outages.items())
            raise UserError(
                f"partition '{partition}' has {len(hosts) - len(outages)} of {len(hosts)} nodes to "
                f"measure; {max(group_sizes)} are needed{f': {reasons}' if reasons else ''}"
            )
        round_robins = []
        for size in sorted(group_sizes):
            total = round_count(len(hosts)) if size == 2 else min(2, len(hosts))
            before = _launch_count_by_round(last_run, partition, size, hosts) or (0,) * total
            order = sorted(range(total), key=before.__getitem__)
            rounds = tuple(sorted(order[: max_rounds or total]))
            round_robins.append(RoundRobin(size, hosts, before, rounds))
        pairs = (pair for item in round_robins for pair in item.pairs(frozenset(outages)))
        plans[partition] = PartitionPlan(tuple(round_robins), tuple(pairs))
    return NightPlan(plans)


def read_plan(run_dir: Path) -> NightPlan:
    """Read the plan with which the run in `run_dir` began; UserError if it cannot be read."""
    file = run_dir / NIGHT_PLAN_FILE
    try:
        return TypeAdapter(NightPlan).validate_python(files.read_json(file))
    except ValidationError:
        raise UserError("not the plan of a night: start a new run", file) from None


def _launch_count_by_round(
    run_dir: Path | None, partition: str, size: int, hosts: tuple[str, ...]
) -> tuple[int, ...]:
    """Return, by number of round, in how many nights it was launched, up to the one in `run_dir`.

    It counts if half of its pairs passed.  () without a night, a readable plan, or a round robin of
    these hosts: it then starts anew.
    """
    try:
        plan = read_plan(run_dir).partitions.get(partition) if run_dir else None
    except UserError:
        plan = None
    tournaments = (item for item in plan.tournaments if item.size == size) if plan else iter(())
    round_robin = next(tournaments, None)
    if run_dir is None or plan is None or round_robin is None or round_robin.hosts != hosts:
        return ()
    completed_pairs = set()  # each once, however often it was launched
    for file in run_dir.glob(f"rounds/*/output/*/{partition}/*/*/case.json"):
        case = files.read_json(file)
        if len(case.get("hosts", ())) == size:
            completed_pairs.add((case["parameters"]["pair_round"], *case["hosts"]))
    completions = Counter(number for number, *_ in completed_pairs)
    plan_counts = Counter(pair.pair_round for pair in plan.pairs if len(pair.hosts) == size)
    launch_counts = list(round_robin.before)
    for number in round_robin.rounds:
        launch_counts[number] += 2 * completions[number] >= plan_counts[number]
    return tuple(launch_counts)


def collect_partition_nodes(site: Site, partition: str, wait_s: float = MAX_WAIT_S) -> list[Node]:
    """Ask the scheduler for the nodes of a ReFrame partition, sorted by name and number; wait up to
    `wait_s` for an answer.  UserError without a scheduler, an answer, or a node."""
    config = site.partitions[partition]
    description = f"nodes of partition '{partition}' of site '{site.name}'"
    scheduler = schedulers.scheduler_of_partition(config)
    if not scheduler.allocates_nodes:
        why = f"its scheduler, '{config['scheduler']}', lists none"
        raise UserError(f"the {description} are not known: {why}")
    # There is no run yet that has a log.
    environment = scheduler.retrying_environment(site.environment, time.time() + wait_s, None)
    return scheduler.collect_nodes(config, description, environment)


def write_nodes(nodes: Mapping[str, Sequence[Node]], run_dir: Path) -> None:
    """Write the state of the nodes of each partition to ``env/nodes.json`` in the tree of a run."""
    partitions = {
        partition: {
            "hosts": [node.name for node in node_list if not node.down_reason],
            "not_measured": [
                {"host": node.name, "state": node.state, "reason": node.down_reason}
                for node in node_list
                if node.down_reason
            ],
        }
        for partition, node_list in nodes.items()
    }
    file = run_dir / records.NODES_FILE
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"schema": 1, "partitions": partitions}, indent=1) + "\n")


def collect_listed_nodes(
    site: Site, partitions: Iterable[str], wait_s: float = MAX_WAIT_S
) -> dict[str, list[Node]]:
    """Return the nodes of each partition with a scheduler; {} if it does not list them."""
    names = [
        name
        for name in sorted(partitions)
        if schedulers.scheduler_of_partition(site.partitions[name]).allocates_nodes
    ]
    try:
        return {name: collect_partition_nodes(site, name, wait_s) for name in names}
    except UserError:
        return {}


@dataclass(frozen=True)
class CampaignNight:
    """What a campaign launches in a night: its matrix, the plan if it runs on all nodes, and the
    nodes by partition, if the scheduler listed them."""

    matrix: Matrix
    plan: NightPlan | None = None
    nodes: Mapping[str, Sequence[Node]] = field(default_factory=dict)

    @property
    def round_launches(self) -> list[ExpectedCase]:
        """The launches of a round: each case, or each case on each of its node pairs."""
        items: list[ExpectedCase] = []
        for item in self.matrix.expected:
            items += [replace(item, pairs=(pair,)) for pair in item.pairs] or [item]
        return items

    def write(self, run_dir: Path) -> None:
        """Write ``env/pairs.json`` and ``env/nodes.json``, if any, into the tree of a new run."""
        if self.plan:
            self.plan.write(run_dir)
        if self.nodes:
            write_nodes(self.nodes, run_dir)

    def dry_run_lines(self) -> Iterator[str]:
        """Yield the lines of ``--dry-run`` about node pairs and nodes that are down."""
        for partition, plan in (self.plan.partitions if self.plan else {}).items():
            for pair in plan.pairs:
                hosts = " and ".join(pair.hosts) + " alone" * (len(pair.hosts) == 1)
                yield f"pair  {partition}: {hosts}, round {pair.pair_round}"
        for partition, node_list in self.nodes.items():
            for node in node_list:
                if node.down_reason:
                    yield f"lost  {partition}: {node.name} is {node.state}: {node.down_reason}"


def require_node_list(campaign: Campaign, site: Site, plan: Matrix) -> None:
    """UserError for a campaign with ``nodes = "all"`` on a partition without a scheduler."""
    if not campaign.is_round_robin:
        return
    for partition in sorted({item.case.partition for item in plan.expected}):
        config = site.partitions[partition]
        if not schedulers.scheduler_of_partition(config).allocates_nodes:
            raise UserError(
                f'nodes = "all" needs a list of nodes, and the scheduler of {site.name}:{partition}'
                f", '{config['scheduler']}', lists none: choose a site or partitions that have one",
                campaign.file,
                campaign.nodes_line,
            )


def arrange_night(
    campaign: Campaign,
    site: Site,
    plan: Matrix,
    runs: Path,
    resumed_run: RunTree | None,
    wait_s: float = MAX_WAIT_S,
) -> CampaignNight:
    """Return the night that `resumed_run` began, or the one after the last night in `runs`.

    The scheduler is asked for nodes, up to `wait_s` seconds for each partition.  UserError for a
    campaign with ``nodes = "all"`` if it does not list them, or too few are up.
    """
    partitions = {item.case.partition for item in plan.expected}
    if not campaign.is_round_robin:
        node_lists = {} if resumed_run else collect_listed_nodes(site, partitions, wait_s)
        return CampaignNight(plan, nodes=node_lists)
    if resumed_run:
        night, node_lists = read_plan(resumed_run.path), {}
    else:
        node_lists = {
            name: collect_partition_nodes(site, name, wait_s) for name in sorted(partitions)
        }
        plans = sorted((runs / campaign.name / site.name).glob(f"*/{NIGHT_PLAN_FILE}"))
        last_run = plans[-1].parents[1] if plans else None
        night = plan_night(plan.expected, node_lists, campaign.rounds_a_night, last_run)
    items = tuple(replace(item, pairs=night.pairs_for(item)) for item in plan.expected)
    return CampaignNight(replace(plan, expected=items), night, node_lists)

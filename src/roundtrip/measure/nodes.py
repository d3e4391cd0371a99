"""The nodes of a site's partitions, as its scheduler reports them, and their record in a run."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from roundtrip.errors import UserError
from roundtrip.measure import records
from roundtrip.sites import schedulers
from roundtrip.sites.schedulers.interface import Node
from roundtrip.sites.site import Site

LONGEST_WAIT_S = 600.0


def partition_nodes(site: Site, partition: str, wait_s: float = LONGEST_WAIT_S) -> list[Node]:
    """Return the nodes that the options of a ReFrame partition choose, sorted by name and number.

    It waits up to `wait_s` seconds while the scheduler does not answer.
    UserError if there is no scheduler, it does not list them, or the options choose none.
    """
    config = site.partitions[partition]
    place = f"nodes of partition '{partition}' of site '{site.name}'"
    scheduler = schedulers.scheduler_of(config)
    if not scheduler.allocates:
        why = f"its scheduler is '{config['scheduler']}', and only {schedulers.titles()} lists them"
        raise UserError(f"the {place} are not known: {why}")
    # There is no run yet that has a log.
    environment = scheduler.patient_environment(site.environment, time.time() + wait_s, None)
    return scheduler.nodes(config, place, environment)


def record_nodes(nodes: Mapping[str, Sequence[Node]], run_dir: Path) -> None:
    """Write the scheduler's report on the nodes of each partition into the tree of a run."""
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


def nodes_by_partition(
    site: Site, partitions: Iterable[str], wait_s: float = LONGEST_WAIT_S
) -> dict[str, list[Node]]:
    """Return the nodes of each of `partitions`, by its name; the rest as in `partition_nodes`."""
    return {name: partition_nodes(site, name, wait_s) for name in sorted(set(partitions))}


def known_nodes(
    site: Site, partitions: Iterable[str], wait_s: float = LONGEST_WAIT_S
) -> dict[str, list[Node]]:
    """Return the nodes of each of `partitions` with a scheduler; {} if it does not list them."""
    names = [
        name for name in partitions if schedulers.scheduler_of(site.partitions[name]).allocates
    ]
    try:
        return nodes_by_partition(site, names, wait_s)
    except UserError:
        return {}

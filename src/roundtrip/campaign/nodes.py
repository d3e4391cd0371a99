"""Asks Slurm which nodes a partition has, and which of them it has taken out of use."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roundtrip.campaign import chosen, scheduler
from roundtrip.campaign.site import Site
from roundtrip.collect import records
from roundtrip.errors import UserError

#: States in which a node runs jobs, now or after those that it has.
_IN_USE = ("idle", "allocated", "mixed", "completing", "planned")
#: Marks after a state: no answer, a maintenance reservation, powering down.
_OUT = {"*": "not responding", "$": "in maintenance", "%": "powering down"}
_PATIENCE_S = 600.0
_FIELDS = "%N|%T|%f|%E"


@dataclass(frozen=True)
class Node:
    """A node as Slurm tells it; `lost` is why no job can run on it, "" if one can."""

    name: str
    state: str
    lost: str = ""
    features: tuple[str, ...] = ()


def of_partition(site: Site, partition: str) -> list[Node]:
    """The nodes of a partition of ReFrame's that its options choose, by name and number.

    UserError if its scheduler is not Slurm, Slurm does not tell, or the options choose no node.
    """
    declared = site.partitions[partition]
    if not scheduler.is_slurm(declared["scheduler"]):
        raise UserError(
            f"the nodes of partition '{partition}' of site '{site.name}' are not known: "
            f"its scheduler is '{declared['scheduler']}', and only Slurm tells them"
        )
    wanted = chosen.by(declared.get("access", ()))
    command = ["sinfo", "--noheader", "--Node", f"--format={_FIELDS}"]
    if wanted.queue:
        command.append(f"--partition={wanted.queue}")
    found = parsed(_asked(site, partition, command))
    kept = _chosen(site, partition, found, wanted)
    if found and not kept:
        raise UserError(
            f"none of the {len(found)} nodes of partition '{partition}' of site '{site.name}' is "
            f"what its options ask for: {wanted.told()}"
        )
    return kept


def _chosen(site: Site, partition: str, nodes: list[Node], wanted: chosen.Chosen) -> list[Node]:
    """Those of `nodes` that have the names and features that are `wanted`."""
    lists = {
        text: set(_asked(site, partition, ["scontrol", "show", "hostnames", text]).split())
        for text in (wanted.names, wanted.excluded)
        if text
    }
    try:
        return [
            node
            for node in nodes
            if (not wanted.names or node.name in lists[wanted.names])
            and (not wanted.excluded or node.name not in lists[wanted.excluded])
            and (not wanted.features or chosen.takes(wanted.features, node.features))
        ]
    except ValueError as error:
        raise UserError(
            f"the nodes of partition '{partition}' of site '{site.name}' cannot be told by "
            f"--constraint={wanted.features}: {error}; right are features with &, | and ( )"
        ) from None


def _asked(site: Site, partition: str, command: Sequence[str]) -> str:
    """What a command of Slurm prints; it waits while Slurm does not answer."""
    wait = scheduler.Patience(time.time() + _PATIENCE_S, site.checkout).environment(
        site.environment
    )
    del wait["ROUNDTRIP_SLURM_LOG"]  # there is no run yet to note it in
    try:
        asked = subprocess.run(command, capture_output=True, text=True, env=wait)
    except FileNotFoundError:
        raise UserError(f"there is no {command[0]} in PATH: is Slurm installed here?") from None
    if asked.returncode:
        told = (asked.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise UserError(f"cannot ask Slurm for the nodes of partition '{partition}': {told}")
    return asked.stdout


def parsed(listing: str) -> list[Node]:
    """The nodes of ``sinfo --Node``, a line each of name, state, features and reason; each once."""
    found = {}
    for line in listing.splitlines():
        name, state, features, reason = line.split("|", 3)
        mark = next((told for sign, told in _OUT.items() if sign in state), "")
        word = re.sub(r"[^a-z_].*", "", state.lower())
        lost = "" if word in _IN_USE and not mark else _why(reason.strip(), mark)
        told = () if features == "(null)" else tuple(filter(None, features.split(",")))
        found[name] = Node(name, word or state, lost, told)
    return sorted(found.values(), key=lambda node: _numbered(node.name))


def record(asked: Mapping[str, Sequence[Node]], run_dir: Path) -> None:
    """Note in the tree of a run what Slurm said of the nodes of each partition."""
    file = run_dir / records.NODES_FILE
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(_told(asked), indent=1) + "\n")


def of_partitions(site: Site, partitions: Iterable[str]) -> dict[str, list[Node]]:
    """The nodes of each of the `partitions`, by its name; UserError as of `of_partition`."""
    return {name: of_partition(site, name) for name in sorted(set(partitions))}


def _told(asked: Mapping[str, Sequence[Node]]) -> dict[str, Any]:
    """As `collect.nodes.Nodes` has it."""
    return {
        "schema": 1,
        "partitions": {
            partition: {
                "hosts": [node.name for node in found if not node.lost],
                "not_measured": [
                    {"host": node.name, "state": node.state, "reason": node.lost}
                    for node in found
                    if node.lost
                ],
            }
            for partition, found in asked.items()
        },
    }


def _why(reason: str, mark: str) -> str:
    told = "" if reason.lower() in ("", "none") else reason
    return "; ".join(part for part in (mark, told) if part) or "Slurm gives no reason"


def _numbered(name: str) -> list[tuple[bool, int, str]]:
    """For sorting: ``n9`` before ``n10``."""
    parts = re.findall(r"\d+|\D+", name)
    return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]

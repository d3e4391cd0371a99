"""Nodes that a run did not measure, because the scheduler had taken them out of use."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from roundtrip.collect import records
from roundtrip.collect.disclosure import Disclosure
from roundtrip.model import Host, Label, Record, Text

#: In a run tree: what the scheduler said of the nodes of each partition before the launches.
FILE = Path("env", "nodes.json")


class _NotMeasured(Record):
    host: Host
    state: Label
    reason: Text


class _Partition(Record):
    hosts: list[Host]
    not_measured: list[_NotMeasured]


class Nodes(Record):
    """env/nodes.json: by partition, what the scheduler said of its nodes before the launches."""

    schema_: Literal[1] = Field(alias="schema")
    partitions: dict[str, _Partition]


def told(run_dir: Path, names: Disclosure) -> dict[str, Any]:
    """The manifest's entry ``nodes_not_measured``: node (a pseudonym), state and reason of each.

    Nothing of a run that did not ask the scheduler.  UserError for a file that cannot be read.
    """
    if not (run_dir / FILE).exists():
        return {}
    partitions = records.read(run_dir / FILE, run_dir, Nodes)["partitions"]
    found = {
        node["host"]: {
            "node": names.of(node["host"]),
            "state": names.kept(node["state"]),
            "reason": names.message(node["reason"]),
        }
        for partition in partitions.values()
        for node in partition["not_measured"]
    }
    return {"nodes_not_measured": sorted(found.values(), key=lambda one: one["node"])}

"""Launches what was worse last night again, with what was not, in the time that a night has left.

The launches are rounds as any others, of a tree inside that of the run: the night's own values, its
matrix and its outcome know nothing of them.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from roundtrip.campaign import nodes, scheduler, tree
from roundtrip.campaign.matrix import Expected
from roundtrip.campaign.progress import told
from roundtrip.campaign.runner import Runner
from roundtrip.collect import records
from roundtrip.collect.launches import scan
from roundtrip.errors import UserError


def launch(night: Runner, cases: Collection[str], launches: int) -> str:
    """Launch each of `cases` so often, in rounds; why none was launched, "" if one was.

    `night` has run, and was given ``confirm``.  Each case is launched on the nodes that its
    launches of the night ran on, where Slurm has them in use.  A round that would not end in time
    is not begun; the first one is expected to take as long as launches of the night did.
    """
    wanted = [item for item in night.expected if item.case.id in cases and not item.simulated]
    left_s = min(60 * (night.campaign.confirm_minutes or 0.0), night.deadline - time.monotonic())
    needed_s = night.launch_s * len(wanted)
    why = ""
    if not wanted:
        why = "none of the cases is launched by this campaign"
    elif left_s <= 0 or needed_s > left_s:
        why = f"no time was left: a round takes {told(needed_s)}, of {told(left_s)}"
    note = {"schema": 1, "launches": launches, "why_not": why}
    (night.tree.path / "env" / records.CONFIRMATION_FILE).write_text(json.dumps(note) + "\n")
    if why:
        return why
    wanted = list(_on_same_nodes(night, wanted))
    inner = tree.part(night.tree, records.CONFIRMATION, wanted, launches)
    title = f"{night.campaign.title}: launching again what was worse"
    limited = replace(
        night.campaign, title=title, launches=launches, time_limit_minutes=left_s / 60
    )
    with inner:
        Runner(limited, night.site, inner, wanted, night.progress).run()
    return ""


def _on_same_nodes(night: Runner, wanted: Sequence[Expected]) -> Iterator[Expected]:
    """The cases, with the node list of their launches of the night where Slurm has all in use."""
    usable = _usable(night, {item.case.partition for item in wanted})
    used: defaultdict[str, Counter[frozenset[str]]] = defaultdict(Counter)
    for one in scan(night.tree.path):
        if one.status == "passed" and not one.disturbed:
            used[one.case_id][frozenset(host.partition(".")[0] for host in one.run["hosts"])] += 1
    for item in wanted:
        there = usable.get(item.case.partition, {})
        hosts = next((one for one, _ in used[item.case.id].most_common(1)), frozenset())
        if not item.meetings and len(hosts) == item.nodes and hosts <= there.keys():
            item = replace(item, nodelist=tuple(sorted(there[host] for host in hosts)))
        yield item


def _usable(night: Runner, partitions: Collection[str]) -> dict[str, dict[str, str]]:
    """The nodes in use of each partition of Slurm, by the first part of their names."""
    slurms = [
        name for name in partitions if scheduler.is_slurm(night.site.partitions[name]["scheduler"])
    ]
    try:
        found = nodes.of_partitions(night.site, slurms)
    except UserError:
        return {}
    return {
        name: {one.name.partition(".")[0]: one.name for one in some if not one.lost}
        for name, some in found.items()
    }

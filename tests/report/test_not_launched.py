"""What the report says of launches that Slurm displaced, and of nodes that it had taken out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from support.bundles import read_tree

from roundtrip.report.blocks import Paragraph, Part, Table, all_blocks, plain_text
from roundtrip.report.sections import launches

Maker = Callable[..., Any]
ENVIRON = "openmpi41-boost181"
PREEMPTED = (
    "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-22T10:07:01 DUE TO PREEMPTION\n"
)
NODES = {
    "schema": 1,
    "partitions": {
        "smp": {
            "hosts": ["n1"],
            "not_measured": [{"host": "n2", "state": "drained", "reason": "bad DIMM"}],
        }
    },
}


def texts(part: Part) -> Iterator[str]:
    for block in all_blocks(part.blocks):
        if isinstance(block, Paragraph):
            yield plain_text(block.text)
        if isinstance(block, Table):
            yield from (" | ".join(cell.text for cell in row) for row in block.rows)


def test_a_displaced_launch_is_counted_apart_and_is_no_failure(make_tree: Maker) -> None:
    tree = make_tree(launches=3, environs=(ENVIRON,))
    stage = tree.fail(2, ENVIRON, fail_reason="sanity error: no end marker")
    (stage / "rfm_job.err").write_text(PREEMPTED)
    lines = list(texts(launches.part(read_tree(tree))))
    sentence = "Slurm displaced 1 launch (1 preempted): repeated, and counted against no case."
    assert sentence in lines
    (counts,) = [
        line for line in lines if line.startswith(tree.case_id(ENVIRON)) and "missing" not in line
    ]
    assert counts.split(" | ")[1:6] == ["2", "0", "0", "1", "1"], counts
    assert not any("preempted its job" in line for line in lines), "it is not among the failed"


def test_nodes_that_slurm_had_taken_out_are_listed_with_its_reason(make_tree: Maker) -> None:
    tree = make_tree(launches=1, environs=(ENVIRON,))
    (tree.path / "env" / "nodes.json").write_text(json.dumps(NODES))
    bundle_data = read_tree(tree)
    (row,) = [line for line in texts(launches.part(bundle_data)) if "bad DIMM" in line]
    node, state, reason = row.split(" | ")
    assert node.startswith("node-")
    assert (state, reason) == ("drained", "bad DIMM")
    bundle_data.environment["pairs.json"] = {}  # the section on nodes lists them then
    assert not any("bad DIMM" in line for line in texts(launches.part(bundle_data)))


def test_launches_of_emulated_nodes_say_so_where_they_are_listed(make_tree: Maker) -> None:
    extras = {"emulated": {"nodes": "namespaces of one machine"}}
    tree = make_tree(launches=5, environs=(ENVIRON,), extras=extras)
    tree.fail(2, ENVIRON, fail_reason="killed")
    lines = texts(launches.part(read_tree(tree)))
    rows = [line for line in lines if ENVIRON in line and " | " in line]
    causes = [line for line in rows if "killed" in line or "missing" in line or "load" in line]
    assert len(causes) >= 3, "one failed, one missing, one disturbed"
    assert all("EMULATED NODES" in line for line in rows)

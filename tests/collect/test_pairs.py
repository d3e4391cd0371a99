"""Launches between pairs of nodes: one case, whatever the nodes, and none of their names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.bundles import rewritten
from support.hosts import pseudonym

from roundtrip.collect import bundle, manifest, records, scheduler_log
from roundtrip.collect.launches import scan
from roundtrip.errors import UserError
from roundtrip.report import data

ENVIRON = "openmpi41-boost181"
Maker = Callable[..., Any]


def change(file: Path, **changes: object) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def test_all_pairs_are_launches_of_one_case() -> None:
    place = ("virtual", "grid", "tcp")
    first, second = (
        records.named_case_id(f"NetPIPE %placement=one-per-node %pair={number}", *place)
        for number in (0, 13)
    )
    assert first == second == "NetPIPE/placement=one-per-node@virtual:grid+tcp"


def test_a_pair_that_never_worked_names_its_nodes_by_pseudonyms(make_tree: Maker) -> None:
    tree = make_tree(launches=2, environs=(ENVIRON,))
    folder = min(tree.path.rglob("run.json")).parent
    parameters = {"pair_round": 3, "pair_night_round": 1}
    change(folder / "case.json", hosts=["cn07", "cn12"], parameters=parameters)
    (folder / "run.json").unlink()
    bundle_path = bundle.build(tree.path)
    cases = pl.read_parquet(bundle_path / "cases.parquet").filter(pl.col("status") == "failed")
    assert cases["hosts"].to_list() == [[pseudonym("cn07"), pseudonym("cn12")]]
    numbers = pl.read_parquet(bundle_path / "parameters.parquet").join(cases, on="launch")
    assert numbers.select("name", "number").rows() == [("pair_night_round", 1), ("pair_round", 3)]
    assert not [
        file for file in bundle_path.rglob("*") if file.is_file() and b"cn07" in file.read_bytes()
    ]


def recorded(name: str) -> str:
    """The standard error of a launch on a1 and a2, the latter of which failed."""
    text = (Path(__file__).parents[1] / "data" / "first_failure" / f"{name}.txt").read_text()
    return text.replace("a1", "cn07").replace("a2", "cn12")


SURVIVOR = "srun: error: cn07: task 0: Killed\n"


@pytest.mark.parametrize(
    ("error", "log", "nodes_down"),
    [
        (recorded("srun-node-down"), "", ["cn12"]),
        (recorded("srun-node-reset"), "", ["cn12"]),
        (SURVIVOR, "down 7 cn12,cn99 ", ["cn12"]),
        (f"srun: error: Node failure on cn99\n{SURVIVOR}", "down 7 cn98 ", []),
        (SURVIVOR, "", []),
    ],
)
def test_the_node_that_slurm_took_for_down_is_named_and_not_its_partner(
    make_tree: Maker, error: str, log: str, nodes_down: list[str]
) -> None:
    tree = make_tree(launches=2, environs=(ENVIRON,))
    stage = tree.fail(1, ENVIRON, fail_reason="sanity error: no end marker")
    parameters = {"pair_round": 3, "pair_night_round": 1}
    change(stage / "case.json", hosts=["cn07", "cn12"], parameters=parameters)
    (stage / "rfm_job.err").write_text(error)
    if log:
        folder = stage.relative_to(tree.path)
        (tree.path / scheduler_log.FILE_NAME).write_text(f"1795341700 {log}{folder}\n")
    (launch,) = (launch for launch in scan(tree.path) if launch.status == "failed")
    node_failure = "node cn12 failed (Slurm: down, or its step gone)"
    failure = node_failure if nodes_down else "rank 0 on cn07 failed first: Killed"
    assert launch.reason == f"sanity error: no end marker; {failure}"
    cases = pl.read_parquet(bundle.build(tree.path) / "cases.parquet").filter(status="failed")
    assert cases["nodes_down"].to_list() == [[pseudonym(node) for node in nodes_down] or None]


def test_a_switch_has_a_pseudonym_of_its_own(make_tree: Maker) -> None:
    tree = make_tree(launches=1, environs=(ENVIRON,))
    file = next(tree.path.rglob("run.json"))
    places = json.loads(file.read_text())["placement"]
    change(file, placement=[places[0] | {"switch": "leaf-3"}, places[1]])
    bundle_path = bundle.build(tree.path)
    switches = pl.read_parquet(bundle_path / "placement.parquet")["switch"].to_list()
    assert switches[1] is None
    assert switches[0].startswith("switch-") and len(switches[0]) == len("switch-12345678")
    forged_bundle = rewritten(
        bundle_path,
        lambda placement: placement.with_columns(switch=pl.lit("two words")),
        "placement",
    )

    with pytest.raises(UserError, match="switch 'two words' is not a name of a host"):
        data.read(forged_bundle)


def test_nodes_that_slurm_had_taken_out_stand_in_the_manifest(make_tree: Maker) -> None:
    tree = make_tree(launches=1, environs=(ENVIRON,))
    drained_node = {"host": "cn07", "state": "drained", "reason": "cn07: DIMM 3"}
    nodes_record = {
        "schema": 1,
        "partitions": {"p": {"hosts": ["cn01"], "not_measured": [drained_node]}},
    }
    (tree.path / "env" / "nodes.json").write_text(json.dumps(nodes_record))
    bundle_path = bundle.build(tree.path)
    name = pseudonym("cn07")
    entry = {"node": name, "state": "drained", "reason": f"{name}: DIMM 3"}
    assert manifest.verify(bundle_path).data["nodes_not_measured"] == [entry]
    assert b"cn0" not in (bundle_path / "env" / "nodes.json").read_bytes()


def test_a_run_without_a_scheduler_says_nothing_of_its_nodes(make_tree: Maker) -> None:
    bundle_path = bundle.build(make_tree(launches=1, environs=(ENVIRON,)).path)
    assert "nodes_not_measured" not in manifest.verify(bundle_path).data

"""Launches between pairs of nodes: one case, whatever the nodes, and none of their names."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from measure.conftest import ENVIRON, content, edit
from support.bundles import rewritten
from support.synthetic import Tree, pseudonym

from roundtrip.errors import UserError
from roundtrip.measure import bundle, bundle_tables, manifest, records, scheduler
from roundtrip.measure.launches import scan
from roundtrip.report import data


def test_all_pairs_are_launches_of_one_case() -> None:
    place = ("virtual", "grid", "tcp")
    first, second = (
        records.named_case_id(f"NetPIPE %placement=one-per-node %pair={number}", *place)
        for number in (0, 13)
    )
    assert first == second == "NetPIPE/placement=one-per-node@virtual:grid+tcp"


def test_a_pair_that_never_worked_names_its_nodes_by_pseudonyms(two_launches: Tree) -> None:
    folder = min(two_launches.path.rglob("run.json")).parent
    parameters = {"pair_round": 3, "pair_night_round": 1}
    edit(folder / "case.json", hosts=["cn07", "cn12"], parameters=parameters)
    (folder / "run.json").unlink()
    bundle_path = bundle.build(two_launches.path)
    cases = pl.read_parquet(bundle_path / "cases.parquet").filter(pl.col("status") == "failed")
    assert cases["hosts"].to_list() == [[pseudonym("cn07"), pseudonym("cn12")]]
    numbers = pl.read_parquet(bundle_path / "parameters.parquet").join(cases, on="launch")
    assert numbers.select("name", "number").rows() == [("pair_night_round", 1), ("pair_round", 3)]
    files = filter(Path.is_file, bundle_path.rglob("*"))
    assert not any(b"cn07" in file.read_bytes() for file in files)


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
    two_launches: Tree, error: str, log: str, nodes_down: list[str]
) -> None:
    stage = two_launches.fail(1, ENVIRON, fail_reason="sanity error: no end marker")
    parameters = {"pair_round": 3, "pair_night_round": 1}
    edit(stage / "case.json", hosts=["cn07", "cn12"], parameters=parameters)
    (stage / "rfm_job.err").write_text(error)
    if log:
        folder = stage.relative_to(two_launches.path)
        (two_launches.path / scheduler.LOG_FILE).write_text(f"1795341700 {log}{folder}\n")
    (launch,) = (launch for launch in scan(two_launches.path) if launch.status == "failed")
    node_failure = "node cn12 failed (Slurm: down, or its step gone)"
    failure = node_failure if nodes_down else "rank 0 on cn07 failed first: Killed"
    assert launch.reason == f"sanity error: no end marker; {failure}"
    cases = pl.read_parquet(bundle.build(two_launches.path) / "cases.parquet").filter(
        status="failed"
    )
    assert cases["nodes_down"].to_list() == [[pseudonym(node) for node in nodes_down] or None]


def test_a_switch_has_a_pseudonym_of_its_own(tree: Tree) -> None:
    with content(tree.folder(1, ENVIRON) / "run.json") as run:
        run["placement"][0]["switch"] = "leaf-3"
    bundle_path = bundle.build(tree.path)
    switches = pl.read_parquet(bundle_path / "placement.parquet")["switch"].to_list()
    assert switches[1] is None
    assert switches[0].startswith("switch-") and len(switches[0]) == len("switch-12345678")
    name = pl.lit("two words")
    forged_bundle = rewritten(bundle_path, lambda t: t.with_columns(switch=name), "placement")
    with pytest.raises(UserError, match="switch 'two words' is not a name of a host"):
        data.read(forged_bundle)
    old_bundle = rewritten(bundle_path, lambda table: table.drop("switch"), "placement")
    assert bundle_tables.read_tables(old_bundle).frames["placement"]["switch"].is_null().all()


def test_nodes_that_slurm_had_taken_out_stand_in_the_manifest(tree: Tree) -> None:
    drained_node = {"host": "cn07", "state": "drained", "reason": "cn07: DIMM 3"}
    partitions = {"p": {"hosts": ["cn01"], "not_measured": [drained_node]}}
    nodes_record = {"schema": 1, "partitions": partitions}
    (tree.path / "env" / "nodes.json").write_text(json.dumps(nodes_record))
    bundle_path = bundle.build(tree.path)
    name = pseudonym("cn07")
    entry = {"node": name, "state": "drained", "reason": f"{name}: DIMM 3"}
    assert manifest.verify(bundle_path).data["nodes_not_measured"] == [entry]
    assert b"cn0" not in (bundle_path / "env" / "nodes.json").read_bytes()
    facts = {k: v for k, v in manifest.verify(bundle_path).data.items() if k != "files"}
    manifest.write(bundle_path, {**facts, "nodes_not_measured": [{"node": "two words"}]})
    with pytest.raises(UserError, match="nodes_not_measured"):
        manifest.verify(bundle_path)


def test_a_run_without_a_scheduler_says_nothing_of_its_nodes(bundle_path: Path) -> None:
    assert "nodes_not_measured" not in manifest.verify(bundle_path).data

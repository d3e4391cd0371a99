"""Nodes: what Slurm says of them, and launches on pairs, without their names."""

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from measure.conftest import ENVIRON, read_cases
from support.bundles import rewrite_table
from support.json_files import content, edit
from support.programs import write_script
from support.synthetic import SyntheticTree, pseudonym

from roundtrip.content import data
from roundtrip.errors import UserError
from roundtrip.measure import bundle, bundle_tables, manifest, records, round_robin, scheduler
from roundtrip.measure.launches import scan_launches
from roundtrip.measure.records import NodesRecord
from roundtrip.sites.schedulers.interface import Node
from roundtrip.sites.schedulers.slurm.facts import parse_nodes

LISTING = """\
n10|idle|(null)|none
n9|mixed|ib,fat|none
n1|allocated+|(null)|none
n2|drained|ib|bad cable | rail 2
n3|idle*|(null)|none
n4|down~|(null)|Not responding
n5|idle$|(null)|none
n6|reserved|(null)|
n9|mixed|ib,fat|none
"""


def site(folder: Path, sinfo: str, **partition: object) -> Any:
    """A site whose sinfo is this shell script."""
    write_script(folder / "sinfo", sinfo)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    partitions = {"p": {"scheduler": "slurm", **partition}}
    facts = {"environment": environment, "partitions": partitions, "checkout": folder}
    return SimpleNamespace(name="s", **facts)


def test_each_node_once_by_its_number_with_the_reason_of_those_that_are_lost() -> None:
    assert parse_nodes(LISTING) == [
        Node("n1", "allocated"),
        Node("n2", "drained", "bad cable | rail 2", ("ib",)),
        Node("n3", "idle", "not responding"),
        Node("n4", "down", "Not responding"),
        Node("n5", "idle", "in maintenance"),
        Node("n6", "reserved", "Slurm gives no reason"),
        Node("n9", "mixed", "", ("ib", "fat")),
        Node("n10", "idle"),
    ]


def test_a_reason_may_have_several_lines() -> None:
    listing = "a line of no node\nn1|drained|ib|bad cable\n\n  see ticket 7\nn2|idle|ib|none\n"
    assert parse_nodes(listing) == [
        Node("n1", "drained", "bad cable see ticket 7", ("ib",)),
        Node("n2", "idle", "", ("ib",)),
    ]


@pytest.mark.parametrize(
    ("access", "down_reason"),
    [
        (["-p x", "--reservation=night"], ""),
        (["-p x --reservation night"], ""),
        (["-p x"], "Slurm gives no reason"),
    ],
)
def test_reserved_nodes_run_its_jobs(tmp_path: Path, access: list[str], down_reason: str) -> None:
    slurm_site = site(tmp_path, "echo 'n6|reserved|ib|none'", access=access)
    assert round_robin.collect_partition_nodes(slurm_site, "p") == [
        Node("n6", "reserved", down_reason, ("ib",))
    ]


@pytest.mark.parametrize(
    ("access", "option"),
    [
        (["--partition=long -A x"], "--partition=long"),
        (["-p short"], "--partition=short"),
        ([], ""),
    ],
)
def test_slurm_is_asked_for_one_partition(tmp_path: Path, access: list[str], option: str) -> None:
    script = f'echo "$*" > {tmp_path}/a; echo "a1|idle|(null)|none"'
    slurm_site = site(tmp_path, script, access=access)
    assert round_robin.collect_partition_nodes(slurm_site, "p") == [Node("a1", "idle")]
    words = (tmp_path / "a").read_text().split()
    assert [word for word in words if word.startswith("--partition")] == [option] * bool(option)


def test_a_dry_run_does_not_wait_for_slurm(tmp_path: Path) -> None:
    script = f"echo once >> {tmp_path}/asked; echo 'Unable to contact slurm controller' >&2; exit 1"
    assert round_robin.collect_listed_nodes(site(tmp_path, script), ["p"], 0) == {}
    assert (tmp_path / "asked").read_text() == "once\n"


@pytest.mark.parametrize(
    ("access", "names"),
    [
        (["--constraint=ib"], ["n2", "n9"]),
        (["-C", "ib&fat"], ["n9"]),
        (["-p x -C ib,fat"], ["n9"]),
        (["--constraint='(ib&fat)|none'"], ["n9"]),
        (["--nodelist=n[1-3,9]"], ["n1", "n2", "n3", "n9"]),
        (["-w n[1-3,9]", "--exclude=n2"], ["n1", "n3", "n9"]),
        (["--nodelist=n1", "--nodelist=n9"], ["n9"]),
        (["--constraint=ib", "--exclude=n9"], ["n2"]),
    ],
)
def test_its_options_choose_nodes(tmp_path: Path, access: list[str], names: list[str]) -> None:
    slurm_site = site(tmp_path, f"cat <<'E'\n{LISTING}E", access=access)
    assert [node.name for node in round_robin.collect_partition_nodes(slurm_site, "p")] == names


@pytest.mark.parametrize(
    ("access", "complaint"),
    [
        ("--constraint=gpu", "none of the 8 nodes of partition 'p' .* ask for: --constraint=gpu"),
        ("--constraint=[ib*1&fat*1]", r"by --constraint=\[ib\*1&fat\*1\]: brackets and counts"),
        ("--constraint='(ib'", r"=\(ib: a parenthesis is not closed; right are features with &"),
        ("--constraint=ib&", "a feature is missing"),
        ("--constraint='ib fat'", "'fat' is not expected there"),
    ],
)
def test_options_that_choose_no_node(tmp_path: Path, access: str, complaint: str) -> None:
    slurm_site = site(tmp_path, f"cat <<'E'\n{LISTING}E", access=[access])
    with pytest.raises(UserError, match=complaint):
        round_robin.collect_partition_nodes(slurm_site, "p")


def test_a_refusal_of_slurm_is_one_line(tmp_path: Path) -> None:
    slurm_site = site(tmp_path, "echo 'sinfo: error: Invalid partition' >&2; exit 1")
    with pytest.raises(UserError, match="of partition 'p' of site 's': sinfo: error: Invalid"):
        round_robin.collect_partition_nodes(slurm_site, "p")


def test_only_slurm_lists_nodes(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="its scheduler, 'local', lists none"):
        round_robin.collect_partition_nodes(site(tmp_path, "exit 1", scheduler="local"), "p")


def test_what_slurm_said_is_noted_as_the_collector_reads_it(tmp_path: Path) -> None:
    round_robin.write_nodes({"p": parse_nodes(LISTING)}, tmp_path)
    record = records.read_record(tmp_path / "env" / "nodes.json", record_model=NodesRecord)
    assert record["schema"] == 1
    assert record["partitions"]["p"]["hosts"] == ["n1", "n9", "n10"]
    drained = {"host": "n2", "state": "drained", "reason": "bad cable | rail 2"}
    assert record["partitions"]["p"]["not_measured"][0] == drained


def test_all_pairs_are_launches_of_one_case() -> None:
    place = ("virtual", "grid", "tcp")
    first, second = (
        records.case_id_of_test(f"NetPIPE %placement=one-per-node %pair={number}", *place)
        for number in (0, 13)
    )
    assert first == second == "NetPIPE/placement=one-per-node@virtual:grid+tcp"


def test_a_pair_that_never_worked_has_pseudonyms(two_launches: SyntheticTree) -> None:
    folder = min(two_launches.path.rglob("run.json")).parent
    parameters = {"pair_round": 3, "pair_night_round": 1}
    edit(folder / "case.json", hosts=["cn07", "cn12"], parameters=parameters)
    (folder / "run.json").unlink()
    bundle_path = bundle.build_bundle(two_launches.path)
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
    ("error", "log", "down"),
    [
        (recorded("srun-node-down"), "", ["cn12"]),
        (recorded("srun-node-reset"), "", ["cn12"]),
        (SURVIVOR, "down 7 cn12,cn99 ", ["cn12"]),
        (f"srun: error: Node failure on cn99\n{SURVIVOR}", "down 7 cn98 ", []),
        (SURVIVOR, "", []),
    ],
)
def test_a_node_that_is_down_is_named(
    two_launches: SyntheticTree, error: str, log: str, down: list[str]
) -> None:
    stage = two_launches.fail_launch(1, ENVIRON, fail_reason="sanity error: no end marker")
    parameters = {"pair_round": 3, "pair_night_round": 1}
    edit(stage / "case.json", hosts=["cn07", "cn12"], parameters=parameters, scheduler="slurm")
    (stage / "rfm_job.err").write_text(error)
    if log:
        folder = stage.relative_to(two_launches.path)
        (two_launches.path / scheduler.LOG_FILE).write_text(f"1795341700 {log}{folder}\n")
    (launch,) = (launch for launch in scan_launches(two_launches.path) if launch.status == "failed")
    node_failure = "node cn12 failed (Slurm: down, or its step gone)"
    failure = node_failure if down else "rank 0 on cn07 failed first: Killed"
    assert launch.reason == f"sanity error: no end marker; {failure}"
    cases = read_cases(two_launches).filter(status="failed")
    assert cases["nodes_down"].to_list() == [[pseudonym(node) for node in down] or None]


def test_a_switch_has_a_pseudonym_of_its_own(tree: SyntheticTree) -> None:
    with content(tree.launch_folder(1, ENVIRON) / "run.json") as run:
        run["placement"][0]["switch"] = "leaf-3"
    bundle_path = bundle.build_bundle(tree.path)
    switches = pl.read_parquet(bundle_path / "placement.parquet")["switch"].to_list()
    assert switches[1] is None
    assert switches[0].startswith("switch-") and len(switches[0]) == len("switch-12345678")
    name = pl.lit("two words")
    forged_bundle = rewrite_table(bundle_path, lambda t: t.with_columns(switch=name), "placement")
    with pytest.raises(UserError, match="switch 'two words' is not a name of a host"):
        data.read_bundle(forged_bundle)
    old_bundle = rewrite_table(bundle_path, lambda table: table.drop("switch"), "placement")
    assert bundle_tables.read_tables(old_bundle).frames["placement"]["switch"].is_null().all()


def test_nodes_that_slurm_had_taken_out_stand_in_the_manifest(tree: SyntheticTree) -> None:
    drained_node = {"host": "cn07", "state": "drained", "reason": "cn07: DIMM 3"}
    partitions = {"p": {"hosts": ["cn01"], "not_measured": [drained_node]}}
    nodes_record = {"schema": 1, "partitions": partitions}
    (tree.path / "env" / "nodes.json").write_text(json.dumps(nodes_record))
    bundle_path = bundle.build_bundle(tree.path)
    name = pseudonym("cn07")
    entry = {"node": name, "state": "drained", "reason": f"{name}: DIMM 3"}
    assert manifest.verify(bundle_path).data["nodes_not_measured"] == [entry]
    assert b"cn0" not in (bundle_path / "env" / "nodes.json").read_bytes()
    facts = {k: v for k, v in manifest.verify(bundle_path).data.items() if k != "files"}
    manifest.write_unsigned(bundle_path, {**facts, "nodes_not_measured": [{"node": "two words"}]})
    with pytest.raises(UserError, match="nodes_not_measured"):
        manifest.verify(bundle_path)


def test_a_run_without_a_scheduler_says_nothing_of_its_nodes(bundle_path: Path) -> None:
    assert "nodes_not_measured" not in manifest.verify(bundle_path).data

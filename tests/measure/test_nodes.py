"""What Slurm says of nodes: those that can be measured, and why others cannot."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from measure.conftest import write_program

from roundtrip.errors import UserError
from roundtrip.measure import records, round_robin
from roundtrip.measure.records import Nodes
from roundtrip.sites.schedulers.interface import Node
from roundtrip.sites.schedulers.slurm.nodes import parse_listing

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
    write_program(folder / "sinfo", sinfo)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    partitions = {"p": {"scheduler": "slurm", **partition}}
    facts = {"environment": environment, "partitions": partitions, "checkout": folder}
    return SimpleNamespace(name="s", **facts)


def test_each_node_once_by_its_number_with_the_reason_of_those_that_are_lost() -> None:
    assert parse_listing(LISTING) == [
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
    assert parse_listing(listing) == [
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
def test_reserved_nodes_run_the_jobs_of_a_reservation(
    tmp_path: Path, access: list[str], down_reason: str
) -> None:
    slurm_site = site(tmp_path, "echo 'n6|reserved|ib|none'", access=access)
    assert round_robin.partition_nodes(slurm_site, "p") == [
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
def test_slurm_is_asked_for_the_partition_that_jobs_go_to(
    tmp_path: Path, access: list[str], option: str
) -> None:
    script = f'echo "$*" > {tmp_path}/a; echo "a1|idle|(null)|none"'
    slurm_site = site(tmp_path, script, access=access)
    assert round_robin.partition_nodes(slurm_site, "p") == [Node("a1", "idle")]
    words = (tmp_path / "a").read_text().split()
    assert [word for word in words if word.startswith("--partition")] == [option] * bool(option)


def test_a_dry_run_does_not_wait_for_slurm(tmp_path: Path) -> None:
    script = f"echo once >> {tmp_path}/asked; echo 'Unable to contact slurm controller' >&2; exit 1"
    assert round_robin.listed_nodes(site(tmp_path, script), ["p"], 0) == {}
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
def test_only_nodes_that_the_options_of_the_partition_choose(
    tmp_path: Path, access: list[str], names: list[str]
) -> None:
    slurm_site = site(tmp_path, f"cat <<'E'\n{LISTING}E", access=access)
    assert [node.name for node in round_robin.partition_nodes(slurm_site, "p")] == names


@pytest.mark.parametrize(
    ("access", "complaint"),
    [
        ("--constraint=gpu", "none of the 8 nodes of partition 'p' .* ask for: --constraint=gpu"),
        (
            "--constraint=[ib*1&fat*1]",
            r"chosen by --constraint=\[ib\*1&fat\*1\]: brackets and counts",
        ),
        ("--constraint='(ib'", r"=\(ib: a parenthesis is not closed; right are features with &"),
        ("--constraint=ib&", "a feature is missing"),
        ("--constraint='ib fat'", "'fat' is not expected there"),
    ],
)
def test_options_that_choose_no_node_are_one_line(
    tmp_path: Path, access: str, complaint: str
) -> None:
    with pytest.raises(UserError, match=complaint):
        round_robin.partition_nodes(site(tmp_path, f"cat <<'E'\n{LISTING}E", access=[access]), "p")


def test_a_refusal_of_slurm_is_one_line(tmp_path: Path) -> None:
    slurm_site = site(tmp_path, "echo 'sinfo: error: Invalid partition' >&2; exit 1")
    with pytest.raises(UserError, match="of partition 'p' of site 's': sinfo: error: Invalid"):
        round_robin.partition_nodes(slurm_site, "p")


def test_only_slurm_lists_nodes(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="scheduler is 'local', and only Slurm lists them"):
        round_robin.partition_nodes(site(tmp_path, "exit 1", scheduler="local"), "p")


def test_what_slurm_said_is_noted_as_the_collector_reads_it(tmp_path: Path) -> None:
    round_robin.record_nodes({"p": parse_listing(LISTING)}, tmp_path)
    record = records.read_record(tmp_path / "env" / "nodes.json", kind=Nodes)["partitions"]["p"]
    assert record["hosts"] == ["n1", "n9", "n10"]
    drained = {"host": "n2", "state": "drained", "reason": "bad cable | rail 2"}
    assert record["not_measured"][0] == drained
    assert json.loads((tmp_path / "env" / "nodes.json").read_text())["schema"] == 1

"""What a run tree says of the identity of its launches: changes in mid-run, other jobs, reports."""

from __future__ import annotations

import re
from typing import Any

import pytest
from measure.conftest import ENVIRON, Maker, content, edit
from support.launches import LIBRARY, RANK
from support.synthetic import Tree

from roundtrip.measure import bundle, identity
from roundtrip.measure.disclosure import DIGEST
from roundtrip.measure.launches import scan
from roundtrip.report import data
from roundtrip.report.sections import launches

HOST = "thunderbolt.example.org"


def record(tree: Tree, number: int, **changes: Any) -> None:
    """Record what the ranks of a launch say; `changes` are of ``case``, ``rank`` and ``node``."""
    folder = tree.folder(number, ENVIRON)
    edit(folder / "case.json", **({"tuning": {}} | changes.get("case", {})))
    identity = {"host": HOST, "ranks": [0, 1], "slurm_node": None, **RANK}
    node = {"smt": "off", "logical": 2, "huge_pages": "madvise", "interfaces": {"eth1": "MTU 1500"}}
    node["memory"] = "503 GiB"
    with content(folder / "run.json") as run:
        run["command"] = ["/build/netpipe"]
        run["identity"] = [identity | changes.get("rank", {})]
        run["nodes"][0] |= node | changes.get("node", {})


@pytest.fixture
def tree(two_launches: Tree) -> Tree:
    return two_launches


def reasons(tree: Tree) -> list[str]:
    return [launch.reason for launch in scan(tree.path)]


@pytest.mark.parametrize(
    ("part", "change", "difference"),
    [
        ("rank", {"build": "gnu:02"}, "build of the MPI library was gnu:2a"),
        ("rank", {"file": "/x/libmpi.so"}, "file of the MPI library was /"),
        ("node", {"smt": "on"}, f"SMT was off in launch 001/{ENVIRON}/NetPIPE_ping, and is on"),
        ("node", {"processor": "Other"}, "processor was 'Example CPU 3000 @ 2.40GHz' in launch"),
        ("node", {"huge_pages": "never"}, "transparent huge pages was madvise in"),
        ("node", {"logical": 1}, "number of processors online was 2 in launch"),
        ("node", {"governor": "powersave"}, "governor was performance in launch"),
        ("node", {"kernel": "6.1.0-41-amd64"}, "kernel was 6.1.0-40-amd64 in launch"),
        ("node", {"memory": "471 GiB"}, "memory was '503 GiB' in launch"),
        (
            "node",
            {"interfaces": {"eth1": "MTU 576", "veth7": "MTU 1500"}},
            "interface eth1 was 'MTU 1500' in launch",
        ),
        ("node", {"adapters": ["mlx5_0: firmware 9"]}, "adapters was 'mlx5_0: MT_00"),
        ("case", {"tuning": {"UCX_TLS": "tcp"}}, "tuning by the user was none in launch"),
    ],
)
def test_what_changed_in_mid_run_fails_the_launches_after_it(
    make_tree: Maker, part: str, change: Any, difference: str
) -> None:
    tree = make_tree(launches=4, environs=(ENVIRON,))
    for number in (1, 2, 3, 4):
        record(tree, number, **({part: change} if number > 2 else {}))
    launch_reasons = reasons(tree)
    assert launch_reasons[:2] == ["", ""]
    fault = f"mismatch: {f'node {HOST}' if part == 'node' else f'environment {ENVIRON}'}: "
    assert all(reason.startswith(fault + difference) for reason in launch_reasons[2:])


def test_a_fact_that_a_launch_does_not_know_is_no_change(make_tree: Maker) -> None:
    tree = make_tree(launches=3, environs=(ENVIRON,))
    record(tree, 1)
    record(tree, 2, node={"smt": None}, rank={"build": None})
    record(tree, 3)
    assert reasons(tree) == ["", "", ""]


def test_a_program_that_is_not_the_one_that_the_run_began_with(tree: Tree) -> None:
    pins = [{"what": "program", "file": "/build/netpipe", "sha256": RANK["program_sha256"]}]
    edit(tree.path / "state.json", pins=pins)
    for number in (1, 2):
        program = {"file": "/build/netpipe", "sha256": None}
        edit(tree.folder(number, ENVIRON) / "case.json", program=program)
    record(tree, 1)
    record(tree, 2, rank={"program_sha256": "cd" * 32})
    first, second = reasons(tree)
    assert first == ""
    assert second.startswith("mismatch: program netpipe (/build/netpipe): sha256 was 8b8b")
    assert " when the run began, and is cdcd" in second


def allocate(tree: Tree, *texts: str) -> None:
    """Let each launch have run in a job of Slurm with this allocation."""
    for number, text in enumerate(texts, 1):
        folder = tree.folder(number, ENVIRON)
        edit(folder / "case.json", scheduler="slurm")
        (folder / identity.ALLOCATION).write_text(text)


def test_a_launch_beside_another_job_is_disturbed_and_says_by_which(tree: Tree) -> None:
    text = "SLURM_JOB_ID=7\nSLURM_JOB_UID=1000\nSLURM_JOB_NODELIST=thunderbolt\n"
    allocate(tree, text, f"{text}OTHER_JOB=49|65534|thunderbolt\n")
    assert reasons(tree) == ["", ""]
    launch_rows = data.read(bundle.build(tree.path)).launches.sort("launch")
    first, second = launch_rows["disturbed_why"]
    assert "co-scheduled" not in (first or "")
    assert second.startswith("co-scheduled: Slurm ran job 49 of another user on node node-")


def test_nodes_of_a_job_have_pseudonyms_in_a_bundle(tree: Tree) -> None:
    allocate(tree, "SLURM_JOB_NODELIST=thunderbolt\n", "SLURM_JOB_NODELIST=odin,fenrir7\n")
    assert reasons(tree)[1].endswith("did not allocate; the job has node fenrir7, node odin")
    bundle_data = data.read(bundle.build(tree.path))
    (reason,) = bundle_data.launches.filter(status="failed")["reason"]
    assert "ran on node-" in reason
    assert not any(name in reason for name in ("odin", "fenrir7", "thunderbolt"))


def test_the_report_says_so_first_and_no_folder_leaves(make_tree: Maker) -> None:
    tree = make_tree(launches=3, environs=(ENVIRON,))
    record(tree, 1)
    record(tree, 2, rank={"file": "/home/jdoe/secret/libmpi.so.40"})
    record(tree, 3)
    bundle_data = data.read(bundle.build(tree.path))
    lines = [
        "".join(getattr(part, "text", part) for part in answer.text)
        for answer in launches.answers(bundle_data)
    ]
    beginning = f"Mismatch: environment {ENVIRON}: file of the MPI library was {LIBRARY}"
    other_library = re.compile(rf"{DIGEST}/libmpi\.so\.40\.")
    assert any(line.startswith(beginning) and other_library.search(line) for line in lines), lines
    assert "jdoe" not in str(bundle_data.launches.to_dicts())
    assert set(bundle_data.launches["mpi_build"].drop_nulls()) == {RANK["build"]}

"""The ring by plain ReFrame: in one machine, and between nodes of a virtual cluster on a hub."""

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import programs
from support.virtual import CHECKOUT, ENVIRON, VirtualCluster, await_true, booted_cluster

from roundtrip.sites.render import debian_pvm_features
from roundtrip.sites.toolchains.spec import read_catalogue
from roundtrip.studies.ring import derived as ring

HUB_MBIT_S = 10
NODES = ("a1", "b1")
#: Long enough for all ranks to be under way with a token.
SOME_LAPS_S = 3
#: The ring's promise: so soon after one rank all others have ended.
END_OF_ALL_S = 5
#: In one machine.
TOOLCHAIN = read_catalogue().smoke_names[0]
VARIANTS = {"region", "mpi", *debian_pvm_features()}
PROCESSORS = 2
WITHOUT_PVM = {"region", "region-udp", "mpi", "mpi-sync", "mpi-typed"}

pytestmark = [pytest.mark.nightly, pytest.mark.live]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VirtualCluster]:
    with booted_cluster(tmp_path_factory, "hub", "1+1", ["--fabric", "hub"]) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def launches(cluster: VirtualCluster) -> dict[str, Path]:
    """Folders of what RingNetwork left, by placement."""
    return dict(_run(cluster, "mpi"))


@pytest.fixture(scope="module")
def launches_with_pvm(cluster: VirtualCluster) -> dict[str, Path]:
    """The same with PVM."""
    if not debian_pvm_features():
        pytest.skip("PVM is not installed: packages pvm and pvm-dev")
    return dict(_run(cluster, "all"))


def _run(cluster: VirtualCluster, transport: str) -> Iterator[tuple[str, Path]]:
    """Placements and folders."""
    report = cluster.share / f"{transport}.json"
    check = f"RingNetwork.*placement=(one-per-node|hybrid).*transport={transport}"
    reframe = (
        f"reframe -c checks/ring -R --exec-policy=serial -n '{check}' -p {ENVIRON} "
        f"-S RingNetwork.budget=6 -S RingNetwork.end=100 --report-file={report} -r"
    )
    process = cluster.run_process(cluster.head_node_command(reframe), cwd=CHECKOUT)
    assert process.returncode == 0, process.stdout
    assert json.loads(report.read_text())["session_info"]["num_cases"] == 3, "build and launches"
    for file in (cluster.share / "runs").glob("by-hand/output/*/virtual/grid/*/*/case.json"):
        parameters = json.loads(file.read_text())["parameters"]
        if parameters["transport"] == transport:
            yield parameters["placement"], file.parent


def _read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text())


@pytest.mark.parametrize(
    ("placement", "shape", "passes"),
    [
        ("one-per-node", "1+1", {"shared": 0, "network": 2}),
        ("hybrid", "2+1", {"shared": 1, "network": 2}),
    ],
)
def test_a_ring_spans_the_nodes(
    launches: dict[str, Path], placement: str, shape: str, passes: dict[str, int]
) -> None:
    run = _read(launches[placement], "run.json")
    assert run["ring"]["ranks_on_nodes"] == shape
    assert run["ring"]["passes_per_lap"] == passes
    emulated = _read(launches[placement], "case.json")["emulated"]
    assert emulated == {"hub_mbit_s": HUB_MBIT_S, "nodes": "namespaces of one machine"}
    assert "can't honor" not in (launches[placement] / "rfm_job.err").read_text()


def test_a_transport_that_the_mpi_refuses_is_skipped_with_the_reason(
    launches: dict[str, Path],
) -> None:
    run = _read(launches["one-per-node"], "run.json")
    reasons = {entry["variant"]: entry["reason"] for entry in run["ring"]["skipped"]}
    assert "needs all ranks in one node" in reasons["mpi-shm"]
    assert "MPI_Win_allocate: MPI_ERR_WIN" in reasons["mpi-rma"]


def test_every_transport_crosses_the_hub(launches: dict[str, Path]) -> None:
    _none_is_faster_than_the_wire(launches["one-per-node"], WITHOUT_PVM)


def test_what_is_left_of_other_messages_is_little_beside_a_batch(
    launches: dict[str, Path],
) -> None:
    points = _read(launches["one-per-node"], "run.json")["points"]
    # Sixteen laps, or as many as 50 ms hold where others slow them; without that rule, one.
    assert min(point["batch"] for point in points) > 1


@pytest.mark.parametrize(("placement", "shape"), [("one-per-node", "1+1"), ("hybrid", "2+1")])
def test_pvm_crosses_the_hub_beside_the_others(
    launches_with_pvm: dict[str, Path], cluster: VirtualCluster, placement: str, shape: str
) -> None:
    run = _read(launches_with_pvm[placement], "run.json")
    variants = {point["variant"] for point in run["points"] if point["samples"]}
    assert variants == WITHOUT_PVM | {"pvm", "pvm-xdr"}
    assert run["ring"]["ranks_on_nodes"] == shape
    assert len(run["hosts"]) == run["pvm"]["daemons"] == 2
    assert run["pvm"]["interface"] == "eth1"
    assert await_true(lambda: not any(_left_of_pvm(cluster, node) for node in NODES), 5)


def test_pvm_is_not_faster_than_the_wire_either(launches_with_pvm: dict[str, Path]) -> None:
    _none_is_faster_than_the_wire(
        launches_with_pvm["one-per-node"], WITHOUT_PVM | {"pvm", "pvm-xdr"}
    )


@pytest.mark.parametrize("victim", NODES)
@pytest.mark.parametrize("transport", ["mpi", "pvm"])
def test_a_rank_that_is_killed_takes_all_others_with_it(
    cluster: VirtualCluster, request: pytest.FixtureRequest, transport: str, victim: str
) -> None:
    fixture = {"mpi": "launches", "pvm": "launches_with_pvm"}[transport]
    script = request.getfixturevalue(fixture)["hybrid"] / "rfm_job.sh"
    program = {"mpi": "ring", "pvm": "ring-pvm"}[transport]
    (survivor,) = set(NODES) - {victim}
    segments = {node: _shared_memory(cluster, node) for node in NODES}
    folder = cluster.share / f"dying-{transport}-{victim}"
    job = _submit_for_long(cluster, script, folder)
    assert await_true(
        lambda: len([rank for node in NODES for rank in _ranks(cluster, node, program)]) == 3, 60
    ), (folder / "rfm_job.err").read_text()
    time.sleep(SOME_LAPS_S)
    rank = _ranks(cluster, victim, program)[-1]
    start = time.monotonic()
    cluster.run_checked("node", victim, "kill", "-KILL", rank)
    assert await_true(lambda: not _ranks(cluster, survivor, program), 60)
    assert time.monotonic() - start < END_OF_ALL_S
    assert await_true(lambda: job not in {id_ for id_, _, _ in cluster.jobs()}, 60)
    assert (folder / "status").read_text().strip() not in ("", "0")
    assert not (folder / "run.json").exists()
    for node in NODES:
        assert _ranks(cluster, node, program) == []
        assert _shared_memory(cluster, node) == segments[node]
        assert await_true(lambda node=node: not _left_of_pvm(cluster, node), 10)


def _submit_for_long(cluster: VirtualCluster, script: Path, folder: Path) -> str:
    """The job that the check submitted, again, for longer than anybody waits."""
    folder.mkdir()
    text = script.read_text()
    for option, value in (("budget", "600"), ("precision", "0.0001")):
        text, count = re.subn(rf"--{option}=\S+", f"--{option}={value}", text)
        assert count == 1
    copy = folder / "job.sh"
    copy.write_text(f"{text}\necho $? > status\n")
    return cluster.run_checked(
        "exec", "sbatch", "--parsable", f"--chdir={folder}", str(copy)
    ).strip()


def _ranks(cluster: VirtualCluster, node: str, program: str) -> list[str]:
    """Ids of the processes of a program on a node."""
    return cluster.run("node", node, "pgrep", "-x", program).stdout.split()


def _shared_memory(cluster: VirtualCluster, node: str) -> set[str]:
    return set(cluster.run_checked("node", node, "ls", "-A", "/dev/shm").split())


def _left_of_pvm(cluster: VirtualCluster, node: str) -> bool:
    listing = cluster.run_checked(
        "node", node, "bash", "-c", "ls /tmp; ps -A -o stat=,comm= | grep -v ^Z"
    )
    return any(name in listing for name in ("roundtrip-pvm", "pvmd", "pvm-guard"))


def _none_is_faster_than_the_wire(folder: Path, variants: set[str]) -> None:
    points = _read(folder, "run.json")["points"]
    rates = {p["variant"]: 1e-4 / p["median_s"] for p in points if p["size_bytes"] == 100}
    assert set(rates) == variants
    assert max(rates.values()) < ring.theoretical_goodput(HUB_MBIT_S, 100)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What check Ring recorded on this machine, by placement."""
    if why := programs.describe_missing_toolchains(TOOLCHAIN):
        pytest.skip(why)
    if len(os.sched_getaffinity(0)) < PROCESSORS:
        pytest.skip(f"needs {PROCESSORS} processors")
    home = tmp_path_factory.mktemp("ring")
    report = home / "report.json"
    reframe = (
        f"reframe -c checks/ring -R --exec-policy=serial -n 'Ring%.*transport=all' "
        f"-p {TOOLCHAIN} -S Ring.budget=2 -S Ring.end=1000 --report-file={report} -r"
    )
    command = ("bash", "-c", f". site-configs/activate local && {reframe}")
    environment = programs.command_environment(home)
    process = programs.run_program(*command, cwd=CHECKOUT, env=environment, timeout=600)
    assert process.returncode == 0, process.stdout
    assert json.loads(report.read_text())["session_info"]["num_cases"] == 3, "build and launches"
    return {
        json.loads(file.read_text())["parameters"]["placement"]: json.loads(
            file.with_name("run.json").read_text()
        )
        for file in home.glob(f"runs/by-hand/output/*/local/smp/{TOOLCHAIN}/*/case.json")
    }


@pytest.mark.parametrize(("placement", "ranks"), [("shared-memory", 2), ("oversubscribed", 3)])
def test_all_ranks_are_in_one_node_and_every_transport_is_measured(
    runs: dict[str, Any], placement: str, ranks: int
) -> None:
    run = runs[placement]
    assert run["ranks"] == ranks
    assert run["ring"]["ranks_on_nodes"] == str(ranks)
    assert run["ring"]["passes_per_lap"] == {"shared": ranks, "network": 0}
    variants = {point["variant"] for point in run["points"] if point["samples"]}
    assert variants >= VARIANTS
    assert {point["size_bytes"] for point in run["points"]} >= {1000}


def test_three_ranks_share_two_processors(runs: dict[str, Any]) -> None:
    assert runs["oversubscribed"]["ring"]["processors_per_node"] == PROCESSORS
    assert runs["oversubscribed"]["ring"]["wait"]["spins"] == 0
    assert runs["shared-memory"]["ring"]["wait"]["spins"] > 0

"""The ring between the nodes of a virtual cluster on a 10BASE-T hub, by plain ReFrame."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.virtual import CHECKOUT, ENVIRON, Virtual, booted, lacking

from roundtrip.sites.prebuilt import pvm
from roundtrip.studies import ring

HUB_MBIT_S = 10
WITHOUT_PVM = {"region", "region-udp", "mpi", "mpi-sync", "mpi-typed"}

pytestmark = pytest.mark.skipif(bool(lacking()), reason=lacking() or "-")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Virtual]:
    home = tmp_path_factory.mktemp("hub")
    with booted(home, f"hub-{os.getpid()}", nodes="1+1", options=["--fabric", "hub"]) as one:
        yield one


@pytest.fixture(scope="module")
def launches(cluster: Virtual) -> dict[str, Path]:
    """Folders of what RingNetwork left, by placement."""
    return dict(_run(cluster, "mpi", "(one-per-node|hybrid)", cases=3))


@pytest.fixture(scope="module")
def launch_with_pvm(cluster: Virtual) -> Path:
    """Folder of what RingNetwork with PVM left, one rank on each node."""
    if not pvm():
        pytest.skip("PVM is not installed: packages pvm and pvm-dev")
    return dict(_run(cluster, "pvm", "one-per-node", cases=2))["one-per-node"]


def _run(
    cluster: Virtual, transport: str, placement: str, cases: int
) -> Iterator[tuple[str, Path]]:
    """Placements and folders; `cases`: the build and the launches."""
    report = cluster.share / f"{transport}.json"
    check = f"RingNetwork.*placement={placement}.*transport={transport}"
    done = subprocess.run(
        cluster.on_site(
            f"reframe -c checks/ring -R --exec-policy=serial -n '{check}' -p {ENVIRON} "
            f"-S RingNetwork.budget=6 -S RingNetwork.end=100 --report-file={report} -r"
        ),
        cwd=CHECKOUT,
        env=cluster.environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    assert json.loads(report.read_text())["session_info"]["num_cases"] == cases
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
    reasons = {skipped["variant"]: skipped["reason"] for skipped in run["ring"]["skipped"]}
    assert "needs all ranks in one node" in reasons["mpi-shm"]
    assert "MPI_Win_allocate: MPI_ERR_WIN" in reasons["mpi-rma"]


def test_every_transport_crosses_the_hub(launches: dict[str, Path]) -> None:
    _none_is_faster_than_the_wire(launches["one-per-node"], WITHOUT_PVM)


def test_what_is_left_of_other_messages_is_little_beside_a_batch(
    launches: dict[str, Path],
) -> None:
    points = _read(launches["one-per-node"], "run.json")["points"]
    assert min(point["batch"] for point in points) >= 16


def test_pvm_crosses_the_hub_beside_the_others(launch_with_pvm: Path, cluster: Virtual) -> None:
    _none_is_faster_than_the_wire(launch_with_pvm, WITHOUT_PVM | {"pvm", "pvm-xdr"})
    run = _read(launch_with_pvm, "run.json")
    assert run["ring"]["ranks_on_nodes"] == "1+1"
    assert len(run["hosts"]) == run["pvm"]["daemons"] == 2
    assert run["pvm"]["interface"] == "eth1"
    for node in ("a1", "b1"):
        assert "roundtrip-pvm" not in cluster.ok("node", node, "ls", "/tmp")
        assert "pvmd" not in cluster.ok("node", node, "ps", "-A", "-o", "comm")


def _none_is_faster_than_the_wire(folder: Path, variants: set[str]) -> None:
    points = _read(folder, "run.json")["points"]
    rates = {p["variant"]: 1e-4 / p["median_s"] for p in points if p["size_bytes"] == 100}
    assert set(rates) == variants
    assert max(rates.values()) < ring.theoretical_goodput(HUB_MBIT_S, 100)

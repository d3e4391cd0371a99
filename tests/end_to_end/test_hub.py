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

from roundtrip.studies import ring

HUB_MBIT_S = 10

pytestmark = pytest.mark.skipif(bool(lacking()), reason=lacking() or "-")


@pytest.fixture(scope="module")
def launches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Folders of what RingNetwork left, by placement."""
    home = tmp_path_factory.mktemp("hub")
    with booted(home, f"hub-{os.getpid()}", nodes="1+1", options=["--fabric", "hub"]) as cluster:
        yield dict(_run(cluster))


def _run(cluster: Virtual) -> Iterator[tuple[str, Path]]:
    report = cluster.share / "report.json"
    done = subprocess.run(
        cluster.on_site(
            f"reframe -c checks/ring -R --exec-policy=serial -n RingNetwork -p {ENVIRON} "
            f"-S RingNetwork.budget=3 -S RingNetwork.end=100 --report-file={report} -r"
        ),
        cwd=CHECKOUT,
        env=cluster.environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    assert json.loads(report.read_text())["session_info"]["num_cases"] == 3, (
        "build and two launches"
    )
    for file in (cluster.share / "runs").glob("by-hand/output/*/virtual/grid/*/*/case.json"):
        yield json.loads(file.read_text())["parameters"]["placement"], file.parent


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
    """None is faster than the wire."""
    points = _read(launches["one-per-node"], "run.json")["points"]
    rates = {p["variant"]: 1e-4 / p["median_s"] for p in points if p["size_bytes"] == 100}
    most = ring.theoretical_goodput(HUB_MBIT_S, 100)
    assert set(rates) == {"region", "region-udp", "mpi", "mpi-sync", "mpi-typed"}
    assert max(rates.values()) < most

"""The ring in one machine, by plain ReFrame on site `local`."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest
from support.programs import CHECKOUT, needs, variables

from roundtrip.sites.render import debian_pvm
from roundtrip.sites.toolchains.spec import catalogue

TOOLCHAIN = catalogue().smoke[0]
VARIANTS = {"region", "mpi", *debian_pvm()}
PROCESSORS = 2

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.live,
    needs(TOOLCHAIN),
    pytest.mark.skipif(
        len(os.sched_getaffinity(0)) < PROCESSORS, reason=f"needs {PROCESSORS} processors"
    ),
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What check Ring recorded, by placement."""
    home = tmp_path_factory.mktemp("ring")
    report = home / "report.json"
    reframe = (
        f"reframe -c checks/ring -R --exec-policy=serial -n 'Ring%.*transport=all' "
        f"-p {TOOLCHAIN} -S Ring.budget=2 -S Ring.end=1000 --report-file={report} -r"
    )
    process = subprocess.run(
        ["bash", "-c", f". site-configs/activate local && {reframe}"],
        cwd=CHECKOUT,
        env=variables(home),
        capture_output=True,
        text=True,
        timeout=600,
    )
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

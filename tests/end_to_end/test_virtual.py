"""Real Slurm jobs on a virtual cluster: by plain ReFrame, and by ``sbatch nightly.sbatch``."""

import json
from collections import Counter
from pathlib import Path

import pytest
from support.virtual import CHECKOUT, ENVIRON, VirtualCluster, campaign_text

from roundtrip.measure.launches import scan_launches

RTT_S = 2e-3
NIGHTLY = "roundtrip-nightly"

pytestmark = pytest.mark.live


@pytest.fixture(scope="session")
def cluster(virtual_cluster: VirtualCluster) -> VirtualCluster:
    return virtual_cluster


def shortest_half_round_trip_s(run: dict) -> float:
    return min(point["median_s"] for point in run["points"] if point["samples"])


def test_plain_reframe_measures_over_the_link(cluster: VirtualCluster) -> None:
    report = cluster.share / "plain.json"
    reframe = (
        "reframe -c checks -R --exec-policy=serial -n 'NetPIPEWan.*wan_rtt=2.*variants=raw' "
        f"-p {ENVIRON} -S NetPIPEWan.budget=0.5 -S NetPIPEWan.end=1024 "
        f"-S NetPIPEWan.perturbation=0 --report-file={report} -r"
    )
    process = cluster.run_process(cluster.head_node_command(reframe), cwd=CHECKOUT)
    assert process.returncode == 0, process.stdout
    # ReFrame is green as well when it has run nothing.
    assert json.loads(report.read_text())["session_info"]["num_cases"] == 2, "build and launch"
    (run_file,) = (cluster.share / "runs").glob("by-hand/output/*/virtual/grid/*/*/run.json")
    run = json.loads(run_file.read_text())
    assert run["ranks"] == 2
    assert len(set(run["hosts"])) == 2
    assert shortest_half_round_trip_s(run) >= RTT_S / 2
    emulated = json.loads(run_file.with_name("case.json").read_text())["emulated"]
    assert emulated == {"wan_rtt_ms": 2, "nodes": "namespaces of one machine"}
    link = json.loads(run_file.with_name("link.json").read_text())
    assert link["asked"]["rtt_ms"] == link["after"]["rtt_ms"] == 2
    assert all(direction["frames"] for direction in link["after"]["directions"])


def test_a_night_is_submitted_run_and_reported(cluster: VirtualCluster) -> None:
    file = cluster.share / "night.toml"
    file.write_text(campaign_text(launches=2))
    job = cluster.submit(file, "--wait", ROUNDTRIP_NIGHTLY_BEGIN="never")
    output = cluster.output(job)
    assert cluster.await_end(job) == 0, output
    assert "2 cases: 4 of 4 launches completed" in output
    (tree,) = (cluster.share / "runs/night/virtual").iterdir()
    launches = scan_launches(tree)
    counts = Counter(launch.case_id for launch in launches if launch.status == "passed")
    assert sorted(counts.values()) == [2, 2]
    for launch in launches:
        if launch.case_record["check"] == "NetPIPEWan":
            assert shortest_half_round_trip_s(launch.run_record) >= RTT_S / 2
    (page,) = (cluster.share / "reports").glob("night/virtual/*/r1/report.html")
    assert f"report: {page}" in output
    assert "EMULATED WAN: RTT 2 ms" in page.read_text()
    assert cluster.jobs() == [], "`never` means that no next night is arranged"


def test_nights_do_not_pile_up(cluster: VirtualCluster) -> None:
    """Submitted twice, a campaign has one next night; another campaign has its own."""
    jobs = []
    for name in ("twice", "twice", "other"):
        file = cluster.share / f"{name}.toml"
        file.write_text("")  # each night ends at once, and still has a successor
        jobs.append(cluster.submit(file, "--hold"))
    cluster.run_checked("exec", "scontrol", "release", *jobs)
    for job in jobs:
        assert cluster.await_end(job) == 2
        assert "no [[check]] table" in cluster.output(job)
    lines = cluster.run_checked(
        "exec", "squeue", "-h", f"--name={NIGHTLY}", "-o", "%T %r %o"
    ).splitlines()
    series = Counter(Path(line.split()[-2]).stem for line in lines)
    assert series == {"twice": 1, "other": 1}
    assert all(line.startswith("PENDING ") for line in lines)
    cluster.run_checked("exec", "scancel", f"--name={NIGHTLY}")
    assert cluster.jobs() == []

"""Checks at a scale: what a site can hold is listed, what it cannot is skipped with the reason."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from checks.mixins.placement import Placement
from checks.osu.osu import OSUAtScale
from roundtrip.measure import matrix
from roundtrip.sites import check
from roundtrip.sites.launching import features_for_ranks
from roundtrip.sites.site import Site

CHECKOUT = Path(__file__).parents[2]
CAMPAIGN = """\
[[check]]
name = "OSUAtScale"
partitions = ["clusterA"]
toolchains = ["mpich50-tcp"]
parameters = { benchmark = ["allreduce"] }

[[check]]
name = "RingAtScale"
partitions = ["clusterA"]
toolchains = ["mpich50-tcp"]

[[check]]
name = "NPBWanAtScale"
partitions = ["grid"]
toolchains = ["mpich50-tcp"]
parameters = { benchmark = ["CG", "BT"], problem_class = ["A"], source = ["native"], wan_rtt = [4] }

[[check]]
name = "NPBAtScale"
partitions = ["clusterA"]
toolchains = ["mpich50-tcp"]
parameters = { benchmark = ["BT"], problem_class = ["A"], source = ["native"] }
"""


@pytest.fixture(scope="module", autouse=True)
def osu(machine: Path, install: Callable[..., None]) -> None:
    """One toolchain with one program of OSU's."""
    install("mpich50-boost181")
    folder = machine / "toolchains" / "osu" / "mpich50"
    folder.mkdir(parents=True)
    (folder / "osu_allreduce").touch()


@pytest.fixture(scope="module")
def planned(plan: Callable[[str, str], matrix.Matrix]) -> matrix.Matrix:
    """The matrix on site `virtual` with no cluster up: 4 + 4 nodes of 4 cores."""
    return plan(CAMPAIGN, "virtual")


def scale_of(case: str) -> tuple[str, str, str]:
    """(check, scale, placement) of a case's name."""
    parts = [re.search(rf"{key}=([\w-]+)", case) for key in ("scale", "placement")]
    scale, placement = (part[1] if part else "" for part in parts)
    return case.split("/")[0], scale, placement


def test_what_fits_is_expected_and_the_rest_skipped_with_the_reason(planned: matrix.Matrix) -> None:
    expected = {scale_of(item.case.id) for item in planned.expected}
    assert expected == {
        *(("OSUAtScale", s, "all-cores") for s in ("pair", "node", "nodes_2", "nodes_4", "all")),
        *(("OSUAtScale", s, "one-per-node") for s in ("pair", "nodes_2", "nodes_4", "all")),
        *(("RingAtScale", s, "one-per-node") for s in ("nodes_2", "nodes_4", "all")),
        *(("NPBWanAtScale", s, "all-cores") for s in ("nodes_2", "nodes_4", "nodes_8", "all")),
        *(("NPBAtScale", s, "all-cores") for s in ("pair", "node", "nodes_2", "nodes_4", "all")),
    }
    reasons = {scale_of(item.case_id)[:2]: item.reason for item in planned.skipped}
    own_reasons = {
        ("OSUAtScale", "node"): "one rank is on one node anyway",
        ("RingAtScale", "pair"): "it takes two nodes: see nodes_2, and RingNetwork",
        ("RingAtScale", "node"): "one rank is on one node anyway",
        ("NPBWanAtScale", "pair"): "it takes a node in each cluster: see NPBWan",
        ("NPBWanAtScale", "node"): "it takes a node in each cluster: see NPBWan",
    }
    assert own_reasons.items() <= reasons.items()
    assert set(reasons) - own_reasons.keys() == {
        *((name, "nodes_8") for name in ("OSUAtScale", "RingAtScale", "NPBAtScale")),
        *((f"{name}AtScale", "nodes_16") for name in ("OSU", "Ring", "NPB", "NPBWan")),
    }
    reason = "partition 'grid' with 'mpich50-tcp' does not offer: nodes_16 (it has 8)"
    assert reasons["NPBWanAtScale", "nodes_16"] == reason


@pytest.mark.parametrize(("nodes", "cores", "ranks"), [(1, 4, 4), (1, 5, 4), (2, 10, 10)])
def test_the_ranks_of_osu_on_one_node_come_in_pairs(nodes: int, cores: int, ranks: int) -> None:
    assert OSUAtScale.legal_rank_count(None, nodes, cores) == ranks


@pytest.mark.nightly
def test_a_job_fills_its_nodes_with_what_the_benchmark_takes(planned: matrix.Matrix) -> None:
    """32 ranks over the WAN are the study's 16 + 16; BT takes squares that nodes share alike."""
    site = Site("virtual", CHECKOUT)
    cases = [
        item.case
        for item in planned.expected
        if scale_of(item.case.id)[1:]
        in (("nodes_4", "all-cores"), ("all", "all-cores"), ("all", "one-per-node"))
    ]
    layouts = {}
    for script in check.render_job_scripts(site, cases):
        options = dict(re.findall(r"^#SBATCH --([\w-]+)=(.*)$", script.text, re.MULTILINE))
        benchmark = dict(script.case.parameters).get("benchmark", "")
        key = (*scale_of(script.case.id), benchmark)
        layouts[key] = (options["ntasks"], options["ntasks-per-node"], options.get("constraint"))
    assert layouts == {
        ("OSUAtScale", "nodes_4", "all-cores", "allreduce"): ("16", "4", None),
        ("OSUAtScale", "all", "all-cores", "allreduce"): ("16", "4", None),
        ("OSUAtScale", "all", "one-per-node", "allreduce"): ("4", "1", None),
        ("RingAtScale", "all", "one-per-node", ""): ("4", "1", None),
        ("NPBAtScale", "nodes_4", "all-cores", "BT"): ("16", "4", None),
        ("NPBAtScale", "all", "all-cores", "BT"): ("16", "4", None),
        ("NPBWanAtScale", "nodes_4", "all-cores", "CG"): ("16", "4", "[clusterA*2&clusterB*2]"),
        ("NPBWanAtScale", "all", "all-cores", "CG"): ("32", "4", "[clusterA*4&clusterB*4]"),
        ("NPBWanAtScale", "nodes_4", "all-cores", "BT"): ("16", "4", "[clusterA*2&clusterB*2]"),
        ("NPBWanAtScale", "all", "all-cores", "BT"): ("16", "2", "[clusterA*4&clusterB*4]"),
    }


def test_reframe_says_by_hand_what_the_site_cannot_do() -> None:
    site = Site("local", CHECKOUT)
    process = subprocess.run(
        ["reframe", "-c", "checks/osu/osu.py", "-n", "OSUAtScale", "-l"],
        cwd=CHECKOUT,
        env=site.environment,
        capture_output=True,
        text=True,
    )
    assert "skipped on smp: tests of OSUAtScale that need one-per-node\n" in process.stdout
    scales = set(re.findall(r"^- OSUAtScale .*%scale=(\w+)", process.stdout, re.MULTILINE))
    has_two_cores = "cores_2" in site.partitions["smp"]["features"]
    assert scales == {"pair", *(["node"] if has_two_cores else [])}


def test_features_of_several_calls_are_all_required() -> None:
    test = SimpleNamespace(needs=["ucx"], partition_features=())
    Placement.set_required_features(test, "shared-memory")
    assert test.valid_systems == ["+shared-memory"]
    Placement.set_required_features(test, *features_for_ranks(2, 2))
    assert test.valid_systems == ["+shared-memory"]
    Placement.set_required_features(test, "cores-4")
    assert test.valid_systems == ["+shared-memory +cores-4"]
    assert test.needs == ["ucx", "shared-memory", "cores-4"]

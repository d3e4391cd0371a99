"""The NPB checks on site `virtual`: which cases there are, and what their jobs would do."""

from collections.abc import Callable
from pathlib import Path

import pytest

from roundtrip.measure import matrix
from roundtrip.sites import check
from roundtrip.sites.site import Site

CHECKOUT = Path(__file__).parents[2]
Plan = Callable[[str, str], matrix.Matrix]
CAMPAIGN = """\
[[check]]
name = "NPB"
partitions = ["clusterA"]
toolchains = ["mpich50-tcp"]
parameters = { benchmark = ["CG", "BT"], problem_class = ["S"] }

[[check]]
name = "NPBWan"
partitions = ["grid"]
toolchains = ["mpich50-tcp"]
parameters = { benchmark = ["CG", "BT"], problem_class = ["S"], wan_rtt = [4] }
"""


@pytest.fixture(scope="module")
def planned(install: Callable[..., None], plan: Plan) -> matrix.Matrix:
    """The matrix on a machine with one toolchain."""
    install("mpich50-boost181")
    return plan(CAMPAIGN, "virtual")


def named(planned: matrix.Matrix, check: str) -> set[tuple[str, str, str, str]]:
    """(benchmark, source, ranks, placement) of the expected cases of a check."""
    cases = [dict(item.case.parameters) for item in planned.expected if item.case.check == check]
    keys = ("benchmark", "source", "ranks", "placement")
    return {tuple(case[key] for key in keys) for case in cases}  # type: ignore[misc]


@pytest.mark.nightly
def test_only_legal_ranks_run_and_npb_itself_only_where_it_is(
    planned: matrix.Matrix, plan: Plan, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    native_cases = {
        ("CG", "native", "1", "shared-memory"),
        ("CG", "native", "2", "shared-memory"),
        ("CG", "native", "2", "one-per-node"),
        ("CG", "native", "4", "shared-memory"),
        ("CG", "native", "4", "one-per-node"),
        ("BT", "native", "1", "shared-memory"),
        ("BT", "native", "4", "shared-memory"),
        ("BT", "native", "4", "one-per-node"),
    }
    assert named(planned, "NPB") == native_cases
    wan_cases = named(planned, "NPBWan")
    reasons = {item.reason for item in planned.skipped if "source=upstream" in item.case_id}
    assert any("npb-upstream (build NPB 3.4 into" in reason for reason in reasons)
    (machine / "npb" / "mpich50").mkdir(parents=True)
    monkeypatch.setenv("ROUNDTRIP_NPB", str(machine / "npb"))
    upstream_cases = {(benchmark, "upstream", *rest) for benchmark, _, *rest in native_cases}
    upstream_matrix = plan(CAMPAIGN, "virtual")
    assert named(upstream_matrix, "NPB") == native_cases | upstream_cases
    upstream_wan_cases = {(benchmark, "upstream", *rest) for benchmark, _, *rest in wan_cases}
    assert named(upstream_matrix, "NPBWan") == wan_cases | upstream_wan_cases
    (machine / "npb" / "mpich50" / "cg.S.x").touch()
    parameters = {"benchmark": "CG", "source": "upstream", "ranks": "2"}
    (case,) = [
        item.case
        for item in upstream_matrix.expected
        if item.case.check == "NPBWan" and parameters.items() <= dict(item.case.parameters).items()
    ]
    (script,) = check.render_job_scripts(Site("virtual", CHECKOUT), [case])
    (launch,) = [line for line in script.text.splitlines() if " lease --rtt=4ms " in line]
    assert " -- srun " in launch and "ROUNDTRIP RANK ON" in launch
    assert launch.endswith(f"/witness.so {machine}/npb/mpich50/cg.S.x")


@pytest.mark.nightly
def test_a_job_over_the_link_has_half_of_its_nodes_on_each_side(planned: matrix.Matrix) -> None:
    assert named(planned, "NPBWan") == {
        ("CG", "native", "2", "one-per-node"),
        ("CG", "native", "4", "one-per-node"),
        ("CG", "native", "4", "node-per-cluster"),
        ("BT", "native", "4", "one-per-node"),
        ("BT", "native", "4", "node-per-cluster"),
    }
    wan_cases = [item.case for item in planned.expected if item.case.check == "NPBWan"]
    cg_cases = [case for case in wan_cases if dict(case.parameters)["benchmark"] == "CG"]
    layouts = {}
    for script in check.render_job_scripts(Site("virtual", CHECKOUT), cg_cases):
        parameters = dict(script.case.parameters)
        lines = script.text.splitlines()
        layouts[parameters["ranks"], parameters["placement"]] = (
            next(line.split("=")[1] for line in lines if "--ntasks-per-node" in line),
            next(line for line in lines if "--constraint" in line).split("--constraint=")[1],
        )
        assert "#SBATCH --exclusive" in lines
        lease_command = "testbed/vcluster lease --rtt=4ms --record=link.json --for='NPBWan "
        (launch,) = [line for line in lines if lease_command in line]
        assert " -- srun " in launch
    assert layouts == {
        ("2", "one-per-node"): ("1", "[clusterA*1&clusterB*1]"),
        ("4", "one-per-node"): ("1", "[clusterA*2&clusterB*2]"),
        ("4", "node-per-cluster"): ("2", "[clusterA*1&clusterB*1]"),
    }

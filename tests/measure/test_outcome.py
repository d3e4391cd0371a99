"""Which claims a campaign can make, how many launches completed, and why others did not."""

import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure.conftest import ENVIRON, Maker
from reframe.core.exceptions import SpawnedProcessError
from support.bundles import read_tree
from support.json_files import content

from roundtrip.errors import UserError
from roundtrip.measure import analysis, campaign_file, completion, outcome
from roundtrip.measure.campaign_file import Campaign, CheckPlan
from roundtrip.measure.completion import LaunchCounts, count_launches
from roundtrip.measure.launch import Launch
from roundtrip.measure.matrix import ExpectedCase, Matrix
from roundtrip.measure.outcome import ClaimOutlook, RunOutcome
from roundtrip.measure.tree import RunTree
from roundtrip.report.build import build_report
from roundtrip.sites.site import Case
from roundtrip.stats.planning import Decidability
from roundtrip.studies import ddtbench, npb
from roundtrip.study import load_studies

CAMPAIGNS = Path(__file__).parents[2] / "campaigns"
EIGHT = tuple(f"mpi{m}-boost{b}" for m in range(4) for b in range(2))
#: What a check offers where a campaign names no values; parameters that change no claim left out.
OFFERED: dict[str, dict[str, tuple[str, ...]]] = {
    "NetPIPE": {"placement": ("shared-memory",)},
    "NetPIPEWan": {"mode": ("pingpong",), "wan_rtt": ("0", "1", "2", "4")},
    "NetPIPEReference": {"placement": ("shared-memory",)},
    "Ring": {"placement": ("shared-memory", "oversubscribed")},
    "RingNetwork": {"placement": ("one-per-node", "hybrid")},
    "DDTBench": {"app": ddtbench.MICRO_APPS, "placement": ("shared-memory",)},
    "OSU": {"benchmark": ("latency", "bw")},
    "OSUGroup": {"benchmark": ("allreduce",)},
    "NPB": {"benchmark": npb.BENCHMARKS, "source": (npb.NATIVE, npb.UPSTREAM)},
    "OSUAtScale": {},
    "RingAtScale": {"placement": ("one-per-node",)},
    "NPBAtScale": {},
    "NPBWanAtScale": {},
    "NPBWan": {"wan_rtt": ("0", "1", "2", "4"), "source": (npb.NATIVE,)},
}


#: Which claim nothing: tests/checks/test_site_simulated.py has their matrix.
SIMULATED = {"simulated", "simulated-night"}
#: Which claims nothing either: what it measures is marked in the figures of those.
MARKED = "wan-marks"


def expected(plan: CheckPlan, toolchains: tuple[str, ...], partitions: int) -> list[ExpectedCase]:
    """All that `plan` requests, of a site that can run everything."""
    values = {**OFFERED.get(plan.name, {}), **plan.parameters}
    study = next(item.name for item in load_studies() if plan.name.lower().startswith(item.name))
    cases = []
    for combination in product(*values.values()):
        parameters = dict(zip(values, combination, strict=True))
        if "ranks" in parameters and not npb.is_legal_rank_count(
            parameters["benchmark"], parameters["problem_class"], int(parameters["ranks"])
        ):
            continue
        for partition in plan.partitions or [f"p{number}" for number in range(partitions)]:
            for environ in plan.toolchains or toolchains:
                pairs = tuple(sorted(parameters.items()))
                case = Case(plan.name, pairs, "0", "x", partition, environ)
                cases.append(ExpectedCase(case, "f", tuple(plan.variables.items()), study))
    return cases


def outlook(campaign: Campaign, toolchains: Any = EIGHT, partitions: int = 1) -> ClaimOutlook:
    cases = [item for plan in campaign.checks for item in expected(plan, toolchains, partitions)]
    return outcome.assess_claims(campaign, Matrix(tuple(cases), ()), analysis.default_settings())


def tiny(launches: int, variants: str = "five", toolchains: int = 1) -> ClaimOutlook:
    parameters = {"variants": (variants,), "mode": ("pingpong",)}
    check = CheckPlan("NetPIPE", 6, EIGHT[:toolchains], None, parameters)
    file = Path("night.toml")
    return outlook(Campaign("night", file, "t", launches, 0, 60, (check,), launches_line=2))


@pytest.mark.parametrize(
    ("name", "toolchains", "partitions", "primary"),
    [
        ("ab", 2, 1, 8),
        ("smoke", 2, 1, 8),
        ("boost-netpipe", 8, 1, 32),
        ("card", 3, 1, 12),
        ("ddtbench", 4, 1, 64),
        ("nightly", 2, 2, 2 * 2 * 4 + 2 * 2 * 4 * 4),
        ("npb", 1, 1, 14),
        ("osu", 8, 1, 0),
        ("ring", 8, 1, 64),
        # CG, MG and LU over the WAN on 2, 4, 8 and 16 nodes, each over one cluster of half of them.
        ("scale", 5, 1, 5 * 3 * 4),
        ("wan-npb", 2, 1, 21),
    ],
)
def test_the_shipped_campaigns_can_decide_each_primary_claim(
    monkeypatch: pytest.MonkeyPatch, name: str, toolchains: int, partitions: int, primary: int
) -> None:
    if name != "npb":  # whose question NPB 3.4 itself is; on other sites it is not installed
        monkeypatch.setitem(OFFERED["NPB"], "source", (npb.NATIVE,))
    campaign = campaign_file.load_campaign(CAMPAIGNS / f"{name}.toml")
    claims = outlook(campaign, EIGHT[:toolchains], partitions)
    assert claims.claim_count == primary
    assert claims.reach is Decidability.ALONE
    assert claims.warning() is None
    assert claims.campaign.launches >= 9


def test_marks_are_measured_without_a_claim_and_often_enough_for_an_interval() -> None:
    claims = outlook(campaign_file.load_campaign(CAMPAIGNS / f"{MARKED}.toml"))
    assert claims.claim_count == 0
    assert claims.campaign.launches == 6


def test_every_shipped_campaign_is_looked_at() -> None:
    """One that is not listed, as of a new study, can decide all that it claims."""
    marks = test_the_shipped_campaigns_can_decide_each_primary_claim.pytestmark  # type: ignore[attr-defined]
    names = {row[0] for row in marks[0].args[1]} | SIMULATED | {MARKED}
    campaigns = [campaign_file.load_campaign(file) for file in CAMPAIGNS.glob("*.toml")]
    # Pairs of nodes are compared with each other, whatever their number.
    by_name = {campaign.name: campaign for campaign in campaigns if not campaign.is_round_robin}
    assert names <= set(by_name)
    for name in set(by_name) - names:
        claims = outlook(by_name[name])
        assert claims.warning() is None, f"{name}.toml, with {len(EIGHT)} toolchains"


def test_nothing_is_claimed_of_a_simulation_and_so_one_launch_is_enough() -> None:
    check = CheckPlan("NetPIPE", 6, EIGHT[:2], None, {"variants": ("five",)})
    campaign = Campaign("night", Path("night.toml"), "t", 1, 0, 60, (check,), launches_line=2)
    cases = [replace(item, simulated=True) for item in expected(check, EIGHT[:2], 1)]
    claims = outcome.assess_claims(campaign, Matrix(tuple(cases), ()), analysis.default_settings())
    claims.require_enough_launches()
    assert claims.warning() is None
    line = "claims: none: a simulation gives the same values each time"
    assert list(claims.dry_run_lines()) == [line]


def test_too_few_launches_for_anything_are_refused_where_they_are_declared() -> None:
    with pytest.raises(UserError) as error:
        tiny(launches=5).require_enough_launches()
    assert str(error.value) == (
        "night.toml:2: launches = 5 is too few for a verdict on any of the 4 primary claims: "
        "8 (9 recommended) are enough; to run it without verdicts: --allow-underpowered"
    )


def test_a_user_is_warned_of_claims_decided_only_together() -> None:
    claims = tiny(launches=6, toolchains=2)
    claims.require_enough_launches()
    assert claims.warning() == (
        "6 launches of each case support 8 primary claims only together: 6 must be as clear as "
        "possible before any gets a verdict; 9 are enough"
    )
    assert tiny(launches=9, toolchains=2).warning() is None


def test_what_will_be_claimable_is_listed() -> None:
    *lines, toolchains, summary = tiny(launches=9, toolchains=2).dry_run_lines()
    assert [re.sub(r"@.*?:", ":", line) for line in lines] == [
        "claim 4 x NetPIPE/mode=pingpong,placement=shared-memory,variants=five"
        f":p0+{name}: bandwidth of Boost.MPI over raw MPI, one a compared size"
        for name in EIGHT[:2]
    ]
    assert toolchains == "claim toolchains, pairwise, by round: mpi0-boost0, mpi0-boost1"
    assert summary == (
        "claims: 8 primary, tested together; 9 launches declared, 9 needed for any one of "
        "them, 9 recommended"
    )


def test_nothing_to_compare_is_descriptive_and_may_have_any_number_of_launches() -> None:
    claims = tiny(launches=1, variants="raw")
    claims.require_enough_launches()
    assert claims.warning() is None
    assert list(claims.dry_run_lines()) == ["claims: no primary claims are planned: descriptive"]


def test_sizes_that_a_campaign_leaves_out_are_no_claims() -> None:
    check = CheckPlan(
        "NetPIPE", 6, ("a",), None, {"variants": ("five",), "mode": ("pingpong",)}, {"end": "65536"}
    )
    campaign = Campaign("night", Path("n.toml"), "t", 9, 0, 60, (check,))
    assert outlook(campaign).claim_count == 3


def test_launches_too_many_replace_none_that_are_missing() -> None:
    counts = LaunchCounts({"a": 8, "b": 8}, {"a": 9, "b": 7})
    assert (counts.completed_count, counts.target_count, counts.surplus_count) == (15, 16, 1)
    assert counts.missing_by_case == {"b": 1}
    assert counts.describe() == "15 of 16 launches completed; 1 made again"
    disturbed = replace(counts, disturbed_count=3, partial_count=2).describe()
    assert disturbed.endswith("completed; 3 of 16 disturbed, 1 made again; 2 more only partial")


def test_an_older_bundle_does_not_say_how_many_were_requested() -> None:
    rows = [("a", "passed", None, None)] * 3
    rows += [("a", "missing", None, None), ("b", "skipped", None, None)]
    assert count_launches(rows) == LaunchCounts({"a": 4}, {"a": 3})


@pytest.mark.parametrize(
    ("target", "summary"),
    [
        (6, "6 of 6 launches completed; 1 of 6 disturbed"),
        (4, "4 of 4 launches completed; 1 of 6 disturbed, 2 made again"),
        (8, "6 of 8 launches completed; 1 of 6 disturbed"),
    ],
)
def test_terminal_and_report_count_alike(make_tree: Maker, target: int, summary: str) -> None:
    tree = make_tree(launches=6, environs=(ENVIRON,))
    with content(tree.path / "state.json") as state:
        state["expected"][0]["launches"] = target
    report = build_report(read_tree(tree))
    assert dict(report.title_facts)["Launches"] == summary
    assert next(RunOutcome.from_tree(RunTree(tree.path)).describe_lines()) == f"1 case: {summary}"


@pytest.mark.parametrize(
    ("target", "is_complete"), [({}, False), ({"a": 2}, True), ({"a": 3}, False)]
)
def test_a_run_without_cases_is_not_complete(target: dict[str, int], is_complete: bool) -> None:
    launches = [Launch(name, "a", "passed", "", "001", "x") for name in ("1", "2")]
    assert RunOutcome(launches, target).is_complete is is_complete


def test_each_kind_of_disturbance_has_its_line() -> None:
    load_reasons = tuple(f"load average {load} at the start, on 2 cores" for load in (3.4, 5.1))
    tracer_reason = "traced: process 812 (a debugger or the like) holds rank 1"
    disturbances = ((load_reasons[0],), (load_reasons[1], tracer_reason))
    launches = [
        Launch("1", "a", "passed", "", "001", "x", disturbance_reasons=reasons)
        for reasons in disturbances
    ]
    lines = RunOutcome(launches, {"a": 2}).describe_lines()
    assert [line for line in lines if line.startswith("disturbed")] == [
        f"disturbed 2 x: {load_reasons[0]}",
        f"disturbed 1 x: {tracer_reason}",
    ]


RECORDED = Path(__file__).parents[1] / "data" / "first_failure"
SAID = "last words: crash: rank 1: wrong data"


@pytest.mark.parametrize(
    ("name", "failure"),
    [
        ("srun-segv", "rank 1 on a2 failed first: Segmentation fault"),
        ("srun-partner", "rank 0 on a4 failed first: Segmentation fault"),
        ("srun-kill", "rank 1 on a2 failed first: Killed"),
        ("srun-exit", f"rank 1 on a2 failed first: Exited with exit code 3; {SAID}"),
        ("mpirun-segv", "rank 1 on vm failed first: signal 11 (Segmentation fault)"),
        ("mpirun-kill", "rank 1 on vm failed first: signal 9 (Killed)"),
        ("mpirun-exit", f"rank 1 failed first: exit code 3; {SAID}"),
        ("mpirun-abort", "rank 1 failed first: MPI_Abort"),
        ("mpiexec-abort", "rank 1 failed first: exit code 3"),
    ],
)
def test_recorded_launchers_name_the_rank(name: str, failure: str) -> None:
    words = completion.describe_first_failure((RECORDED / f"{name}.txt").read_text())
    assert words.split("; last words: [")[0] == failure
    assert "Local" not in words and "peer" not in words


def test_what_the_wrapper_of_a_rank_writes_is_not_its_last_word() -> None:
    witness = "ROUNDTRIP RANK ON n1 7 -\n"
    assert completion.describe_first_failure(witness) == ""
    assert completion.describe_first_failure(f"wrong data\n{witness}") == "last words: wrong data"


@pytest.mark.parametrize("name", ["srun-exit", "mpirun-exit"])
def test_a_complaint_of_the_partner_is_not_taken_for_its_words(name: str) -> None:
    text = (RECORDED / f"{name}.txt").read_text()
    complaint = "[a1][[1,1],0][btl_tcp_frag.c:242] readv failed: Connection reset by peer (104)\n"
    last_words = "crash: rank 1: wrong data\n"
    assert last_words in text
    text = text.replace(last_words, last_words + complaint)
    assert completion.describe_first_failure(text).endswith(SAID)


def test_several_ranks_that_failed_at_once_are_all_named() -> None:
    text = "srun: error: n1: tasks 0-3,7: Exited with exit code 1\nlater\n"
    assert completion.describe_first_failure(text) == (
        "ranks 0-3,7 on n1 failed first: Exited with exit code 1"
    )


def test_without_a_rank_the_last_line_is_all_there_is() -> None:
    words = completion.describe_first_failure("first\nno space left\n ---\n\n")
    assert words == "last words: no space left"
    assert completion.describe_first_failure(" \n--\n") == ""


@given(st.text(), st.sampled_from(sorted(RECORDED.glob("*.txt"))), st.integers(0, 4000))
def test_any_text_gives_one_printable_line(text: str, file: Path, position: int) -> None:
    for error in (text, text + file.read_text()[position:], file.read_text()[:position] + text):
        words = completion.describe_first_failure(error)
        assert words.isprintable() and len(words) < 400


LIMIT = """sbatch: error: QOSMaxSubmitJobPerUserLimit
sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit)
"""


@pytest.mark.parametrize(
    ("out", "error", "words"),
    [
        ("", LIMIT, "sbatch: error: Batch job submission failed: Job violates"),
        ("", "", "it said nothing"),
        ("only this\n", "", "only this"),
    ],
)
def test_the_words_of_a_command_that_failed(out: str, error: str, words: str) -> None:
    reason = f"spawned process error: {SpawnedProcessError('sbatch rfm_job.sh', out, error, 1)}"
    test_case = completion.ReportedTest.parse_entry({"fail_reason": reason})
    assert test_case.fail_reason.startswith(
        "spawned process error: command 'sbatch rfm_job.sh' failed with exit code 1: " + words
    )

"""A campaign without enough launches says so before it runs, and the shipped ones can."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from roundtrip import studies
from roundtrip.errors import UserError
from roundtrip.measure import analysis, campaign_file, outcome
from roundtrip.measure.campaign_file import Campaign, CheckPlan
from roundtrip.measure.matrix import ExpectedCase, Matrix
from roundtrip.sites.site import Case
from roundtrip.stats.planning import Reach
from roundtrip.studies import ddtbench, npb

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
    study = next(item.name for item in studies.load() if plan.name.lower().startswith(item.name))
    cases = []
    for combination in product(*values.values()):
        parameters = dict(zip(values, combination, strict=True))
        if "ranks" in parameters and not npb.legal_ranks(
            parameters["benchmark"], parameters["problem_class"], int(parameters["ranks"])
        ):
            continue
        for partition in plan.partitions or [f"p{number}" for number in range(partitions)]:
            for environ in plan.toolchains or toolchains:
                pairs = tuple(sorted(parameters.items()))
                case = Case(plan.name, pairs, "0", "x", partition, environ)
                cases.append(ExpectedCase(case, "f", tuple(plan.variables.items()), study))
    return cases


def outlook(
    campaign: Campaign, toolchains: tuple[str, ...] = EIGHT, partitions: int = 1
) -> outcome.Outlook:
    cases = [item for plan in campaign.checks for item in expected(plan, toolchains, partitions)]
    return outcome.assess_claims(campaign, Matrix(tuple(cases), ()), analysis.default())


def tiny(launches: int, variants: str = "five", toolchains: int = 1) -> outcome.Outlook:
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
    assert claims.reach is Reach.ALONE
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
    by_name = {campaign.name: campaign for campaign in campaigns if not campaign.in_pairs}
    assert names <= set(by_name)
    for name in set(by_name) - names:
        claims = outlook(by_name[name])
        assert not claims.claim_count or claims.reach is Reach.ALONE, name


def test_nothing_is_claimed_of_a_simulation_and_so_one_launch_is_enough() -> None:
    check = CheckPlan("NetPIPE", 6, EIGHT[:2], None, {"variants": ("five",)})
    campaign = Campaign("night", Path("night.toml"), "t", 1, 0, 60, (check,), launches_line=2)
    cases = [replace(item, simulated=True) for item in expected(check, EIGHT[:2], 1)]
    claims = outcome.assess_claims(campaign, Matrix(tuple(cases), ()), analysis.default())
    claims.require_enough_launches()
    assert claims.warning() is None
    assert list(claims.lines()) == ["claims: none: a simulation gives the same values each time"]


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
        "can be before any gets a verdict; 9 are enough"
    )
    assert tiny(launches=9, toolchains=2).warning() is None


def test_what_will_be_claimable_is_listed() -> None:
    *lines, toolchains, summary = tiny(launches=9, toolchains=2).lines()
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
    assert list(claims.lines()) == ["claims: no primary claims are planned: descriptive"]


def test_sizes_that_a_campaign_leaves_out_are_no_claims() -> None:
    check = CheckPlan(
        "NetPIPE", 6, ("a",), None, {"variants": ("five",), "mode": ("pingpong",)}, {"end": "65536"}
    )
    campaign = Campaign("night", Path("n.toml"), "t", 9, 0, 60, (check,))
    assert outlook(campaign).claim_count == 3

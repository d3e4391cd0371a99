"""The campaign that `roundtrip ab` makes: what it launches, and that nothing is lost on the way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from roundtrip.errors import UserError
from roundtrip.measure import campaign_file, matrix
from roundtrip.measure.campaign_file import Campaign, CheckPlan
from roundtrip.measure.matrix import ExpectedCase, Matrix, SkippedCase
from roundtrip.sites.site import Case

DECLARED = (
    CheckPlan(
        "Ping", 7, parameters={"mode": ("pingpong",), "kind": ("raw",)}, variables={"budget": "3"}
    ),
)


def test_without_checks_those_of_the_campaign_are_launched() -> None:
    assert campaign_file.select_checks(DECLARED, (), ()) == DECLARED


def test_what_a_check_does_not_say_stays_as_declared() -> None:
    (plan,) = campaign_file.select_checks(DECLARED, ["Ping:mode=stream,mode=both"], ["end=64"])
    assert plan.parameters == {"mode": ("stream", "both"), "kind": ("raw",)}
    assert plan.variables == {"budget": "3", "end": "64"}


def test_a_check_that_the_campaign_does_not_have_is_taken_as_it_is() -> None:
    plans = campaign_file.select_checks(DECLARED, ["Pong", "Ping"], [])
    assert [plan.name for plan in plans] == ["Pong", "Ping"]
    assert plans[0].parameters == {} and plans[0].variables == {}


def test_a_variable_may_be_a_list() -> None:
    (plan,) = campaign_file.select_checks(DECLARED, [], ["buffers=same,cold", "marks=a=b"])
    assert plan.variables == {"budget": "3", "buffers": "same,cold", "marks": "a=b"}


@pytest.mark.parametrize(
    ("checks", "variables"), [(["Ping:mode"], []), (["Ping:"], []), ([], ["budget"])]
)
def test_unreadable_words_are_named(checks: list[str], variables: list[str]) -> None:
    with pytest.raises(UserError, match="is not of the form name=value"):
        campaign_file.select_checks(DECLARED, checks, variables)


def test_the_file_reads_back_as_requested(tmp_path: Path) -> None:
    odd_plan = CheckPlan("Odd", 0, parameters={"p": ('a"b\\', "c")}, variables={"v": "1,2"})
    content = campaign_file.campaign_text(("one", "other"), (*DECLARED, odd_plan), 1.5, ["smp"])
    pair_campaign = campaign_file.load_campaign(
        campaign_file.write_campaign(tmp_path, ("one", "other"), content)
    )
    assert pair_campaign.name == "ab-one-other"
    assert (pair_campaign.launches, pair_campaign.time_limit_minutes) == (
        campaign_file.MAX_AB_ROUNDS,
        1.5,
    )
    assert "sequential = true" in content
    for plan, expected_plan in zip(pair_campaign.checks, (*DECLARED, odd_plan), strict=True):
        assert plan.toolchains == ("one", "other")
        assert plan.partitions == ("smp",)
        assert (plan.name, plan.parameters, plan.variables) == (
            expected_plan.name,
            expected_plan.parameters,
            expected_plan.variables,
        )


def test_the_checks_that_are_launched_by_default_are_a_campaign() -> None:
    campaigns = Path(__file__).parents[2] / "campaigns"
    (plan,) = campaign_file.load_campaign(campaigns / "ab.toml").checks
    assert plan.parameters == {"variants": ("five",), "mode": ("pingpong",)}


def expected(environ: str, mode: str = "x", partition: str = "smp") -> ExpectedCase:
    return ExpectedCase(Case("P", (("mode", mode),), "0", "s", partition, environ), "p.py", ())


def campaign() -> Campaign:
    return Campaign("ab", Path("ab.toml"), "t", 9, 0, 9, ())


def test_only_cases_that_both_can_run_are_launched() -> None:
    gpu_case = expected("one", partition="gpu")
    cases = (expected("one"), expected("other"), gpu_case)
    plan = matrix.shared_cases(Matrix(cases, (SkippedCase("S", "why"),)), campaign())
    assert plan.expected == cases[:2]
    assert [item.case for item in plan.skipped] == ["S", gpu_case.case.id]


def test_what_is_simulated_is_not_repeated_until_it_is_decided() -> None:
    cases = tuple(replace(expected(name), simulated=True) for name in ("one", "other"))
    with pytest.raises(UserError, match="site 's' simulates: it gives the same values each time"):
        matrix.shared_cases(Matrix(cases, ()), campaign())


def test_no_case_for_both_reports_the_reason() -> None:
    plan = Matrix((expected("one"),), (SkippedCase("S", "toolchain 'other' is not installed"),))
    with pytest.raises(UserError, match="both toolchains can run: toolchain 'other' is not"):
        matrix.shared_cases(plan, campaign())

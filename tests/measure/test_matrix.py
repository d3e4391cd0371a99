"""The expected matrix: everything requested is either run or skipped with a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roundtrip.errors import UserError
from roundtrip.measure import matrix
from roundtrip.measure.campaign_file import Campaign, CheckPlan
from roundtrip.sites.site import Case


def described(mode: str, placement: str) -> dict[str, Any]:
    name = f"NetPIPE %mode={mode} %placement={placement}"
    return {
        "@class": "NetPIPE",
        "@file": "netpipe.py",
        "name": name,
        "display_name": name,
        "hashcode": f"{abs(hash(name)) % 16**8:08x}",
        "needs": [placement, "boost"],
        "budget": 60.0,
    }


class FakeSite:
    """What `Site` learns from ReFrame, for a machine with one node and one toolchain missing."""

    name = "box"
    partitions = {"smp": {"name": "smp", "environs": ["a", "plain"], "features": ["shared-memory"]}}
    toolchains = {
        "a": {"features": ["mpi", "boost"]},
        "absent": {"features": ["mpi", "boost"]},
        "plain": {"features": ["mpi"]},
    }

    checks = {"NetPIPE": Path("netpipe.py"), "Other": Path("other.py")}

    def describe(self, files: list[str], selection: object = None) -> list[dict[str, Any]]:
        assert files == ["netpipe.py"]
        return [
            described(mode, placement)
            for mode in ("pingpong", "stream")
            for placement in ("shared-memory", "one-per-node")
        ]

    def cases(self, files: list[str], selection: object = None) -> list[Case]:
        assert files == ["netpipe.py"]
        place = ("placement", "shared-memory")
        parameter_sets = [(("mode", mode), place) for mode in ("pingpong", "stream")]
        return [Case("NetPIPE", values, "0" * 8, "box", "smp", "a") for values in parameter_sets]


def build(*checks: CheckPlan, site: FakeSite | None = None) -> matrix.Matrix:
    campaign = Campaign("c", Path("c.toml"), "t", 8, 0, 60, checks)
    return matrix.build_matrix(campaign, site or FakeSite())  # type: ignore[arg-type]


def test_all_values_of_what_is_not_named() -> None:
    plan = build(CheckPlan("NetPIPE", 1))
    assert len(plan.expected) == 2
    assert len(plan.skipped) == 4 * 3 - 2


def test_every_case_requested_is_run_or_skipped_with_its_reason() -> None:
    plan = build(CheckPlan("NetPIPE", 1, parameters={"mode": ("stream",)}))
    reasons = {item.case: item.reason for item in plan.skipped}
    prefix = "NetPIPE/mode=stream,placement="
    assert [item.case.id for item in plan.expected] == [f"{prefix}shared-memory@box:smp+a"]
    for name, reason in {
        "one-per-node@box:smp+a": "partition 'smp' with 'a' does not offer: one-per-node",
        "shared-memory@box:smp+absent": "toolchain 'absent' is not installed on partition 'smp'",
        "shared-memory@box:smp+plain": "partition 'smp' with 'plain' does not offer: boost",
    }.items():
        assert reasons[prefix + name] == reason


def test_a_lacking_feature_is_named_with_what_would_give_it() -> None:
    """The site's word goes before the check's; a feature without such words stands alone."""

    class Lacking(FakeSite):
        toolchains = {
            "a": {"features": ["mpi"], "extras": {"lacks": {"osu": "run make osu"}}},
            "plain": {"features": ["mpi"]},
        }
        partitions = {"smp": {"name": "smp", "environs": ["a", "plain"]}}

        def describe(self, files: list[str], selection: object = None) -> list[dict[str, Any]]:
            test = {**described("stream", "x"), "@class": "OSU", "needs": ["osu", "x"]}
            return [*super().describe(files), {**test, "remedies": {"osu": "spack install osu"}}]

    test = Lacking().describe(["netpipe.py"])[-1]
    for environ, words in (("a", "run make osu"), ("plain", "spack install osu")):
        reason = matrix._skip_reason(test, Lacking(), "smp", environ)  # type: ignore[arg-type]
        assert reason == f"partition 'smp' with '{environ}' does not offer: osu ({words}), x"


@pytest.mark.parametrize(
    ("plan", "complaint"),
    [
        (CheckPlan("Nope", 7), "unknown check 'Nope'; there are: NetPIPE, Other"),
        (CheckPlan("NetPIPE", 7, toolchains=("gcc",)), "unknown toolchain 'gcc'"),
        (CheckPlan("NetPIPE", 7, partitions=("gpu",)), "unknown partition 'gpu'"),
        (
            CheckPlan("NetPIPE", 7, parameters={"mode": ("push",)}),
            "is not one of: pingpong, stream",
        ),
        (CheckPlan("NetPIPE", 7, parameters={"size": ("1",)}), "no such parameter"),
        (CheckPlan("NetPIPE", 7, variables={"bugdet": "1"}), "no variable 'bugdet'"),
    ],
)
def test_what_does_not_exist_is_named_with_its_line(plan: CheckPlan, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint) as error:
        build(plan)
    assert error.value.line == 7


def test_a_campaign_of_which_nothing_runs_is_an_error() -> None:
    with pytest.raises(UserError, match="nothing of this campaign can run .* one-per-node"):
        build(CheckPlan("NetPIPE", 1, parameters={"placement": ("one-per-node",)}))


class ChoosySite(FakeSite):
    """A site whose check skips itself for a stream between nodes, so that it has no such test."""

    def describe(self, files: list[str], selection: object = None) -> list[dict[str, Any]]:
        tests = super().describe(files)
        return [test for test in tests if "stream %placement=one" not in test["display_name"]]


def test_declared_values_without_a_test_are_listed() -> None:
    modes, places = ("pingpong", "stream"), ("shared-memory", "one-per-node")
    plan = CheckPlan("NetPIPE", 1, parameters={"mode": modes, "placement": places})
    cases = build(plan, site=ChoosySite())
    untested_cases = [item.case for item in cases.skipped if "no test of these" in item.reason]
    assert untested_cases == [
        f"NetPIPE/mode=stream,placement=one-per-node@box:smp+{name}" for name in FakeSite.toolchains
    ]
    assert len(cases.expected) + len(cases.skipped) == 4 * 3


def test_a_check_without_a_test_of_its_values_is_an_error() -> None:
    """Another check runs, so that the run would end well without it."""
    parameters = {"mode": ("stream",), "placement": ("one-per-node",)}
    plans = (
        CheckPlan("NetPIPE", 1, parameters={"mode": ("pingpong",)}),
        CheckPlan("NetPIPE", 7, parameters=parameters),
    )
    complaint = "'NetPIPE' has no test with mode = stream, placement = one-per-node: choose values"
    with pytest.raises(UserError, match=f"^c.toml:7: .*{complaint}"):
        build(*plans, site=ChoosySite())


def test_a_case_declared_twice_is_an_error() -> None:
    plan = CheckPlan("NetPIPE", 1, toolchains=("a",), parameters={"mode": ("stream",)})
    with pytest.raises(UserError, match="declared twice"):
        build(plan, plan)


class SettingSite(FakeSite):
    """A site whose ReFrame takes a budget above 0, and says which variables are the check's."""

    def __init__(self) -> None:
        self.requested: list[dict[str, str]] = []

    def describe(
        self, files: list[str], selection: object = None, variables: dict[str, str] | None = None
    ) -> list[dict[str, Any]]:
        if variables:
            self.requested.append(variables)
            for name, value in variables.items():
                if name.endswith("budget") and not value.isdigit():
                    error = "failed to set variable 'budget': could not convert to ['amount']"
                    raise UserError(f"reframe --describe failed: {error}: right is a number from 1")
        fields = {"settable": ["budget", "end"], "end": 1, "executable": ""}
        return [test | fields for test in super().describe(files)]


def test_reframe_runs_once_for_all_values_that_it_takes() -> None:
    site = SettingSite()
    plans = [
        CheckPlan("NetPIPE", 1, parameters={"mode": (mode,)}, variables={"budget": budget})
        for mode, budget in (("pingpong", "4"), ("stream", "5"))
    ]
    build(*plans, site=site)
    assert site.requested == [{"NetPIPE.budget": "4"}, {"NetPIPE.budget": "5"}]


@pytest.mark.parametrize(
    ("variables", "complaint"),
    [
        ({"end": "1", "budget": "-3"}, r"'NetPIPE': budget = '-3': right is a number from 1$"),
        ({"executable": "x"}, "'executable' itself.* no effect; right is one of: budget, end$"),
    ],
)
def test_a_value_that_a_check_does_not_take(variables: dict[str, str], complaint: str) -> None:
    plan = CheckPlan("NetPIPE", 7, variables=variables)
    with pytest.raises(UserError, match=f"^c.toml:7: .*{complaint}"):
        build(plan, site=SettingSite())

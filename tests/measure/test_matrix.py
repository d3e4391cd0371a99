"""The expected matrix, also of `roundtrip ab`: all is run, or skipped with a reason."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roundtrip.errors import UserError
from roundtrip.measure import campaign_file, matrix
from roundtrip.measure.campaign_file import Campaign, CheckPlan
from roundtrip.measure.matrix import ExpectedCase, Matrix, SkippedCase
from roundtrip.sites.site import Case, CheckListing, CheckTest, Site


def described(mode: str, placement: str) -> CheckTest:
    return CheckTest(
        check="NetPIPE",
        parameters={"mode": mode, "placement": placement},
        file="netpipe.py",
        hash=f"{abs(hash(mode + placement)) % 16**8:08x}",
        variables=("budget", "end", "executable"),
        settable=("budget", "end"),
        needs=(placement, "boost"),
    )


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

    def list_tests(self, files: Any, selection: Any = None, variables: Any = None) -> CheckListing:
        assert files == ["netpipe.py"]
        place = ("placement", "shared-memory")
        parameter_sets = [(("mode", mode), place) for mode in ("pingpong", "stream")]
        cases = [Case("NetPIPE", values, "0" * 8, "box", "smp", "a") for values in parameter_sets]
        return CheckListing(self.tests(), cases, {})

    def tests(self) -> list[CheckTest]:
        places = ("shared-memory", "one-per-node")
        return [described(mode, place) for mode in ("pingpong", "stream") for place in places]


def build(*checks: CheckPlan, site: FakeSite | None = None) -> matrix.Matrix:
    campaign = Campaign("c", Path("c.toml"), "t", 8, 0, 60, checks)
    return matrix.build_matrix(campaign, site or FakeSite())  # type: ignore[arg-type]


class EmptySite(FakeSite):
    partitions = {"smp": {**FakeSite.partitions["smp"], "environs": []}}
    spack_folder: Path | None = None

    def list_tests(self, *arguments: object, **options: object) -> CheckListing:
        return CheckListing(self.tests(), [], {})


@pytest.mark.parametrize(
    ("spack_folder", "command"),
    [(None, "roundtrip toolchains a"), (Path("spack"), "spack install")],
)
def test_without_a_toolchain_the_command_that_builds_one(
    spack_folder: Path | None, command: str
) -> None:
    site = EmptySite()
    site.spack_folder = spack_folder
    with pytest.raises(UserError, match=f"has no toolchain yet; build some: {command}$"):
        build(CheckPlan("NetPIPE", 1, toolchains=("a",)), site=site)


def test_all_values_of_what_is_not_named() -> None:
    plan = build(CheckPlan("NetPIPE", 1))
    assert len(plan.expected) == 2
    assert len(plan.skipped) == 4 * 3 - 2


def test_every_case_requested_is_run_or_skipped_with_its_reason() -> None:
    plan = build(CheckPlan("NetPIPE", 1, parameters={"mode": ("stream",)}))
    reasons = {item.case_id: item.reason for item in plan.skipped}
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

    remedies = {"osu": "spack install osu"}
    test = replace(described("stream", "x"), needs=("osu", "x"), remedies=remedies)
    for environ, words in (("a", "run make osu"), ("plain", "spack install osu")):
        reason = matrix._skip_reason(test, Lacking(), "smp", environ)  # type: ignore[arg-type]
        assert reason == f"partition 'smp' with '{environ}' does not offer: osu ({words}), x"


@pytest.mark.parametrize(
    ("plan", "complaint"),
    [
        (CheckPlan("Nope", 7), "unknown check 'Nope'; there are: NetPIPE, Other"),
        (CheckPlan("NetPIPE", 7, toolchains=("gcc",)), "unknown toolchain 'gcc'"),
        (CheckPlan("NetPIPE", 7, partitions=("gpu",)), "unknown partition 'gpu'"),
        (CheckPlan("NetPIPE", 7, parameters={"mode": ("push",)}), "not one of: pingpong, stream"),
        (
            CheckPlan("NetPIPE", 7, parameters={"size": ("1",)}),
            "no parameter 'size'; right is one of: mode",
        ),
        (
            CheckPlan("NetPIPE", 7, variables={"bugdet": "1"}),
            "no variable 'bugdet'; right is one of: ",
        ),
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
    """A site whose check skips itself for a stream between nodes."""

    def tests(self) -> list[CheckTest]:
        return [
            replace(test, skip_reason="a stream needs one node")
            if test.parameters == {"mode": "stream", "placement": "one-per-node"}
            else test
            for test in super().tests()
        ]


@pytest.mark.parametrize("parameters", [{}, {"mode": ("pingpong", "stream")}])
def test_a_test_that_skips_itself_is_listed(parameters: Any) -> None:
    cases = build(CheckPlan("NetPIPE", 1, parameters=parameters), site=ChoosySite())
    names = [item.case_id for item in cases.skipped if item.reason == "a stream needs one node"]
    case = "NetPIPE/mode=stream,placement=one-per-node@box:smp"
    assert names == [f"{case}+{name}" for name in FakeSite.toolchains]
    assert len(cases.expected) + len(cases.skipped) == 4 * 3


def test_a_check_without_a_test_of_its_values_is_an_error() -> None:
    """Another check runs, so that the run would end well without it."""
    parameters = {"mode": ("stream",), "placement": ("one-per-node",)}
    plans = (
        CheckPlan("NetPIPE", 1, parameters={"mode": ("pingpong",)}),
        CheckPlan("NetPIPE", 7, parameters=parameters),
    )
    complaint = "'NetPIPE' has no test with mode = stream, placement = one-per-node: a stream needs"
    with pytest.raises(UserError, match=f"^c.toml:7: .*{complaint}"):
        build(*plans, site=ChoosySite())


def test_a_case_declared_twice_is_an_error() -> None:
    plan = CheckPlan("NetPIPE", 1, toolchains=("a",), parameters={"mode": ("stream",)})
    with pytest.raises(UserError, match="declared twice"):
        build(plan, plan)


class SettingSite(FakeSite):
    """A site whose ReFrame takes a budget above 0, and says which variables are the check's."""

    def __init__(self) -> None:
        self.requested: list[dict[str, str] | None] = []

    def list_tests(self, files: Any, selection: Any = None, variables: Any = None) -> CheckListing:
        self.requested.append(variables)
        for name, value in (variables or {}).items():
            if name.endswith("budget") and not value.isdigit():
                error = "failed to set variable 'budget': could not convert to ['amount']"
                raise UserError(f"a check does not load: {error}: right is a number from 1")
        return super().list_tests(files, selection, variables)


def test_reframe_runs_once_for_all_values_that_it_takes() -> None:
    site = SettingSite()
    plans = [
        CheckPlan("NetPIPE", 1, (toolchain,), None, {"mode": (mode,)}, {"budget": budget})
        for toolchain in ("a", "plain")
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


CHECKOUT = Path(__file__).parents[2]


def test_a_check_that_does_not_load_is_named(tmp_path: Path) -> None:
    check_file = tmp_path / "broken.py"
    check_file.write_text("import reframe\nimport no_such_module\n")
    place = re.escape(f"{check_file}:2: ")
    with pytest.raises(UserError, match=f"^{place}.*No module named 'no_such_module'"):
        Site("local", CHECKOUT).list_tests([str(check_file)])


CHECK = """\
import reframe as rfm
from reframe.core.builtins import parameter, run_after, variable

@rfm.simple_test
class Odd(rfm.RunOnlyRegressionTest):
    kind = parameter(["a", "b"])
    valid_systems = ["*"]
    valid_prog_environs = ["*"]

    @run_after("init")
    def choose(self):
        if self.kind == "b":
"""


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("raise ValueError('no room')", ":13: .* test 'Odd': value error: no room$"),
        ("self.num_tasks = 'x'", ":13: .* test 'Odd': .*'num_tasks': 'x' is not of type"),
        ("self.file = open('/dev/null')", ": .*'Odd.file' is not copyable"),
    ],
)
def test_a_test_that_cannot_be_made_is_an_error(tmp_path: Path, line: str, complaint: str) -> None:
    """ReFrame itself warns, and goes on without the test."""
    check_file = tmp_path / "odd.py"
    check_file.write_text(f"{CHECK}            {line}\n")
    with pytest.raises(UserError, match=f"^{re.escape(str(check_file))}{complaint}"):
        Site("local", CHECKOUT).list_tests([str(check_file)])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("self.skip_if(True, 'b is for others')", "b is for others"),
        ("self.skip_if(True)", "the check skips itself, and says no reason"),
    ],
)
def test_a_test_that_skips_itself_says_why(tmp_path: Path, line: str, reason: str) -> None:
    check_file = tmp_path / "odd.py"
    check_file.write_text(f"{CHECK}            {line}\n")
    tests = Site("local", CHECKOUT).list_tests([str(check_file)]).tests
    reasons = {test.parameters["kind"]: test.skip_reason for test in tests}
    assert reasons == {"a": "", "b": reason}


@pytest.mark.parametrize("name", ["nope", "../local", "", "a/b"])
def test_an_unknown_site_names_those_there_are(name: str) -> None:
    with pytest.raises(UserError, match=r"unknown site .*there are: .*local"):
        Site(name, CHECKOUT)


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
    content = campaign_file.ab_campaign_toml(("one", "other"), (*DECLARED, odd_plan), 1.5, ["smp"])
    pair_campaign = campaign_file.load_campaign(
        campaign_file.write_ab_campaign(tmp_path, ("one", "other"), content)
    )
    assert pair_campaign.name == "ab-one-other"
    assert pair_campaign.launches == campaign_file.MAX_AB_ROUNDS
    assert pair_campaign.time_limit_minutes == 1.5
    assert "sequential = true" in content
    lines = [plan.line for plan in pair_campaign.checks]
    assert pair_campaign.checks == tuple(
        replace(plan, line=line, toolchains=("one", "other"), partitions=("smp",))
        for plan, line in zip((*DECLARED, odd_plan), lines, strict=True)
    )


def expected(environ: str, mode: str = "x", partition: str = "smp") -> ExpectedCase:
    return ExpectedCase(Case("P", (("mode", mode),), "0", "s", partition, environ), "p.py", ())


def campaign() -> Campaign:
    return Campaign("ab", Path("ab.toml"), "t", 9, 0, 9, ())


def test_only_cases_that_both_can_run_are_launched() -> None:
    gpu_case = expected("one", partition="gpu")
    cases = (expected("one"), expected("other"), gpu_case)
    plan = matrix.shared_matrix(Matrix(cases, (SkippedCase("S", "why"),)), campaign())
    assert plan.expected == cases[:2]
    assert [item.case_id for item in plan.skipped] == ["S", gpu_case.case.id]


def test_what_is_simulated_is_not_repeated_until_it_is_decided() -> None:
    cases = tuple(replace(expected(name), simulated=True) for name in ("one", "other"))
    with pytest.raises(UserError, match="site 's' simulates: it gives the same values each time"):
        matrix.shared_matrix(Matrix(cases, ()), campaign())


def test_no_case_for_both_reports_the_reason() -> None:
    plan = Matrix((expected("one"),), (SkippedCase("S", "toolchain 'other' is not installed"),))
    with pytest.raises(UserError, match="both toolchains can run: toolchain 'other' is not"):
        matrix.shared_matrix(plan, campaign())

"""Site `local` in the pinned ReFrame: loads, and lists exactly the cases of what is installed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from roundtrip.cli import main
from roundtrip.measure import campaign_file, matrix
from roundtrip.sites.site import Site
from roundtrip.sites.toolchains.spec import read_catalogue

CHECKOUT = Path(__file__).parents[2]
SMOKE = read_catalogue().smoke_names


@pytest.fixture(scope="module")
def local(install: Callable[..., None]) -> Site:
    install(*SMOKE)
    return Site("local", CHECKOUT)


def test_all_toolchains_of_this_machine_are_described(local: Site) -> None:
    names = [spec.name for spec in read_catalogue().select([], everything=True)]
    assert sorted(local.toolchains) == sorted(names)


@pytest.mark.nightly
def test_only_what_is_installed_is_run(local: Site) -> None:
    netpipe = [case for case in local.list_tests().cases if case.check == "NetPIPE"]
    assert {case.environ for case in netpipe} == set(SMOKE)
    modes, variant_sets, toolchains = 3, 2, 2
    assert len(netpipe) == modes * variant_sets * toolchains


@pytest.mark.nightly
def test_the_smoke_campaign_is_two_cases(local: Site) -> None:
    plan = matrix.build_matrix(
        campaign_file.load_campaign(CHECKOUT / "campaigns" / "smoke.toml"), local
    )
    assert sorted(item.case.id for item in plan.expected) == [
        f"NetPIPE/mode=pingpong,placement=shared-memory,variants=five@local:smp+{toolchain}"
        for toolchain in sorted(SMOKE)
    ]
    assert plan.skipped == ()


@pytest.mark.nightly
def test_the_full_campaign_lists_what_cannot_run_with_reasons(local: Site) -> None:
    plan = matrix.build_matrix(
        campaign_file.load_campaign(CHECKOUT / "campaigns" / "boost-netpipe.toml"), local
    )
    reasons = {item.reason.split("'")[0] for item in plan.skipped}
    assert reasons == {"toolchain ", "partition "}
    assert any("not installed" in item.reason for item in plan.skipped)
    assert any("does not offer: one-per-node" in item.reason for item in plan.skipped)
    cases = [item.case.id for item in plan.expected] + [item.case_id for item in plan.skipped]
    assert len(cases) == len(set(cases))


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("variable", "words"),
    [
        ("budget = -3", "budget = '-3': right is a number from 0.001 to 604800"),
        ("budget = 'x'", "budget = 'x': right is a number from 0.001 to 604800"),
        ("budget = [1, 2]", "budget = '1,2': right is a number from 0.001 to 604800"),
        ("end = 0", "end = '0': right is a whole number from 1 to 2147483647"),
    ],
)
def test_a_value_that_netpipe_does_not_take_is_one_line_and_status_2(
    local: Site,
    variable: str,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "night.toml"
    check = f'[[check]]\nname = "NetPIPE"\nvariables = {{ {variable} }}\n'
    file.write_text(f"title = 't'\nlaunches = 9\n{check}")
    arguments = ["roundtrip", "run", str(file), "--site", local.name, "--dry-run"]
    monkeypatch.setattr("sys.argv", arguments)
    with pytest.raises(SystemExit) as end:
        main()
    line = f"roundtrip: {file}:3: check 'NetPIPE': {words}\n"
    assert (end.value.code, *capfd.readouterr()) == (2, "", line)

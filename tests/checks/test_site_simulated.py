"""Site `simulated` in the pinned ReFrame: what it offers, skips with which reason, and lays out."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from checks.mixins.simulation import Simulation
from roundtrip.measure import analysis, campaign_file, matrix, outcome
from roundtrip.sites import check, simgrid
from roundtrip.sites.site import Site

CHECKOUT = Path(__file__).parents[2]
PLATFORMS = CHECKOUT / "site-configs" / "simulated" / "platforms"
CAMPAIGN = """\
[[check]]
name = "NPBSimulated"
toolchains = ["smpi-boost181"]
parameters = { benchmark = ["CG", "BT"], problem_class = ["A"] }

[[check]]
name = "DDTBench"
partitions = ["odin"]
toolchains = ["smpi-boost181"]
parameters = { app = ["FFT"], sizes = ["largest"] }
"""


@pytest.fixture(scope="module", autouse=True)
def toolchains(install: Callable[..., None]) -> None:
    install("smpi-boost181", "openmpi41-boost181")


@pytest.fixture
def site() -> Site:
    return Site("simulated", CHECKOUT)


def test_simulators_are_there_and_nothing_else_is(site: Site) -> None:
    assert sorted(site.toolchains) == ["smpi-boost174", "smpi-boost181"]
    assert all("simulated" in toolchain["features"] for toolchain in site.toolchains.values())
    assert {name: partition["extras"]["nodes"] for name, partition in site.partitions.items()} == {
        "grid": 32,
        "odin": 128,
        "hdr": 1024,
        "hdr256": 256,
        "hdr512": 512,
    }
    for name, partition in site.partitions.items():
        simulation = partition["extras"]["simulated"]
        assert simulation["platform"] == name.rstrip("0123456789")
        assert (site.folder / "platforms" / f"{simulation['platform']}.xml").is_file()
        assert partition["environs"] == ["smpi-boost181"]


def test_host_speeds_are_swept_by_a_module_of_the_package(site: Site) -> None:
    cases = site.list_tests(["checks/npb/simulated.py"]).cases
    case = next(case for case in cases if case.check == "NPBHostSpeeds")
    (script,) = check.render_job_scripts(site, [case])
    command = script.text.splitlines()[-1].split()
    assert command[1:5] == ["-m", "roundtrip.studies.npb.sweep", "--samples", "samples.csv"]


@pytest.mark.nightly
def test_what_shows_nothing_under_a_simulator_is_skipped_with_the_reason(
    site: Site, plan: Callable[[str, str], matrix.Matrix]
) -> None:
    planned = plan(CAMPAIGN, site.name)
    cases = {
        (item.case.partition, *dict(item.case.parameters).values()) for item in planned.expected
    }
    benchmarks = {(case[0], *(word for word in case if word in ("CG", "BT"))) for case in cases}
    assert benchmarks == {
        (partition, benchmark) for partition in site.partitions for benchmark in ("CG", "BT")
    }
    reasons = {item.reason for item in planned.skipped}
    assert "it is not simulated: SMPI charges no time for packing" in reasons
    assert any("nodes_256 (it has 128)" in reason for reason in reasons)


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "launches"), [("simulated", 2), ("simulated-night", 1)])
def test_the_shipped_campaigns_can_run_and_claim_nothing(
    site: Site, name: str, launches: int
) -> None:
    campaign = campaign_file.load_campaign(CHECKOUT / "campaigns" / f"{name}.toml")
    planned = matrix.build_matrix(campaign, site)
    assert campaign.launches == launches
    assert "SIMULATED" in campaign.title
    assert all(item.simulated for item in planned.expected)
    checks = {item.case.check for item in planned.expected}
    assert checks >= {"NPBHostSpeeds", "NetPIPE", "NPBSimulated"}
    claims = outcome.assess_claims(campaign, planned, analysis.default_settings())
    claims.require_enough_launches()
    assert list(claims.dry_run_lines()) == [
        "claims: none: a simulation gives the same values each time"
    ]
    reasons = {item.case_id.split("/")[0]: item.reason for item in planned.skipped}
    if name == "simulated":
        assert {"DDTBench", "OSUGroup", "Ring"} <= reasons.keys()
        assert all(reasons.values())


@pytest.mark.nightly
def test_a_machine_that_measures_simulates_nothing() -> None:
    local = Site("local", CHECKOUT)
    assert not [name for name in local.toolchains if name.startswith("smpi")]
    listing = local.list_tests(["checks/npb/simulated.py"])
    assert not listing.cases
    assert "NPBSimulated" in {test.check for test in listing.tests}


def launched(folder: Path, time_limit: float | None) -> SimpleNamespace:
    """A launch of four ranks on `odin`, its hook run."""
    check = SimpleNamespace(
        simulated=True,
        simulation_settings={"platform": "odin", "host_flops": 1e9},
        platform_file=PLATFORMS / "odin.xml",
        current_environ=SimpleNamespace(extras={"mpi_version": "3.32"}),
        stagedir=folder,
        num_tasks=4,
        env_vars={},
        keep_files=[],
        time_limit=time_limit,
    )
    check.write_platform = lambda ranks: Simulation.write_platform(check, ranks)
    Simulation.set_up_simulation(check)
    return check


@pytest.mark.parametrize(("budget", "expected"), [(150.0, 3600), (None, 3600), (7200.0, 7200)])
def test_a_budget_of_simulated_time_limits_no_real_time(
    tmp_path: Path, budget: float | None, expected: float
) -> None:
    assert launched(tmp_path, budget).time_limit == expected


def test_what_simulated_a_program_of_others_is_recorded(tmp_path: Path) -> None:
    check = launched(tmp_path, None)
    assert (tmp_path / simgrid.HOSTS_FILE).read_text().split() == [f"odin{n}" for n in range(4)]
    record = Simulation.simulation_record.fget(check)
    assert record == {
        "simgrid": "3.32",
        "platform": check.env_vars[simgrid.NAME_VARIABLE],
        "platform_sha256": check.env_vars[simgrid.SHA256_VARIABLE],
        "host_flops": json.loads(check.env_vars[simgrid.FLOPS_VARIABLE]),
    }
    check.simulated = False
    assert Simulation.simulation_record.fget(check) is None

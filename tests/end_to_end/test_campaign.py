"""Real MPI jobs through real ReFrame on site `local`: run, kill, resume, report."""

import json
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from support.command import await_result, start_roundtrip
from support.programs import CHECKOUT, command_environment, run_program, skip_without_toolchains

from roundtrip.measure.launches import scan_launches
from roundtrip.sites.toolchains.spec import read_catalogue

TOOLCHAIN = read_catalogue().smoke_names[0]
CAMPAIGN = f"""\
title = "A very small campaign"
launches = 3
time_limit_minutes = 10
[[check]]
name = "NetPIPE"
toolchains = ["{TOOLCHAIN}"]
parameters = {{ variants = ["five"], placement = ["shared-memory"], mode = ["pingpong"] }}
variables = {{ budget = 5, precision = 20, perturbation = 0, end = 65536 }}
"""

ALLOWED = CAMPAIGN.replace("launches = 3", "launches = 3\nallow_undecided = true")

pytestmark = skip_without_toolchains(TOOLCHAIN)


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    file = tmp_path / "small.toml"
    file.write_text(CAMPAIGN)
    return file


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return command_environment(tmp_path)


def run(environment: dict[str, str], *arguments: object) -> subprocess.Popen[str]:
    return start_roundtrip(environment, "run", *arguments)


def tree(environment: dict[str, str]) -> Path:
    (state,) = Path(environment["ROUNDTRIP_RUNS"]).glob("small/local/*/state.json")
    return state.parent


def wait_for_a_round(process: subprocess.Popen[str], environment: dict[str, str]) -> None:
    """Until the run has begun: before that there is nothing to lose."""
    for _ in range(3000):  # the first run on this machine builds before
        if list(Path(environment["ROUNDTRIP_RUNS"]).glob("small/local/*/rounds/*")):
            return
        assert process.poll() is None, await_result(process)
        time.sleep(0.1)
    raise AssertionError("the campaign never began")


def passed(run_tree: Path) -> Counter[str]:
    return Counter(
        launch.case_id for launch in scan_launches(run_tree) if launch.status == "passed"
    )


@pytest.mark.nightly
def test_an_underpowered_campaign_is_refused_before_it_runs(
    campaign: Path, environment: dict[str, str]
) -> None:
    status, _, err = await_result(run(environment, campaign))
    assert status == 2
    (line,) = err.splitlines()
    assert line.startswith(
        f"roundtrip: {campaign}:2: launches = 3 is too few for a verdict on any of the 3 primary "
    )
    assert line.endswith(
        "7 (9 recommended) are enough; to run it without verdicts: --allow-underpowered"
    )
    assert not (Path(environment["ROUNDTRIP_RUNS"]) / "small").exists()


@pytest.mark.nightly
@pytest.mark.live
def test_a_campaign_that_decides_nothing_is_not_green(
    campaign: Path, environment: dict[str, str]
) -> None:
    status, out, err = await_result(run(environment, "--allow-underpowered", campaign))
    assert status == 1, err
    assert "report: " in out
    assert "measured, but nothing can be decided: " in err
    assert f"if this is intended, declare allow_undecided = true in {campaign}" in err
    status, _, err = await_result(
        run(environment, "--allow-underpowered", campaign, "--night", "n")
    )
    assert status == 1, err
    status, _, err = await_result(
        run(environment, "--allow-underpowered", campaign, "--night", "n")
    )
    assert (status, "night n has been measured: " in err) == (1, True)


@pytest.mark.live
@pytest.mark.quiet
def test_a_campaign_ends_with_a_report(campaign: Path, environment: dict[str, str]) -> None:
    campaign.write_text(ALLOWED)
    status, out, err = await_result(run(environment, campaign))
    assert status == 0, err
    assert "measured, but nothing can be decided: " in err
    page = Path(out.splitlines()[-1].removeprefix("report: "))
    assert "Boost.MPI (Serialized)" in page.read_text()
    assert list(passed(tree(environment)).values()) == [3]
    launch = scan_launches(tree(environment))[0]
    assert launch.run_record["ranks"] == 2
    series = read_catalogue().toolchains[TOOLCHAIN].mpi.series
    assert f"Open MPI v{series}" in launch.run_record["mpi"]["library"]
    bundle = page.parent / "bundle"
    verification = await_result(start_roundtrip(environment, "report", page.parent, "--verify"))
    assert verification.returncode == 0, verification.stderr
    assert json.loads((bundle / "manifest.json").read_text())["campaign"] == "small"


@pytest.mark.nightly
@pytest.mark.live
@pytest.mark.quiet
def test_a_campaign_killed_at_any_moment_is_resumed_exactly(
    campaign: Path, environment: dict[str, str]
) -> None:
    """kill -9 and TERM at random moments: no launch is lost, none counted twice."""
    campaign.write_text(ALLOWED.replace("precision = 20", "precision = 0.01"))  # 5 s a launch
    rng = random.Random(4)
    process = run(environment, "--allow-underpowered", campaign, "--no-report")
    earlier_ids: set[str] = set()
    for blow in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
        wait_for_a_round(process, environment)
        time.sleep(rng.uniform(0, 4))
        process.send_signal(blow)
        await_result(process)
        passed_ids = {
            launch.id for launch in scan_launches(tree(environment)) if launch.status == "passed"
        }
        assert earlier_ids <= passed_ids
        earlier_ids = passed_ids
        if json.loads((tree(environment) / "state.json").read_text())["finished"]:
            return  # all three launches were faster than the blows
        process = resumed(environment, campaign)
    status, _, err = await_result(process)
    assert status == 0, err
    assert list(passed(tree(environment)).values()) == [3]


@pytest.mark.nightly
@pytest.mark.live
def test_a_second_campaign_on_the_site_is_refused_or_waits(
    campaign: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    campaign.write_text(ALLOWED)
    arguments = (campaign, "--no-report")
    first_process = run(environment, *arguments)
    wait_for_a_round(first_process, environment)
    other_environment = {**environment, "ROUNDTRIP_RUNS": str(tmp_path / "other")}
    status, _, err = await_result(run(other_environment, *arguments))
    assert status == 2, err
    _, line = err.splitlines()  # after the warning that it allows no verdict
    assert line.startswith("roundtrip: site 'local' is being measured by campaign 'small' since ")
    assert f"(process {first_process.pid} on " in line
    assert not (tmp_path / "other" / "small").exists()
    second_process = run(other_environment, *arguments, "--wait")
    assert await_result(first_process)[0] == 0
    assert await_result(second_process)[0] == 0
    end_time = max(path.stat().st_mtime for path in tree(environment).rglob("session.json"))
    assert (
        min(path.stat().st_mtime for path in tree(other_environment).rglob("rounds/*")) > end_time
    )


def resumed(environment: dict[str, str], campaign: Path) -> subprocess.Popen[str]:
    """Resume, once a session that outlived its killed runner has let go of the tree."""
    for _ in range(40):
        process = run(environment, "--allow-underpowered", campaign, "--resume", "--no-report")
        time.sleep(3)
        if process.poll() != 2:
            return process
        assert "another campaign is running" in await_result(process)[2]
    raise AssertionError("the killed campaign's session never ended")


@pytest.mark.nightly
@pytest.mark.live
def test_a_workload_that_dies_is_a_listed_failure_and_not_green(
    campaign: Path, environment: dict[str, str]
) -> None:
    environment["OMPI_MCA_pml"] = "absent"
    status, out, err = await_result(run(environment, "--allow-underpowered", campaign))
    assert status == 1, err
    assert "report:" not in out
    assert "0 of 3 launches completed" in err
    assert "missing 3 x NetPIPE/" in err


@pytest.mark.nightly
@pytest.mark.live
def test_a_campaign_in_odd_paths(tmp_path: Path) -> None:
    """With blanks and letters beyond ASCII: what can be run is reported."""
    checkout = tmp_path / "mein Prüf stand" / "check out"
    for folder in ("campaigns", "checks", "reframe", "site-configs", "src", "workloads"):
        shutil.copytree(CHECKOUT / folder, checkout / folder)
    campaign = tmp_path / "eine ablage ü" / "nacht prüfung.toml"
    campaign.parent.mkdir()
    campaign.write_text(ALLOWED.replace("A very small campaign", "[/b] Nachtprüfung"))
    environment = command_environment(
        tmp_path,
        PYTHONPATH=str(checkout / "src"),
        ROUNDTRIP_RUNS=str(tmp_path / "Läufe aller Art"),
        ROUNDTRIP_REPORTS=str(tmp_path / "Be richte"),
    )

    def roundtrip(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = ["roundtrip", *map(str, arguments)]
        return run_program(*command, cwd=checkout, env=environment, timeout=3000)

    process = roundtrip("run", campaign)
    assert process.returncode == 0, process.stderr
    page = Path(process.stdout.splitlines()[-1].removeprefix("report: "))
    assert page.parts[len(tmp_path.parts) :][:3] == ("Be richte", "nacht prüfung", "local")
    assert "[/b] Nachtprüfung</h1>" in page.read_text()
    verification = roundtrip("report", page.parent, "--verify")
    assert verification.returncode == 0, verification.stderr

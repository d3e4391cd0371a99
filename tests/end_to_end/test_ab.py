"""Real launches of two toolchains, or of one under two names, until they are distinguished."""

import json
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from support.command import await_result, start_roundtrip
from support.programs import command_environment, skip_without_toolchains

from roundtrip import paths
from roundtrip.measure.launches import scan_launches
from roundtrip.sites.toolchains.spec import read_catalogue

BASE, NEW, ALIAS = "openmpi41-boost181", "mpich40-boost181", "openmpi41-boost174"
SMALL = (
    *("--checks", "NetPIPE:variants=raw,placement=shared-memory"),
    *("--set", "budget=0.5", "--set", "precision=10", "--set", "end=1024"),
)

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.live,
    pytest.mark.quiet,
    skip_without_toolchains(BASE, NEW),
]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return command_environment(tmp_path)


def tree(environment: dict[str, str]) -> Path:
    (state,) = Path(environment["ROUNDTRIP_RUNS"]).glob("ab-*/local/*/state.json")
    return state.parent


def test_two_toolchains_are_distinct_and_the_run_is_an_ordinary_one(
    environment: dict[str, str], tmp_path: Path
) -> None:
    arguments = ("--budget", "25s", "--fail-on", "3%", "--format", "json")
    result = await_result(start_roundtrip(environment, "ab", BASE, NEW, *SMALL, *arguments))
    assert result[0] in (0, 1), result
    answer: dict[str, Any] = json.loads(result[1])
    assert answer["sequential"] is True
    assert {series["what"] for series in answer["series"]} == {"MPI, ping-pong"}
    assert {fact["name"] for fact in answer["provenance"]} >= {"MPI library", "toolchain"}
    assert result[0] == answer["exit_status"]
    status, out, err = await_result(
        start_roundtrip(environment, "report", str(tree(environment)), "--verify")
    )
    assert status == 0, err
    page = Path(out.splitlines()[-1].removeprefix("report: "))
    assert "Sequential: " in page.read_text()
    options = ("compare", str(tree(environment)), "--toolchains", BASE, NEW, "--fail-on", "3%")
    assert await_result(start_roundtrip(environment, *options))[0] == answer["exit_status"]
    night = page.parent.parent.name
    source = f"local/ab-{BASE}-{NEW}/{night}"
    selections = (f"{source}:toolchain={BASE}", f"{source}:toolchain={NEW}", "--fail-on", "3%")
    assert (
        await_result(start_roundtrip(environment, "compare", *selections))[0]
        == answer["exit_status"]
    )


def test_ctrl_c_judges_what_is_there_and_resume_goes_on(environment: dict[str, str]) -> None:
    process = start_roundtrip(environment, "ab", BASE, NEW, *SMALL, "--fail-on", "0.01%")
    for _ in range(6000):
        runs = Path(environment["ROUNDTRIP_RUNS"])
        if list(runs.glob("ab-*/local/*/rounds/002")):  # the first round is over
            break
        assert process.poll() is None, await_result(process)
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    status, out, err = await_result(process)
    assert status == 130, err
    assert "series compared" in out
    assert re.search(rf"roundtrip ab {BASE} {NEW} .*--fail-on 0.01% .*--resume", err)
    launch_count = len(scan_launches(tree(environment)))
    second_process = start_roundtrip(environment, "ab", BASE, NEW, "--resume", "--budget", "10s")
    assert await_result(second_process)[0] in (0, 1)
    assert len(scan_launches(tree(environment))) > launch_count


def test_one_toolchain_under_two_names_is_no_change(
    environment: dict[str, str], tmp_path: Path
) -> None:
    links = tmp_path / "toolchains"
    links.mkdir()
    mpi = read_catalogue().toolchains[BASE].mpi.name
    for name, target in ((mpi, mpi), (BASE, BASE), (ALIAS, BASE)):
        (links / name).symlink_to((paths.toolchains() / target).resolve())
    environment["ROUNDTRIP_TOOLCHAINS"] = str(links)
    arguments = ("--budget", "20s", "--fail-on", "30%", "--format", "json")
    status, out, err = await_result(
        start_roundtrip(environment, "ab", BASE, ALIAS, *SMALL, *arguments)
    )
    assert status in (0, 1), err
    answer = json.loads(out)
    assert not {"regressed", "improved"} & {series["status"] for series in answer["series"]}

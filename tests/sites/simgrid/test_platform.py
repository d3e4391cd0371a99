"""Platforms of site `simulated`: filled in, refused, and as fast under SimGrid as they say."""

import hashlib
import subprocess
from pathlib import Path

import pytest

from roundtrip import paths
from roundtrip.errors import UserError
from roundtrip.sites import simgrid

PLATFORMS = Path(__file__).parents[3] / "site-configs" / "simulated" / "platforms"
PROGRAM = Path(__file__).with_name("pingpong.c")
MIB4 = 4 * 2**20


def test_a_platform_is_filled_in_and_described_to_a_workload(tmp_path: Path) -> None:
    grid = simgrid.read_platform(PLATFORMS / "grid.xml", 2.5e8, 4)
    assert 'speed="250000000f"' in grid.text
    assert 'latency="2000us"' in grid.text
    assert (grid.hosts[0], grid.hosts[15], grid.hosts[16]) == ("a0", "a15", "b0")
    assert len(grid.hosts) == 32
    grid.write(tmp_path, 17)
    assert (tmp_path / "hosts.txt").read_text().split() == list(grid.hosts[:17])
    platform_xml = (tmp_path / "platform.xml").read_bytes()
    assert grid.variables == {
        "ROUNDTRIP_SIMULATED_PLATFORM": "grid",
        "ROUNDTRIP_SIMULATED_HOST_FLOPS": "250000000",
        "ROUNDTRIP_SIMULATED_PLATFORM_SHA256": hashlib.sha256(platform_xml).hexdigest(),
    }
    other_grid = simgrid.read_platform(PLATFORMS / "grid.xml", 2.5e8, 0)
    assert other_grid.variables[simgrid.SHA256_VARIABLE] != grid.variables[simgrid.SHA256_VARIABLE]


@pytest.mark.parametrize("name", ["grid", "odin", "hdr"])
def test_a_platform_says_what_is_published_and_what_is_chosen_and_avoids_both_traps(
    name: str,
) -> None:
    text = (PLATFORMS / f"{name}.xml").read_text()
    assert "SIMULATED" in text
    assert "published  " in text
    assert "chosen     " in text
    assert 'id="smpi/lat-factor" value="0:1"' in text
    threshold = text.split('id="smpi/async-small-thresh" value="')[1].split('"')[0]
    assert int(threshold) > 0
    assert f'id="smpi/send-is-detached-thresh" value="{threshold}"' in text


@pytest.mark.parametrize(
    ("name", "flops", "rtt", "complaint"),
    [
        ("odin", 1e9, 2.0, "asks for ${host_flops}, and it is given ${host_flops}, ${added_us}"),
        ("grid", 1e9, None, "asks for ${added_us}, ${host_flops}, and it is given ${host_flops}"),
        ("grid", 0.0, 1.0, "a host of 0 flop/s computes nothing"),
        ("grid", float("nan"), 1.0, "a host of nan flop/s"),
        ("grid", 1e9, -1.0, "cannot be longer by -1 ms"),
        ("nowhere", 1e9, None, "nowhere.xml: missing"),
    ],
)
def test_a_platform_is_refused(name: str, flops: float, rtt: float | None, complaint: str) -> None:
    with pytest.raises(UserError) as error:
        simgrid.read_platform(PLATFORMS / f"{name}.xml", flops, rtt)
    assert complaint in str(error.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('<host speed="${host_flops}f"/>', "it has no <cluster>"),
        ('<p><cluster prefix="a" radical="0-x" suffix="${host_flops}"/></p>', "no platform of"),
        ("<p>${host_flops}", "no platform of clusters"),
    ],
)
def test_what_is_no_platform_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "mine.xml").write_text(text)
    with pytest.raises(UserError, match="mine.xml") as error:
        simgrid.read_platform(tmp_path / "mine.xml", 1e9)
    assert complaint in str(error.value)


def test_more_ranks_than_hosts_are_refused(tmp_path: Path) -> None:
    odin = simgrid.read_platform(PLATFORMS / "odin.xml", 1e9)
    with pytest.raises(UserError, match="has 128 hosts, not 129"):
        odin.write(tmp_path, 129)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tools = paths.toolchains() / "smpi" / "bin"
    if not (tools / "smpicc").exists():
        pytest.skip("no SimGrid: roundtrip toolchains smpi-boost181")
    target = tmp_path_factory.mktemp("program") / "pingpong"
    subprocess.run([tools / "smpicc", PROGRAM, "-o", target], check=True, timeout=120)
    return target


def run(folder: Path, ranks: int, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run smpirun on the platform in `folder`."""
    smpirun = paths.toolchains() / "smpi" / "bin" / "smpirun"
    options = ["-np", str(ranks), "-platform", "platform.xml", "-hostfile", "hosts.txt"]
    command = [smpirun, *options, *simgrid.SMPIRUN_LOG_OPTIONS, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("failure", ["deadlock", "abort"])
def test_a_simulation_that_went_wrong_is_known_by_what_it_says(
    program: Path, tmp_path: Path, failure: str
) -> None:
    """Its status is that of success."""
    simgrid.read_platform(PLATFORMS / "odin.xml", 1e9).write(tmp_path, 2)
    process = run(tmp_path, 2, program, failure)
    assert process.returncode == 0
    assert failure in simgrid.find_failure_line(process.stderr).lower()
    assert simgrid.find_failure_line(run(tmp_path, 2, program).stderr) == ""


@pytest.mark.parametrize(
    ("name", "rtt", "ranks", "latency_us", "mb_s"),
    [
        ("grid", 0.0, 16, 30, 125),  # inside a cluster: two links of 15 us
        ("grid", 0.0, 32, 80, 125),  # and the router's 50 us
        ("grid", 4.0, 32, 2080, 125),
        ("odin", None, 128, 4.5, 950),
        ("hdr", None, 32, 0.5, 24250),  # under one leaf: two hops
        ("hdr", None, 1024, 1.0, 24250),
    ],
)
def test_a_message_takes_what_the_platform_says(
    program: Path,
    tmp_path: Path,
    name: str,
    rtt: float | None,
    ranks: int,
    latency_us: float,
    mb_s: float,
) -> None:
    simgrid.read_platform(PLATFORMS / f"{name}.xml", 1e9, rtt).write(tmp_path, ranks)
    words = ("--cfg=smpi/simulate-computation:no", program)
    runs = [run(tmp_path, ranks, *words).stdout for _ in range(2)]
    assert runs[0] == runs[1], "two runs of a simulation differ"
    small_s, large_s = (float(word) for word in runs[0].split())
    assert small_s * 1e6 == pytest.approx(latency_us, rel=0.01)
    rendezvous = latency_us * 1e-6  # a large message first asks whether its receiver is ready
    assert MIB4 / mb_s / 1e6 <= large_s
    assert large_s == pytest.approx(MIB4 / mb_s / 1e6 + rendezvous, rel=0.03)

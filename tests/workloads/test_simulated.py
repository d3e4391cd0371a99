"""Workloads under SimGrid: NPB's declared work is its own count, times are equal on every machine,
a replay of the timed section takes as long as the launch, and what would wait for ever is skipped.
"""

import json
import math
import os
import resource
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from roundtrip import paths
from roundtrip.errors import UserError
from roundtrip.measure import samples
from roundtrip.sites import simgrid
from roundtrip.sites.simgrid import (
    DECLARED_WORK_OPTIONS,
    RUN_RECORD_FILE,
    SimulatedPlatform,
    Trace,
    record_trace,
    replay_trace,
)

CHECKOUT = Path(__file__).parents[2]
BUILD = CHECKOUT / "build" / "workloads-smpi"
PLATFORMS = CHECKOUT / "site-configs" / "simulated" / "platforms"
GRID, HDR = PLATFORMS / "grid.xml", PLATFORMS / "hdr.xml"
TOOLCHAIN = paths.toolchains() / "smpi"

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.live,
    pytest.mark.skipif(
        not (TOOLCHAIN / "bin" / "mpicxx").is_file(),
        reason="SimGrid is not installed: roundtrip toolchains smpi-boost181",
    ),
]

#: Seconds of the timed section on `grid`, 2e8 flop/s, by benchmark and ranks, class S.
GOLDEN: dict[tuple[str, int], float] = {
    ("BT", 4): 0.32873324196311504,
    ("CG", 16): 0.14311734104726453,
    ("EP", 5): 0.03429416000000005,
    ("FT", 8): 0.13814354254562836,
    ("IS", 16): 0.008723393568076769,
    ("LU", 4): 0.16678661313999987,
    ("MG", 16): 0.014654029854860187,
    ("SP", 4): 0.1967450103654283,
}
#: As on a processor without these: glibc then computes exp, log, sin and pow in other ways, whose
#: last digits differ, and moves memory in other ways.
OTHER_PROCESSOR = "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-FMA,-FMA4,-AVX,-ERMS,-BMI2"
#: SimGrid writes six digits of the work that a trace holds.
DIGITS = 1e-5


def grid() -> SimulatedPlatform:
    return simgrid.read_platform(GRID, 2e8, 0)


@cache
def built(program: str, boost: Path | None = None) -> Path:
    """A program, built for SimGrid with the Boost in a prefix, or without any."""
    compiler = TOOLCHAIN / "bin" / "mpicxx"
    folder = BUILD.with_name(BUILD.name + ("-boost" if boost else ""))
    options = ["-D", f"CMAKE_CXX_COMPILER={compiler}", "-D", "ROUNDTRIP_NATIVE=OFF"]
    options += ["-D", f"Boost_ROOT={boost}" if boost else "ROUNDTRIP_BOOST=OFF"]
    sources = CHECKOUT / "workloads"
    for command in (
        ["cmake", "-G", "Ninja", "-S", sources, "-B", folder, *options],
        ["cmake", "--build", folder, "--target", f"{program}/{program}"],
    ):
        process = subprocess.run(command, capture_output=True, text=True)
        assert process.returncode == 0, process.stdout[-3000:] + process.stderr[-3000:]
    return folder / program / program


def launch(benchmark: str, ranks: int, folder: Path) -> tuple[Trace, dict[str, Any]]:
    """A recorded launch of class S, and what its run.json says."""
    program = [built("npb"), "--benchmark", benchmark, "--class", "S"]
    trace = record_trace(program, ranks, grid(), folder)
    return trace, json.loads((folder / RUN_RECORD_FILE).read_text())


@pytest.mark.parametrize("benchmark", ["BT", "CG", "EP", "FT", "IS", "LU", "MG", "SP"])
def test_on_one_rank_the_declared_work_is_that_of_npbs_formula(
    benchmark: str, tmp_path: Path
) -> None:
    trace, run = launch(benchmark, 1, tmp_path / "trace")
    assert trace.declared_operations() == pytest.approx(run["npb"]["operations"], rel=DIGITS)


@pytest.mark.parametrize(("benchmark", "ranks"), GOLDEN)
def test_times_are_equal_on_every_machine_and_to_those_of_a_replay(
    benchmark: str, ranks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace, run = launch(benchmark, ranks, tmp_path / "trace")
    seconds = run["npb"]["seconds"]
    assert seconds == GOLDEN[benchmark, ranks]
    monkeypatch.setenv("GLIBC_TUNABLES", OTHER_PROCESSOR)
    second_trace, second_run = launch(benchmark, ranks, tmp_path / "again")
    assert second_run["npb"]["seconds"] == seconds
    assert [file.read_text() for file in second_trace.files] == [
        file.read_text() for file in trace.files
    ]
    assert replay_trace(trace, grid()) == pytest.approx(seconds, rel=0.02)
    assert run["npb"]["verified"]
    assert run["simulated"] == {
        "simgrid": "3.32",
        "platform": "grid",
        "platform_sha256": grid().variables[simgrid.SHA256_VARIABLE],
        "host_flops": 2e8,
    }
    assert run["disturbance"] is None
    assert run["clock"] == {"name": "MPI_Wtime", "resolution_s": 1e-9, "overhead_s": 0}
    assert trace.declared_operations() == pytest.approx(declared(benchmark, ranks, run), rel=1e-3)


def test_a_time_is_that_of_a_processor_of_2008(tmp_path: Path) -> None:
    """All of it, SimGrid too, on an emulated processor: without AVX, FMA and what came after."""
    emulator = shutil.which("qemu-x86_64")
    if emulator is None:
        pytest.skip("there is no other processor: Debian's qemu-user emulates one")
    wrapper = tmp_path / "on-nehalem"
    wrapper.write_text(f'#!/bin/sh\nexec {emulator} -cpu Nehalem "$@"\n')
    wrapper.chmod(0o755)
    words = ["-wrapper", str(wrapper), *DECLARED_WORK_OPTIONS, str(built("npb"))]
    flags = ["--benchmark", "MG", "--class", "S", "--samples", "samples.csv"]
    simgrid.run_smpirun([*words, *flags], 16, grid(), tmp_path)
    assert (
        json.loads((tmp_path / RUN_RECORD_FILE).read_text())["npb"]["seconds"] == GOLDEN["MG", 16]
    )


def declared(benchmark: str, ranks: int, run: dict[str, Any]) -> float:
    """NPB's count, and what ranks do besides: in CG, all ranks of a grid column of the matrix have
    the same part of a vector, and all work on it."""
    operations: float = run["npb"]["operations"]
    if benchmark != "CG":
        return operations
    rows = 2 ** math.floor(math.log2(ranks) / 2)
    elements, steps, iterations = 1400, 25, 15
    vector_operations = iterations * elements * (10 * steps + 6 + 6)
    return operations + (rows - 1) * vector_operations


@pytest.mark.parametrize(
    ("options", "variables", "complaint"),
    [
        (["--cfg=smpi/simulate-computation:yes"], {}, "--cfg=smpi/simulate-computation:no"),
        (
            [],
            {simgrid.FLOPS_VARIABLE: "1e9"},
            "is 1e9, but a host of the platform does 200000000.0 flop/s",
        ),
    ],
)
def test_a_simulation_that_nobody_could_repeat_is_refused(
    options: list[str], variables: dict[str, str], complaint: str, tmp_path: Path
) -> None:
    grid().write(tmp_path, 2)
    words = ["-np", "2", "-platform", "platform.xml", "-hostfile", "hosts.txt"]
    words += ["--cfg=smpi/simulate-computation:no", *options, *simgrid.SMPIRUN_LOG_OPTIONS]
    process = subprocess.run(
        [simgrid.find_smpirun(), *words, built("npb"), "--benchmark", "EP", "--class", "S"],
        cwd=tmp_path,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 2
    assert complaint in process.stderr
    assert "ROUNDTRIP COMPLETE" not in process.stdout


def test_a_program_that_does_not_end_as_a_workload_does_is_no_record(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did not end with its end marker on 2 ranks"):
        record_trace([built("npb"), "--help"], 2, grid(), tmp_path / "trace")
    assert not (tmp_path / "trace").exists()


def test_a_ring_skips_what_would_wait_for_ever_and_takes_six_samples_of_the_rest(
    tmp_path: Path,
) -> None:
    flags = ["--end", "1000", "--budget", "5", "--samples", "samples.csv"]
    words = [*DECLARED_WORK_OPTIONS, str(built("ring")), *flags]
    output = simgrid.run_smpirun(words, 4, grid(), tmp_path).stdout
    assert "ROUNDTRIP COMPLETE ranks=4 hosts=4" in output
    run = json.loads((tmp_path / RUN_RECORD_FILE).read_text())
    reasons = {entry["variant"]: entry["reason"] for entry in run["ring"]["skipped"]}
    for name in ("region", "region-udp", "mpi-shm", "cache-line"):
        assert reasons[name].startswith("waits for another rank without calling MPI")
    assert {point["variant"] for point in run["points"]} == {
        *("mpi", "mpi-sync", "mpi-typed", "mpi-rma")
    }
    assert {(point["samples"], point["status"]) for point in run["points"]} == {(6, "converged")}
    assert {point["batch"] for point in run["points"]} == {1}
    rows = samples.read_rows(tmp_path / "samples.csv")
    assert rows["phase"].unique().to_list() == ["measure"]
    value = pl.col("value")
    spread = rows.group_by("variant", "size_bytes").agg(apart=value.max() / value.min() - 1)
    assert spread["apart"].max() == pytest.approx(0, abs=1e-9)  # rounding of the clock's difference


def test_a_ring_of_hundreds_of_ranks_takes_seconds(tmp_path: Path) -> None:
    """Linear collectives and laps for a noise that is not there would take minutes."""
    flags = ["--transports", "mpi", "--end", "10", "--budget", "5", "--samples", "samples.csv"]
    words = [*DECLARED_WORK_OPTIONS, str(built("ring")), *flags]
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = simgrid.run_smpirun(words, 256, simgrid.read_platform(HDR, 1e10), tmp_path).stdout
    assert "ROUNDTRIP COMPLETE ranks=256 hosts=256" in output
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert end.ru_utime - start.ru_utime < 20


def test_a_simulated_round_trip_is_a_batch(tmp_path: Path) -> None:
    boost = TOOLCHAIN.with_name("smpi-boost181")
    if not (boost / "toolchain.json").is_file():
        pytest.skip("Boost for SimGrid is not built: roundtrip toolchains smpi-boost181")
    flags = ["--variants=mpi", "--end=8", "--samples=s.csv", "--perturbation=0", "--budget=0.01"]
    words = [*DECLARED_WORK_OPTIONS, str(built("netpipe", boost)), *flags]
    simgrid.run_smpirun(words, 2, simgrid.read_platform(HDR, 1e10), tmp_path)
    points = json.loads((tmp_path / RUN_RECORD_FILE).read_text())["points"]
    assert {(point["batch"], point["status"]) for point in points} == {(1, "converged")}


@pytest.mark.parametrize(("ranks", "shape"), [(16, "+".join("1" * 16)), (17, "17x1")])
def test_a_ring_round_many_nodes_has_a_name_of_its_own_that_is_short(
    ranks: int, shape: str, tmp_path: Path
) -> None:
    flags = ["--transports", "mpi", "--end", "10", "--budget", "5", "--samples", "samples.csv"]
    simgrid.run_smpirun(
        [*DECLARED_WORK_OPTIONS, str(built("ring")), *flags], ranks, grid(), tmp_path
    )
    run = json.loads((tmp_path / RUN_RECORD_FILE).read_text())
    assert run["ring"]["ranks_on_nodes"] == shape
    assert {point["case"] for point in run["points"]} == {shape}

"""Real launches of something else than was requested: they fail, and the line names both sides."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.command import await_result, start_roundtrip
from support.programs import CHECKOUT, command_environment, skip_without_toolchains
from support.virtual import ENVIRON, VirtualCluster

from roundtrip.measure.launches import scan_launches
from roundtrip.sites import programs

TOOLCHAIN = "mpich40-boost181"
CAMPAIGN = f"""\
title = "Of two launches"
launches = 2
allow_undecided = true
time_limit_minutes = 10
[[check]]
name = "NetPIPE"
toolchains = ["{TOOLCHAIN}"]
parameters = {{ variants = ["raw"], placement = ["shared-memory"], mode = ["pingpong"] }}
variables = {{ budget = 5, precision = 20, perturbation = 0, end = 1024 }}
"""

pytestmark = [
    pytest.mark.live,
    pytest.mark.nightly,
    pytest.mark.quiet,
    skip_without_toolchains(TOOLCHAIN),
]


@pytest.fixture
def begin(tmp_path: Path) -> Any:
    """A function that starts the campaign, with options and more variables."""
    file = tmp_path / "small.toml"
    file.write_text(CAMPAIGN)

    def begin(*options: str, **more: str) -> subprocess.Popen[str]:
        return start_roundtrip(
            command_environment(tmp_path, **more), "run", file, "--allow-underpowered", *options
        )

    return begin


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit status, and what was said on standard error."""
    status, _, error = await_result(process)
    return status, error


def trees(tmp_path: Path) -> list[Path]:
    return [file.parent for file in (tmp_path / "runs").glob("small/local/*/state.json")]


def test_a_copy_of_the_mpi_by_ld_library_path_fails_every_launch(
    begin: Any, tmp_path: Path
) -> None:
    program = next(iter(built(begin, tmp_path)))
    library = programs.find_linked_mpi(program)
    assert library is not None
    copy = tmp_path / "copy" / "libmpich.so.12"
    copy.parent.mkdir()
    shutil.copy(library, copy)
    status, error = ended(begin(LD_LIBRARY_PATH=str(copy.parent)))
    assert status == 1
    host = os.uname().nodename
    assert f"mismatch: rank 0 on {host} loaded {copy.name} ({copy}), but the program " in error
    assert f"links {library.name} ({library}): LD_LIBRARY_PATH" in error
    assert "0 of 2 launches completed" in error


def test_what_the_user_brings_and_tunes_is_said(begin: Any) -> None:
    library = "/lib/x86_64-linux-gnu/libm.so.6"
    status, error = ended(begin(LD_PRELOAD=library, MPIR_CVAR_POLLS_BEFORE_YIELD="100"))
    assert status == 0, error
    tuning = "MPIR_CVAR_POLLS_BEFORE_YIELD tunes MPI, and neither site nor toolchain sets it: 100"
    assert f"warning: {tuning}" in error
    preload = f"preloaded: rank 0 on {os.uname().nodename} runs with LD_PRELOAD={library}"
    assert f"disturbed 2 x: {preload}, not of the site" in error


def built(begin: Any, tmp_path: Path) -> list[Path]:
    """A good run, and the programs that it pinned."""
    status, error = ended(begin("--no-report"))
    assert status == 0, error
    (tree,) = trees(tmp_path)
    launches = scan_launches(tree)
    assert {launch.run_record["identity"][0]["library"] for launch in launches} == {
        "MPICH Version: 4.0.2"
    }
    files = pinned(tree)
    shutil.rmtree(tree)
    return files


def pinned(tree: Path) -> list[Path]:
    from roundtrip.measure.tree import RunTree

    return [Path(pin["file"]) for pin in RunTree(tree).state["pins"] if pin["what"] == "program"]


def test_a_program_replaced_between_rounds_and_a_lock_changed_before_resume(
    begin: Any, tmp_path: Path
) -> None:
    lock = tmp_path / "spack.lock"
    lock.write_text("{}")
    process = begin(SPACK_ENV=str(tmp_path))
    while not list((tmp_path / "runs").glob("small/local/*/rounds/001")):
        assert process.poll() is None, ended(process)
        time.sleep(0.05)
    (tree,) = trees(tmp_path)
    (program,) = pinned(tree)
    with replaced(program):
        status, error = ended(process)
    assert status == 1, error
    assert (
        f"stopped: mismatch: program netpipe ({program}) has changed since the run began: sha256"
        in error
    )
    assert "2 launches completed" in error
    assert len(list((tree / "rounds").iterdir())) == 1, "no second round with another program"
    lock.write_text("{ }")
    status, error = ended(begin("--resume", SPACK_ENV=str(tmp_path)))
    assert status == 2
    (line,) = error.splitlines()
    assert (
        f"mismatch: lock file spack.lock ({lock}) has changed since the run began: sha256" in line
    )
    lock.write_text("{}")
    status, error = ended(begin("--resume", SPACK_ENV=str(tmp_path)))
    assert status == 0, error
    assert "2 of 2 launches completed" in error


#: In place of srun: the second node of a job gets a copy of the MPI library.
OTHER_ON_ONE_NODE = """\
#!/bin/bash
while [[ $1 == -* ]]; do options+=("$1"); shift; done
exec /usr/bin/srun "${{options[@]}}" sh -c '[ "$(hostname)" = a1 ] || \
  export LD_LIBRARY_PATH={folder}; exec "$@"' sh "$@"
"""
#: In place of srun: the program gets another argument.
OTHER_ARGUMENTS = """\
#!/bin/bash
exec /usr/bin/srun "${{@/#--end=*/--end=64}}"
"""
#: In place of sbatch and srun: the job runs where it was submitted.
ON_THE_HEAD = """\
#!/bin/bash
case ${{0##*/}} in
sbatch) bash "${{@: -1}}" > rfm_job.out 2> rfm_job.err; echo "Submitted batch job 4000000" ;;
srun) while [[ $1 == -* ]]; do shift; done
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    exec mpirun.openmpi --oversubscribe -n 2 "$@" ;;
esac
"""


@pytest.mark.parametrize(
    ("plant", "commands", "placement", "fault"),
    [
        (
            *(OTHER_ON_ONE_NODE, ["srun"], "one-per-node"),
            "mismatch: rank 1 on a2 loaded {folder}/libmpi.so.40, rank 0 on a1 /",
        ),
        (
            *(OTHER_ARGUMENTS, ["srun"], "one-per-node"),
            "mismatch: the program ran with --end=64; the check asked for --end=1024",
        ),
        (
            *(ON_THE_HEAD, ["sbatch", "srun"], "shared-memory"),
            "mismatch: ran on head, outside of any job of Slurm",
        ),
    ],
    ids=["another MPI on one node", "other arguments", "on the login node"],
)
def test_what_slurm_did_not_start_so_fails(
    virtual_cluster: VirtualCluster, plant: str, commands: list[str], placement: str, fault: str
) -> None:
    folder = virtual_cluster.share / "plant" / fault.split()[1] / placement
    folder.mkdir(parents=True)
    for command in commands:
        (folder / command).write_text(plant.format(folder=folder))
        (folder / command).chmod(0o755)
    shutil.copy("/usr/lib/x86_64-linux-gnu/libmpi.so.40", folder)
    report = folder / "report.json"
    reframe = (
        f"PATH={folder}:$PATH reframe -c checks/netpipe/netpipe.py --exec-policy=serial "
        f"-n 'NetPIPE.*placement={placement}.*variants=raw.*mode=pingpong' -p {ENVIRON} "
        "--system=virtual:clusterA -S NetPIPE.budget=0.5 -S NetPIPE.end=1024 "
        f"-S NetPIPE.perturbation=0 --report-file={report} -r"
    )
    process = virtual_cluster.run_process(
        virtual_cluster.head_node_command(reframe), 600, cwd=CHECKOUT
    )
    assert process.returncode == 1, process.stdout
    tests = json.loads(report.read_text())["runs"][0]["testcases"]
    (reason,) = [
        test["fail_reason"] for test in tests if not test["fixture"] and test["fail_reason"]
    ]
    assert fault.format(folder=folder) in reason


@contextmanager
def replaced(program: Path) -> Iterator[None]:
    """Another program in its place, by rename, so that what runs goes on; then again the first."""
    backup, replacement = program.with_suffix(".kept"), program.with_suffix(".other")
    shutil.copy2(program, backup)
    shutil.copy2(program, replacement)
    with replacement.open("ab") as stream:
        stream.write(b"another")
    try:
        replacement.replace(program)
        yield
    finally:
        backup.replace(program)

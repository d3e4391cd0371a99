"""OSU through real ReFrame and a real campaign, replayed: programs that print recorded outputs.

They are no MPI programs and measure nothing; all around them is real.
"""

import re
import subprocess
from pathlib import Path

import pytest
from support.command import CommandResult, await_result, start_roundtrip
from support.programs import CHECKOUT, command_environment, skip_without_toolchains, write_script

from roundtrip import paths
from roundtrip.measure.launches import scan_launches

DATA = CHECKOUT / "tests" / "data" / "osu"
TOOLCHAIN = "openmpi41-boost181"
CAMPAIGN = f"""\
title = "A replay of OSU"
launches = 1
[[check]]
name = "OSU"
toolchains = ["{TOOLCHAIN}", "mpich40-boost181"]
parameters = {{ placement = ["shared-memory"], benchmark = ["latency", "bw", "get_bw"] }}
variables = {{ end = 64 }}
[[check]]
name = "OSUGroup"
toolchains = ["{TOOLCHAIN}"]
parameters = {{ placement = ["shared-memory"], benchmark = ["allreduce"], ranks = [2] }}
"""
SIMULATED = """\
title = "A replay of OSU on simulated hosts"
launches = 2
allow_undecided = true
[[check]]
name = "OSUGroup"
toolchains = ["smpi-boost181"]
partitions = ["odin"]
parameters = { placement = ["one-per-node"], benchmark = ["barrier"], ranks = [4] }
"""
#: smpirun starts programs that its compiler made, and no others.
REPLAYED_BY_RANK_0 = """\
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  FILE* file = fopen(argc > 1 && strcmp(argv[1], "-h") == 0 ? HELP : MEASURED, "r");
  for (int c; rank == 0 && (c = getc(file)) != EOF;) putchar(c);
  return MPI_Finalize();
}
"""
REPLAY = """\
: "${{OMPI_COMM_WORLD_RANK:?started without a launcher}}"
[ "$1" = -h ] && exec cat {help}
[ "$OMPI_COMM_WORLD_RANK" = 0 ] || exit 0
case " $* " in *" -c "*) exec cat {validated};; esac
cat {measured}
"""
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.live,
    skip_without_toolchains(TOOLCHAIN),
]


def install(prefix: Path, name: str, help_: Path, validation: Path, measurement: Path) -> None:
    program = prefix / "libexec" / "osu-micro-benchmarks" / "mpi" / f"osu_{name}"
    write_script(program, REPLAY.format(help=help_, validated=validation, measured=measurement))


def run(folder: Path, campaign: str, *options: str) -> tuple[CommandResult, Path]:
    """A campaign with the OSU below `folder`, and its state.json."""
    file = folder / "replay.toml"
    file.write_text(campaign)
    environment = command_environment(folder, ROUNDTRIP_OSU=str(folder / "osu"))
    process = await_result(start_roundtrip(environment, "run", file, *options))
    (state,) = (folder / "runs").glob("replay/*/*/state.json")
    return process, state


def test_good_bad_and_absent_benchmarks_are_distinguished(tmp_path: Path) -> None:
    prefix = tmp_path / "osu" / "openmpi41"
    latency = DATA / "osu_latency.59.openmpi.txt"
    validation = DATA / "osu_latency.59.mpich.validation.txt"
    install(prefix, "latency", DATA / "osu_latency.59.help.txt", validation, latency)
    unknown_output = tmp_path / "unknown.txt"
    unknown_output.write_text((DATA / "osu_bw.59.openmpi.txt").read_text().replace("v5.9", "v9.0"))
    install(prefix, "bw", DATA / "osu_latency.53.help.txt", unknown_output, unknown_output)
    failed_validation = DATA / "osu_allreduce.74.openmpi.failed-validation.txt"
    install(prefix, "allreduce", DATA / "osu_allreduce.74.help.txt", failed_validation, latency)
    process, state = run(tmp_path, CAMPAIGN)
    assert process.returncode == 1, process.stderr
    launches = {
        re.split("benchmark=|,placement", launch.case_id)[1]: launch
        for launch in scan_launches(state.parent)
    }
    assert launches["latency"].status == "passed"
    assert launches["latency"].run_record["version"] == "5.9"
    assert all(point["verified"] for point in launches["latency"].run_record["points"])
    assert "osu.txt:1: version 9.0 of OSU is not known here" in launches["bw"].reason
    assert "validation.txt:9: validation failed at 16 bytes" in launches["allreduce"].reason
    assert "has no program osu_get_bw: install it whole" in launches["get_bw"].reason
    assert {launches[name].status for name in ("bw", "allreduce", "get_bw")} == {"failed"}
    assert f"--prefix={tmp_path}/osu/mpich40 && make -k install" in state.read_text()
    page = Path(process.stdout.splitlines()[-1].removeprefix("report: "))
    assert "OSU Micro-Benchmarks: the well-known baseline" in page.read_text()


@skip_without_toolchains("smpi-boost181")
def test_programs_built_for_a_simulator_are_started_by_it(tmp_path: Path) -> None:
    program = tmp_path / "osu" / "smpi" / "libexec" / "osu_barrier"
    program.parent.mkdir(parents=True)
    source = tmp_path / "barrier.c"
    source.write_text(REPLAYED_BY_RANK_0)
    files = {"HELP": "osu_allreduce.74.help.txt", "MEASURED": "osu_barrier.74.openmpi.taillat.txt"}
    subprocess.run(
        [
            paths.toolchains() / "smpi" / "bin" / "mpicc",
            *(f'-D{name}="{DATA / file}"' for name, file in files.items()),
            *("-o", program, source),
        ],
        check=True,
    )
    process, state = run(tmp_path, SIMULATED, "--site", "simulated")
    assert process.returncode == 0, process.stderr
    launches = list(scan_launches(state.parent))
    assert [(launch.status, launch.reason) for launch in launches] == [("passed", "")] * 2
    run_json = launches[0].run_record
    assert run_json["hosts"] == [f"odin{rank}" for rank in range(4)]
    assert run_json["command"][1:] == ["-f", "-i", "20", "-z", "-x", "2"]
    assert run_json["simulated"]["platform"] == "odin"
    assert run_json["simulated"]["simgrid"] == "3.32"
    assert "SIMULATED" in Path(process.stdout.splitlines()[-1].removeprefix("report: ")).read_text()

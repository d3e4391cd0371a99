"""Real launches: a planted slow commit of an MPI program, another MPI among harmless variables, and
another binding are found."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.command import await_result, start_roundtrip
from support.programs import CHECKOUT, command_environment, run_git, skip_without_toolchains
from support.searches import make_plan

from roundtrip import paths
from roundtrip.cause import journal, page
from roundtrip.cause.checks import Checks, StepCase
from roundtrip.cause.facts import Causes
from roundtrip.cause.journal import Journal
from roundtrip.cause.steps import TOOLCHAIN as TOOLCHAIN_FACT
from roundtrip.cause.steps import Switch
from roundtrip.history.facts import LAUNCHER_OPTIONS_FACT
from roundtrip.measure import campaign_file, environment, matrix, session, tree
from roundtrip.sites.site import Site

TOOLCHAIN, OTHER = "openmpi41-boost181", "mpich40-boost181"
COMMITS, SLOW = 8, 5
#: Rank 0 and 1 send a message to and fro, and wait `DELAY` times longer where that is planted.
PROGRAM = r"""
#include <mpi.h>
#include <cstdio>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank; char word[4096] = {0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double begun = 0;
  for (int turn = -200; turn < 2000 * DELAY / 10; ++turn) {
    if (turn == 0) begun = MPI_Wtime();
    if (rank == 0) { MPI_Send(word, 4096, MPI_CHAR, 1, 0, MPI_COMM_WORLD); }
    else { MPI_Recv(word, 4096, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
    if (rank == 1) { MPI_Send(word, 4096, MPI_CHAR, 0, 0, MPI_COMM_WORLD); }
    else { MPI_Recv(word, 4096, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
  }
  if (rank == 0) std::printf("seconds %g\n", MPI_Wtime() - begun);
  MPI_Finalize();
}
"""

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.live,
    pytest.mark.quiet,
    skip_without_toolchains(TOOLCHAIN, OTHER),
]


@pytest.mark.parametrize("factor", [14, 10])
def test_a_slow_commit_of_an_mpi_program_is_found_and_none_where_nothing_is_wrong(
    tmp_path: Path, factor: int
) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    run_git(clone, "init", "--quiet")
    for number in range(COMMITS):
        delay = factor if number >= SLOW else 10
        (clone / "main.cpp").write_text(f"#define DELAY {delay}\n{PROGRAM}")
        (clone / "notes.txt").write_text(f"{number}\n")
        run_git(clone, "add", ".")
        run_git(clone, "commit", "--quiet", "--message", "next")
    prefix = paths.toolchains() / TOOLCHAIN / "mpi" / "bin"
    environ = command_environment(
        tmp_path,
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        OMPI_MCA_rmaps_base_oversubscribe="1",
        OMPI_MCA_mpi_yield_when_idle="1",
    )
    process = await_result(
        start_roundtrip(
            environ,
            *("bisect", f"HEAD~{COMMITS - 1}", "HEAD", "--over", "git"),
            *("--repository", str(clone), "--build", f"{prefix}/mpicxx -O2 main.cpp -o main"),
            *("--launch", f"{prefix}/mpirun -n 2 ./main", "--metric", "seconds (.+)"),
            *("--site", "local", "--budget", "5m", "--wait", "--least", "10%"),
        )
    )
    if factor == 10:
        assert process.returncode == 0 and "No change" in process.stdout, (
            process.stdout + process.stderr
        )
        return
    commits = run_git(clone, "rev-list", "--reverse", "HEAD").split()
    assert process.returncode == 1, process.stdout + process.stderr
    assert f"The first slow version is {commits[SLOW][:12]}" in process.stdout
    report = Path(process.stdout.split("report: ")[1].splitlines()[0]).parent
    assert await_result(start_roundtrip(environ, "report", report, "--verify")).returncode == 0


MINUTES = 6  # a search ends before: on a busy machine a round takes long
METRICS = {"pingpong": "half_round_trip_time", "stream": "time_per_message"}
HARMLESS = [
    Switch("OMPI_MCA_btl_base_warn_component_unused", None, "0"),
    Switch("OMPI_MCA_mpi_show_handle_leaks", None, "0"),
    Switch("ROUNDTRIP_HARMLESS", "1", "2"),
]


@pytest.fixture
def launching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Checks]:
    """What launches NetPIPE on this machine with switches, for the time of a message of `size`.

    `case`: a mode and its buffers.
    """
    monkeypatch.setenv("ROUNDTRIP_RUNS", str(tmp_path / "runs"))

    def prepare(switches: list[Switch], case: str, size: int) -> Checks:
        mode, minutes = case.partition("/")[0], MINUTES
        file = tmp_path / "small.toml"
        file.write_text(
            'title = "small"\nlaunches = 9\ntime_limit_minutes = 30\n[[check]]\n'
            f'name = "NetPIPE"\ntoolchains = ["{TOOLCHAIN}", "{OTHER}"]\n'
            f'parameters = {{ mode = ["{mode}"], placement = ["shared-memory"], '
            'variants = ["raw"] }'
            f"\nvariables = {{ budget = 0.2, precision = 10, end = {size} }}\n"
        )
        site, campaign = Site("local", CHECKOUT), campaign_file.load_campaign(file)
        case_matrix = matrix.build_matrix(campaign, site)
        items = {item.case.environ: item for item in case_matrix.expected}
        root = tree.create_tree(tmp_path / "tree", campaign, site, case_matrix)
        environment.record_environment(site, case_matrix, root.path / "env")
        from rich.console import Console

        from roundtrip.measure.progress import TerminalProgress

        with root, TerminalProgress("test", Console(stderr=True)) as progress:
            session.build_programs(site, case_matrix.expected, root, progress)
        identity = {
            "case": case,
            "variant": "mpi",
            "size_bytes": size,
            "phase": "measure",
            "metric": METRICS[mode],
        }
        series = SimpleNamespace(identity=identity, lower_is_better=True)
        step = SimpleNamespace(switches=switches, series=SimpleNamespace(data=series))
        step_case = StepCase(step, items[TOOLCHAIN], items)  # type: ignore[arg-type]
        return Checks(site, step_case, root, minutes, print)

    return prepare


def test_another_mpi_is_found_among_harmless_variables(
    launching: Callable[..., Checks], tmp_path: Path
) -> None:
    """Messages one way through shared memory take another time, whichever of the two is faster."""
    switches = [Switch(TOOLCHAIN_FACT, OTHER, TOOLCHAIN), *HARMLESS]
    launcher = launching(switches, "stream/same", 4096)
    search_plan = make_plan("blame", [switch.name for switch in switches])
    search_journal = Journal(tmp_path / "search")
    search_journal.begin(search_plan)
    result = journal.run_search(search_plan, search_journal, launcher, MINUTES, print)
    assert isinstance(result, Causes)
    values = [entry.value for entry in search_journal.entries if entry.value is not None]
    print(len(values), np.exp(np.median(values)), page.plain_sentences(search_plan, result))
    assert result.causes == (switches[0].name,)


def test_the_options_of_the_launcher_bind_the_ranks_of_an_arm(
    launching: Callable[..., Checks],
) -> None:
    """Two ranks on one processor take turns, which takes thousands of times as long."""
    options = "--cpu-list 0 --bind-to core:overload-allowed"
    switch = Switch(LAUNCHER_OPTIONS_FACT, "--bind-to core", options)
    launcher = launching([switch], "pingpong/same", 1)
    old, new = (launcher.launch(frozenset(arm)) for arm in ((), (switch.name,)))
    assert new > 10 * old

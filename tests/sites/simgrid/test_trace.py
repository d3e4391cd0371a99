"""Traces of SimGrid: recorded, cut to the timed section or refused with file and line, replayed."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.programs import CHECKOUT, write_script

from roundtrip.errors import UserError
from roundtrip.sites import simgrid
from roundtrip.sites.simgrid import Trace, write_timed_section

RECORDED = CHECKOUT / "tests" / "data" / "simulated" / "mg-s-2"
PLATFORMS = CHECKOUT / "site-configs" / "simulated" / "platforms"
#: Of MG, class S: 58 operations a point and iteration.
OPERATIONS = 58 * 4 * 32**3


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A copy of the recorded trace's index."""
    shutil.copytree(RECORDED, tmp_path / "recorded")
    return tmp_path / "recorded" / "trace.txt"


@pytest.mark.parametrize(("lines", "marks"), [(20, 0), (200, 1)])
def test_a_trace_that_ends_before_its_timed_section_is_refused(
    recorded: Path, tmp_path: Path, lines: int, marks: int
) -> None:
    file = recorded.with_name("rank0.txt")
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:lines]))
    complaint = f"rank0.txt: {marks} marks of a timed section instead of 2: cut off"
    with pytest.raises(UserError, match=complaint):
        write_timed_section(recorded, tmp_path / "cut")


def rewrite(index: Path, old: str, new: str) -> None:
    """Change the last `old` in the file of rank 1."""
    file = index.with_name("rank1.txt")
    head, _, tail = file.read_text().rpartition(old)
    file.write_bytes((head + new + tail).encode(errors="surrogateescape"))


def test_a_recorded_trace_is_cut_to_its_timed_section(recorded: Path, tmp_path: Path) -> None:
    trace = write_timed_section(recorded, tmp_path / "cut")
    assert trace.ranks == 2
    # SimGrid writes six digits of each number.
    assert trace.declared_operations() == pytest.approx(OPERATIONS, rel=1e-6)
    for rank, file in enumerate(trace.files):
        actions = [line.split()[1] for line in file.read_text().splitlines()]
        assert actions[:3] == ["init", "alltoallv", "barrier"]
        assert actions[-2:] == ["allreduce", "finalize"]
        assert set(actions[3:-1]) == {"compute", "sendRecv", "allreduce"}
        assert {line.split()[0] for line in file.read_text().splitlines()} == {str(rank)}
    operations = trace.declared_operations()
    moved = shutil.move(tmp_path / "cut", tmp_path / "moved")
    assert Trace(Path(moved)).declared_operations() == operations


def test_the_head_of_a_trace_is_as_large_as_its_largest_collective(
    recorded: Path, tmp_path: Path
) -> None:
    rewrite(
        recorded, "1 allreduce 1 0 0 \n1 compute 0\n", "1 alltoall 1000 1000 1 1\n1 compute 0\n"
    )
    trace = write_timed_section(recorded, tmp_path / "cut")
    heads = [trace.write_head(rank, tmp_path).read_text().splitlines() for rank in range(2)]
    assert [line.split()[1] for line in heads[1]] == ["init", "alltoallv", "barrier", "finalize"]
    assert heads[0][1].split()[2:] == ["32000", "0", "0", "32000", "0", "0", "6", "6"]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("1 compute 0\n", "", r"rank1.txt:\d+: 'ibarrier' in the timed section, which cannot be"),
        ("1 finalize\n", "1 fina", r"rank1.txt:\d+: the line has no end: the trace was cut off"),
        ("1 sendRecv", "0 sendRecv", r"rank1.txt:\d+: an action of rank 0 among those of 1"),
        ("1 sendRecv", "1 ibarrier\n1 sendRecv", r"rank1.txt:\d+: 'ibarrier' in the timed section"),
        ("1 sendRecv", "1 sendRecv $(id)", r"rank1.txt:\d+: '1 sendRecv \$\(id\).*' is no action"),
        ("1 sendRecv", "1 ../x", r"rank1.txt:\d+: '1 ../x .*' is no action of a rank"),
        ("1 sendRecv", "1 compute nan\n1 sendRecv", "is no action of a rank"),
        ("1 sendRecv", "\n1 sendRecv", r"rank1.txt:\d+: '\\n' is no action of a rank"),
        ("1 sendRecv", f"1 compute {'9' * 2_000_000}\n1 sendRecv", "the line has no end"),
        ("1 sendRecv", "1 bcast 9000000000 0 0\n1 sendRecv", "no rank has so much memory"),
        ("1 sendRecv", "1 \udcff\n1 sendRecv", "is no action of a rank"),
    ],
)
def test_a_truncated_or_hostile_trace_is_refused(
    recorded: Path, tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    rewrite(recorded, old, new)
    with pytest.raises(UserError, match=complaint):
        write_timed_section(recorded, tmp_path / "cut")
    assert not (tmp_path / "cut").exists()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "trace.txt: it names 0 files, not one a rank"),
        ("rank0.txt\n/etc/passwd\n", "trace.txt:2: '/etc/passwd' is no file beside the index"),
        ("../outside.txt\n", "trace.txt:1: '../outside.txt' is no file beside the index"),
        ("rank0.txt\nrank7.txt\n", "trace.txt:2: 'rank7.txt' is no file beside the index"),
        ("rank1.txt\nrank0.txt\n", "rank1.txt:1: an action of rank 1 among those of 0"),
    ],
)
def test_an_index_names_a_file_a_rank_beside_it(
    recorded: Path, tmp_path: Path, content: str, complaint: str
) -> None:
    (tmp_path / "outside.txt").write_text("0 init\n")
    recorded.write_text(content)
    with pytest.raises(UserError, match=complaint):
        write_timed_section(recorded, tmp_path / "cut")


def test_a_folder_that_lacks_a_rank_is_no_trace(recorded: Path, tmp_path: Path) -> None:
    trace = write_timed_section(recorded, tmp_path / "cut")
    (tmp_path / "cut" / "rank-0.txt").unlink()
    with pytest.raises(UserError, match="lacks files of ranks"):
        assert trace.ranks


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    try:
        simgrid.find_smpirun()
    except UserError as error:
        pytest.skip(str(error))
    return write_timed_section(RECORDED / "trace.txt", tmp_path / "cut")


def grid(host_flops: float, added_rtt_ms: float = 0) -> simgrid.SimulatedPlatform:
    return simgrid.read_platform(PLATFORMS / "grid.xml", host_flops, added_rtt_ms)


#: Seconds by host speed.  SimGrid 3.32 computes them the same on every machine.
GOLDEN = {2e8: 0.0252418, 2e9: 0.00813774}


@pytest.mark.parametrize("host_flops", GOLDEN)
def test_a_replay_takes_the_same_time_everywhere(trace: Trace, host_flops: float) -> None:
    seconds = [simgrid.replay_trace(trace, grid(host_flops)) for _ in range(2)]
    assert seconds[0] == seconds[1]
    assert seconds[0] == pytest.approx(GOLDEN[host_flops], rel=1e-12)
    # The launch was recorded at 2e8 flop/s, where it took 25.2126 ms with a clock that took time.
    if host_flops == 2e8:
        assert seconds[0] == pytest.approx(0.0252126, rel=0.02)


def test_a_trace_that_waits_for_ever_is_refused(trace: Trace) -> None:
    file = trace.files[1]
    file.write_text(file.read_text().replace("1 finalize", "1 recv 0 0 8 0\n1 finalize"))
    with pytest.raises(UserError, match="(?i)deadlock"):
        simgrid.replay_trace(trace, grid(2e8))


def test_smpirun_splits_words_at_blanks_so_none_is_taken(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="smpirun takes no blanks: 'a b'"):
        simgrid.run_smpirun(["a b"], 2, grid(2e8), tmp_path)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A function that installs the script, in the toolchain or elsewhere on PATH."""
    monkeypatch.setenv("ROUNDTRIP_TOOLCHAINS", str(tmp_path / "toolchains"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"), prepend=":")

    def install(*lines: str, folder: str = "toolchains/smpi/bin") -> Path:
        file = tmp_path / folder / "smpirun"
        write_script(file, "\n".join(lines))
        return file

    return install


def test_the_smpirun_of_the_toolchain_goes_before_that_of_the_path(
    install: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path_smpirun = install(folder="path")
    assert simgrid.find_smpirun() == path_smpirun
    toolchain_smpirun = install()
    assert simgrid.find_smpirun() == toolchain_smpirun
    monkeypatch.setenv("ROUNDTRIP_TOOLCHAINS", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError, match="roundtrip toolchains smpi-boost181"):
        simgrid.find_smpirun()


@pytest.mark.parametrize(
    ("output", "fault"),
    [
        ("", ""),
        ("[0.1] Simulated time: 0.02 seconds\n", ""),
        ("[0.1] well\n  [0.2] Deadlock! \n[0.3] x\n", "[0.2] Deadlock!"),
        ("[0.2] (rank 1) MPI_Abort was called\n", "[0.2] (rank 1) MPI_Abort was called"),
    ],
)
def test_a_simulation_went_wrong_if_it_says_so(output: str, fault: str) -> None:
    assert simgrid.find_failure_line(output) == fault


def test_a_launch_that_ends_on_all_its_ranks_is_recorded(
    install: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # smpirun takes no path with blanks
    grid, folder = simgrid.read_platform(PLATFORMS / "grid.xml", 2e8, 0), tmp_path / "recorded"
    files = (f"cp -r {RECORDED}/. .", "echo {} > run.json", ": > samples.csv")
    marker = "echo 'ROUNDTRIP COMPLETE ranks=2 hosts=2'"
    for lines, ranks in ((files, 2), ((*files, marker), 4)):
        install(*lines)
        with pytest.raises(UserError, match=f"did not end with its end marker on {ranks} ranks"):
            simgrid.record_trace(["program"], ranks, grid, folder)
        assert not folder.exists()
    install(*files, marker)
    assert simgrid.record_trace(["program"], 2, grid, folder).ranks == 2
    assert (folder / "run.json").read_text() == "{}\n"
    install(": > samples.csv", f"cp -r {RECORDED}/. .", marker)
    with pytest.raises(FileNotFoundError):
        simgrid.record_trace(["program"], 2, grid, tmp_path / "other")
    assert not (tmp_path / "other").exists()

"""Traces of SimGrid: cut to the timed section, or refused with file and line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from roundtrip.errors import UserError
from roundtrip.sites.simgrid import Trace, cut_to_section

RECORDED = Path(__file__).parents[2] / "data" / "simulated" / "mg-s-2"
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
        cut_to_section(recorded, tmp_path / "cut")


def rewrite(index: Path, old: str, new: str) -> None:
    """Change the last `old` in the file of rank 1."""
    file = index.with_name("rank1.txt")
    head, _, tail = file.read_text().rpartition(old)
    file.write_bytes((head + new + tail).encode(errors="surrogateescape"))


def test_a_recorded_trace_is_cut_to_its_timed_section(recorded: Path, tmp_path: Path) -> None:
    trace = cut_to_section(recorded, tmp_path / "cut")
    assert trace.ranks == 2
    # SimGrid writes six digits of each number.
    assert trace.operations() == pytest.approx(OPERATIONS, rel=1e-6)
    for rank, file in enumerate(trace.files):
        actions = [line.split()[1] for line in file.read_text().splitlines()]
        assert actions[:3] == ["init", "alltoallv", "barrier"]
        assert actions[-2:] == ["allreduce", "finalize"]
        assert set(actions[3:-1]) == {"compute", "sendRecv", "allreduce"}
        assert {line.split()[0] for line in file.read_text().splitlines()} == {str(rank)}
    operations = trace.operations()
    moved = shutil.move(tmp_path / "cut", tmp_path / "moved")
    assert Trace(Path(moved)).operations() == operations


def test_the_head_of_a_trace_is_as_large_as_its_largest_collective(
    recorded: Path, tmp_path: Path
) -> None:
    rewrite(
        recorded, "1 allreduce 1 0 0 \n1 compute 0\n", "1 alltoall 1000 1000 1 1\n1 compute 0\n"
    )
    trace = cut_to_section(recorded, tmp_path / "cut")
    heads = [trace.head(rank, tmp_path).read_text().splitlines() for rank in range(2)]
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
        cut_to_section(recorded, tmp_path / "cut")
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
        cut_to_section(recorded, tmp_path / "cut")


def test_a_folder_that_lacks_a_rank_is_no_trace(recorded: Path, tmp_path: Path) -> None:
    trace = cut_to_section(recorded, tmp_path / "cut")
    (tmp_path / "cut" / "rank-0.txt").unlink()
    with pytest.raises(UserError, match="lacks files of ranks"):
        assert trace.ranks

"""The words of a failed launch name the rank that failed first, not the partner that waited."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundtrip.collect import completion

RECORDED = Path(__file__).parents[1] / "data" / "first_failure"
SAID = "last words: crash: rank 1: wrong data"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("srun-segv", "rank 1 on a2 failed first: Segmentation fault"),
        ("srun-partner", "rank 0 on a4 failed first: Segmentation fault"),
        ("srun-kill", "rank 1 on a2 failed first: Killed"),
        ("srun-exit", f"rank 1 on a2 failed first: Exited with exit code 3; {SAID}"),
        ("mpirun-segv", "rank 1 on vm failed first: signal 11 (Segmentation fault)"),
        ("mpirun-kill", "rank 1 on vm failed first: signal 9 (Killed)"),
        ("mpirun-exit", f"rank 1 failed first: exit code 3; {SAID}"),
        ("mpirun-abort", "rank 1 failed first: MPI_Abort"),
        ("mpiexec-abort", "rank 1 failed first: exit code 3"),
    ],
)
def test_recorded_launchers_name_the_rank(name: str, told: str) -> None:
    words = completion.first_failure((RECORDED / f"{name}.txt").read_text())
    assert words.split("; last words: [")[0] == told
    assert "Local" not in words and "peer" not in words


def test_what_the_wrapper_of_a_rank_writes_is_not_its_last_word() -> None:
    witness = "ROUNDTRIP RANK ON n1 - /lib/libmpi.so\n"
    assert completion.first_failure(witness) == ""
    assert completion.first_failure(f"wrong data\n{witness}") == "last words: wrong data"


@pytest.mark.parametrize("name", ["srun-exit", "mpirun-exit"])
def test_a_complaint_of_the_partner_is_not_taken_for_its_words(name: str) -> None:
    text = (RECORDED / f"{name}.txt").read_text()
    complaint = "[a1][[1,1],0][btl_tcp_frag.c:242] readv failed: Connection reset by peer (104)\n"
    said = "crash: rank 1: wrong data\n"
    assert said in text
    assert completion.first_failure(text.replace(said, said + complaint)).endswith(SAID)


def test_several_ranks_that_failed_at_once_are_all_named() -> None:
    text = "srun: error: n1: tasks 0-3,7: Exited with exit code 1\nlater\n"
    assert completion.first_failure(text) == (
        "ranks 0-3,7 on n1 failed first: Exited with exit code 1"
    )


def test_without_a_rank_the_last_line_is_all_there_is() -> None:
    assert completion.first_failure("first\nno space left\n ---\n\n") == "last words: no space left"
    assert completion.first_failure(" \n--\n") == ""


@given(st.text(), st.sampled_from(sorted(RECORDED.glob("*.txt"))), st.integers(0, 4000))
def test_any_text_gives_one_printable_line(text: str, file: Path, cut: int) -> None:
    for error in (text, text + file.read_text()[cut:], file.read_text()[:cut] + text):
        words = completion.first_failure(error)
        assert words.isprintable() and len(words) < 400

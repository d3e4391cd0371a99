"""How many launches completed, and why others did not: words of launchers, ReFrame, Slurm."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure.conftest import ENVIRON, Maker, content
from reframe.core.exceptions import SpawnedProcessError

from roundtrip.measure import bundle, completion
from roundtrip.measure.completion import Counts, count_launches
from roundtrip.measure.outcome import Outcome
from roundtrip.measure.tree import RunTree
from roundtrip.report import data
from roundtrip.report.build import build


def test_launches_too_many_replace_none_that_are_missing() -> None:
    counts = Counts({"a": 8, "b": 8}, {"a": 9, "b": 7})
    assert (counts.completed, counts.target, counts.surplus) == (15, 16, 1)
    assert counts.missing == {"b": 1}
    assert counts.describe() == "15 of 16 launches completed; 1 made again"
    disturbed = replace(counts, disturbed=3, partial=2).describe()
    assert disturbed.endswith("completed; 3 of 16 disturbed, 1 made again; 2 more only partial")


def test_an_older_bundle_does_not_say_how_many_were_requested() -> None:
    rows = [("a", "passed", None, None)] * 3
    rows += [("a", "missing", None, None), ("b", "skipped", None, None)]
    assert count_launches(rows) == Counts({"a": 4}, {"a": 3})


@pytest.mark.parametrize(
    ("target", "summary"),
    [
        (6, "6 of 6 launches completed; 1 of 6 disturbed"),
        (4, "4 of 4 launches completed; 1 of 6 disturbed, 2 made again"),
        (8, "6 of 8 launches completed; 1 of 6 disturbed"),
    ],
)
def test_terminal_and_report_show_the_same_count(
    make_tree: Maker, target: int, summary: str
) -> None:
    tree = make_tree(launches=6, environs=(ENVIRON,))
    with content(tree.path / "state.json") as state:
        state["expected"][0]["launches"] = target
    report = build(data.read(bundle.build(tree.path)))
    assert dict(report.facts)["Launches"] == summary
    assert next(Outcome.from_tree(RunTree(tree.path)).lines()) == f"1 case: {summary}"


def test_each_kind_of_disturbance_has_its_line() -> None:
    load_reasons = tuple(f"load average {load} at the start, on 2 cores" for load in (3.4, 5.1))
    tracer_reason = "traced: process 812 (a debugger or the like) holds rank 1"
    disturbances = ((load_reasons[0],), (load_reasons[1], tracer_reason))
    outcome = Outcome(Counts({"a": 2}, {"a": 2}), (), 0, disturbances=disturbances)
    assert [line for line in outcome.lines() if line.startswith("disturbed")] == [
        f"disturbed 2 x: {load_reasons[0]}",
        f"disturbed 1 x: {tracer_reason}",
    ]


RECORDED = Path(__file__).parents[1] / "data" / "first_failure"
SAID = "last words: crash: rank 1: wrong data"


@pytest.mark.parametrize(
    ("name", "failure"),
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
def test_recorded_launchers_name_the_rank(name: str, failure: str) -> None:
    words = completion.first_failure((RECORDED / f"{name}.txt").read_text())
    assert words.split("; last words: [")[0] == failure
    assert "Local" not in words and "peer" not in words


def test_what_the_wrapper_of_a_rank_writes_is_not_its_last_word() -> None:
    witness = "ROUNDTRIP RANK ON n1 7 -\n"
    assert completion.first_failure(witness) == ""
    assert completion.first_failure(f"wrong data\n{witness}") == "last words: wrong data"


@pytest.mark.parametrize("name", ["srun-exit", "mpirun-exit"])
def test_a_complaint_of_the_partner_is_not_taken_for_its_words(name: str) -> None:
    text = (RECORDED / f"{name}.txt").read_text()
    complaint = "[a1][[1,1],0][btl_tcp_frag.c:242] readv failed: Connection reset by peer (104)\n"
    last_words = "crash: rank 1: wrong data\n"
    assert last_words in text
    assert completion.first_failure(text.replace(last_words, last_words + complaint)).endswith(SAID)


def test_several_ranks_that_failed_at_once_are_all_named() -> None:
    text = "srun: error: n1: tasks 0-3,7: Exited with exit code 1\nlater\n"
    assert completion.first_failure(text) == (
        "ranks 0-3,7 on n1 failed first: Exited with exit code 1"
    )


def test_without_a_rank_the_last_line_is_all_there_is() -> None:
    assert completion.first_failure("first\nno space left\n ---\n\n") == "last words: no space left"
    assert completion.first_failure(" \n--\n") == ""


@given(st.text(), st.sampled_from(sorted(RECORDED.glob("*.txt"))), st.integers(0, 4000))
def test_any_text_gives_one_printable_line(text: str, file: Path, position: int) -> None:
    for error in (text, text + file.read_text()[position:], file.read_text()[:position] + text):
        words = completion.first_failure(error)
        assert words.isprintable() and len(words) < 400


LIMIT = """sbatch: error: QOSMaxSubmitJobPerUserLimit
sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit)
"""


@pytest.mark.parametrize(
    ("out", "error", "words"),
    [
        ("", LIMIT, "sbatch: error: Batch job submission failed: Job violates"),
        ("", "", "it said nothing"),
        ("only this\n", "", "only this"),
    ],
)
def test_the_words_of_a_command_that_failed(out: str, error: str, words: str) -> None:
    reason = f"spawned process error: {SpawnedProcessError('sbatch rfm_job.sh', out, error, 1)}"
    test_case = completion.TestCase.from_entry({"fail_reason": reason})
    assert test_case.fail_reason.startswith(
        "spawned process error: command 'sbatch rfm_job.sh' failed with exit code 1: " + words
    )


def test_of_other_reasons_the_first_line_is_kept() -> None:
    entry = {"fail_reason": "sanity error: no end marker\nmore\n"}
    assert completion.TestCase.from_entry(entry).fail_reason == "sanity error: no end marker"

"""Whatever one launch's files hold, that launch has failed, and the others are reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from roundtrip.collect import bundle, launches
from roundtrip.collect.launches import scan

ENVIRON = "openmpi41-boost181"
Maker = Callable[..., Any]


def put(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8", errors="surrogateescape")


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        ("run.json", '"elapsed_s": 4.2', f'"elapsed_s": 1{"0" * 400}', "a number of 401 digits"),
        ("run.json", '"elapsed_s": 4.2', '"elapsed_s": 1e999', "1e999 is not finite"),
        (
            "run.json",
            '"elapsed_s": 4.2',
            '"elapsed_s": -3',
            "greater than or equal to 0, not -3",
        ),
        ("run.json", '"3.1"', '"\\ud800"', "half of a surrogate pair"),
        ("run.json", '"3.1"', '"\udcff"', "not UTF-8"),
        (
            "run.json",
            '"boost"',
            f'"deep": {"[" * 900}{"]" * 900}, "boost"',
            "nested more than 64 deep",
        ),
        (
            "run.json",
            '"thunderbolt.example.org"]',
            '""]',
            "hosts.0: string should have",
        ),
        (
            "run.json",
            '"thunderbolt.example.org"]',
            '"a\\nb"]',
            "hosts.0: right is a name of a host",
        ),
        (
            "run.json",
            '"6.1.0-40-amd64"',
            "61",
            "kernel: input should be a valid string",
        ),
        (
            "run.json",
            '"6.1.0-40-amd64"',
            '"6\\n1"',
            "kernel: right is a line of printable",
        ),
        ("run.json", '"mlx5_0: MT', '"\\u2028', "nodes.0.adapters.0: "),
        (
            "run.json",
            '"ranks": 2',
            '"ranks": 2.0',
            "ranks: input should be a valid integer",
        ),
        (
            "run.json",
            '"size_bytes": 1,',
            '"size_bytes": 1e300,',
            "size_bytes: input should be a valid integer, not 1e+300",
        ),
        ("case.json", '"netpipe"', '"\\ud800"', "half of a surrogate pair"),
        (
            "case.json",
            '"netpipe"',
            '"net\\u0000pipe"',
            "study: right is a line of printable",
        ),
        (
            "case.json",
            '"shared-memory"',
            f"{'[' * 30}{']' * 30}",
            "parameters.placement: ",
        ),
        ("samples.csv", "# schema: 1", "# x: " + "[" * 100_000, "not metadata"),
        ("samples.csv", "# schema: 1", "# x: 1" + "0" * 5000, "not metadata"),
        ("samples.csv", "netpipe,", "\udcff,", "is not UTF-8"),
        ("samples.csv", ",mpi,1,", ",mpi,9007199254740993,", "size_bytes '9007199254740993'"),
    ],
)
def test_one_bad_launch_leaves_the_others(
    make_tree: Maker, name: str, old: str, new: str, fault: str
) -> None:
    tree = make_tree(launches=2, environs=(ENVIRON,))
    put(tree.folder(2, ENVIRON) / name, old, new)
    cases = pl.read_parquet(bundle.build(tree.path) / "cases.parquet")
    reason_by_status = dict(cases.select("status", "reason").iter_rows())
    assert sorted(cases["status"]) == ["failed", "missing", "passed"]
    assert reason_by_status["failed"].startswith(f"{name}:")
    assert fault in reason_by_status["failed"]


@pytest.mark.parametrize(
    "error",
    [
        *(ZeroDivisionError("x"), RecursionError(), MemoryError(), OverflowError("int too large")),
        *(UnicodeEncodeError("utf-8", "\ud800", 0, 1, "no"), pl.exceptions.PanicException("rust")),
    ],
)
def test_the_fence_holds_whatever_comes(
    make_tree: Maker, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    tree = make_tree(launches=2, environs=(ENVIRON,))
    judge = launches.disturbance.reasons

    def fail_once(run: Any, *arguments: Any) -> tuple[str, ...]:
        if run["seed"] == 2:
            raise error
        return judge(run, *arguments)

    monkeypatch.setattr(launches.disturbance, "reasons", fail_once)
    good_launch, bad_launch = scan(tree.path)
    assert (good_launch.status, bad_launch.status) == ("passed", "failed")
    assert bad_launch.reason.startswith(f"cannot be used: {type(error).__name__}")
    assert bad_launch.case_id == tree.case_id(ENVIRON)


def test_a_folder_with_a_name_that_is_no_text(make_tree: Maker) -> None:
    tree = make_tree(launches=2, environs=(ENVIRON,))
    folder = tree.folder(2, ENVIRON)
    folder.rename(folder.with_name("Net\udcff\nPIPE"))
    cases = pl.read_parquet(bundle.build(tree.path) / "cases.parquet")
    failed_cases = cases.filter(pl.col("status") == "failed")
    assert f"002/{ENVIRON}/Net??PIPE" in failed_cases["launch"].to_list()


def test_what_reframe_captured_of_a_job_may_be_anything(make_tree: Maker) -> None:
    tree = make_tree(launches=2, environs=(ENVIRON,))
    tree.fail(2, ENVIRON, fail_reason="job error: \ud800\x1b[31m\nmore", job_exitcode=10**15)
    cases = pl.read_parquet(bundle.build(tree.path) / "cases.parquet")
    (reason,) = cases.filter(pl.col("status") == "failed")["reason"]
    assert reason == "job error: ??[31m; exit status 1000000000000000"


def test_the_live_campaign_reads_through_the_same_fence(make_tree: Maker) -> None:
    tree = make_tree(launches=2, environs=(ENVIRON,))
    put(tree.folder(2, ENVIRON) / "case.json", '"NetPIPE"', json.dumps("x" * 5000))
    assert [launch.status for launch in scan(tree.path)] == ["passed", "failed"]

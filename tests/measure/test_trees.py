"""Somebody else's tree: regular files in it only; what one launch's files hold fails it alone."""

import os
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from measure.conftest import ENVIRON, read_cases
from support.synthetic import SyntheticTree

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.measure import bundle, launches
from roundtrip.measure.launches import scan_launches


@pytest.fixture
def tree(two_launches: SyntheticTree) -> SyntheticTree:
    return two_launches


def outcomes(tree: SyntheticTree) -> list[tuple[str, str]]:
    """Status and reason of the launches of the second round, after both have been scanned."""
    launches = scan_launches(tree.path)
    assert launches[0].status == "passed"
    return [(launch.status, launch.reason) for launch in launches if launch.session == "002"]


@pytest.mark.parametrize("name", ["case.json", "run.json", "samples.csv"])
@pytest.mark.parametrize("kind", ["link", "fifo", "folder", "sparse"])
def test_a_file_of_a_launch_that_is_none(tree: SyntheticTree, name: str, kind: str) -> None:
    file = tree.launch_folder(2, ENVIRON) / name
    original = file.rename(tree.path / "kept")
    if kind == "link":
        file.symlink_to(original)
    elif kind == "fifo":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        shutil.copy(original, file)
        os.truncate(file, 1 << 40)
    reasons = {
        "link": "a symbolic link: not followed",
        "fifo": "not a regular file",
        "folder": "not a regular file",
        "sparse": f"too large: {1 << 40} bytes; right are at most",
    }
    ((status, reason),) = outcomes(tree)
    assert status == "failed"
    assert reason.startswith(f"{name}: {reasons[kind]}")
    assert bundle.build_bundle(tree.path).is_dir()


def test_a_device_is_not_opened(tree: SyntheticTree) -> None:
    file = tree.launch_folder(2, ENVIRON) / "samples.csv"
    file.unlink()
    try:
        os.mknod(file, 0o20666, os.makedev(1, 5))  # /dev/zero
    except PermissionError:
        pytest.skip("only root makes devices")
    assert outcomes(tree) == [("failed", "samples.csv: not a regular file")]


@pytest.mark.parametrize("level", range(4))
def test_a_linked_folder_is_not_gone_into(tree: SyntheticTree, level: int) -> None:
    launch = tree.launch_folder(2, ENVIRON)
    folder = [launch, *launch.parents][level]
    folder.rename(tree.path / "elsewhere")
    folder.symlink_to(tree.path / "elsewhere")
    assert ("failed", "a symbolic link: not followed") in outcomes(tree)
    assert "passed" not in [status for status, _ in outcomes(tree)]


def test_a_linked_round_and_linked_rounds(tree: SyntheticTree) -> None:
    rounds = tree.path / "rounds"
    (rounds / "002").rename(tree.path / "elsewhere")
    (rounds / "002").symlink_to(tree.path / "elsewhere")
    assert outcomes(tree) == [("failed", "a symbolic link: not followed")]
    rounds.rename(tree.path / "others")
    rounds.symlink_to(tree.path / "others")
    with pytest.raises(UserError, match="symbolic link: not followed"):
        bundle.build_bundle(tree.path)


def test_a_hard_link_is_a_file(tree: SyntheticTree) -> None:
    file = tree.launch_folder(2, ENVIRON) / "samples.csv"
    (tree.path / "kept").hardlink_to(file)
    assert outcomes(tree) == [("passed", "")]


@pytest.mark.parametrize("name", ["state.json", "campaign.toml", "analysis.toml", "env"])
def test_a_run_s_own_files_are_no_links(tree: SyntheticTree, tmp_path: Path, name: str) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "shadow").write_text("root:x")
    path = tree.path / name
    if path.exists():
        path.rename(tmp_path / "kept")
    path.symlink_to(secret if name == "env" else secret / "shadow")
    with pytest.raises(UserError, match="symbolic link: not followed"):
        bundle.build_bundle(tree.path)


def test_only_files_in_env_are_taken(tree: SyntheticTree, tmp_path: Path) -> None:
    (tmp_path / "shadow").write_text("root:x")
    (tree.path / "env" / "shadow").symlink_to(tmp_path / "shadow")
    (tree.path / "env" / "etc").symlink_to("/etc")
    os.mkfifo(tree.path / "env" / "pipe.json")
    bundle_path = bundle.build_bundle(tree.path)
    names = {file.name for file in (bundle_path / "env").iterdir()}
    assert names == {"host.json", "site-config.json"}


def test_nothing_is_written_through_a_link(tree: SyntheticTree, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tree.path / "bundles").symlink_to(tmp_path / "precious")
    with pytest.raises(UserError, match="not written through"):
        bundle.build_bundle(tree.path)
    assert list((tmp_path / "precious").iterdir()) == []


def test_last_words_come_from_a_file_only(tree: SyntheticTree, tmp_path: Path) -> None:
    stage = tree.fail_launch(2, ENVIRON, fail_reason="sanity error: no end marker")
    (tmp_path / "secret").write_text("the secret\n")
    (stage / "rfm_job.err").symlink_to(tmp_path / "secret")
    assert outcomes(tree) == [("failed", "sanity error: no end marker")]
    (stage / "rfm_job.err").unlink()
    os.mkfifo(stage / "rfm_job.err")
    assert outcomes(tree) == [("failed", "sanity error: no end marker")]


def test_a_session_report_that_is_a_fifo_counts_as_none(tree: SyntheticTree) -> None:
    report = tree.path / "rounds" / "002" / "report.json"
    report.unlink()
    os.mkfifo(report)
    assert outcomes(tree) == [("passed", "")]


def test_only_the_root_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "root" / "in").mkdir(parents=True)
    (tmp_path / "root" / "in" / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "root")
    root = tmp_path / "link"
    assert files.read_in_tree(root / "in" / "file", root) == b"x"
    (root / "also").symlink_to("in")
    with pytest.raises(UserError, match="on the way to it: not followed"):
        files.read_in_tree(root / "also" / "file", root)
    with pytest.raises(UserError, match=r"in/none: missing"):
        files.read_in_tree(root / "in" / "none", root)
    with pytest.raises(UserError, match="too large: 1 bytes; right are at most 0"):
        files.read_in_tree(root / "in" / "file", root, max_bytes=0)


HOST = "thunderbolt.example.org"


def put(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8", errors="surrogateescape")


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        ("run.json", '"elapsed_s": 4.2', f'"elapsed_s": 1{"0" * 400}', "a number of 401 digits"),
        ("run.json", '"elapsed_s": 4.2', '"elapsed_s": -3', "greater than or equal to 0, not -3"),
        ("run.json", f'"{HOST}"]', '""]', "hosts.0: string should have"),
        ("run.json", f'"{HOST}"]', '"a\\nb"]', "hosts.0: right is a name of a host"),
        ("run.json", '"6.1.0-40-amd64"', "61", "kernel: input should be a valid string"),
        ("run.json", '"6.1.0-40-amd64"', '"6\\n1"', "kernel: right is a line of printable"),
        ("run.json", '"mlx5_0: MT', '"\\u2028', "nodes.0.adapters.0: "),
        ("run.json", '"ranks": 2', '"ranks": 2.0', "ranks: input should be a valid integer"),
        ("run.json", '"size_bytes": 1,', '"size_bytes": 1e300,', "size_bytes: input should be"),
        ("case.json", '"netpipe"', '"\\ud800"', "half of a surrogate pair"),
        ("case.json", '"netpipe"', '"net\\u0000pipe"', "study: right is a line of printable"),
        (
            "case.json",
            '"placement": "',
            f'"placement": {"[" * 30}{"]" * 30}, "more": "',
            "parameters.placement: ",
        ),
        ("samples.csv", "# schema: 1", "# x: " + "[" * 100_000, "not metadata"),
        ("samples.csv", "# schema: 1", "# x: 1" + "0" * 5000, "not metadata"),
        ("samples.csv", "netpipe,", "\udcff,", "is not UTF-8"),
        ("samples.csv", ",mpi,1,", ",mpi,9007199254740993,", "size_bytes '9007199254740993'"),
    ],
)
def test_a_bad_launch_alone(tree: SyntheticTree, name: str, old: str, new: str, fault: str) -> None:
    put(tree.launch_folder(2, ENVIRON) / name, old, new)
    cases = read_cases(tree)
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
    tree: SyntheticTree, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    judge = launches.disturbance.disturbance_reasons

    def fail_once(run: Any, *arguments: Any) -> tuple[str, ...]:
        if run["seed"] == 2:
            raise error
        return judge(run, *arguments)

    monkeypatch.setattr(launches.disturbance, "disturbance_reasons", fail_once)
    good_launch, bad_launch = scan_launches(tree.path)
    assert (good_launch.status, bad_launch.status) == ("passed", "failed")
    assert bad_launch.reason.startswith(f"cannot be used: {type(error).__name__}")
    assert bad_launch.case_id == tree.case_id(ENVIRON)


def test_a_folder_with_a_name_that_is_no_text(tree: SyntheticTree) -> None:
    folder = tree.launch_folder(2, ENVIRON)
    folder.rename(folder.with_name("Net\udcff\nPIPE"))
    cases = read_cases(tree)
    failed_cases = cases.filter(pl.col("status") == "failed")
    assert f"002/{ENVIRON}/Net??PIPE" in failed_cases["launch"].to_list()


def test_what_reframe_captured_of_a_job_may_be_anything(tree: SyntheticTree) -> None:
    tree.fail_launch(2, ENVIRON, fail_reason="job error: \ud800\x1b[31m\nmore", job_exitcode=10**15)
    cases = read_cases(tree)
    (reason,) = cases.filter(pl.col("status") == "failed")["reason"]
    assert reason == "job error: ??[31m; exit status 1000000000000000"

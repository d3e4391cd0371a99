"""Somebody else's tree: regular files inside it only, nothing followed, nothing waited for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roundtrip import files
from roundtrip.collect import bundle
from roundtrip.collect.launches import scan
from roundtrip.errors import UserError

ENVIRON = "openmpi41-boost181"
Maker = Callable[..., Any]


def outcomes(tree: Any) -> list[tuple[str, str]]:
    """Status and reason of the launches of the second round, after both have been scanned."""
    launches = scan(tree.path)
    assert launches[0].status == "passed"
    return [(launch.status, launch.reason) for launch in launches if launch.round == "002"]


@pytest.mark.parametrize("name", ["case.json", "run.json", "samples.csv"])
@pytest.mark.parametrize("kind", ["link", "fifo", "folder", "sparse"])
def test_a_file_of_a_launch_that_is_none(make_tree: Maker, name: str, kind: str) -> None:
    tree = make_tree(launches=2, environs=(ENVIRON,))
    file = tree.folder(2, ENVIRON) / name
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
    assert bundle.build(tree.path).is_dir()


def test_a_device_is_not_opened(make_tree: Maker) -> None:
    tree = make_tree(launches=2, environs=(ENVIRON,))
    file = tree.folder(2, ENVIRON) / "samples.csv"
    file.unlink()
    try:
        os.mknod(file, 0o20666, os.makedev(1, 5))  # /dev/zero
    except PermissionError:
        pytest.skip("only root makes devices")
    assert outcomes(tree) == [("failed", "samples.csv: not a regular file")]


@pytest.mark.parametrize("level", range(4))
def test_a_linked_folder_is_not_gone_into(make_tree: Maker, level: int) -> None:
    tree = make_tree(launches=2, environs=(ENVIRON,))
    launch = tree.folder(2, ENVIRON)
    folder = [launch, *launch.parents][level]
    folder.rename(tree.path / "elsewhere")
    folder.symlink_to(tree.path / "elsewhere")
    assert ("failed", "a symbolic link: not followed") in outcomes(tree)
    assert "passed" not in [status for status, _ in outcomes(tree)]


def test_a_linked_round_and_linked_rounds(make_tree: Maker) -> None:
    tree = make_tree(launches=2, environs=(ENVIRON,))
    rounds = tree.path / "rounds"
    (rounds / "002").rename(tree.path / "elsewhere")
    (rounds / "002").symlink_to(tree.path / "elsewhere")
    assert outcomes(tree) == [("failed", "a symbolic link: not followed")]
    rounds.rename(tree.path / "others")
    rounds.symlink_to(tree.path / "others")
    with pytest.raises(UserError, match="symbolic link: not followed"):
        bundle.build(tree.path)


def test_a_hard_link_is_a_file(make_tree: Maker) -> None:
    tree = make_tree(launches=2, environs=(ENVIRON,))
    file = tree.folder(2, ENVIRON) / "samples.csv"
    (tree.path / "kept").hardlink_to(file)
    assert outcomes(tree) == [("passed", "")]


@pytest.mark.parametrize("name", ["state.json", "campaign.toml", "analysis.toml", "env"])
def test_a_run_s_own_files_are_no_links(make_tree: Maker, tmp_path: Path, name: str) -> None:
    tree = make_tree(launches=1, environs=(ENVIRON,))
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "shadow").write_text("root:x")
    path = tree.path / name
    if path.exists():
        path.rename(tmp_path / "kept")
    path.symlink_to(secret if name == "env" else secret / "shadow")
    with pytest.raises(UserError, match="symbolic link: not followed"):
        bundle.build(tree.path)


def test_what_lies_in_env_is_taken_only_if_it_is_a_file_there(
    make_tree: Maker, tmp_path: Path
) -> None:
    tree = make_tree(launches=1, environs=(ENVIRON,))
    (tmp_path / "shadow").write_text("root:x")
    (tree.path / "env" / "shadow").symlink_to(tmp_path / "shadow")
    (tree.path / "env" / "etc").symlink_to("/etc")
    os.mkfifo(tree.path / "env" / "pipe.json")
    bundle_path = bundle.build(tree.path)
    assert sorted(file.name for file in (bundle_path / "env").iterdir()) == [
        "host.json",
        "site-config.json",
    ]


def test_nothing_is_written_through_a_link(make_tree: Maker, tmp_path: Path) -> None:
    tree = make_tree(launches=1, environs=(ENVIRON,))
    (tmp_path / "precious").mkdir()
    (tree.path / "bundles").symlink_to(tmp_path / "precious")
    with pytest.raises(UserError, match="not written through"):
        bundle.build(tree.path)
    assert list((tmp_path / "precious").iterdir()) == []


def test_last_words_come_from_a_file_only(make_tree: Maker, tmp_path: Path) -> None:
    tree = make_tree(launches=2, environs=(ENVIRON,))
    stage = tree.fail(2, ENVIRON, fail_reason="sanity error: no end marker")
    (tmp_path / "secret").write_text("the secret\n")
    (stage / "rfm_job.err").symlink_to(tmp_path / "secret")
    assert outcomes(tree) == [("failed", "sanity error: no end marker")]
    (stage / "rfm_job.err").unlink()
    os.mkfifo(stage / "rfm_job.err")
    assert outcomes(tree) == [("failed", "sanity error: no end marker")]


def test_a_session_report_that_is_a_fifo_counts_as_none(make_tree: Maker) -> None:
    tree = make_tree(launches=2, environs=(ENVIRON,))
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

"""Versions that commands build and launch: of git, of Spack, of a variable."""

import contextlib
import os
import subprocess
import time
from pathlib import Path

import pytest
from support.programs import run_git

from roundtrip.cause import commands
from roundtrip.cause.commands import CommandLauncher, Version
from roundtrip.cli import SigtermInterrupt
from roundtrip.errors import UserError


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Four commits of a program that says its number; the third cannot be built."""
    folder = tmp_path / "a clone"
    folder.mkdir()
    run_git(folder, "init", "--quiet")
    for number in range(1, 5):
        (folder / "number").write_text(f"{number}\n")
        run_git(folder, "add", "number")
        run_git(folder, "commit", "--quiet", "--message", f"commit {number}")
    return folder


def launcher(
    folder: Path, versions: list[Version], build: str = "", **options: object
) -> CommandLauncher:
    return CommandLauncher(versions, folder / "builds", build, **options)  # type: ignore[arg-type]


def test_commits_are_built_once_and_launched_in_place(history: Path, tmp_path: Path) -> None:
    versions = commands.git_versions(history, "HEAD~3", "HEAD")
    assert [version.name for version in versions] == [
        commit[:12] for commit in run_git(history, "rev-list", "--reverse", "HEAD").split()
    ]
    build = "test $(cat number) != 3 && cp number built"
    options = {"launch_command": "echo result: $(cat built)", "metric": r"result: (\d+)"}
    first = launcher(tmp_path, versions, build, **options)
    assert [first.build(at) for at in range(4)] == ["", "", "status 1", ""]
    assert first.launch(0) == 1 and first.launch(3) == 4 and first.builds == 4
    second = launcher(tmp_path, versions, build, **options)
    assert [second.build(at) for at in range(4)] == ["", "", "status 1", ""] and second.builds == 0
    assert run_git(history, "status", "--porcelain") == ""


def test_no_variable_that_a_library_alone_is_for_reaches_what_is_measured(tmp_path: Path) -> None:
    os.putenv("ROUNDTRIP_OF_A_LIBRARY", "1")
    try:
        command = "echo ${ROUNDTRIP_OF_A_LIBRARY-2}"
        alone = launcher(tmp_path, [Version("x")], launch_command=command, metric="(.+)")
        assert alone.build(0) == "" and alone.launch(0) == 2
    finally:
        os.unsetenv("ROUNDTRIP_OF_A_LIBRARY")


def test_a_rate_is_turned_round_and_without_a_metric_the_wall_time_counts(tmp_path: Path) -> None:
    versions = [Version("x", variables=(("SIZE", "4"),))]
    options = {"metric": "(.+)", "higher_is_better": True}
    rate = launcher(tmp_path, versions, launch_command="echo $SIZE", **options)
    assert rate.build(0) == "" and rate.launch(0) == 0.25
    wall_time = launcher(tmp_path, versions, launch_command="sleep 0.05")
    assert wall_time.launch(0) >= 0.05


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("echo broken >&2; exit 3", "status 3: broken"),
        ("echo none", "no number where --metric says"),
        ("echo is 0", "right is a number above 0"),
        ("sleep 5", "took more than 0.2 s"),
    ],
)
def test_a_launch_that_fails_says_why(tmp_path: Path, command: str, reason: str) -> None:
    starter = launcher(tmp_path, [Version("x")], launch_command=command, metric=r"is (\d+)")
    assert starter.build(0) == ""
    with pytest.raises(UserError, match=reason):
        starter.launch(0, 0.2)


def stuck(folder: Path) -> CommandLauncher:
    """A launch whose program goes on if only its shell is killed."""
    starter = launcher(
        folder, [Version("x")], launch_command="sleep 60 & echo $! > pid; echo; wait"
    )
    assert starter.build(0) == ""
    return starter


def require_ended(folder: Path) -> None:
    (file,) = folder.rglob("pid")
    stat, end = Path("/proc", file.read_text().strip(), "stat"), time.monotonic() + 10
    with contextlib.suppress(FileNotFoundError):
        while stat.read_text().rpartition(") ")[2][0] not in "ZX":  # killed, and not reaped yet
            assert time.monotonic() < end, "it is still running"
            time.sleep(0.01)


def test_a_launch_that_takes_too_long_leaves_no_program(tmp_path: Path) -> None:
    starter = stuck(tmp_path)
    with pytest.raises(UserError, match=r"took more than 0\.3 s"):
        starter.launch(0, 0.3)
    require_ended(tmp_path)


def test_a_stop_leaves_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after TERM, which raises Terminated in the middle of a launch."""
    starter, read = stuck(tmp_path), subprocess.Popen.communicate

    def stop(process: subprocess.Popen[str], timeout: float | None = None) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            read(process, timeout=0.3)
        raise SigtermInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", stop)
    with pytest.raises(SigtermInterrupt):
        starter.launch(0)
    require_ended(tmp_path)


def test_a_build_that_took_too_long_is_tried_again(tmp_path: Path) -> None:
    options = {"launch_command": "cat built", "metric": "(.+)"}
    build = "test -e ../../again || sleep 5; echo 3 > built"
    first = launcher(tmp_path, [Version("x")], build, build_timeout_s=0.2, **options)
    assert first.build(0) == "took more than 0.2 s"
    (tmp_path / "builds" / "again").touch()
    second = launcher(tmp_path, [Version("x")], build, **options)
    assert second.build(0) == "" and second.builds == 1


def test_what_is_no_range_of_commits_is_refused(history: Path, tmp_path: Path) -> None:
    for folder, old, new, complaint in (
        (history, "HEAD", "HEAD~1", "no earlier commit"),
        (history, "nope", "HEAD", "'nope' is no commit"),
        (tmp_path / "none", "a", "b", "no such folder"),
        (tmp_path, "a", "b", "is no commit"),
    ):
        with pytest.raises(UserError, match=complaint):
            commands.git_versions(folder, old, new)


def test_specs_between_two_versions_of_a_package() -> None:
    candidates = ["4.1.4", "4.1.5", "5.0.0", "5.0.7"]
    versions = commands.spack_versions("openmpi@4.1.4", "openmpi@5.0.0 %gcc", candidates)
    names = [f"openmpi@{version} %gcc" for version in ("4.1.4", "4.1.5", "5.0.0")]
    assert [version.name for version in versions] == names
    assert versions[0].fetch == "spack install --reuse 'openmpi@4.1.4 %gcc'"
    for old, new, complaint in (
        ("openmpi@4.1.4", "mpich@4.0", "two versions of one package"),
        ("openmpi", "openmpi@5.0.0", "two versions of one package"),
        ("openmpi@4.1.4", "openmpi@6", "knows no openmpi@6"),
        ("openmpi@5.0.0", "openmpi@4.1.4", "is not older"),
    ):
        with pytest.raises(UserError, match=complaint):
            commands.spack_versions(old, new, candidates)


def test_values_of_a_variable_double_or_are_listed() -> None:
    powers = commands.variable_versions("LIMIT", "1024", "8192", ())
    assert [version.name for version in powers] == [f"LIMIT={1 << at}" for at in range(10, 14)]
    choices = commands.variable_versions("BTL", "tcp", "ofi", ["sm"])
    variables = [version.variables for version in choices]
    assert variables == [(("BTL", value),) for value in ("tcp", "sm", "ofi")]
    for name, old, values, complaint in (
        ("A B", "1", (), "name of an environment variable"),
        ("A", "tcp", (), "which values lie between"),
        ("A", "1", ("9", "1"), "is to be the first"),
    ):
        with pytest.raises(UserError, match=complaint):
            commands.variable_versions(name, old, "ofi", values)


def test_the_digest_is_of_all_that_is_measured(tmp_path: Path) -> None:
    first, *others = (
        CommandLauncher(versions, tmp_path, *more)  # type: ignore[arg-type]
        for versions, *more in (
            ([Version("a", "fetch")], "make", "run"),
            ([Version("a", "fetch from elsewhere")], "make", "run"),
            ([Version("a", "fetch")], "make -O3", "run"),
            ([Version("a", "fetch")], "make", "run -n 4"),
            ([Version("a", "fetch")], "make", "run", "(.+)"),
            ([Version("a", "fetch")], "make", "run", "", True),
        )
    )
    assert len(first.digest) == 64
    assert all(other.digest != first.digest for other in others)
    assert CommandLauncher([Version("a", "fetch")], Path("x"), "make", "run").digest == first.digest

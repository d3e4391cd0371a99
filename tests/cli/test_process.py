"""How a command may end: one line and a status, whatever was done to it."""

import json
import os
import re
import resource
import secrets
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support.json_files import edit
from support.synthetic import SyntheticTree

from roundtrip import cli, files
from roundtrip.cli import common, run
from roundtrip.errors import UserError
from roundtrip.measure import bundle
from roundtrip.measure.progress import TerminalProgress

CHECKOUT = Path(__file__).parents[2]
MAIN = "import sys; from roundtrip.cli import main; sys.argv[0] = 'roundtrip'; main()"
LONG = "a" * 300
Done = subprocess.CompletedProcess[str]


def roundtrip(
    *arguments: str | bytes | Path, code: str = MAIN, env: Mapping[str, str] = {}, **settings: Any
) -> Done:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT / "src"), **env},
        capture_output=True,
        text=True,
        timeout=120,
        **settings,
    )


def one_line(result: Done, complaint: str, status: int = 2) -> None:
    assert (result.returncode, result.stdout) == (status, ""), result.stderr
    assert re.fullmatch(r"roundtrip: [^\n]+\n", result.stderr), result.stderr
    assert re.search(complaint, result.stderr), result.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["run", "--foo"], "run: No such option: --foo; see: roundtrip run --help"),
        (["run"], "run: Missing argument"),
        (["xyzzy"], "No such command 'xyzzy'; see: roundtrip --help"),
        (["site", "new"], "site new: Missing argument"),
        (["report", "a", "b"], r"report: Got unexpected extra argument"),
        (["run", LONG], r"a{255,}\S*: File name too long"),
        (["report", LONG], "File name too long"),
        (["report", "a\nb\x1b[31m"], r"a\\nb\\x1b\[31m: neither"),
        pytest.param(
            ["run", "smoke", "--tree", "/dev/null"],
            "/dev/null/state.json: cannot be read",
            marks=pytest.mark.nightly,
        ),
        (["report", "/dev/full"], "neither a bundle"),
        (["publish", "reports", "--to", ""], "an argument is empty after --to: right is a value"),
        (["publish", "reports", "--to="], "an argument is empty after --to"),
        (["import", "local", ""], "an argument is empty: right is a value"),
        (["run", "smoke", "--night", " "], "an argument is empty after --night"),
        (["report", "x", "--output", b"o\xff"], "an argument is not UTF-8 after --output: 'o.+'"),
        (["report", "x", "--supersedes=r1", "--reason=a\x1b[31m"], "--reason: right is one line"),
    ],
)
def test_wrong_arguments(arguments: list[str | bytes], complaint: str) -> None:
    one_line(roundtrip(*arguments), complaint)


@pytest.mark.parametrize("group", ["site", "study"])
def test_a_group_without_a_command_prints_its_help(group: str) -> None:
    result = roundtrip(group)
    assert result.returncode == 2
    assert "new" in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("content", "line", "complaint"),
    [
        (b"\xff", 1, "not UTF-8"),
        (b"title = 'x\n", 1, "not TOML"),
        (b"a = 1\nlaunches = " + b"9" * 5000, None, "not TOML: Exceeds the limit"),
        (b"a = " + b"[" * 100_000, None, "not TOML: nested more than 64 deep"),
        (b"a = " + b"[" * 70 + b"]" * 70, None, "not TOML: nested more than 64 deep"),
    ],
)
def test_an_unreadable_campaign(tmp_path: Path, content: bytes, line: Any, complaint: str) -> None:
    file = tmp_path / "night.toml"
    file.write_bytes(content)
    place = f":{line}" if line else ""
    one_line(roundtrip("run", file), f"{re.escape(str(file))}{place}: {complaint}")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small bundle."""
    folder, environs = tmp_path_factory.mktemp("built") / "run", ("openmpi41-boost181",)
    tree = SyntheticTree(folder, launches=2, environs=environs, sizes=[1, 1024], samples=3)
    return bundle.build_bundle(tree.write().path)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("file", "file.*(Not a dir|exists)"),
        ("file/below", "file.*(Not a dir|exists)"),
        (LONG, "File name too long"),
        ("/proc/self", "/proc/self/synthetic: "),
    ],
)
def test_an_output_takes_no_report(built: Path, tmp_path: Path, place: str, words: str) -> None:
    (tmp_path / "file").write_text("")
    one_line(roundtrip("report", built, "--output", tmp_path / place), words)


def test_an_output_that_takes_nothing() -> None:
    command = [sys.executable, "-c", MAIN, "--version"]
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (result.returncode, len(result.stderr.splitlines())) == (2, 1)
    assert "free some space" in result.stderr


@pytest.mark.parametrize(
    ("descriptor", "arguments", "status"),
    [("1", "--version", 0), ("2", "xyzzy", 2), ("0", "--help", 0)],
)
def test_a_stream_that_is_closed(descriptor: str, arguments: str, status: int) -> None:
    script = f'exec "$0" -c "$1" {arguments} {descriptor}>&-'
    command = ["sh", "-c", script, sys.executable, MAIN]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == status, result.stderr
    assert result.stderr == ""


def test_a_reader_that_has_gone() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-c", MAIN, "toolchains", "--list"]
    result = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    assert result.stderr == ""
    assert result.returncode in (1, cli.BROKEN_PIPE_STATUS)


def unknown_user(limit: int | None = None) -> Callable[[], None]:
    """As in a container that is started with a random user id.

    The kernel counts the processes of an id over all containers, so no two tests use the same.
    """
    user = 20_000 + secrets.randbelow(40_000)

    def become() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)

    return become


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="changing the user needs root")


@as_root
def test_a_user_without_a_home() -> None:
    variables = {"HOME": "", "XDG_CACHE_HOME": "", "ROUNDTRIP_TOOLCHAINS": ""}
    code = MAIN.replace("import sys;", "import os, sys; del os.environ['HOME'];")
    result = roundtrip("toolchains", "--list", code=code, env=variables, preexec_fn=unknown_user())
    one_line(result, "no home folder: set HOME or ROUNDTRIP_TOOLCHAINS")


@as_root
@pytest.mark.parametrize("limit", [1, 4])
def test_a_limit_of_processes(limit: int) -> None:
    result = roundtrip("doctor", preexec_fn=unknown_user(limit))
    one_line(result, r"no room for \d+ threads.*ulimit -u")


def test_a_bug_is_called_one_and_its_traceback_kept(tmp_path: Path) -> None:
    code = (
        "import sys; from roundtrip import cli\n"
        "def broken(): return {}['there is no such key']\n"
        "sys.exit(cli.run_for_exit_status(broken))"
    )
    result = roundtrip(code=code, env={"TMPDIR": str(tmp_path)})
    one_line(result, r"this is a bug in roundtrip \(KeyError\)", cli.BUG_STATUS)
    (file,) = tmp_path.glob("roundtrip-bug-*.txt")
    assert str(file) in result.stderr
    assert "there is no such key" in file.read_text()
    assert "in broken" in file.read_text()


@pytest.mark.parametrize(
    ("exception", "status"),
    [
        (UserError("a"), cli.USER_ERROR_STATUS),
        (PermissionError(13, "Permission denied", "/x"), cli.USER_ERROR_STATUS),
        (MemoryError(), cli.USER_ERROR_STATUS),
        (KeyboardInterrupt(), cli.INTERRUPTED_STATUS),
    ],
)
def test_what_may_end_a_command(
    exception: BaseException, status: int, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def command() -> None:
        raise exception

    with Path(os.devnull).open("w") as stream:  # not that of pytest: it may be silenced for good
        monkeypatch.setattr(sys, "stdout", stream)
        assert cli.run_for_exit_status(command) == status
    assert len(capfd.readouterr().err.splitlines()) == 1


def test_a_title_is_no_markup() -> None:
    for terminal in (False, True):
        out = StringIO()
        console = Console(file=out, force_terminal=terminal, markup=common.console._markup)
        with TerminalProgress("[/b] [red]x", console) as progress:
            progress.begin_launches(1, 1, 60)
            progress.show_result("OK", "[/b]")
        assert "[/b] [red]x" in out.getvalue()


def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(UserError, match="not a regular file"):
        files.read_bytes(tmp_path / "fifo")


def test_json_that_is_read_can_be_written() -> None:
    assert files.parse_json('["\\ud83d\\ude00", 18446744073709551615]') == ["😀", 2**64 - 1]
    for text in ("-Infinity", "1" + "0" * 20):
        with pytest.raises(UserError, match="not JSON"):
            files.parse_json(text)
    assert json.dumps(files.parse_json("[" * 60 + "]" * 60))


@pytest.mark.parametrize(
    ("environment", "complaint"),
    [("0", "POLARS_MAX_THREADS='0': right is"), ("-2", "POLARS_MAX_THREADS='-2'")],
)
def test_a_number_of_threads_that_is_none(environment: str, complaint: str) -> None:
    result = roundtrip("collect", "/nonexistent", env={"POLARS_MAX_THREADS": environment})
    one_line(result, complaint)


def test_numpy_starts_no_thread_and_no_program_sees_how(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    code = (
        "import os, pathlib, roundtrip.stats, numpy; from roundtrip.sites.site import Site\n"
        "print(len(os.listdir('/proc/self/task')), *os.environ)\n"
        f"print(*Site('local', pathlib.Path({str(CHECKOUT)!r})).environment)"
    )
    words = roundtrip(code=code).stdout.split()
    assert words[0] == "1"
    assert "PATH" in words and "OPENBLAS_NUM_THREADS" not in words


def test_the_users_own_number_of_threads_stays() -> None:
    code = "import os, roundtrip.stats; os.system('printenv OPENBLAS_NUM_THREADS')"
    assert roundtrip(code=code, env={"OPENBLAS_NUM_THREADS": "3"}).stdout == "3\n"


def confine(limit: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def test_an_address_space_that_is_too_small_is_named_with_what_is_needed() -> None:
    result = roundtrip("collect", "/nonexistent", preexec_fn=partial(confine, 1 << 30))
    one_line(result, "limited to 1048576 kB: right is `ulimit -v unlimited`, or [0-9]+")


@pytest.mark.nightly
def test_a_report_needs_the_address_space_that_is_documented(built: Path, tmp_path: Path) -> None:
    page = (CHECKOUT / "docs" / "operator.md").read_text(encoding="utf-8")
    (limit,) = re.findall(r"`ulimit -v (\d+)`", page)
    limited = partial(confine, int(limit) << 10)
    result = roundtrip("report", built, "--output", tmp_path, preexec_fn=limited)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "index.html").is_file()


@pytest.mark.nightly
def test_a_revision_whose_number_no_integer_holds(built: Path, tmp_path: Path) -> None:
    number = "r" + "9" * 5000
    options = ("--supersedes", number, "--reason", "a typo")
    result = roundtrip("report", built, "--output", tmp_path, *options)
    one_line(result, "there is no revision r9")


def test_a_finished_tree_is_not_another_night(make_tree: Callable[..., SyntheticTree]) -> None:
    tree = make_tree(launches=1).path
    with pytest.raises(UserError, match="this run began without a night, not as 2027-01-01"):
        run._find_run_to_resume("smoke", "local", False, tree, "2027-01-01")
    edit(tree / "state.json", night="2026-12-31")
    with pytest.raises(UserError, match="began as night 2026-12-31, not as 2027-01-01"):
        run._find_run_to_resume("smoke", "local", False, tree, "2027-01-01")
    assert run._find_run_to_resume("smoke", "local", False, tree, "2026-12-31")

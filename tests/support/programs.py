"""Programs that tests run: git, commands of this checkout, and scripts that stand for others."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from roundtrip import paths

CHECKOUT = Path(__file__).parents[2]
#: What builds for minutes, and times nothing, leaves the processors to tests that run beside it.
#: Linux weighs sessions against each other by their autogroups, which `nice` alone does not change.
_LOWEST_PRIORITY_SCRIPT = 'echo 19 2>/dev/null >/proc/self/autogroup; exec nice -n 19 "$@"'
LOWEST_PRIORITY_COMMAND = ("setsid", "--wait", "bash", "-c", _LOWEST_PRIORITY_SCRIPT, "-")


def describe_missing_toolchains(*toolchains: str) -> str:
    """Return which of the toolchains are not installed, as a reason to skip; "" if all are."""
    folder = paths.toolchains()
    names = [name for name in toolchains if not (folder / name / "toolchain.json").exists()]
    return f"not installed: {', '.join(names)}: make setup" if names else ""


def skip_without_toolchains(*toolchains: str) -> pytest.MarkDecorator:
    """Return the mark that skips a test where one of the toolchains is not installed."""
    why = describe_missing_toolchains(*toolchains)
    return pytest.mark.skipif(bool(why), reason=why or "-")


def command_environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a command whose runs and reports are below `folder`."""
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "ROUNDTRIP_RUNS": str(folder / "runs"),
        "ROUNDTRIP_REPORTS": str(folder / "reports"),
        **more,
    }


def run_program(*command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program that may fail; its output is text.  `options` as of `subprocess.run`."""
    return subprocess.run(command, capture_output=True, text=True, **options)


def run_in_checkout(*command: str | Path) -> str:
    """Run a command in the checkout; return its output.  AssertionError if it fails."""
    # Make sets variables for its own children only.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    process = run_program(*command, cwd=CHECKOUT, env=environment)
    assert process.returncode == 0, process.stdout[-6000:] + process.stderr[-2000:]
    return process.stdout


def run_git(folder: Path, *arguments: str, **variables: str) -> str:
    """Run git in `folder` as an invented user; return its output.  Raises if it fails."""
    identity = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return run_program(*command, check=True, env={**os.environ, **variables}).stdout.strip()


def copy_from_checkout(files: Iterable[Path], folder: Path) -> None:
    for file in files:
        copy = folder / file.relative_to(CHECKOUT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, copy, follow_symlinks=False)


def copy_tracked(folder: Path) -> None:
    """Copy the files that git tracks, as they are now, to `folder`."""
    names = filter(None, run_in_checkout("git", "ls-files", "-z").split("\0"))
    copy_from_checkout(map(CHECKOUT.joinpath, names), folder)


def write_script(file: Path, body: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)

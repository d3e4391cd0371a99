"""Starts the world from outside, and waits for its report.

The world reports over one pipe, and stays only if ``up`` accepts it over another.  So the world
ends by itself if ``up`` is killed, and ``up`` sees at once if the world is killed.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from vclusterlib import build, cgroup, tools
from vclusterlib.errors import VclusterError
from vclusterlib.spec import Spec
from vclusterlib.state import State

_BOOT_PATIENCE = 240.0
_ENTRY = Path(__file__).resolve().parent


def world(state: State, spec: Spec, engine: str, programs: Path) -> dict[str, Any]:
    """Start the first process, wait for its report, accept it, and return the report.

    VclusterError if the world does not boot.
    """
    setup = {
        "program": str(programs / build.LINK),
        "engine": engine,
        "keep": [str(state.path), str(programs), *spec.shares],
        "cgroup": cgroup.make(state, spec.cpu_weight),
    }
    report, reporter = os.pipe2(os.O_CLOEXEC)
    acceptee, accept = os.pipe2(os.O_CLOEXEC)
    command = [
        "unshare",
        *tools.user_namespace(spec.rootless),
        *tools.NAMESPACES,
        "--kill-child",
        *(sys.executable, "-IS", str(_ENTRY), "__world", str(state.path)),
        *(str(reporter), str(acceptee), json.dumps(setup)),
    ]
    environment = {**os.environ, "PATH": tools.search_path(), "LC_ALL": "C"}
    if spec.rootless:
        environment["LD_PRELOAD"] = str(programs / build.SHIM)
    with (state.log / "world.log").open("wb") as log:
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            pass_fds=(reporter, acceptee),
            start_new_session=True,
        )
    os.close(reporter)
    os.close(acceptee)
    try:
        boot_report = _await_report(report, state)
        os.write(accept, b"y")
        return boot_report
    finally:
        os.close(report)
        os.close(accept)


def _await_report(report: int, state: State) -> dict[str, Any]:
    log = state.log / "world.log"
    readable, _, _ = select.select([report], [], [], _BOOT_PATIENCE)
    if not readable:
        raise VclusterError(f"cluster {state.name} did not boot in {_BOOT_PATIENCE:g} s, see {log}")
    word, _, content = os.read(report, 65536).decode().partition(" ")
    if word == "ready":
        return dict(json.loads(content))
    if word == "failed":
        raise VclusterError(f"cluster {state.name} did not boot: {json.loads(content)}")
    raise VclusterError(f"cluster {state.name} died while booting, see {log}")


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end this process as Ctrl-C does, so that it cleans up."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    previous = {n: signal.signal(n, interrupt) for n in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)

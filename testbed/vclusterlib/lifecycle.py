"""``up`` and ``down``: a cluster is either complete or does not exist.

The head reports over one pipe, and stays only if ``up`` accepts it over another.  So the head
ends by itself if ``up`` is killed, and ``up`` sees at once if the head is killed.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from vclusterlib import UserError, VclusterError, cgroup, slurmconf, tools
from vclusterlib.boot import is_working
from vclusterlib.daemons import await_condition
from vclusterlib.spec import Spec
from vclusterlib.state import STATE_VARIABLE, State

_BOOT_TIMEOUT_S = 240.0
_PACKAGE_FOLDER = Path(__file__).resolve().parent


def up(state: State, spec: Spec, explicit_fields: set[str]) -> str:
    """Boot the cluster and return the line to print.

    `explicit_fields` are the fields of `spec` that the user set.  A cluster that is up stays as it
    is.  An incomplete cluster (after a crash, or a killed ``up``) is ended and booted again.
    VclusterError for one whose processes may all live: its jobs would end with it.
    """
    _require_outside("up")
    with state.locked():
        health = examine_health(state)
        if health["state"] == "up":
            _require_same_spec(state, spec, explicit_fields)
            return f"cluster {state.name} is up already"
        if health["state"] == "doubtful":
            raise VclusterError(f"{health['why']}: wait, or run `down` first")
        if health["state"] == "broken":
            print(f"vcluster: {health['why']}: starting anew", file=sys.stderr, flush=True)
        destroy(state)
        tools.require_programs_for(spec)
        tools.require_namespaces(spec.rootless)
        return _boot(state, spec)


def down(state: State) -> str:
    """End the cluster and return the line to print; the state folder keeps logs and database."""
    _require_outside("down")
    if not state.path.is_dir():
        return f"cluster {state.name} is not up"
    with state.locked():
        was_up = state.head_pid() is not None
        destroy(state)
    return f"cluster {state.name} is {'down' if was_up else 'not up'}"


def _require_outside(command: str) -> None:
    if os.environ.get(STATE_VARIABLE):
        raise UserError(f"this is inside a virtual cluster: run `{command}` outside")


def examine_health(state: State) -> dict[str, Any]:
    """``{"state": "up" | "doubtful" | "broken" | "down", ...}``, with the status if there is one.

    "broken": a process is dead.  "doubtful": the head node did not answer in time, or Slurm
    says of a node that it takes no jobs.  Both have the reason as ``why``.
    """
    if not state.is_inside and state.head_pid() is None:
        if (state.path / "head.json").exists():
            return {"state": "broken", "why": "its first process died"}
        return {"state": "down"}
    try:
        status = state.send_request({"do": "status"}, 15)
    except UserError as error:  # nobody listens: it has not booted, or ends
        return {"state": "broken", "why": str(error)}
    except VclusterError as error:
        return {"state": "doubtful", "why": str(error)}
    dead_daemons = [name for name, alive in status["daemons"].items() if not alive]
    dead_nodes = [node["name"] for node in status["nodes"] if not node["slurmd"]]
    if dead_daemons or dead_nodes:
        reason = f"not running: {', '.join([*dead_daemons, *dead_nodes])}"
        return {**status, "state": "broken", "why": reason}
    idlers = [f"{n['name']} is {n['state']}" for n in status["nodes"] if not is_working(n["state"])]
    if idlers:
        return {**status, "state": "doubtful", "why": ", ".join(idlers)}
    return {**status, "state": "up"}


def destroy(state: State) -> None:
    """End all that exists of the cluster, by SIGTERM if that is enough, else by SIGKILL."""
    pid = state.head_pid()
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        if not await_condition(lambda: state.head_pid() is None, 20):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not await_condition(lambda: state.head_pid() is None, 10):
            raise VclusterError(f"process {pid} of cluster {state.name} cannot be ended")
    cgroup.remove_groups(state)
    state.remove_boot_files()


def _require_same_spec(state: State, spec: Spec, fields: set[str]) -> None:
    current_spec = state.spec()
    for field in sorted(fields):
        if getattr(current_spec, field) != getattr(spec, field):
            field_name = field.replace("_", " ")
            raise UserError(f"cluster {state.name} is up with other {field_name}: run `down` first")


def _boot(state: State, spec: Spec) -> str:
    start = time.monotonic()
    engine = "userspace"
    if spec.fabric == "wan" and spec.engine != "userspace":
        if tools.has_netem(spec.rootless):
            engine = "netem"
        elif spec.engine == "netem":
            raise UserError("--link netem: this kernel has no netem (sch_netem)")
    programs = tools.build_programs()
    build_s = time.monotonic() - start
    state.require_short_path()
    state.prepare_boot(spec)
    slurmconf.copy_overlay(spec.slurm, state)
    try:
        with _interruptible():
            report = _start_head(state, spec, engine, programs)
    except BaseException:
        destroy(state)
        raise
    parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in report["times"].items())
    seconds = time.monotonic() - start - build_s
    line = f"cluster {state.name} is up in {seconds:.2f} s, link {engine} ({parts})"
    return "\n".join([line, *_accuracy_notes(spec, report["scheduler"])])


def _accuracy_notes(spec: Spec, scheduler: str) -> list[str]:
    """Notes about reduced accuracy on this machine, one line each."""
    notes = []
    if scheduler == "other":
        notes.append(
            "vcluster: note: the link may not use SCHED_FIFO here: emulated delays are exact on an "
            "idle machine, and milliseconds late on a busy one"
        )
    if spec.rootless:
        notes.append(
            "vcluster: note: rootless: small socket buffers and no --cpu-weight: bulk transfers "
            "may lose frames"
        )
    return notes


def _start_head(state: State, spec: Spec, engine: str, programs: Path) -> dict[str, Any]:
    """Start, await and accept the first process; return its report.  VclusterError without one."""
    setup = {
        "program": str(programs / tools.LINK_PROGRAM),
        "engine": engine,
        "keep": [str(state.path), str(programs), *spec.shares],
        "cgroup": cgroup.make_cluster_group(state, spec.cpu_weight),
    }
    report, reporter = os.pipe2(os.O_CLOEXEC)
    acceptee, accept = os.pipe2(os.O_CLOEXEC)
    command = [
        "unshare",
        *tools.user_namespace_options(spec.rootless),
        *tools.NAMESPACE_OPTIONS,
        "--kill-child",
        *(sys.executable, "-IS", str(_PACKAGE_FOLDER), "__head", str(state.path)),
        *(str(reporter), str(acceptee), json.dumps(setup)),
    ]
    environment = {**os.environ, "PATH": tools.search_path(), "LC_ALL": "C"}
    if spec.rootless:
        environment["LD_PRELOAD"] = str(programs / tools.SETGROUPS_SHIM)
    with (state.log / "head.log").open("wb") as log:
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
    log = state.log / "head.log"
    readable, _, _ = select.select([report], [], [], _BOOT_TIMEOUT_S)
    if not readable:
        raise VclusterError(
            f"cluster {state.name} did not boot in {_BOOT_TIMEOUT_S:g} s, see {log}"
        )
    word, _, content = os.read(report, 65536).decode().partition(" ")
    if word == "ready":
        return dict(json.loads(content))
    if word == "failed":
        raise VclusterError(f"cluster {state.name} did not boot: {json.loads(content)}")
    raise VclusterError(f"cluster {state.name} died while booting, see {log}")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end this process as Ctrl-C does, so that it cleans up."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    previous = {n: signal.signal(n, interrupt) for n in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)

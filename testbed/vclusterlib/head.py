"""The first process of the head node: it boots everything, then reaps and answers requests.

It reports to ``up`` over one pipe (``ready`` and a JSON object, or ``failed`` and a reason) and
waits on another for ``up`` to accept: if ``up`` dies meanwhile, the head ends too.  When it ends,
the kernel ends everything inside.

Requests arrive at the stream socket `state.SOCKET`.  A request is one JSON object on one line, and
so is the answer: ``{"ok": true, ...}``, or ``{"ok": false, "error": line, "status": 1 or 2}``.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from vclusterlib import UserError, VclusterError, cgroup, lease, namespaces, network, slurmconf
from vclusterlib.boot import Nodes, is_working, node_states
from vclusterlib.daemons import Daemons, daemons_alive, slurmd_alive
from vclusterlib.faults import NodeFaults
from vclusterlib.link import Link, LinkSettings, NetemLink, SelfTest, UserspaceLink, self_test
from vclusterlib.slurmconf import SERVICE_NODE
from vclusterlib.spec import Spec
from vclusterlib.state import SOCKET, State

_MUNGE_SOCKET = Path("/run/munge/munge.socket.2")
_SLURMCTLD_PORT = 6817
_MAX_REQUEST_BYTES = 65536


class Control:
    """Answers requests, one at a time."""

    def __init__(self, state: State, link: Link, nodes: Nodes, faults: NodeFaults) -> None:
        self._state = state
        self._nodes = nodes
        self._faults = faults
        self._spec = spec = state.spec()
        self._link = link
        self._start = time.monotonic()
        self._initial_settings = LinkSettings(rate=spec.hub_rate if spec.fabric == "hub" else 0.0)
        self._settings = self._initial_settings
        self._test: SelfTest | None = None

    def set_link(self, changes: dict[str, Any], test: bool = True, fresh: bool = False) -> None:
        """Change the link's settings, or with `fresh` those of ``up``; with `test`, measure it."""
        settings = self._initial_settings if fresh else self._settings
        self._settings = replace(settings, **changes)
        self._test = None
        self._link.apply(self._settings, ends_cut=fresh or bool(changes.get("up")))
        if self._spec.fabric == "hub":
            network.limit_card_rates(self._spec, self._settings.rate)
        if test:
            self.run_self_test()

    def run_self_test(self) -> None:
        self._test = None
        self._test = self_test(self._settings, "10.78.2.1")

    def answer_connection(self, connection: socket.socket) -> None:
        """Answer one request, with a time-out so that no client can block the head."""
        connection.settimeout(2)
        try:
            with connection.makefile("rb") as lines:
                request = json.loads(lines.readline(_MAX_REQUEST_BYTES))
            answer = self._answer(request)
            connection.sendall(json.dumps(answer).encode() + b"\n")
        except (OSError, ValueError) as error:
            print(f"control: {error}", flush=True)

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            if request["do"] == "status":
                return {"ok": True, **self._status()}
            if request["do"] == "power":
                self._nodes.set_power(request["node"], request["on"])
                return {"ok": True}
            if request["do"] == "fault":
                self._faults.change(request["node"], request["changes"], request["clear"])
                return {"ok": True, "faults": self._faults.to_json()}
            return {"ok": True, **self._change_link(request)}
        except VclusterError as error:
            return {"ok": False, "error": str(error), "status": error.status}
        except (OSError, KeyError, TypeError, subprocess.SubprocessError) as error:
            message = f"{type(error).__name__}: {error}"
            return {"ok": False, "error": message, "status": 1}

    def _change_link(self, request: dict[str, Any]) -> dict[str, Any]:
        fabric = request["do"]
        if fabric != self._spec.fabric:
            raise UserError(
                f"this cluster's fabric is {self._spec.fabric}; "
                f"boot one with `up --fabric {fabric}`"
            )
        changes, fresh = request.get("changes") or {}, request.get("fresh", False)
        if changes or fresh or request.get("cut") or request.get("reset"):
            lease.require_lease(self._state, request)
        if changes or fresh:
            self.set_link(changes, request.get("test", True), fresh)
        if request.get("cut"):
            self._link.cut(request["cut"])
        status = self._link_status(request.get("reset", False))
        if request.get("measure"):
            # after the counters were read, so that they do not count its pings
            with contextlib.suppress(VclusterError):
                self.run_self_test()
            status["self_test"] = self._test.to_json() if self._test else None
        return {"link": status}

    def _link_status(self, reset: bool = False) -> dict[str, Any]:
        return {
            "fabric": self._spec.fabric,
            "engine": self._link.engine,
            **self._settings.to_json(),
            **self._link.statistics(reset),
            "self_test": self._test.to_json() if self._test else None,
        }

    def _status(self) -> dict[str, Any]:
        spec = self._spec
        alive = daemons_alive(self._expected_daemons())
        # without a slurmctld, sinfo would wait for it
        states = node_states() if alive["slurmctld"] else {}
        pid_files = {node.name: self._state.pid_file(node.name) for node in spec.nodes}
        pids = {name: int(file.read_text()) for name, file in pid_files.items()}
        slurmds = slurmd_alive(pids)
        try:
            link = self._link_status()
        except VclusterError as error:  # it has died
            link = {"error": str(error)}
        return {
            "uptime_s": round(time.monotonic() - self._start, 3),
            "accounting": spec.accounting,
            "rootless": spec.rootless,
            "shares": list(spec.shares),
            "daemons": alive,
            "nodes": [
                {
                    "name": node.name,
                    "cluster": node.feature,
                    "address": spec.slurm_address(node),
                    "fabric_address": node.fabric_address,
                    "state": states.get(node.name, "unknown"),
                    "slurmd": slurmds[node.name],
                }
                for node in spec.nodes
            ],
            "link": link,
            "faults": self._faults.to_json(),
        }

    def _expected_daemons(self) -> list[str]:
        accounting = ["mariadbd", "slurmdbd"] if self._spec.accounting else []
        link = [self._link.program] if self._link.program else []
        return ["munged", *accounting, "slurmctld", "slurmd", *link]


class Terminated(Exception):  # noqa: N818  not an error
    """SIGTERM arrived: end in good order."""


class HeadNode:
    """One boot of the head node."""

    def __init__(self, state: State, setup: dict[str, Any]) -> None:
        """`setup`: the link's program and engine, the folders to keep, a cgroup or ``""``."""
        self._state = state
        self._spec: Spec = state.spec()
        self._program: str = setup["program"]
        self._engine: str = setup["engine"]
        self._visible_folders: list[str] = setup["keep"]
        self._cgroup: str = setup["cgroup"]
        self._daemons = Daemons(state.log)
        self._times: dict[str, float] = {}
        self._scheduler = ""

    def boot(self) -> Control:
        """Boot the cluster; VclusterError or OSError names the part that failed."""
        spec, daemons = self._spec, self._daemons
        with self._timed_part("files"):
            self._become_head()
        daemons.start("munged", self._munged_command())
        with self._timed_part("network"):
            network.build_network(spec, self._engine)
        link = self._start_link()
        cgroup.join_group(self._cgroup)  # not the link: most cgroups do not allow it SCHED_FIFO
        nodes = Nodes(self._state, spec, daemons, self._visible_folders)
        nodes.fork()
        with self._timed_part("munge"):
            daemons.await_ready("munged", _MUNGE_SOCKET.is_socket, 10)
        if spec.accounting:
            with self._timed_part("accounting"):
                slurmconf.start_accounting(daemons, self._state)
        with self._timed_part("slurmctld"):
            daemons.start("slurmctld", ["slurmctld", "-D"])
            daemons.await_ready("slurmctld", self._slurmctld_listens, 20, "slurmctld.log")
        with self._timed_part("nodes"):
            (self._state.spool / SERVICE_NODE).mkdir(exist_ok=True)
            daemons.start("slurmd", ["slurmd", "-D", "-N", SERVICE_NODE])
            nodes.open_gate()
            nodes.await_idle()
            daemons.await_ready(
                "slurmd", self._service_node_works, 30, f"slurmd-{SERVICE_NODE}.log"
            )
        (self._state.run / "booted").touch()
        faults = NodeFaults(self._state, spec, daemons, self._program)
        control = Control(self._state, link, nodes, faults)
        with self._timed_part("self-test"):
            control.set_link({})
        self._scheduler = link.statistics(reset=False)["scheduler"]
        return control

    def boot_report(self) -> dict[str, Any]:
        """`times`, s, of each part of the boot, and `scheduler`, that of the link's process."""
        times = {name: round(seconds, 3) for name, seconds in self._times.items()}
        return {"times": times, "scheduler": self._scheduler}

    def stop(self) -> None:
        """End the daemons that write to disk; the kernel ends the rest."""
        if self._spec.accounting:
            self._daemons.stop("slurmctld", 5)
            slurmconf.stop_accounting(self._daemons)

    def serve(self, control: Control, listener: socket.socket) -> None:
        """Reap children and answer requests until SIGTERM."""
        wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        with selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ)
            selector.register(wake_read, selectors.EVENT_READ)
            while True:
                self._daemons.reap()
                for key, _ in selector.select():
                    if key.fileobj is listener:
                        connection, _ = listener.accept()
                        with connection:
                            control.answer_connection(connection)
                    else:
                        os.read(wake_read, 4096)

    def _become_head(self) -> None:
        """Turn this process's namespaces into the head node; the working folder becomes run/."""
        state, spec = self._state, self._spec
        namespaces.make_private(self._visible_folders)
        namespaces.mount_proc()
        namespaces.mount_sysfs()
        for folder in ("munge", "slurm", "mysqld", "lock"):
            Path("/run", folder).mkdir()
        first_job = slurmconf.next_first_job(state) if spec.accounting else 1
        slurmconf.write_files(spec, state, first_job)
        for name in ("hosts", "slurm", "munge"):
            namespaces.bind(state.etc / name, f"/etc/{name}")
        socket.sethostname("head")
        os.chdir(state.run)

    def _munged_command(self) -> list[str]:
        """The munged command for head and nodes; --force lets the files belong to any user."""
        options = {
            "key-file": "/etc/munge/munge.key",
            "log-file": self._state.log / "munged.log",
            "seed-file": self._state.run / "munge.seed",
        }
        flags = [f"--{name}={value}" for name, value in options.items()]
        return ["munged", "--foreground", "--force", *flags]

    def _start_link(self) -> Link:
        if self._engine == "netem":
            return NetemLink()
        if self._spec.fabric == "hub":
            for node in self._spec.nodes:
                network.segment_in_software(["eth1"], True, node.name)
            ports = [f"f-{node.name}" for node in self._spec.nodes]
            return UserspaceLink(self._daemons, self._program, "hub", ports)
        ports = ["wA", "wB"]
        return UserspaceLink(self._daemons, self._program, "wire", ports, senders=("pA", "pB"))

    def _slurmctld_listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((self._spec.head_address, _SLURMCTLD_PORT)) == 0

    def _service_node_works(self) -> bool:
        return is_working(node_states().get(SERVICE_NODE, ""))

    @contextlib.contextmanager
    def _timed_part(self, part: str) -> Iterator[None]:
        start = time.monotonic()
        yield
        self._times[part] = time.monotonic() - start


def _handle_sigterm(_signal: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Terminated


def _write_report(pipe: int, word: str, content: object) -> None:
    os.write(pipe, f"{word} {json.dumps(content)}\n".encode())


def main(arguments: list[str]) -> int:
    """``__head STATE REPORT_FD ACCEPT_FD SETUP``; SETUP is the JSON object for `HeadNode`."""
    report, accept = int(arguments[1]), int(arguments[2])
    os.set_inheritable(report, False)
    os.set_inheritable(accept, False)
    signal.signal(signal.SIGTERM, _handle_sigterm)
    setup = json.loads(arguments[3])
    state = State(Path(arguments[0]))
    state.record_head()
    head = None
    try:
        head = HeadNode(state, setup)
        control = head.boot()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(SOCKET)
        listener.listen(64)
        _write_report(report, "ready", head.boot_report())
        if os.read(accept, 1) != b"y":
            return 1
        head.serve(control, listener)
    except (VclusterError, OSError) as error:
        print(f"head: {error}", file=sys.stderr, flush=True)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with contextlib.suppress(OSError):
            _write_report(report, "failed", str(error))
        return 1
    except Terminated:
        return 0
    finally:
        if head:
            head.stop()
    return 0

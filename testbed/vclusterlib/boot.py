"""Boots the nodes: all at once, and each again if it fails, at most three times.  Later switches
single nodes off and on, without any message to their peers.

A node has namespaces and a file system of its own, one slurmd, and a first process, which reaps
orphans and lives on when slurmd dies, so that slurmd can be killed and started again in place
(``vcluster node a1 slurmd``).  While the cluster boots, however, the node ends with its slurmd, so
that the head starts it again.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

from vclusterlib import UserError, VclusterError, cgroup, namespaces, network
from vclusterlib.daemons import Daemons
from vclusterlib.spec import Node, Spec
from vclusterlib.state import State

_MAX_ATTEMPTS = 3
_BOOT_TIMEOUT_S = 15.0
_WORKING_STATES = {"idle", "mixed", "allocated", "completing", "planned", "reserved"}


def is_working(state: str) -> bool:
    """Whether a node works in this state of sinfo; +: a job of it ends, -: another is planned."""
    return state.rstrip("+-") in _WORKING_STATES


def node_states() -> dict[str, str]:
    """Slurm's state of each node (idle, mixed, allocated, down*, ...); empty without slurmctld."""
    command = ["sinfo", "-h", "-N", "-o", "%N %T"]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=10)
    except subprocess.TimeoutExpired:
        return {}
    lines = [] if process.returncode else process.stdout.splitlines()
    return dict(line.split() for line in lines)


class Nodes:
    """Boots the nodes, as child processes of the head, until Slurm reports that all work (`fork`,
    `open_gate`, `await_idle`), and switches them off and on."""

    def __init__(self, state: State, spec: Spec, daemons: Daemons, folders: list[str]) -> None:
        """`folders` stay visible on the nodes."""
        self._state = state
        self._spec = spec
        self._daemons = daemons
        self._visible_folders = folders
        self._gate, self._gate_holder = os.pipe2(os.O_CLOEXEC)
        self._attempts: dict[str, int] = {}
        self._deadline: dict[str, float] = {}

    def fork(self) -> None:
        """Fork all nodes; each slurmd waits for the gate."""
        for node in self._spec.nodes:
            self._fork_attempt(node)

    def open_gate(self) -> None:
        """Let every slurmd start; munge and slurmctld must run."""
        os.close(self._gate_holder)
        for node in self._spec.nodes:
            self._deadline[node.name] = time.monotonic() + self._boot_timeout_s()

    def await_idle(self) -> None:
        """Wait for all nodes and retry those that fail; VclusterError names one that fails."""
        pending_nodes = {node.name: node for node in self._spec.nodes}
        while True:
            states = node_states()
            for name in [n for n in pending_nodes if is_working(states.get(n, ""))]:
                del pending_nodes[name]
            if not pending_nodes:
                break
            if self._daemons.exit_code("slurmctld") is not None:
                raise VclusterError(f"slurmctld ended, see {self._state.log / 'slurmctld.log'}")
            for node in pending_nodes.values():
                self._retry_if_failed(node, states.get(node.name, "unknown"))
            time.sleep(0.02)
        os.close(self._gate)

    def _boot_timeout_s(self) -> float:
        """Seconds that a node may take to boot; of more nodes each takes longer."""
        return _BOOT_TIMEOUT_S + 0.5 * len(self._spec.nodes)

    def _fork_attempt(self, node: Node) -> None:
        self._attempts[node.name] = self._attempts.get(node.name, 0) + 1
        self._deadline[node.name] = time.monotonic() + self._boot_timeout_s()
        keeper = fork_node(self._state, node, self._visible_folders, self._gate)
        self._daemons.adopt(node.name, keeper)

    def _retry_if_failed(self, node: Node, state: str) -> None:
        status = self._daemons.exit_code(node.name)
        is_late = time.monotonic() > self._deadline[node.name]
        if status is None and not is_late:
            return
        reason = f"ended with status {status}" if status is not None else f"stays {state}"
        print(f"node {node.name}: {reason} (attempt {self._attempts[node.name]})", flush=True)
        if self._attempts[node.name] == _MAX_ATTEMPTS:
            log = self._state.log / f"slurmd-{node.name}.out"
            raise VclusterError(
                f"node {node.name} did not come up in {_MAX_ATTEMPTS} attempts ({reason}), "
                f"see {log}"
            )
        self._daemons.stop(node.name, 2, signal.SIGKILL)
        self._fork_attempt(node)

    def set_power(self, name: str, on: bool) -> None:
        """Switch a node on or off; UserError if there is none, or it is on (off) already."""
        node = self._spec.node(name)
        if on != (self._daemons.exit_code(name) is not None):
            raise UserError(f"node {name} is {'on' if on else 'off'} already")
        if not on:
            # cable first: else the kernel notifies peers of the end of the processes
            self._set_cables(name, "down")
            self._daemons.stop(name, 10, signal.SIGKILL)
            return
        self._set_cables(name, "up")
        gate, holder = os.pipe2(os.O_CLOEXEC)
        os.close(holder)
        self._daemons.adopt(name, fork_node(self._state, node, self._visible_folders, gate))
        os.close(gate)

    def _set_cables(self, name: str, link_state: str) -> None:
        """Set a node's cables ``up`` or ``down`` at the head: the node keeps its addresses."""
        cables = [f"f-{name}", *([f"m-{name}"] if self._spec.has_management_network else [])]
        # not the ports of a hub: its link program ends if one of them goes down
        plugs = [cable for cable in cables if self._spec.fabric == "wan" or cable.startswith("m-")]
        network.run_batch("ip", "".join(f"link set dev {plug} {link_state}\n" for plug in plugs))


def fork_node(state: State, node: Node, visible_folders: list[str], gate: int) -> int:
    """Fork a node; return the pid of its keeper, the process whose end ends the node.  `gate` is
    the reading end of a pipe: slurmd starts once all its writers are closed."""
    keeper = os.fork()
    if keeper:
        return keeper
    try:
        _become_child(gate)
        cgroup.join_node(state, node.name)  # a fault of its processor outlasts a loss of power
        _run_keeper(state, node, visible_folders, gate)
    except BaseException as error:
        print(f"{node.name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)


def _become_child(gate: int) -> None:
    """Reset the head's signal handlers, and close its descriptors except `gate`."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.closerange(3, gate)
    os.closerange(gate + 1, 1024)


def _run_keeper(state: State, node: Node, visible_folders: list[str], gate: int) -> NoReturn:
    namespaces.enter_network(network.NETNS_FOLDER / node.name)
    namespaces.unshare()
    # Before the fork: the child covers the folder until it has bound the visible ones.
    pid_descriptor = os.open(state.pid_file(node.name), os.O_WRONLY | os.O_CREAT, 0o644)
    pid = os.fork()
    if pid == 0:
        os.close(pid_descriptor)
        namespaces.die_with_parent(signal.SIGKILL)
        os._exit(_run_first_process(state, node, visible_folders, gate))
    os.close(gate)
    os.ftruncate(pid_descriptor, 0)
    os.write(pid_descriptor, str(pid).encode())
    os.close(pid_descriptor)
    _, status = os.waitpid(pid, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _run_first_process(state: State, node: Node, visible_folders: list[str], gate: int) -> int:
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    namespaces.mount("none", "/", flags=namespaces.MS_REC | namespaces.MS_PRIVATE)
    munge = os.open("/run/munge", os.O_PATH | os.O_CLOEXEC)
    namespaces.mount_proc()
    namespaces.make_private(visible_folders)
    for folder in ("munge", "slurm", "lock"):
        Path("/run", folder).mkdir()
    namespaces.bind(f"/proc/self/fd/{munge}", "/run/munge")
    os.close(munge)
    socket.sethostname(node.name)
    namespaces.mount_sysfs()
    (state.spool / node.name).mkdir(exist_ok=True)
    os.read(gate, 1)
    os.close(gate)
    os.chdir("/")
    with (state.log / f"slurmd-{node.name}.out").open("ab") as output:
        slurmd = subprocess.Popen(
            ["slurmd", "-D", "-N", node.name],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            time.sleep(1)  # no process runs now; commands that enter later may leave orphans
            continue
        if pid == slurmd.pid and not (state.run / "booted").exists():
            return os.waitstatus_to_exitcode(status) & 0xFF or 1

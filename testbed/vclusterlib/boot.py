"""Boots the nodes: all at once, and each again if it fails, at most three times."""

from __future__ import annotations

import os
import signal
import time

from vclusterlib.control import node_states
from vclusterlib.daemons import Daemons
from vclusterlib.errors import VclusterError
from vclusterlib.node import fork_node
from vclusterlib.spec import Node, Spec
from vclusterlib.state import State

_ATTEMPTS = 3
_PATIENCE = 15.0
_WORKING_STATES = {"idle", "mixed", "allocated", "completing", "planned", "reserved"}


def is_working(state: str) -> bool:
    """Whether a node works in this state of sinfo; +: a job of it ends, -: another is planned."""
    return state.rstrip("+-") in _WORKING_STATES


class NodeBoot:
    """The first processes of the nodes, from their fork until Slurm reports that all work."""

    def __init__(
        self, state: State, spec: Spec, daemons: Daemons, visible_folders: list[str]
    ) -> None:
        self._state = state
        self._spec = spec
        self._daemons = daemons
        self._visible_folders = visible_folders
        self._gate, self._gate_holder = os.pipe2(os.O_CLOEXEC)
        self._attempts: dict[str, int] = {}
        self._deadline: dict[str, float] = {}

    def fork(self) -> None:
        """Fork all nodes; each slurmd waits for the gate."""
        for node in self._spec.nodes:
            self._start(node)

    def open_gate(self) -> None:
        """Let every slurmd start; munge and slurmctld must run."""
        os.close(self._gate_holder)
        for node in self._spec.nodes:
            self._deadline[node.name] = time.monotonic() + self._patience()

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
                self._check(node, states.get(node.name, "unknown"))
            time.sleep(0.02)
        os.close(self._gate)

    def _patience(self) -> float:
        """Seconds that a node may take; more nodes on the same processors take longer."""
        return _PATIENCE + 0.5 * len(self._spec.nodes)

    def _start(self, node: Node) -> None:
        self._attempts[node.name] = self._attempts.get(node.name, 0) + 1
        self._deadline[node.name] = time.monotonic() + self._patience()
        keeper = fork_node(self._state, node, self._visible_folders, self._gate)
        self._daemons.adopt(node.name, keeper)

    def _check(self, node: Node, state: str) -> None:
        status = self._daemons.exit_code(node.name)
        is_late = time.monotonic() > self._deadline[node.name]
        if status is None and not is_late:
            return
        reason = f"ended with status {status}" if status is not None else f"stays {state}"
        print(f"node {node.name}: {reason} (attempt {self._attempts[node.name]})", flush=True)
        if self._attempts[node.name] == _ATTEMPTS:
            log = self._state.log / f"slurmd-{node.name}.out"
            raise VclusterError(
                f"node {node.name} did not come up in {_ATTEMPTS} attempts ({reason}), see {log}"
            )
        self._daemons.stop(node.name, 2, signal.SIGKILL)
        self._start(node)

"""Makes a node sick while the cluster runs: a slow or lossy cable, a slow processor.

A sick cable is our link program between the node's port and its bridge, whatever emulates the WAN:

  well   eth1 = f-a1 -- brA          sick   eth1 = f-a1 -- link -- x-a1 = y-a1 -- brA

A slow processor is a CPU quota for all processes of the node: like a processor with clock
modulation, it stops for a part of every few milliseconds.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from vclusterlib import UserError, cgroup, network
from vclusterlib.daemons import Daemons, namespace_pids
from vclusterlib.link import LinkSettings, UserspaceLink
from vclusterlib.spec import Node, Spec
from vclusterlib.state import State


@dataclass(frozen=True)
class NodeFault:
    """The faults of a node: delay of its cable each way in s, share of frames that it loses each
    way, share of a processor for all its programs together (0: no limit).

    `cable`: its cable is our link program, even without delay and loss."""

    latency: float = 0.0
    loss: float = 0.0
    cpu: float = 0.0
    cable: bool = False


class NodeFaults:
    """The faults of all nodes, which it makes and removes; only the head uses it."""

    def __init__(self, state: State, spec: Spec, daemons: Daemons, program: str) -> None:
        self._state = state
        self._spec = spec
        self._daemons = daemons
        self._program = program
        self._cables: dict[str, UserspaceLink] = {}
        self._faults: dict[str, NodeFault] = {}

    def to_json(self) -> dict[str, Any]:
        """The faults of each node, by name."""
        return {name: asdict(fault) for name, fault in sorted(self._faults.items())}

    def change(self, name: str, changes: dict[str, Any], clear: bool) -> None:
        """Change the faults of node `name`; `clear` removes them.  UserError if impossible."""
        if self._spec.fabric != "wan":
            raise UserError("a node on a hub has no cable of its own: boot without --fabric hub")
        node = self._spec.node(name)
        fault = NodeFault() if clear else replace(self._faults.get(name, NodeFault()), **changes)
        self._set_cable(node, fault)
        cgroup.limit_node(self._state, name, self._node_pids(name), fault.cpu)
        self._faults.pop(name, None)
        if fault != NodeFault():
            self._faults[name] = fault

    def _set_cable(self, node: Node, fault: NodeFault) -> None:
        has_cable = bool(fault.cable or fault.latency or fault.loss)
        if has_cable and node.name not in self._cables:
            self._cables[node.name] = self._insert_link(node)
        if has_cable:
            settings = LinkSettings(rtt=2 * fault.latency, loss=fault.loss)
            # All cables see single packets, so that a lossy one differs by its losses only.
            network.segment_in_software(["eth1"], True, node.name)
            self._cables[node.name].apply(settings)
        elif self._cables.pop(node.name, None):
            self._daemons.stop(f"cable-{node.name}", 2)
            network.run_batch("ip", network.remove_link_script(node))
            network.segment_in_software(["eth1"], False, node.name)

    def _insert_link(self, node: Node) -> UserspaceLink:
        network.run_batch("ip", network.insert_link_script(node))
        ports = [f"f-{node.name}", f"x-{node.name}"]
        senders = [f"y-{node.name}"]
        name = f"cable-{node.name}"
        return UserspaceLink(self._daemons, self._program, "wire", ports, name, senders, True)

    def _node_pids(self, name: str) -> list[int]:
        pid = int(self._state.pid_file(name).read_text())
        return namespace_pids(pid)

"""Switches a node off and on while the cluster runs, without any message to its peers."""

from __future__ import annotations

import os
import signal

from vclusterlib import network
from vclusterlib.daemons import Daemons
from vclusterlib.errors import UserError
from vclusterlib.node import fork_node
from vclusterlib.spec import Spec
from vclusterlib.state import State


class Power:
    """The power switches of all nodes; only the world, the parent of the nodes, uses it."""

    def __init__(
        self, state: State, spec: Spec, daemons: Daemons, visible_folders: list[str]
    ) -> None:
        self._state = state
        self._spec = spec
        self._daemons = daemons
        self._visible_folders = visible_folders

    def switch(self, name: str, on: bool) -> None:
        """Switch a node on or off; UserError if there is none, or it is on (off) already."""
        node = self._spec.node(name)
        if on != (self._daemons.exit_code(name) is not None):
            raise UserError(f"node {name} is {'on' if on else 'off'} already")
        if not on:
            # cable first: else the kernel notifies peers of the end of the processes
            self._plug(name, "down")
            self._daemons.stop(name, 10, signal.SIGKILL)
            return
        self._plug(name, "up")
        gate, holder = os.pipe2(os.O_CLOEXEC)
        os.close(holder)
        self._daemons.adopt(name, fork_node(self._state, node, self._visible_folders, gate))
        os.close(gate)

    def _plug(self, name: str, link_state: str) -> None:
        """Set the end in the head's namespace: the node keeps its addresses and neighbours."""
        cables = [f"f-{name}", *([f"m-{name}"] if self._spec.managed else [])]
        # not the ports of a hub: its link program ends if one of them goes down
        plugs = [cable for cable in cables if self._spec.fabric == "wan" or cable.startswith("m-")]
        network.run_batch("ip", "".join(f"link set dev {plug} {link_state}\n" for plug in plugs))

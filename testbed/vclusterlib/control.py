"""The requests that the head answers: status, changes and tests of the link, power and faults.

They arrive at the stream socket `state.SOCKET`.  A request is one JSON object on one line, and so
is the answer: ``{"ok": true, ...}``, or ``{"ok": false, "error": line, "status": 1 or 2}``.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import time
from dataclasses import replace
from typing import Any

from vclusterlib import UserError, VclusterError, daemons, lease, network
from vclusterlib.boot import Nodes, node_states
from vclusterlib.faults import NodeFaults
from vclusterlib.link import Link, LinkSettings, SelfTest, self_test
from vclusterlib.state import State

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
        alive = daemons.daemons_alive(self._expected_daemons())
        # without a slurmctld, sinfo would wait for it
        states = node_states() if alive["slurmctld"] else {}
        pid_files = {node.name: self._state.pid_file(node.name) for node in spec.nodes}
        pids = {name: int(file.read_text()) for name, file in pid_files.items()}
        slurmds = daemons.slurmd_alive(pids)
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

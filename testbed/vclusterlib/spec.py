"""What a user asks of a virtual cluster: nodes, their addresses, fabric and options; and times,
rates, sizes and fractions as people write them: 2ms, 1Gbit/s, 1MiB, 0.1%.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from vclusterlib import UserError

MAX_NODES = 16
FABRICS = ("wan", "hub")
ENGINES = ("auto", "netem", "userspace")
_SECONDS_BY_UNIT = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_BIT_S_BY_UNIT = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
_BYTES_BY_UNIT = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_QUANTITY_PATTERN = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(\S*)")


@dataclass(frozen=True)
class Node:
    """A compute node.  `cluster` is 1 for A and 2 for B, `index` counts from 1."""

    name: str
    cluster: int
    index: int

    @property
    def feature(self) -> str:
        return "clusterA" if self.cluster == 1 else "clusterB"

    @property
    def fabric_address(self) -> str:
        return f"10.78.{self.cluster}.{self.index}"

    @property
    def management_address(self) -> str:
        return f"10.77.{self.cluster}.{self.index}"

    @property
    def fabric_mac(self) -> str:
        return f"02:78:00:00:{self.cluster:02x}:{self.index:02x}"

    @property
    def management_mac(self) -> str:
        return f"02:77:00:00:{self.cluster:02x}:{self.index:02x}"


@dataclass(frozen=True)
class Spec:
    """The cluster that ``up`` requests; rates in bit/s, memory in MiB."""

    nodes_a: int = 4
    nodes_b: int = 4
    cpus: int = 4
    memory: int = 4096
    accounting: bool = False
    fabric: str = "wan"
    engine: str = "auto"
    hub_rate: float = 10e6
    cpu_weight: int = 0
    rootless: bool = False
    shares: tuple[str, ...] = ()
    slurm: str = ""

    def __post_init__(self) -> None:
        for cluster, count in (("A", self.nodes_a), ("B", self.nodes_b)):
            if not 1 <= count <= MAX_NODES:
                raise UserError(f"cluster {cluster}: {count} nodes; allowed is 1 to {MAX_NODES}")
        if not 1 <= self.cpus <= 256:
            raise UserError(f"--cpus {self.cpus}: allowed is 1 to 256")
        if not 64 <= self.memory <= 2**20:
            raise UserError(f"--memory {self.memory}: allowed is 64 to {2**20} (MiB)")
        if self.cpu_weight and not 1 <= self.cpu_weight <= 10000:
            raise UserError(f"--cpu-weight {self.cpu_weight}: allowed is 1 to 10000, usual 100")
        if self.cpu_weight and self.rootless:
            raise UserError("--cpu-weight needs root: cgroups belong to the machine")
        if self.fabric == "hub" and self.engine == "netem":
            raise UserError("netem cannot emulate a hub, a shared medium: drop --link netem")

    def node(self, name: str) -> Node:
        """The node of that name; UserError if there is none."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise UserError(f"no node {name}: there are {self.nodes[0].name} .. {self.nodes[-1].name}")

    @property
    def nodes(self) -> tuple[Node, ...]:
        counts = (("a", 1, self.nodes_a), ("b", 2, self.nodes_b))
        return tuple(Node(f"{p}{i}", c, i) for p, c, n in counts for i in range(1, n + 1))

    @property
    def has_management_network(self) -> bool:
        """Whether Slurm has its own network: else it would share the hub's 10 Mbit/s with jobs."""
        return self.fabric == "hub"

    @property
    def head_address(self) -> str:
        return "10.77.0.1" if self.has_management_network else "10.78.0.1"

    def slurm_address(self, node: Node) -> str:
        """The address at which Slurm reaches the node."""
        return node.management_address if self.has_management_network else node.fabric_address

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> Spec:
        return Spec(**{**data, "shares": tuple(data["shares"])})


def parse_nodes(text: str) -> tuple[int, int]:
    """Parse ``4+4``, the numbers of nodes of cluster A and of cluster B."""
    match = re.fullmatch(r"(\d{1,6})\+(\d{1,6})", text)
    if not match:
        raise UserError(f"--nodes {text!r}: write the nodes of A and of B: 4+4")
    return int(match[1]), int(match[2])


def _parse_quantity(text: str, quantity: str, units: Mapping[str, float], example: str) -> float:
    match = _QUANTITY_PATTERN.fullmatch(text.strip())
    if not match or match[2] not in units:
        raise UserError(
            f"{quantity} {text!r}: write a number and one of {', '.join(units)}: {example}"
        )
    return float(match[1]) * units[match[2]]


def _require_range(
    value: float, low: float, high: float, quantity: str, text: str, span: str
) -> float:
    if not low <= value <= high:
        raise UserError(f"{quantity} {text} is out of range: allowed is {span}")
    return value


def parse_rtt(text: str) -> float:
    """Round-trip time in seconds, 0 to 100 ms; a bare 0 needs no unit."""
    value = 0.0 if text.strip() == "0" else _parse_quantity(text, "RTT", _SECONDS_BY_UNIT, "2ms")
    return _require_range(value, 0, 0.1, "RTT", text, "0 to 100ms")


def parse_cut(text: str) -> float:
    """Duration of a cut of the link in seconds, 1 ms to 1 hour."""
    value = _parse_quantity(text, "cut", _SECONDS_BY_UNIT, "5s")
    return _require_range(value, 1e-3, 3600, "cut", text, "1ms to 3600s")


def parse_wait(text: str) -> float:
    """Waiting time in seconds, 0 to 1 day."""
    value = 0.0 if text.strip() == "0" else _parse_quantity(text, "wait", _SECONDS_BY_UNIT, "60s")
    return _require_range(value, 0, 86400, "wait", text, "0 to 86400s")


def parse_rate(text: str) -> float:
    """Bits per second, 64 kbit/s to 100 Gbit/s; ``unlimited`` is 0."""
    if text == "unlimited":
        return 0.0
    value = _parse_quantity(text, "rate", _BIT_S_BY_UNIT, "1Gbit/s, or unlimited")
    return _require_range(value, 64e3, 100e9, "rate", text, "64kbit/s to 100Gbit/s, or unlimited")


def parse_bytes(text: str) -> int:
    """Bytes of a queue, 2 KiB (one frame) to 1 GiB."""
    value = _parse_quantity(text, "queue", _BYTES_BY_UNIT, "1MiB")
    return int(_require_range(value, 2**11, 2**30, "queue", text, "2KiB to 1GiB"))


def parse_loss(text: str) -> float:
    """Fraction of frames lost in one direction, 0 to 0.5."""
    value = 0.0 if text.strip() == "0" else _parse_quantity(text, "loss", {"%": 0.01}, "0.1%")
    return _require_range(value, 0, 0.5, "loss", text, "0% to 50%")


def parse_cpu(text: str) -> float:
    """Share of a processor, 0.25 to 64; more than the machine has is no limit."""
    value = _parse_quantity(text, "cpu", {"%": 0.01}, "25%")
    return _require_range(value, 0.25, 64, "cpu", text, "25% to 6400%")


def describe_rate(bits_per_second: float) -> str:
    """``1 Gbit/s``; 0 is ``unlimited``."""
    return _describe(bits_per_second, _BIT_S_BY_UNIT) if bits_per_second else "unlimited"


def describe_bytes(count: int) -> str:
    """``64 MiB``."""
    return _describe(count, _BYTES_BY_UNIT)


def _describe(value: float, units: Mapping[str, float]) -> str:
    """The value in the largest unit of which it is one at least."""
    unit = max((unit for unit in units if units[unit] <= max(value, 1)), key=lambda u: units[u])
    return f"{value / units[unit]:g} {unit}"

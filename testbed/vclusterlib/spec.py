"""The description of a virtual cluster: nodes, their addresses, fabric and options."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from vclusterlib.errors import UserError

MAX_NODES = 16
FABRICS = ("wan", "hub")
ENGINES = ("auto", "netem", "userspace")


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
    def managed(self) -> bool:
        """Whether Slurm has its own network: else it would share the hub's 10 Mbit/s with jobs."""
        return self.fabric == "hub"

    @property
    def head_address(self) -> str:
        return "10.77.0.1" if self.managed else "10.78.0.1"

    def address(self, node: Node) -> str:
        """The address at which Slurm reaches the node."""
        return node.management_address if self.managed else node.fabric_address

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

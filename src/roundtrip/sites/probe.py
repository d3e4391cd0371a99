"""What a machine says about itself: Slurm, processors, InfiniBand or RoCE ports, installed MPIs.

Each parser takes the text of one command, so that it can be tested without the machine.
A command that is missing or fails is no error: that fact stays unknown.
"""

from __future__ import annotations

import getpass
import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from roundtrip.sites import libraries, slurmconf, slurmsays, targets
from roundtrip.sites.libraries import Library
from roundtrip.sites.slurmsays import Says

Runner = Callable[..., str | None]
_YES_NO = {True: "yes", False: "no", None: "not found"}
#: Partition, nodes, sockets of a node, cores of a socket, features, names; `2+` is 2 or more.
SINFO = "%P|%D|%X|%Y|%f|%N"


@dataclass(frozen=True)
class Partition:
    """A Slurm partition.  `nodes` is their number, `cores` and `sockets` those of one node, 0 if
    not known; `hosts` are their names."""

    name: str
    default: bool
    nodes: int
    cores: int
    features: tuple[str, ...]
    hosts: frozenset[str] = frozenset()
    sockets: int = 0


@dataclass(frozen=True)
class Port:
    """A port of a host channel adapter.  `link_layer` is InfiniBand or Ethernet."""

    device: str
    number: int
    active: bool
    link_layer: str


@dataclass(frozen=True)
class Facts:
    """What was found; None or empty where nothing was found."""

    partitions: tuple[Partition, ...] = ()
    slurm: str | None = None
    pmi: tuple[str, ...] = ()
    binds_tasks: bool | None = None
    accounting: bool | None = None
    cpu: str | None = None
    target: str | None = None
    sockets: int | None = None
    cores: int | None = None
    ports: tuple[Port, ...] = ()
    interfaces: tuple[tuple[str, bool], ...] = ()
    libraries: tuple[Library, ...] = ()
    says: Says = field(default_factory=Says)

    @property
    def usable(self) -> list[Partition]:
        """Partitions that start jobs."""
        return [one for one in self.partitions if self.says.up(one.name)]

    @property
    def partition(self) -> Partition | None:
        """Slurm's default partition, or the one with most nodes."""
        ranked = self._ranked
        return ranked[0] if ranked else None

    @property
    def covering(self) -> list[Partition]:
        """`partition`, and each other that has at least two nodes of its own.

        Slurm often offers the same nodes under several names; nobody wants to measure them twice.
        """
        chosen: list[Partition] = []
        covered: set[str] = set()
        for one in self._ranked:
            if not chosen or len(one.hosts - covered) > 1:
                chosen.append(one)
                covered |= one.hosts
        return chosen

    @property
    def _ranked(self) -> list[Partition]:
        return sorted(self.usable, key=lambda p: (not p.default, -p.nodes, p.name))

    def library(self, name: str) -> Library | None:
        """What is installed of `name`, by Spack's name."""
        return next((item for item in self.libraries if item.name == name), None)

    @property
    def port(self) -> Port | None:
        """An active port, InfiniBand before Ethernet."""
        ranked = sorted(
            (port for port in self.ports if port.active),
            key=lambda port: (port.link_layer != "InfiniBand", port.device, port.number),
        )
        return ranked[0] if ranked else None

    def interface(self, infiniband: bool) -> str | None:
        """The first network interface that runs over InfiniBand (IPoIB), or that does not."""
        return next((name for name, over_ib in self.interfaces if over_ib is infiniband), None)

    def lines(self) -> list[str]:
        """A line for each kind of fact, for people."""
        unknown = "not found"
        partitions = ", ".join(
            f"{p.name}{'*' if p.default else ''} ({p.nodes} nodes of {p.cores} cores)"
            for p in self.partitions
        )
        ports = ", ".join(
            f"{p.device}:{p.number} {p.link_layer}{'' if p.active else ' (down)'}"
            for p in self.ports
        )
        return [
            f"Slurm: {self.slurm or unknown}; partitions: {partitions or unknown}",
            f"PMI offered by srun: {', '.join(self.pmi) or unknown}",
            f"processor: {self.cpu or unknown}, {self.sockets or '?'} x {self.cores or '?'} cores, "
            f"target {self.target or unknown}",
            f"ports: {ports or unknown}",
            f"interfaces: {', '.join(name for name, _ in self.interfaces) or unknown}",
            f"accounting (sacct): {_YES_NO[self.accounting]}",
            "software: " + ("; ".join(map(str, self.libraries)) or unknown),
        ]


def look(run: Runner | None = None, net: Path = Path("/sys/class/net")) -> Facts:
    """Ask this machine; `run(*command)` returns what a command prints, or None if it fails."""
    run = run or ask
    sinfo = run("sinfo", "-h", "-o", SINFO)
    slurm = re.search(r"slurm(?:-wlm)? (\S+)", run("sinfo", "--version") or "")
    lscpu = run("lscpu", "-J") or ""
    cpu, sockets, cores = parse_lscpu(lscpu)
    config = run("scontrol", "show", "config")
    return Facts(
        partitions=parse_sinfo(sinfo or ""),
        slurm=slurm[1] if slurm else None,
        pmi=parse_pmi(run("srun", "--mpi=list") or ""),
        binds_tasks=None if config is None else "task/affinity" in _setting(config, "TaskPlugin"),
        accounting=None
        if config is None
        else "slurmdbd" in _setting(config, "AccountingStorageType"),
        cpu=cpu,
        target=targets.of_lscpu(lscpu),
        sockets=sockets,
        cores=cores,
        ports=parse_ibv_devinfo(run("ibv_devinfo") or "") or parse_ibstat(run("ibstat") or ""),
        interfaces=interfaces(net),
        libraries=tuple(libraries.look(run, slurm[1] if slurm else None)),
        says=slurmsays.look(run, config or "", getpass.getuser()),
    )


def parse_sinfo(text: str) -> tuple[Partition, ...]:
    """What sinfo prints in the format `SINFO`: a line for each kind of node of a partition.

    `cores` and `sockets` are those of the least node.  Slurm's CPUs may be hardware threads: cores
    are not.
    """
    found: dict[str, Partition] = {}
    for line in text.splitlines():
        parts = line.strip().split("|")
        if len(parts) != 6 or not parts[1].isdigit():
            continue
        name, default = parts[0].rstrip("*"), parts[0].endswith("*")
        sockets, each = (int(re.match(r"\d*", part)[0] or 0) for part in parts[2:4])  # type: ignore[index]
        cores = sockets * each
        features = set() if parts[4] == "(null)" else set(parts[4].split(","))
        earlier = found.get(name)
        if earlier:
            features |= set(earlier.features)
            cores, sockets = min(cores, earlier.cores), min(sockets, earlier.sockets)
        nodes = int(parts[1]) + (earlier.nodes if earlier else 0)
        hosts = {*slurmconf.expand(parts[5]), *(earlier.hosts if earlier else ())}
        features_ = tuple(sorted(features))
        found[name] = Partition(name, default, nodes, cores, features_, frozenset(hosts), sockets)
    return tuple(found.values())


def parse_pmi(text: str) -> tuple[str, ...]:
    """From ``srun --mpi=list``: a heading, then one plugin on a line, or several."""
    words = re.findall(r"\b(?:pmix(?:_v\d)?|pmi2|cray_shasta|none)\b", text)
    return tuple(dict.fromkeys(words))


def plugins() -> tuple[str, ...]:
    """The PMIs that this machine's srun has."""
    return parse_pmi(ask("srun", "--mpi=list") or "")


def parse_lscpu(text: str) -> tuple[str | None, int | None, int | None]:
    """From ``lscpu -J``: model, sockets, cores of a socket."""
    try:
        entries = json.loads(text)["lscpu"]
    except (json.JSONDecodeError, KeyError):
        return None, None, None
    flat: dict[str, str] = {}
    while entries:
        entry = entries.pop()
        flat[entry["field"].rstrip(":")] = entry.get("data") or ""
        entries += entry.get("children", [])
    sockets, cores = (flat.get(key, "") for key in ("Socket(s)", "Core(s) per socket"))
    return (
        flat.get("Model name"),
        int(sockets) if sockets.isdigit() else None,
        int(cores) if cores.isdigit() else None,
    )


def parse_ibv_devinfo(text: str) -> tuple[Port, ...]:
    """From ``ibv_devinfo``: a block for each device, with a block for each port."""
    ports = []
    for block in re.split(r"^hca_id:\s*", text, flags=re.MULTILINE)[1:]:
        device = block.split(maxsplit=1)[0]
        for part in re.split(r"^\s*port:\s*", block, flags=re.MULTILINE)[1:]:
            state = re.search(r"state:\s*(\S+)", part)
            layer = re.search(r"link_layer:\s*(\S+)", part)
            ports.append(
                Port(
                    device,
                    int(part.split(maxsplit=1)[0]),
                    bool(state and state[1] == "PORT_ACTIVE"),
                    layer[1] if layer else "InfiniBand",
                )
            )
    return tuple(ports)


def parse_ibstat(text: str) -> tuple[Port, ...]:
    """From ``ibstat``: ``CA 'mlx5_0'`` blocks with ``Port 1:`` blocks."""
    ports = []
    for block in re.split(r"^CA '", text, flags=re.MULTILINE)[1:]:
        device = block.split("'", 1)[0]
        for part in re.split(r"^\s*Port (?=\d+:)", block, flags=re.MULTILINE)[1:]:
            state = re.search(r"State:\s*(\S+)", part)
            layer = re.search(r"Link layer:\s*(\S+)", part)
            ports.append(
                Port(
                    device,
                    int(part.split(":", 1)[0]),
                    bool(state and state[1] == "Active"),
                    layer[1] if layer else "InfiniBand",
                )
            )
    return tuple(ports)


def interfaces(net: Path) -> tuple[tuple[str, bool], ...]:
    """Network interfaces of real devices in ``/sys/class/net``, and whether each is IPoIB."""
    infiniband = "32"  # ARPHRD_INFINIBAND of <linux/if_arp.h>
    return tuple(
        (folder.name, (folder / "type").read_text().strip() == infiniband)
        for folder in sorted(net.glob("*"))
        if (folder / "device").exists() and (folder / "type").is_file()
    )


def _setting(config: str, name: str) -> str:
    match = re.search(rf"^{name}\s*=\s*(.*)$", config, re.MULTILINE)
    return match[1] if match else ""


def ask(*command: str) -> str | None:
    """What a command of this machine prints; None if it is missing or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    # Some versions of srun list their plugins on standard error.
    return (done.stdout or done.stderr) if done.returncode == 0 else None

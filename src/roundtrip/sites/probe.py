"""Probes a machine: processors, InfiniBand or RoCE ports, scheduler, installed libraries.

The function that runs commands and the folder of kernel devices are parameters, so that tests need
no such machine.  A command that is missing or fails is no error: its facts stay unknown.

A library without its headers runs programs but cannot build any: as an external of Spack it would
fail the configure step of an MPI, half an hour later.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from roundtrip.sites import schedulers
from roundtrip.sites.machine import read_host
from roundtrip.sites.schedulers.interface import Cluster, CommandRunner, Scheduler, command_output

#: The highest target by default, without AVX-512: it changes clocks, and few clusters have it in
#: every node.
MAX_DEFAULT_TARGET = "x86_64_v3"


@dataclass(frozen=True)
class Library:
    """A library by Spack's `name`; if `missing_file` is set, nothing can be built with it."""

    name: str
    version: str
    prefix: str = "/usr"
    missing_file: str | None = None

    def __str__(self) -> str:
        suffix = f", without {self.missing_file}" if self.missing_file else ""
        return f"{self.name} {self.version} in {self.prefix}{suffix}"


_VERSION_PATTERN = r"(\d+(?:\.\d+)*)"
#: Libraries whose version and prefix pkg-config knows, with header and library.  Open MPI 5 looks
#: for them in `lib` and `lib64` of the prefix only, not in Debian's folder of an architecture.
_LIBRARY_PACKAGES = {
    "pmix": ("pmix.h", "libpmix.so"),
    "hwloc": ("hwloc.h", "libhwloc.so"),
    "libevent": ("event2/event.h", "libevent_core.so"),
}


def collect_libraries(
    run: CommandRunner, scheduler: Scheduler, version: str | None
) -> list[Library]:
    """The installed libraries that MPIs depend on, and that of the scheduler, in `version`."""
    libraries = []
    if version and scheduler.spack_package:
        prefix = _program_prefix(scheduler.node_list_command)
        files = (scheduler.header_file, scheduler.library_file)
        libraries.append(_probe_library(scheduler.spack_package, version, prefix, *files))
    ucx = rf"(?:Library version:|UCT version=)\s*{_VERSION_PATTERN}"
    if number := re.search(ucx, run("ucx_info", "-v") or ""):
        prefix = _program_prefix("ucx_info")
        libraries.append(_probe_library("ucx", number[1], prefix, "ucp/api/ucp.h", "libucp.so"))
    if number := re.search(_VERSION_PATTERN, run("gcc", "-dumpfullversion") or ""):
        libraries.append(Library("gcc", number[1], str(_program_prefix("gcc"))))
    rdma = run("rpm", "-q", "--qf", "%{VERSION}", "rdma-core") or run(
        "dpkg-query", "-W", "-f", "${Version}", "libibverbs-dev"
    )
    if rdma and (number := re.match(_VERSION_PATTERN, rdma)):
        files = ("infiniband/verbs.h", "libibverbs.so")
        libraries.append(_probe_library("rdma-core", number[1], Path("/usr"), *files))
    for name, (header, library) in _LIBRARY_PACKAGES.items():
        version = run("pkg-config", "--modversion", name)
        prefix_text = run("pkg-config", "--variable=prefix", name)
        if version and prefix_text and (number := re.match(_VERSION_PATTERN, version)):
            prefix = Path(prefix_text.strip())
            libraries.append(
                _probe_library(name, number[1], prefix, header, library, multiarch=False)
            )
    return libraries


def _program_prefix(program: str) -> Path:
    path = shutil.which(program)
    return Path(path).parent.parent if path else Path("/usr")


def _probe_library(
    name: str, version: str, prefix: Path, header: str, library: str, multiarch: bool = True
) -> Library:
    """Return a library, with the first of `header` and `library` that `prefix` lacks; with
    `multiarch`, `library` may be in an architecture's folder, as in Debian."""
    folders = ["lib*", *(["lib/*-linux-gnu*"] if multiarch else [])]
    missing_file = None
    if not (prefix / "include" / header).is_file():
        missing_file = f"include/{header}"
    elif not any(file for folder in folders for file in prefix.glob(f"{folder}/{library}")):
        missing_file = f"lib/{library}"
    return Library(name, version, str(prefix), missing_file)


@dataclass(frozen=True)
class FabricPort:
    """A port of a host channel adapter.  `link_layer` is InfiniBand or Ethernet."""

    device: str
    number: int
    active: bool
    link_layer: str


@dataclass(frozen=True)
class MachineFacts:
    """Facts of a machine, None or empty if unknown: `target` in Spack's words, `cores` a socket,
    `interfaces` as names of network interfaces, each with whether it is IPoIB."""

    cpu: str | None = None
    target: str | None = None
    sockets: int | None = None
    cores: int | None = None
    ports: tuple[FabricPort, ...] = ()
    interfaces: tuple[tuple[str, bool], ...] = ()
    libraries: tuple[Library, ...] = ()
    scheduler: Scheduler = schedulers.NO_SCHEDULER
    cluster: Cluster = field(default_factory=Cluster)

    def find_library(self, name: str) -> Library | None:
        """Return the installed library with Spack's `name`; None without one."""
        return next((item for item in self.libraries if item.name == name), None)

    @property
    def has_scheduler_library(self) -> bool:
        """Whether programs can be built with the scheduler's library, as far as is known."""
        library = self.find_library(self.scheduler.spack_package)
        return library is None or library.missing_file is None

    @property
    def active_port(self) -> FabricPort | None:
        """The first active port, InfiniBand before Ethernet; None without one."""
        return min(
            (port for port in self.ports if port.active),
            key=lambda port: (port.link_layer != "InfiniBand", port.device, port.number),
            default=None,
        )

    def find_interface(self, infiniband: bool) -> str | None:
        """Return the first network interface: IPoIB if `infiniband`, else one that is not."""
        return next((name for name, over_ib in self.interfaces if over_ib is infiniband), None)

    def describe_lines(self) -> list[str]:
        """Return lines for people on all facts, the scheduler's first."""
        default = "none found"
        ports = ", ".join(
            f"{p.device}:{p.number} {p.link_layer}{'' if p.active else ' (down)'}"
            for p in self.ports
        )
        cores = f"sockets: {self.sockets or '?'}, cores of each: {self.cores or '?'}"
        where = ", from which nodes may differ" if self.scheduler.allocates_nodes else ""
        return [
            *self._scheduler_lines(),
            f"this machine{where}: {self.cpu or 'unknown processor'}; {cores}; Spack's target: "
            f"{self.target or 'unknown'}",
            f"its InfiniBand and RoCE ports: {ports or default}",
            f"its network interfaces: {', '.join(name for name, _ in self.interfaces) or default}",
            f"its software: {'; '.join(map(str, self.libraries)) or default}",
        ]

    def _scheduler_lines(self) -> list[str]:
        scheduler, cluster = self.scheduler, self.cluster
        if not scheduler.allocates_nodes:
            titles = " or ".join(item.title for item in schedulers.SCHEDULERS)
            return [f"scheduler: none, PATH has no command of {titles}"]
        partitions = ", ".join(
            f"{p.name} (nodes: {p.nodes}, cores of each: {p.cores}"
            f"{', the default' if p.is_default else ''})"
            for p in cluster.partitions
        )
        version = cluster.version or "of unknown version"
        lines = [f"{scheduler.title} {version}; partitions: {partitions or 'it lists none'}"]
        if scheduler.launcher:
            pmis = ", ".join(cluster.offered_pmis) or "unknown"
            lines.append(f"PMI offered by {scheduler.launcher}: {pmis}")
        if scheduler.accounting_command:
            accounting = {True: "yes", False: "no", None: "unknown"}[cluster.accounting]
            lines.append(f"accounting ({scheduler.accounting_command}): {accounting}")
        return lines


def collect_machine_facts(
    run: CommandRunner = command_output, devices: Path = Path("/sys/class")
) -> MachineFacts:
    """Probe this machine; `run(*command)` returns a command's output, or None if it fails."""
    import archspec.cpu

    host, scheduler = read_host(), schedulers.installed_scheduler()
    cluster = scheduler.collect_cluster(run)
    processor, limit = archspec.cpu.host(), archspec.cpu.TARGETS[MAX_DEFAULT_TARGET]
    is_usual = processor.family == limit.family
    target = min(processor.generic, limit) if is_usual else processor.family
    return MachineFacts(
        cpu=host.cpu_model,
        target=str(target.name),
        sockets=host.sockets,
        cores=host.cores // host.sockets,
        ports=read_ports(devices / "infiniband"),
        interfaces=read_interfaces(devices / "net"),
        libraries=tuple(collect_libraries(run, scheduler, cluster.version)),
        scheduler=scheduler,
        cluster=cluster,
    )


def read_ports(folder: Path) -> tuple[FabricPort, ...]:
    """Return the ports of host channel adapters in `folder`, ``/sys/class/infiniband``."""
    return tuple(
        FabricPort(
            device=port.parents[1].name,
            number=int(port.name),
            active=(port / "state").read_text().strip().endswith("ACTIVE"),
            link_layer=(port / "link_layer").read_text().strip(),
        )
        for port in sorted(folder.glob("*/ports/*"))
    )


def read_interfaces(net: Path) -> tuple[tuple[str, bool], ...]:
    """Return the interfaces of real devices in `net` (``/sys/class/net``): name, whether IPoIB."""
    infiniband = "32"  # ARPHRD_INFINIBAND of <linux/if_arp.h>
    return tuple(
        (folder.name, (folder / "type").read_text().strip() == infiniband)
        for folder in sorted(net.glob("*"))
        if (folder / "device").exists() and (folder / "type").is_file()
    )

"""Facts of this machine from /proc, /sys and package managers, and their record in every run.

All paths are below a root folder, so that tests read recorded trees.  A fact is None if the kernel
does not have it.  The record is enough to explain a change and has no secrets: no user names, paths
or addresses.  The host name is in `hostname` only, where the bundle replaces it.
"""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from roundtrip import files, paths
from roundtrip.errors import UserError


def packages_in_sections(listing: str, sections: Iterable[str]) -> list[str]:
    """Return the packages that the text of an ``apt-packages.txt`` lists in `sections`."""
    section, names = "", []
    for line in listing.splitlines():
        word = line.split("#", 1)[0].strip()
        if header := re.fullmatch(r"\[(.+)\]", word):
            section = header[1]
        elif word and section in sections:
            names.append(word)
    return names


#: Options that query the state, name and version of packages, by the program of the manager.
_QUERY_OPTIONS_BY_PROGRAM = {
    "dpkg-query": ("-W", "-f", "${db:Status-Status} ${Package} ${Version}\n"),
    "rpm": ("-q", "--qf", "installed %{NAME} %{VERSION}-%{RELEASE}\n"),
}


def installed_packages(names: Iterable[str]) -> dict[str, str] | None:
    """Return the versions of installed packages in `names`, by name; None without dpkg and rpm."""
    for program, options in _QUERY_OPTIONS_BY_PROGRAM.items():
        if program_path := shutil.which(program):
            return dict(_query_packages((program_path, *options, *names)))
    return None


@cache
def _query_packages(query: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    output = subprocess.run(query, capture_output=True, text=True).stdout
    lines = (line.split() for line in output.splitlines())
    return tuple((w[1], w[2]) for w in lines if len(w) == 3 and w[0] == "installed")


def upstream_version(version: str) -> str:
    """Upstream's part of a version: 4.1.4 of 1:4.1.4+ds-3+b1, 4.2.1 of 4.3.0+really4.2.1-1."""
    return re.split(r"[-+~]", version.split(":", 1)[-1].split("+really")[-1])[0]


def distribution_name() -> str:
    """Return ``debian12``, ``ubuntu24.04``; ``el9`` for all rebuilds of RHEL 9; "" if unknown."""
    release = _os_release()
    name = release.get("ID", "") + release.get("VERSION_ID", "")
    return release.get("PLATFORM_ID", "").removeprefix("platform:") or name


def distributor_name() -> str:
    """Return who made this distribution: ``Debian``, ``Ubuntu``, ``Rocky``; or "unknown"."""
    return _os_release().get("NAME", "unknown").split()[0]


def _os_release() -> dict[str, str]:
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


@dataclass(frozen=True)
class CoreCache:
    """A cache of the first core; `shared_by` is the number of logical processors that share it."""

    level: int
    kind: str
    size_kib: int
    shared_by: int


@dataclass(frozen=True)
class Host:
    """Facts of a machine.

    `logical` counts the processors that are online, `usable` those that this process may use,
    `cores` the physical ones.  `quota` is the number of processors that the control group may use
    on average.  `microcode` is the revision of the first processor, `firmware` the version of the
    BIOS.  `turbo` and `smt` are None if the kernel does not report them.  `steal_share` is the
    share of the time since boot that the hypervisor gave to others, 0..1.  `load_averages` are
    those of the last 1, 5 and 15 minutes.
    """

    hostname: str
    cpu_model: str
    logical: int
    usable: int
    cores: int
    sockets: int
    smt: bool | None
    quota: float | None
    caches: tuple[CoreCache, ...]
    numa_nodes: int
    memory_kib: int
    swap_kib: int
    swap_used_kib: int
    kernel: str
    distribution: str
    governors: tuple[str, ...]
    turbo: bool | None
    clocksource: str | None
    virtual: bool
    hypervisor: str | None
    container: bool
    thp: str | None
    numa_balancing: bool | None
    mitigations: tuple[tuple[str, str], ...]
    load_averages: tuple[float, float, float]
    steal_share: float
    autogroup: bool | None = None
    microcode: str | None = None
    firmware: str | None = None


def read_host(root: Path = Path("/")) -> Host:
    """Facts of the machine whose /proc, /sys and /etc are below `root`."""
    cpu = root / "sys/devices/system/cpu"
    cpuinfo = _read_stripped(root / "proc/cpuinfo") or ""
    online = parse_number_list(_read_stripped(cpu / "online") or "") or [0]
    cpu_list = _find_field(_read_stripped(root / "proc/self/status"), "Cpus_allowed_list")
    models = (_find_field(cpuinfo, name) for name in ("model name", "Model", "CPU part"))
    no_turbo = _read_kernel_switch(cpu / "intel_pstate/no_turbo")
    release = _read_stripped(root / "etc/os-release")
    huge_pages = _read_stripped(root / "sys/kernel/mm/transparent_hugepage/enabled")
    memory = _read_meminfo_kib(root)
    cores = {_socket_and_core(cpu, n) for n in online}
    return Host(
        hostname=_read_stripped(root / "proc/sys/kernel/hostname") or "",
        cpu_model=" ".join(next(filter(None, models), "unknown").split()),
        logical=len(online),
        usable=len(parse_number_list(cpu_list)) if cpu_list else len(online),
        cores=len(cores),
        sockets=len({socket for socket, _ in cores}),
        smt=_read_kernel_switch(cpu / "smt/active"),
        quota=_read_cgroup_processors(root / "sys/fs/cgroup"),
        caches=_read_caches(cpu / f"cpu{online[0]}/cache"),
        numa_nodes=len(
            parse_number_list(_read_stripped(root / "sys/devices/system/node/online") or "0")
        ),
        memory_kib=memory.get("MemTotal", 0),
        swap_kib=memory.get("SwapTotal", 0),
        swap_used_kib=memory.get("SwapTotal", 0) - memory.get("SwapFree", 0),
        kernel=_read_stripped(root / "proc/sys/kernel/osrelease") or "",
        distribution=_find_group(r'^PRETTY_NAME="?(.*?)"?$', release) or "unknown",
        governors=_read_governors(cpu, online),
        turbo=_read_kernel_switch(cpu / "cpufreq/boost") if no_turbo is None else not no_turbo,
        clocksource=_read_stripped(
            root / "sys/devices/system/clocksource/clocksource0/current_clocksource"
        ),
        virtual=bool(re.search(r"^flags\s*:.*\bhypervisor\b", cpuinfo, re.MULTILINE))
        or (root / "sys/hypervisor/type").exists(),
        hypervisor=_read_stripped(root / "sys/hypervisor/type")
        or _read_stripped(root / "sys/class/dmi/id/sys_vendor"),
        container=(root / ".dockerenv").exists() or (root / "run/systemd/container").exists(),
        thp=_find_group(r"\[(\w+)\]", huge_pages),
        numa_balancing=_read_kernel_switch(root / "proc/sys/kernel/numa_balancing"),
        mitigations=tuple(
            (file.name, _read_stripped(file) or "")
            for file in sorted(cpu.glob("vulnerabilities/*"))
        ),
        load_averages=_parse_load_averages(_read_stripped(root / "proc/loadavg") or ""),
        steal_share=_parse_steal_share(_read_stripped(root / "proc/stat") or ""),
        autogroup=_read_kernel_switch(root / "proc/sys/kernel/sched_autogroup_enabled"),
        microcode=_find_field(cpuinfo, "microcode"),
        firmware=_read_stripped(root / "sys/class/dmi/id/bios_version"),
    )


def parse_number_list(text: str) -> list[int]:
    """The kernel's list format: ``0-2,5`` -> [0, 1, 2, 5]."""
    numbers: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        numbers.extend(range(int(first), int(last or first) + 1))
    return numbers


def _read_stripped(file: Path) -> str | None:
    """Return the stripped text of `file`; None if it cannot be read, as some files of /sys."""
    try:
        return file.read_text(errors="replace").strip()
    except OSError:
        return None


def _read_kernel_switch(file: Path) -> bool | None:
    """Return whether `file`, a switch of the kernel, is not 0; None if there is no such file."""
    text = _read_stripped(file)
    return None if text is None else text != "0"


def _find_group(pattern: str, text: str | None) -> str | None:
    """Return the first group of the first match of `pattern` in `text`; None without a match."""
    match = re.search(pattern, text or "", re.MULTILINE)
    return match[1] if match else None


def _find_field(text: str | None, name: str) -> str | None:
    """The value in the first line ``NAME: VALUE``, as in files of /proc."""
    return _find_group(rf"^{name}\s*:\s*(\S.*)$", text)


def _socket_and_core(cpu: Path, number: int) -> tuple[str, str]:
    folder = cpu / f"cpu{number}/topology"
    socket = _read_stripped(folder / "physical_package_id") or "0"
    return socket, _read_stripped(folder / "core_id") or str(number)


def _read_caches(folder: Path) -> tuple[CoreCache, ...]:
    caches = []
    for index in sorted(folder.glob("index*")):
        size = re.fullmatch(r"(\d+)([KM])", _read_stripped(index / "size") or "")
        if size:
            caches.append(
                CoreCache(
                    level=int(_read_stripped(index / "level") or 0),
                    kind=_read_stripped(index / "type") or "",
                    size_kib=int(size[1]) * (1024 if size[2] == "M" else 1),
                    shared_by=len(
                        parse_number_list(_read_stripped(index / "shared_cpu_list") or "")
                    ),
                )
            )
    return tuple(caches)


def _read_meminfo_kib(root: Path) -> dict[str, int]:
    lines = re.findall(
        r"^(\w+):\s+(\d+) kB$", _read_stripped(root / "proc/meminfo") or "", re.MULTILINE
    )
    return {name: int(value) for name, value in lines}


def _read_governors(cpu: Path, online: list[int]) -> tuple[str, ...]:
    names = {_read_stripped(cpu / f"cpu{n}/cpufreq/scaling_governor") for n in online}
    return tuple(sorted(governor for governor in names if governor))


def _read_cgroup_processors(cgroup: Path) -> float | None:
    """Return the processors that this control group may use, by cgroup v2, else v1; None: all."""
    limits = (_read_stripped(cgroup / "cpu.max") or "max").split()
    if limits[0] != "max":
        return int(limits[0]) / int(limits[1])
    quota = _read_stripped(cgroup / "cpu/cpu.cfs_quota_us")
    period = _read_stripped(cgroup / "cpu/cpu.cfs_period_us")
    return int(quota) / int(period) if quota and period and int(quota) > 0 else None


def _parse_load_averages(text: str) -> tuple[float, float, float]:
    one, five, fifteen = ([float(word) for word in text.split()[:3]] + [0.0] * 3)[:3]
    return one, five, fifteen


def _parse_steal_share(stat: str) -> float:
    """The share of steal in the first line, ``cpu user nice system idle ... steal``, in ticks."""
    ticks = [int(word) for word in stat.split("\n", 1)[0].split()[1:9]]
    return ticks[7] / sum(ticks) if len(ticks) == 8 and any(ticks) else 0.0


#: Packages that apt-packages.txt does not list, but that affect measurements.
_UNLISTED_PACKAGES = (
    *("g++", "gcc-12", "libc6", "libopenmpi3", "libmpich12", "libfabric1", "libucx0"),
    "spack",
)


def host_record(host: Host) -> dict[str, Any]:
    """Return the facts of `host` as the record of a run has them, JSON-ready."""
    facts = asdict(host)

    def pick(*names: str) -> dict[str, Any]:
        return {name: facts[name] for name in names}

    cpu_names = ("microcode", "logical", "usable", "cores", "sockets", "smt", "quota")
    system_names = ("kernel", "distribution", "firmware", "clocksource", "virtual", "hypervisor")
    return {
        "hostname": host.hostname,
        "cpu": {
            "model": host.cpu_model,
            **pick(*cpu_names, "governors", "turbo", "caches"),
            "mitigations": dict(host.mitigations),
        },
        "memory": {
            "total_kib": host.memory_kib,
            **pick("swap_kib", "numa_nodes", "numa_balancing"),
            "transparent_huge_pages": host.thp,
        },
        "system": pick(*system_names, "container"),
        "load_average": host.load_averages,
        "steal_share": round(host.steal_share, 6),
        "fingerprint": machine_fingerprint(host),
    }


def machine_fingerprint(host: Host) -> str:
    """16 hex digits that change when hardware, kernel or settings of the machine change.

    They do not depend on load, steal, swap or the host name.  Memory counts in whole GiB, because
    the kernel keeps a little more or less of it at every boot.
    """
    settings = asdict(host)
    for name in (
        "hostname",
        "usable",
        "quota",
        "swap_used_kib",
        "load_averages",
        "steal_share",
        "autogroup",
    ):
        del settings[name]
    settings["memory_kib"] = round(host.memory_kib / 2**20)
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    return files.sha256(text.encode())[:16]


def collect_machine_record() -> dict[str, Any]:
    """Return the record of this machine and its packages that every run keeps, JSON-ready."""
    from importlib import metadata  # slow to load, and not needed by other commands

    import archspec.cpu

    return {
        "schema": 1,
        **host_record(read_host()),
        "microarchitecture": archspec.cpu.host().name,
        "versions": {
            "python": platform.python_version(),
            "reframe": metadata.version("reframe-hpc"),
            "roundtrip": metadata.version("roundtrip"),
        },
        "packages": installed_packages([*campaign_packages(), *_UNLISTED_PACKAGES]) or {},
    }


def campaign_packages() -> list[str]:
    """Names of the packages that a campaign on site `local` needs on this distribution."""
    manager = "apt" if shutil.which("dpkg-query") else "dnf"
    try:
        listing = paths.checkout() / "site-configs" / "local" / f"{manager}-packages.txt"
    except UserError:
        return []
    return packages_in_sections(listing.read_text(), ("campaign",)) if listing.is_file() else []

"""The record of the machine that goes into every run: enough to explain a change, and no secrets.

It has no user names, no paths and no addresses.  The host name stands under `hostname` only, where
the bundle replaces it.
"""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

from roundtrip import paths
from roundtrip.errors import UserError
from roundtrip.host import facts, packages
from roundtrip.host.facts import Host

#: Packages that apt-packages.txt does not list, but that decide what is measured.
_ALSO = ("g++", "gcc-12", "libc6", "libopenmpi3", "libmpich12", "libfabric1", "libucx0", "spack")


def describe(host: Host) -> dict[str, Any]:
    """The part of the record that follows from `host` alone, as JSON-ready data."""
    return {
        "hostname": host.hostname,
        "cpu": {
            "model": host.cpu_model,
            "microcode": host.microcode,
            "logical": host.logical,
            "usable": host.usable,
            "cores": host.cores,
            "sockets": host.sockets,
            "smt": host.smt,
            "quota": host.quota,
            "governors": list(host.governors),
            "turbo": host.turbo,
            "caches": [asdict(cache) for cache in host.caches],
            "mitigations": dict(host.mitigations),
        },
        "memory": {
            "total_kib": host.memory_kib,
            "swap_kib": host.swap_kib,
            "numa_nodes": host.numa_nodes,
            "numa_balancing": host.numa_balancing,
            "transparent_huge_pages": host.thp,
        },
        "system": {
            "kernel": host.kernel,
            "distribution": host.distribution,
            "firmware": host.firmware,
            "clocksource": host.clocksource,
            "virtual": host.virtual,
            "hypervisor": host.hypervisor,
            "container": host.container,
        },
        "load_average": list(host.load),
        "steal_share": round(host.steal, 6),
        "fingerprint": fingerprint(host),
    }


def fingerprint(host: Host) -> str:
    """16 hex digits that change when hardware, kernel or settings of the machine change.

    They do not depend on load, steal, swap or the host name.  Memory counts in whole GiB, because
    the kernel keeps a little more or less of it at every boot.
    """
    slow = asdict(host)
    for name in ("hostname", "usable", "quota", "swap_used_kib", "load", "steal", "autogroup"):
        del slow[name]
    slow["memory_kib"] = round(host.memory_kib / 2**20)
    text = json.dumps(slow, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def snapshot(root: Path = Path("/")) -> dict[str, Any]:
    """The whole record, as JSON-ready data; `root` is where /proc, /sys and /etc are."""
    import archspec.cpu  # takes 0.1 s, which other commands need not spend

    return {
        "schema": 1,
        **describe(facts.read(root)),
        "microarchitecture": archspec.cpu.host().name,
        "versions": {
            "python": platform.python_version(),
            "reframe": metadata.version("reframe-hpc"),
            "roundtrip": metadata.version("roundtrip"),
        },
        "packages": packages.installed([*campaign_packages(), *_ALSO]) or {},
    }


def campaign_packages() -> list[str]:
    """Names of the Debian packages that a campaign on site `local` needs."""
    try:
        listing = paths.checkout() / "site-configs" / "local" / "apt-packages.txt"
    except UserError:
        return []
    return packages.wanted(listing.read_text(), ("campaign",)) if listing.is_file() else []

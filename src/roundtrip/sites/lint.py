"""Checks a site's ReFrame part: data only, fabric and binding chosen, partitions exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from typing import Any

from roundtrip.campaign.site import Site
from roundtrip.sites import data
from roundtrip.sites.data import FILE
from roundtrip.sites.findings import Finding, summarise
from roundtrip.sites.scales import SIMULATED

LONGEST = 100
#: A partition with this feature is documentation: no check may run there.
HISTORICAL = "historical"
_RDMA = ("infiniband", "roce")


def site_file(site: Site) -> list[Finding]:
    """Whether the site's files are short, and have no launchers and no catch-all host names."""
    faults = []
    told = []
    for name in ("reframe.py", FILE):
        if (file := site.folder / name).is_file():
            lines = file.read_text().count("\n")
            told.append(f"{name} {lines} lines")
            if lines >= LONGEST:
                faults.append(f"{name} has {lines} lines: a site is data, under {LONGEST} lines")
    tree = ast.parse((site.folder / "reframe.py").read_text())
    called = {
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
    }
    if "register_launcher" in called:
        faults.append("registers a launcher: put it into reframe/settings.py, for all sites")
    faults += [
        f"host name pattern '{pattern}' fits any machine"
        for pattern in site.system["hostnames"]
        if re.search(pattern, "a-machine-nobody-has")
    ]
    return summarise("site files", faults, f"{', '.join(told)}: loads in ReFrame")


def partitions(site: Site) -> list[Finding]:
    """Whether each partition names its fabric and binding, and sets what they need."""
    faults = []
    for name, partition in site.partitions.items():
        extras, features = partition.get("extras", {}), partition.get("features", [])
        variables = dict(partition.get("env_vars", []))
        if not extras.get("fabric"):
            faults.append(f"partition '{name}': no fabric chosen (extras: fabric)")
        if not extras.get("binding"):
            faults.append(f"partition '{name}': no binding chosen (extras: binding)")
        if HISTORICAL in features:
            continue
        if extras.get("fabric") in _RDMA:
            faults += [
                f"partition '{name}': {variable} is not set, so UCX would choose by itself"
                for variable in ("UCX_NET_DEVICES", "UCX_TLS")
                if not variables.get(variable)
            ]
        if partition.get("max_jobs") != 1:
            faults.append(
                f"partition '{name}': max_jobs must be 1, or jobs share what they measure"
            )
    if any(one.get("extras", {}).get("binding") != "none" for one in site.partitions.values()):
        faults += _unbound(site.toolchains.values())
    for kind, items in (("partition", site.partitions), ("environment", site.toolchains)):
        for name, item in items.items():
            faults += data.unknown_extras(kind, name, item.get("extras", {}))
    names = ", ".join(site.partitions)
    return summarise("fabric and binding", faults, f"chosen for {names}")


def _unbound(toolchains: Iterable[Mapping[str, Any]]) -> list[str]:
    return [
        f"toolchain '{item['name']}': its launcher binds no rank to a core"
        for item in toolchains
        if "launcher" in item.get("extras", {})
        and SIMULATED not in item.get("features", [])
        and not any("bind" in option for option in item["extras"].get("launcher_options", []))
    ]

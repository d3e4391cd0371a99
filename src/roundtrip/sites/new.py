"""Writes the folder of a new site: a data file that extends a base by the facts of a probe."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from roundtrip.errors import UserError
from roundtrip.sites import data, spackpart
from roundtrip.sites.probe import Facts
from roundtrip.sites.schedulers.interface import Partition, SitePart

#: The site's ``reframe.py``; its data are in ``site.toml``.
_REFRAME_FILE_TEXT = '''"""Site `{name}` as ReFrame takes it: `site.toml` says what it is."""

from roundtrip.sites.render import configuration

site_configuration = configuration(__file__)
'''
_PLACEHOLDER_VALUES = {
    "hca": ("mlx5_0", "`ibv_devinfo -l`; of several, the one nearest to the ranks (`lstopo`)"),
    "port": (1, ""),
    "interface": ("eth0", "`ip -br link`: the network interface of the nodes"),
    "gid_index": (3, "`show_gids`: the line of the IPv4 address that says v2"),
    "traffic_class": (106, "the class that the switches treat as lossless: ask who runs them"),
}


class _SiteBase(NamedTuple):
    """A kind of site, the shipped site whose Spack part it copies, and the values it needs."""

    title: str
    spack_part: str
    values: tuple[str, ...] = ()


#: The base of a machine without a scheduler.
MACHINE = "machine"
_RDMA_KEYS = ("hca", "port", "interface")
_BASE_BY_NAME = {
    "infiniband": _SiteBase("InfiniBand", "infiniband", _RDMA_KEYS),
    "roce": _SiteBase(
        "RDMA over Converged Ethernet", "roce", (*_RDMA_KEYS, "gid_index", "traffic_class")
    ),
    "ethernet": _SiteBase("Ethernet, UCX", "infiniband", ("interface",)),
    "tcp": _SiteBase("Ethernet, each MPI's own TCP", "infiniband", ("interface",)),
    MACHINE: _SiteBase("This machine, no scheduler, software by Spack", "spack"),
}


def write_site(
    name: str,
    facts: Facts,
    checkout: Path,
    partitions: Sequence[str] = (),
    software: str = "spack",
) -> Path:
    """Write the folder ``site-configs/<name>``.

    `partitions` are those to measure on, by default the distinct ones; `software` makes the
    toolchains: ``spack``, or ``toolchains`` (`roundtrip toolchains`).
    UserError if the folder exists, for an illegal name, or for a partition that the scheduler
    lacks.
    """
    sites = checkout / "site-configs"
    if not re.fullmatch(r"[A-Za-z][\w-]*", name):
        raise UserError(f"'{name}' is no name for a site: letters, digits, - and _ only")
    folder = sites / name
    if folder.exists():
        raise UserError("there is one already; remove it, or choose another name", folder)
    part = facts.scheduler.site_part(facts, _chosen_partitions(facts, partitions))
    fabric = choose_fabric(facts)
    base = fabric if fabric == MACHINE else facts.scheduler.base(fabric)
    folder.mkdir()
    text, unknowns = site_toml(name, (fabric, base), facts, part, software)
    (folder / data.FILE).write_text(text)
    (folder / "reframe.py").write_text(_REFRAME_FILE_TEXT.format(name=name))
    if software == "spack":
        source = sites / _BASE_BY_NAME[fabric].spack_part / "spack"
        unknowns += spackpart.write_spack_part(source, folder, facts, fabric)
    unknowns += part.decisions
    lines = [*facts.lines(), *part.lines]
    (folder / "README.md").write_text(readme(name, base, lines, unknowns))
    if part.environment:
        (folder / "environment").write_text(part.environment)
    return folder


def choose_fabric(facts: Facts) -> str:
    """Return ``machine`` without a scheduler; else choose by the port's link layer, or by UCX."""
    if facts.partition is None:
        return MACHINE
    if facts.port is None:
        return "ethernet" if facts.library("ucx") else "tcp"
    return "roce" if facts.port.link_layer == "Ethernet" else "infiniband"


def _chosen_partitions(facts: Facts, names: Sequence[str]) -> list[Partition]:
    partitions = {partition.name: partition for partition in facts.cluster.partitions}
    if missing_names := [name for name in names if name not in partitions]:
        scheduler = facts.scheduler
        choices = ", ".join(sorted(partitions)) or f"none, or no {scheduler.lister}"
        complaint = f"{scheduler.title} has no partition '{missing_names[0]}'"
        raise UserError(f"{complaint}; there are: {choices}")
    return [partitions[name] for name in names] or facts.distinct_partitions


def site_toml(
    name: str, kind: tuple[str, str], facts: Facts, part: SitePart, software: str
) -> tuple[str, list[str]]:
    """Return the text of ``site.toml``, and the keys for which the probe found no value.

    `kind`: the fabric, a key of `_BASE_BY_NAME`, and the base.
    """
    fabric, base = kind
    of_whom = "" if fabric == MACHINE else f"{facts.scheduler.title}, "
    text = (
        f"# Site `{name}`: README.md beside it says what was found. It is laid over\n"
        f"# site-configs/base/{base}.toml: whatever stands there may be replaced here.\n"
        f'base = "{base}"\ndescription = "{of_whom}{_BASE_BY_NAME[fabric].title}"\n'
    )
    if software != "spack" or fabric == MACHINE:
        text += f'software = "{software}"\n'
    if fabric == MACHINE:
        return text, []
    text += f"hostnames = ['^{name}-login\\d*$'] # chosen by RFM_SYSTEM all the same\n"
    text += part.keys
    unknowns = [*part.unknown_keys]
    values: dict[str, str | int | None] = {
        "hca": facts.port.device if facts.port else None,
        "port": facts.port.number if facts.port else None,
        "interface": facts.interface(infiniband=fabric == "infiniband"),
    }
    text += "\n[values]\n"
    for key in _BASE_BY_NAME[fabric].values:
        default, hint = _PLACEHOLDER_VALUES[key]
        value = values.get(key)
        if value is None:
            unknowns.append(f"`{key}` in `{data.FILE}`" + (f": {hint}" if hint else ""))
        literal = json.dumps(default if value is None else value)
        text += f"{key} = {literal}{f' # {hint}' if hint else ''}\n"
    return text + part.tables, [*unknowns, *part.unknown_values]


def readme(name: str, base: str, lines: list[str], unknowns: list[str]) -> str:
    """Return the README of the site: its facts (`lines`), and the `unknowns` left to set."""
    facts = "\n".join(f"- {line}" for line in lines)
    unknowns = unknowns or ["nothing, but read every value once"]
    unknown_list = "\n".join(f"- {item}" for item in unknowns)
    return (
        f"# Site `{name}`\n\nWritten by `roundtrip site new`, over `site-configs/base/{base}.toml`."
        f"\n\nFound:\n\n{facts}\n\nNot found, so the usual value stands; set it:\n\n{unknown_list}"
        f"\n\nThen `roundtrip site check {name}`.\n"
    )

"""Writes the folder of a new site: a data file that extends bases by the facts of a probe."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from roundtrip.errors import UserError
from roundtrip.sites import data, new_spack
from roundtrip.sites.probe import MachineFacts
from roundtrip.sites.schedulers.interface import NewSiteTexts, SchedulerPartition

#: The site's ``reframe.py``; its data are in ``site.toml``.
_REFRAME_FILE_TEXT = '''"""Site `{name}` as ReFrame takes it: `site.toml` says what it is."""

from roundtrip.sites.render import configuration

site_configuration = configuration(__file__)
'''
_DEFAULT_AND_HINT_BY_KEY = {
    "hca": ("mlx5_0", "`ibv_devinfo -l`; of several, the one nearest to the ranks (`lstopo`)"),
    "port": (1, ""),
    "interface": ("eth0", "`ip -br link`: the network interface of the nodes"),
    "gid_index": (3, "`show_gids`: the line of the IPv4 address that says v2"),
    "traffic_class": (106, "the class that the switches treat as lossless: ask who runs them"),
}


class _FabricBase(NamedTuple):
    """What a new site on a fabric copies: its title, the shipped site whose ``spack/`` it copies,
    and the names of the values that it needs."""

    title: str
    spack_site: str
    value_names: tuple[str, ...] = ()


#: The base of a machine without a scheduler.
MACHINE_FABRIC = "machine"
_RDMA_KEYS = ("hca", "port", "interface")
_BASE_BY_FABRIC = {
    "infiniband": _FabricBase("InfiniBand", "infiniband", _RDMA_KEYS),
    "roce": _FabricBase(
        "RDMA over Converged Ethernet", "roce", (*_RDMA_KEYS, "gid_index", "traffic_class")
    ),
    "ethernet": _FabricBase("Ethernet, UCX", "infiniband", ("interface",)),
    "tcp": _FabricBase("Ethernet, each MPI's own TCP", "infiniband", ("interface",)),
    MACHINE_FABRIC: _FabricBase("This machine, no scheduler", "spack"),
}


def require_new_name(name: str, checkout: Path) -> Path:
    """Return the folder of a new site; UserError for an illegal name, or one that is taken."""
    if not re.fullmatch(r"[A-Za-z][\w-]{0,99}", name, re.ASCII):
        legal = "right is a letter, then up to 99 letters, digits, - and _"
        raise UserError(f"'{name}' is no name for a site: {legal}")
    folder = checkout / "site-configs" / name
    if folder.exists():
        raise UserError("there is one already; remove it, or choose another name", folder)
    return folder


def write_site(
    name: str,
    facts: MachineFacts,
    checkout: Path,
    partitions: Sequence[str] = (),
    software: str = "spack",
) -> Path:
    """Write the folder ``site-configs/<name>``.

    `partitions` are those to measure on, by default the distinct ones; `software` makes the
    toolchains: ``spack``, or ``toolchains`` (`roundtrip toolchains`).  UserError as in
    `require_new_name`, or for a partition that the scheduler lacks.
    """
    folder = require_new_name(name, checkout)
    scheduler, cluster = facts.scheduler, facts.cluster
    by_name = {partition.name: partition for partition in cluster.partitions}
    if scheduler.allocates_nodes and not cluster.usable_partitions:
        reason = (
            f"{scheduler.title} lists no partition that starts jobs; try again when it does, or"
        )
        raise UserError(
            f"{reason}, for a site of this machine alone, take its commands out of PATH"
        )
    if partitions and not scheduler.allocates_nodes:
        raise UserError("--partition: no scheduler was found, whose partition it could be")
    if missing_names := [item for item in partitions if item not in by_name]:
        choices = ", ".join(sorted(by_name))
        complaint = f"{scheduler.title} has no partition '{missing_names[0]}'"
        raise UserError(f"{complaint}; there are: {choices}")
    measured_partitions = [by_name[item] for item in partitions] or cluster.distinct_partitions
    texts = scheduler.new_site_texts(cluster, measured_partitions, facts.has_scheduler_library)
    fabric = _choose_fabric(facts)
    folder.mkdir()
    text, unknowns = site_toml_text(name, fabric, facts, measured_partitions, texts, software)
    (folder / data.SITE_FILE).write_text(text)
    (folder / "reframe.py").write_text(_REFRAME_FILE_TEXT.format(name=name))
    if software == "spack":
        source = folder.parent / _BASE_BY_FABRIC[fabric].spack_site / "spack"
        unknowns += new_spack.write_spack_folder(source, folder, facts, fabric)
    lines = [*facts.describe_lines(), *texts.fact_lines]
    (folder / "README.md").write_text(
        _readme_text(name, lines, unknowns, texts.decisions, [p.name for p in measured_partitions])
    )
    if texts.environment_text:
        (folder / "environment").write_text(texts.environment_text)
    return folder


def _readme_text(
    name: str,
    fact_lines: Sequence[str],
    unknowns: Sequence[str],
    decisions: Sequence[str],
    partitions: Sequence[str],
) -> str:
    """Return the text of the site's ``README.md``; `partitions` are those to measure on."""
    if partitions:
        names = ", ".join(f"`{item}`" for item in partitions)
        measured = f"measured: {names}; `roundtrip site new --partition` takes others"
        fact_lines = [*fact_lines, measured]
    parts = [f"# Site `{name}`", "Written by `roundtrip site new`."]
    for title, items in (
        ("Found:", fact_lines),
        ("Not found, so the usual value stands; set it:", unknowns),
        ("To decide:", decisions),
    ):
        if items:
            parts += [title, "\n".join(f"- {item}" for item in items)]
    parts.append(
        f"Read every value of `{data.SITE_FILE}` once, then `roundtrip site check {name}`."
    )
    return "\n\n".join(parts) + "\n"


def _choose_fabric(facts: MachineFacts) -> str:
    """Return the fabric of a new site, a key of `_BASE_BY_FABRIC`: ``machine`` without a scheduler,
    else by the port's link layer, or by UCX."""
    if not facts.cluster.usable_partitions:
        return MACHINE_FABRIC
    if facts.active_port is None:
        return "ethernet" if facts.find_library("ucx") else "tcp"
    return "roce" if facts.active_port.link_layer == "Ethernet" else "infiniband"


def site_toml_text(
    name: str,
    fabric: str,
    facts: MachineFacts,
    partitions: Sequence[SchedulerPartition],
    texts: NewSiteTexts,
    software: str,
) -> tuple[str, list[str]]:
    """Return the text of ``site.toml`` on a `fabric`, a key of `_BASE_BY_FABRIC`, for the
    `partitions` to measure on, and the keys for which the probe found no value."""
    is_cluster = fabric != MACHINE_FABRIC
    bases = [facts.scheduler.key, fabric] if is_cluster else [fabric]
    title_prefix = f"{facts.scheduler.title}, " if is_cluster else ""
    text = (
        f"# Site `{name}`: README.md beside it says what was found. It is laid over the files of\n"
        f"# site-configs/base that `base` names: whatever stands there may be replaced here.\n"
        f"base = {json.dumps(bases)}\n"
        f'description = "{title_prefix}{_BASE_BY_FABRIC[fabric].title}"\n'
    )
    if software != "spack" or not is_cluster:
        text += f'software = "{software}"\n'
    if not is_cluster:
        return text, []
    text += (
        f"hostnames = ['^{name}-login\\d*$'] # a guess, not needed: `activate` chooses the site\n"
    )
    text += texts.keys_text
    unknowns = [*texts.unknown_keys]
    values: dict[str, str | int | None] = {
        "hca": facts.active_port.device if facts.active_port else None,
        "port": facts.active_port.number if facts.active_port else None,
        "interface": facts.find_interface(infiniband=fabric == "infiniband"),
    }
    text += "\n[values]\n"
    for key in _BASE_BY_FABRIC[fabric].value_names:
        default, hint = _DEFAULT_AND_HINT_BY_KEY[key]
        value = values.get(key)
        if value is None:
            unknowns.append(f"`{key}` in `{data.SITE_FILE}`" + (f": {hint}" if hint else ""))
        literal = json.dumps(default if value is None else value)
        text += f"{key} = {literal}{f' # {hint}' if hint else ''}\n"
    for partition in partitions:
        text += f'\n[scheduler_partition."{partition.name}"]\n'
        for key in ("nodes", "cores", "sockets"):
            if size := getattr(partition, key):
                text += f"{key} = {size}\n"
            else:
                unknowns.append(
                    f"`{key}` of partition `{partition.name}` in `{data.SITE_FILE}`: "
                    "which launches fit follows from it"
                )
    return text + texts.tables_text, [*unknowns, *texts.unknown_values]

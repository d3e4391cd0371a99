"""Writes a site's folder: a data file over one of the bases, with the facts that a probe found."""

from __future__ import annotations

import re
from pathlib import Path

from roundtrip.errors import UserError
from roundtrip.sites import data, spackpart, starters
from roundtrip.sites.probe import Facts

#: What ReFrame loads; the data are beside it.
_REFRAME = '''"""Site `{name}` as ReFrame takes it: `site.toml` says what it is."""

from roundtrip.sites.render import configuration

site_configuration = configuration(__file__)
'''
_TITLES = {
    "infiniband": "Slurm, InfiniBand",
    "roce": "Slurm, RDMA over Converged Ethernet",
    "ethernet": "Slurm, Ethernet",
    "machine": "This machine, no scheduler, software by Spack",
}
#: The shipped site whose Spack part a new site gets, if not that of `infiniband`.
_SPACK_OF = {
    "machine": "spack",
    "infiniband": "infiniband",
    "roce": "roce",
    "ethernet": "infiniband",
}
_VALUES = {
    "hca": ("mlx5_0", "`ibv_devinfo -l`; of several, the one nearest to the ranks (`lstopo`)"),
    "port": (1, ""),
    "interface": ("eth0", "`ip -br link`: the network interface of the nodes"),
    "gid_index": (3, "`show_gids`: the line of the IPv4 address that says v2"),
    "traffic_class": (106, "the class that the switches treat as lossless: ask who runs them"),
    "partition": ("compute", "`sinfo -s`"),
}
_NEEDS = {
    "infiniband": ("hca", "port", "interface", "partition"),
    "roce": ("hca", "port", "interface", "gid_index", "traffic_class", "partition"),
    "ethernet": ("interface", "partition"),
    "machine": (),
}


def write(name: str, facts: Facts, checkout: Path) -> Path:
    """Write the folder ``site-configs/<name>``; UserError if it exists, or for an illegal name."""
    sites = checkout / "site-configs"
    if not re.fullmatch(r"[A-Za-z][\w-]*", name):
        raise UserError(f"'{name}' is no name for a site: letters, digits, - and _ only")
    folder = sites / name
    if folder.exists():
        raise UserError("there is one already; remove it, or choose another name", folder)
    base = choose_base(facts)
    folder.mkdir()
    text, unknown = site_toml(name, base, facts)
    (folder / data.FILE).write_text(text)
    (folder / "reframe.py").write_text(_REFRAME.format(name=name))
    unknown += spackpart.write(sites / _SPACK_OF.get(base, "infiniband") / "spack", folder, facts)
    (folder / "README.md").write_text(readme(name, base, facts, unknown))
    return folder


def choose_base(facts: Facts) -> str:
    """Without Slurm `machine`; else by the link layer of the port found."""
    if facts.partition is None:
        return "machine"
    if facts.port is None:
        return "ethernet"
    return "roce" if facts.port.link_layer == "Ethernet" else "infiniband"


def site_toml(name: str, base: str, facts: Facts) -> tuple[str, list[str]]:
    """The text of ``site.toml``, and the keys with a usual value because nothing was found."""
    text = (
        f"# Site `{name}`: README.md beside it says what was found. It is laid over\n"
        f"# site-configs/base/{base}.toml: whatever stands there may be replaced here.\n"
        f'base = "{base}"\ndescription = "{_TITLES[base]}"\n'
    )
    if base == "machine":
        return f'{text}software = "spack"\n', []
    text += f"hostnames = ['^{name}-login\\d*$'] # chosen by RFM_SYSTEM all the same\n\n[values]\n"
    found, unknown = _found(base, facts), []
    for key in _NEEDS[base]:
        usual, how = _VALUES[key]
        value = found.get(key)
        if value is None:
            unknown.append(f"`{key}` in `{data.FILE}`" + (f": {how}" if how else ""))
        chosen = usual if value is None else value
        literal = f'"{chosen}"' if isinstance(chosen, str) else str(chosen)
        text += f"{key} = {literal}{f' # {how}' if how else ''}\n"
    size, unsized = _size(facts)
    return text + size + starters.tables(facts), unknown + unsized + starters.unknown(facts)


def _size(facts: Facts) -> tuple[str, list[str]]:
    """The table with the nodes and cores that scales follow from; what is not known of it."""
    found = facts.partition
    lines, unknown = [], []
    for key, value in (("nodes", found and found.nodes), ("cores", found and found.cores)):
        if value:
            lines.append(f"{key} = {value}\n")
        else:
            unknown.append(f"`{key}` below `[every_partition.extras]`: scales follow from it")
    return "\n[every_partition.extras]\n" + "".join(lines) if lines else "", unknown


def readme(name: str, base: str, facts: Facts, unknown: list[str]) -> str:
    """The README of the site: what was found, and what is left to set."""
    lines = facts.lines() + (starters.lines(facts) if facts.partition else [])
    found = "\n".join(f"- {line}" for line in lines)
    left = "\n".join(f"- {item}" for item in unknown) or "- nothing, but read every value once"
    return (
        f"# Site `{name}`\n\nWritten by `roundtrip site new`, over `site-configs/base/{base}.toml`."
        f"\n\nFound:\n\n{found}\n\nNot found, so the usual value stands; set it:\n\n{left}\n\n"
        f"Then `roundtrip site check {name}`.\n"
    )


def _found(base: str, facts: Facts) -> dict[str, str | int | None]:
    return {
        "hca": facts.port.device if facts.port else None,
        "port": facts.port.number if facts.port else None,
        "interface": facts.interface(infiniband=base == "infiniband"),
        "partition": facts.partition.name if facts.partition else None,
    }

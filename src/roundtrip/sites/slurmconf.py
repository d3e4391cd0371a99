"""How many nodes, cores and sockets a Slurm partition has, as a ``slurm.conf`` says."""

from __future__ import annotations

import re


def size(text: str, partition: str) -> dict[str, int]:
    """``nodes`` of a partition; ``cores`` and ``sockets`` of the least of them, as far as `text`
    says them."""
    lines = [dict(re.findall(r"(\w+)=(\S+)", line.split("#")[0])) for line in text.splitlines()]
    usual: dict[str, str] = {}
    cores: dict[str, int] = {}
    sockets: dict[str, int] = {}
    for line in lines:
        if line.get("NodeName") == "DEFAULT":
            usual |= line
        elif "NodeName" in line:
            here = {**usual, **line}
            count = int(here.get("Sockets", 1)) * int(here.get("CoresPerSocket", 0))
            names = expand(here["NodeName"])
            cores |= dict.fromkeys(names, count or int(here.get("CPUs", 0)))
            sockets |= dict.fromkeys(names, int(here.get("Sockets", 0)))
    for line in lines:
        if line.get("PartitionName") == partition:
            names = expand(line.get("Nodes", ""))
            known = {
                what: [counts[name] for name in names if counts.get(name)]
                for what, counts in (("cores", cores), ("sockets", sockets))
            }
            return {"nodes": len(names)} | {what: min(some) for what, some in known.items() if some}
    return {}


def expand(hosts: str) -> list[str]:
    """Names that a Slurm host list stands for: ``a[1-3,5],b1`` is a1, a2, a3, a5, b1."""
    found = []
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\])?", hosts):
        prefix, bracket, numbers = part.partition("[")
        if not bracket:
            found.append(prefix)
            continue
        for item in numbers.rstrip("]").split(","):
            first, _, last = item.partition("-")
            found += [
                f"{prefix}{number:0{len(first)}d}"
                for number in range(int(first), int(last or first) + 1)
            ]
    return found

"""How many nodes and cores a Slurm partition has, as a ``slurm.conf`` says."""

from __future__ import annotations

import re


def size(text: str, partition: str) -> dict[str, int]:
    """``nodes`` of a partition and ``cores`` of the least of them, as far as `text` says them."""
    lines = [dict(re.findall(r"(\w+)=(\S+)", line.split("#")[0])) for line in text.splitlines()]
    usual: dict[str, str] = {}
    cores: dict[str, int] = {}
    for line in lines:
        if line.get("NodeName") == "DEFAULT":
            usual |= line
        elif "NodeName" in line:
            here = {**usual, **line}
            count = int(here.get("Sockets", 1)) * int(here.get("CoresPerSocket", 0))
            cores |= dict.fromkeys(expand(here["NodeName"]), count or int(here.get("CPUs", 0)))
    for line in lines:
        if line.get("PartitionName") == partition:
            names = expand(line.get("Nodes", ""))
            known = [cores[name] for name in names if cores.get(name)]
            return {"nodes": len(names), **({"cores": min(known)} if known else {})}
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

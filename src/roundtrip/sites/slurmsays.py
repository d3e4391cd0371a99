"""What Slurm says of a cluster besides sizes: kinds of nodes, limits, QOS, accounts, switches.

Each parser takes the text of one command.  A command that is missing or fails is no error: what it
would have told stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from roundtrip.sites import slurmconf

Runner = Callable[..., str | None]
#: Partition, nodes, sockets of a node, cores of a socket, features, accelerators and such.
SINFO = "%P|%D|%X|%Y|%f|%G"
_PARTITIONS = ("scontrol", "show", "partition", "--oneliner")
_TOPOLOGY = ("scontrol", "show", "topology")
_QOS = ("sacctmgr", "--noheader", "--parsable2", "show", "qos", "format=Name,MaxWall")
_ACCOUNTS = ("sacctmgr", "--noheader", "--parsable2", "show", "assoc", "format=Account,User,QOS")
_ANY = ("ALL", "")


@dataclass(frozen=True)
class Kind:
    """Nodes of a partition that are alike; `gres` as Slurm writes it (``gpu:a100:2``), or ""."""

    nodes: int
    cores: int
    features: tuple[str, ...]
    gres: str

    def __str__(self) -> str:
        parts = [f"{self.nodes} of {self.cores} cores", *self.features]
        return ", ".join([*parts, *([self.gres] if self.gres else [])])


@dataclass(frozen=True)
class Limits:
    """What a partition takes.  `longest_s` is the longest job, None without a limit; `qos` and
    `accounts` are those that may use it, empty if all may."""

    up: bool = True
    longest_s: int | None = None
    qos: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    tier: int = 1


@dataclass(frozen=True)
class Says:
    """All of it; empty where nothing was found.  `qos` has the longest job of each in seconds, None
    without a limit; `switches` the nodes of each leaf switch."""

    kinds: Mapping[str, tuple[Kind, ...]] = field(default_factory=dict)
    limits: Mapping[str, Limits] = field(default_factory=dict)
    qos: Mapping[str, int | None] = field(default_factory=dict)
    accounts: tuple[str, ...] = ()
    switches: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    preempts: bool = False
    crontab: bool = False

    def up(self, partition: str) -> bool:
        """Whether the partition starts jobs, as far as that is known."""
        return self.limits.get(partition, Limits()).up


def look(run: Runner, config: str, user: str) -> Says:
    """Ask Slurm; `run(*command)` returns what a command prints, or None if it fails.

    `config` is the output of ``scontrol show config``, `user` who would measure.
    """
    mode = re.search(r"^PreemptType\s*=\s*(\S+)", config, re.MULTILINE)
    return Says(
        kinds=parse_kinds(run("sinfo", "-h", "-o", SINFO) or ""),
        limits=parse_partitions(run(*_PARTITIONS) or ""),
        qos=parse_qos(run(*_QOS) or ""),
        accounts=parse_accounts(run(*_ACCOUNTS) or "", user),
        switches=parse_topology(run(*_TOPOLOGY) or ""),
        preempts=mode is not None and mode[1] != "preempt/none",
        crontab=re.search(r"^ScronParameters\s*=.*enable", config, re.MULTILINE) is not None,
    )


def parse_kinds(text: str) -> dict[str, tuple[Kind, ...]]:
    """From sinfo in the format `SINFO`: the kinds of nodes of each partition, the most first.

    Slurm lists nodes in other states apart; here they are the same kind.
    """
    found: dict[str, dict[tuple[int, tuple[str, ...], str], int]] = {}
    for line in text.splitlines():
        parts = line.strip().split("|")
        if len(parts) != 6 or not parts[1].isdigit():
            continue
        sockets, each = (int(re.match(r"\d*", part)[0] or 0) for part in parts[2:4])  # type: ignore[index]
        features, gres = (part.replace("(null)", "") for part in parts[4:])
        kind = (sockets * each, tuple(filter(None, features.split(","))), gres.split("(")[0])
        kinds = found.setdefault(parts[0].rstrip("*"), {})
        kinds[kind] = kinds.get(kind, 0) + int(parts[1])
    return {
        name: tuple(
            Kind(count, *kind)
            for kind, count in sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
        )
        for name, kinds in found.items()
    }


def parse_partitions(text: str) -> dict[str, Limits]:
    """From ``scontrol show partition --oneliner``."""
    found = {}
    for line in text.splitlines():
        said = dict(word.split("=", 1) for word in line.split() if "=" in word)
        if "PartitionName" not in said:
            continue
        tier = said.get("PriorityTier", "1")
        found[said["PartitionName"]] = Limits(
            up=said.get("State", "UP") == "UP",
            longest_s=seconds(said.get("MaxTime", "")),
            qos=_names(said.get("AllowQos", "ALL")),
            accounts=_names(said.get("AllowAccounts", "ALL")),
            tier=int(tier) if tier.isdigit() else 1,
        )
    return found


def parse_qos(text: str) -> dict[str, int | None]:
    """From ``sacctmgr show qos``: name and longest job."""
    pairs = [line.split("|") for line in text.splitlines() if line.count("|") == 1]
    return {name: seconds(longest) for name, longest in pairs if name}


def parse_accounts(text: str, user: str) -> tuple[str, ...]:
    """From ``sacctmgr show assoc``: the accounts of `user`."""
    rows = [line.split("|") for line in text.splitlines() if line.count("|") == 2]
    return tuple(sorted({account for account, who, _ in rows if who == user}))


def parse_topology(text: str) -> dict[str, tuple[str, ...]]:
    """From ``scontrol show topology``: nodes by leaf switch; empty without a tree."""
    found = {}
    for line in text.splitlines():
        said = dict(word.split("=", 1) for word in line.split() if "=" in word)
        if said.get("Level") == "0" and "SwitchName" in said:
            found[said["SwitchName"]] = tuple(slurmconf.expand(said.get("Nodes", "")))
    return found


def seconds(text: str) -> int | None:
    """Slurm's ``1-00:00:00``, ``01:00:00``, ``30:00`` or ``90`` (minutes); None without a limit."""
    match = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text.strip())
    if not match:
        return None
    days, first, second, third = (int(part) if part else 0 for part in match.groups())
    if match[1] or match[4]:  # D-H, D-H:M, D-H:M:S
        hours, minutes, rest = first, second, third
    else:  # M, M:S
        hours, minutes, rest = 0, first, second
    return ((24 * days + hours) * 60 + minutes) * 60 + rest


def _names(text: str) -> tuple[str, ...]:
    return () if text in _ANY or text == "(null)" else tuple(text.split(","))

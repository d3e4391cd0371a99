"""Slurm's facts of a cluster: nodes, kinds of nodes, limits, QOS, accounts, switches, PMIs.

Each parser takes the output of one command, so that it can be tested without Slurm.
A command that is missing or fails is no error: its facts stay unknown.
"""

from __future__ import annotations

import argparse
import getpass
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from roundtrip.errors import UserError
from roundtrip.sites.schedulers.interface import (
    Cluster,
    Kind,
    Limits,
    Partition,
    Runner,
    command_output,
)

#: Partition, nodes, sockets of a node, cores of a socket, features, names; `2+` is 2 or more.
SINFO = "%P|%D|%X|%Y|%f|%N"
#: Partition, nodes, sockets of a node, cores of a socket, features, accelerators and such.
_KINDS = "%P|%D|%X|%Y|%f|%G"
_PARTITIONS = ("scontrol", "show", "partition", "--oneliner")
_PMI = ("srun", "--mpi=list")
_TOPOLOGY = ("scontrol", "show", "topology")
_QOS = ("sacctmgr", "--noheader", "--parsable2", "show", "qos", "format=Name,MaxWall")
_ACCOUNTS = ("sacctmgr", "--noheader", "--parsable2", "show", "assoc", "format=Account,User,QOS")
#: The oldest series of PMIx that Spack's packages release v2025.11 can build.
_OLDEST = 4


def partition_size(text: str, partition: str) -> dict[str, int]:
    """Return ``nodes`` of a partition, and its smallest ``cores`` and ``sockets`` of a node.

    `text` is a ``slurm.conf``; values that it does not give are left out.
    """
    lines = [dict(re.findall(r"(\w+)=(\S+)", line.split("#")[0])) for line in text.splitlines()]
    defaults: dict[str, str] = {}
    nodes: dict[str, dict[str, int]] = {}
    for line in lines:
        if line.get("NodeName") == "DEFAULT":
            defaults |= line
        elif "NodeName" in line:
            node = {**defaults, **line}
            count = int(node.get("Sockets", 1)) * int(node.get("CoresPerSocket", 0))
            size = {
                "cores": count or int(node.get("CPUs", 0)),
                "sockets": int(node.get("Sockets", 0)),
            }
            nodes |= dict.fromkeys(expand_hosts(node["NodeName"]), size)
    for line in lines:
        if line.get("PartitionName") == partition:
            names = expand_hosts(line.get("Nodes", ""))
            sizes = [nodes[name] for name in names if name in nodes]
            counts = {"nodes": len(names)}
            for quantity in ("cores", "sockets"):
                if known := [size[quantity] for size in sizes if size[quantity]]:
                    counts[quantity] = min(known)
            return counts
    return {}


def expand_hosts(hosts: str) -> list[str]:
    """Expand a Slurm host list: ``a[1-3,5],b1`` is a1, a2, a3, a5, b1; UserError if bad."""
    from ClusterShell.NodeSet import (  # type: ignore[import-untyped]  # few commands need it
        RESOLVER_NOGROUP,
        NodeSet,
        NodeSetException,
    )

    try:
        return list(NodeSet(hosts, resolver=RESOLVER_NOGROUP))
    except NodeSetException:
        raise UserError(f"{hosts[:60]!r} is no list of nodes; right is: a[1-3],b1") from None


#: Time limit of nightly.sbatch, s, unless a site's `environment` sets another one.
NIGHT_S = 6 * 3600
#: Options of sbatch that choose nodes and rights, and their short forms.
_OPTIONS = (
    ("-p", "--partition"),
    ("-C", "--constraint"),
    ("-w", "--nodelist"),
    ("-x", "--exclude"),
    ("-q", "--qos"),
    ("-A", "--account"),
    ("--reservation",),
    ("--gres",),
)


def access_options(access: Iterable[str]) -> dict[str, str]:
    """Return the sbatch options in the `access` of a partition, by long name.

    The last value of a repeated option counts; {} if `access` cannot be parsed.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for names in _OPTIONS:
        parser.add_argument(*names, default=argparse.SUPPRESS)
    try:
        words = [word for option in access for word in shlex.split(option)]
        options, _ = parser.parse_known_args(words)
    except (argparse.ArgumentError, ValueError):  # ValueError: a quote is not closed
        return {}
    return vars(options)


def gather_facts(run: Runner = command_output) -> Cluster:
    """Query Slurm; `run(*command)` returns a command's output, or None if it fails."""
    config = run("scontrol", "show", "config") or ""
    version = re.search(r"slurm(?:-wlm)? (\S+)", run("sinfo", "--version") or "")

    def has(name: str, value: str) -> bool | None:
        return value in setting(config, name) if config else None

    return Cluster(
        version=version[1] if version else None,
        partitions=parse_sinfo(run("sinfo", "-h", "-o", SINFO) or ""),
        pmi=parse_pmi(run(*_PMI) or ""),
        binds_tasks=has("TaskPlugin", "task/affinity"),
        accounting=has("AccountingStorageType", "slurmdbd"),
        kinds=parse_kinds(run("sinfo", "-h", "-o", _KINDS) or ""),
        limits=parse_partitions(run(*_PARTITIONS) or ""),
        qos={name: seconds(limit) for name, limit in _rows(run(*_QOS), 2) if name},
        accounts=_own_accounts(run(*_ACCOUNTS)),
        switches=parse_topology(run(*_TOPOLOGY) or ""),
        config=config,
    )


def parse_sinfo(text: str) -> tuple[Partition, ...]:
    """Parse sinfo's output in format `SINFO`: a line for each kind of node of a partition.

    `cores` and `sockets` are the minimum over the nodes.
    """
    partitions: dict[str, Partition] = {}
    for mark, nodes, sockets, cores, _, names in _sinfo_lines(text):
        name, hosts = mark.rstrip("*"), frozenset(expand_hosts(names))
        if partition := partitions.get(name):
            nodes, hosts = nodes + partition.nodes, hosts | partition.hosts
            cores, sockets = min(cores, partition.cores), min(sockets, partition.sockets)
        is_default = mark.endswith("*")
        partitions[name] = Partition(name, is_default, nodes, cores, hosts, sockets)
    return tuple(partitions.values())


def _sinfo_lines(text: str) -> Iterator[tuple[str, int, int, int, tuple[str, ...], str]]:
    """Yield partition, nodes, sockets and cores of a node, features and last field of each line.

    Cores are counted because Slurm's CPUs may be hardware threads.
    """
    for line in text.splitlines():
        parts = [part.replace("(null)", "") for part in line.strip().split("|")]
        if len(parts) == 6 and parts[1].isdigit():
            sockets, per_socket = (int(re.match(r"\d*", part)[0] or 0) for part in parts[2:4])  # type: ignore[index]
            features = tuple(filter(None, parts[4].split(",")))
            yield parts[0], int(parts[1]), sockets, sockets * per_socket, features, parts[5]


def parse_kinds(text: str) -> dict[str, tuple[Kind, ...]]:
    """Parse sinfo's output: the kinds of nodes of each partition, the most frequent first.

    sinfo has a line for each state; here nodes in all states are one kind.
    """
    counters: dict[str, Counter[tuple[int, tuple[str, ...], str]]] = defaultdict(Counter)
    for name, nodes, _, cores, features, gres in _sinfo_lines(text):
        counters[name.rstrip("*")][cores, features, gres.split("(")[0]] += nodes
    return {
        name: tuple(
            Kind(count, *kind)
            for kind, count in sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
        )
        for name, kinds in counters.items()
    }


def parse_pmi(text: str) -> tuple[str, ...]:
    """Parse ``srun --mpi=list``: a heading, then one or more plugins on a line."""
    words = re.findall(r"\b(?:pmix(?:_v\d)?|pmi2|cray_shasta|none)\b", text)
    return tuple(dict.fromkeys(words))


def plugins() -> tuple[str, ...]:
    """Return the PMI plugins of this machine's srun."""
    return parse_pmi(command_output(*_PMI) or "")


def pmix_series(plugins: Iterable[str]) -> str | None:
    """Return the PMIx series to build MPIs with for Slurm's PMI `plugins`; None: unknown.

    ``srun --mpi=list`` names the series of each PMIx plugin, ``pmix_v4``; srun takes the newest.
    """
    series = [int(name.removeprefix("pmix_v")) for name in plugins if name.startswith("pmix_v")]
    return str(max(*series, _OLDEST)) if series else None


def scontrol_records(text: str) -> Iterator[dict[str, str]]:
    """The fields of each line that ``scontrol show ... --oneliner`` prints."""
    for line in text.splitlines():
        yield dict(word.split("=", 1) for word in line.split() if "=" in word)


def parse_partitions(text: str) -> dict[str, Limits]:
    """Parse ``scontrol show partition --oneliner``: limits by partition."""
    return {
        fields["PartitionName"]: Limits(
            up=fields.get("State", "UP") == "UP",
            longest_s=seconds(fields.get("MaxTime", "")),
            qos=_names(fields.get("AllowQos", "ALL")),
            accounts=_names(fields.get("AllowAccounts", "ALL")),
        )
        for fields in scontrol_records(text)
        if "PartitionName" in fields
    }


def _rows(text: str | None, fields: int) -> list[list[str]]:
    """The lines of sacctmgr's output that have as many fields."""
    rows = [line.split("|") for line in (text or "").splitlines()]
    return [row for row in rows if len(row) == fields]


def _own_accounts(text: str | None) -> tuple[str, ...]:
    """Parse ``sacctmgr show assoc``: this user's accounts; () for a user id without a name."""
    rows = _rows(text, 3)
    try:
        user = getpass.getuser() if rows else ""
    except (KeyError, OSError):  # as in a container; KeyError before Python 3.13
        return ()
    return tuple(sorted({account for account, owner, _ in rows if owner == user}))


def parse_topology(text: str) -> dict[str, tuple[str, ...]]:
    """Parse ``scontrol show topology``: nodes by leaf switch; empty without a tree."""
    return {
        fields["SwitchName"]: tuple(expand_hosts(fields.get("Nodes", "")))
        for fields in scontrol_records(text)
        if fields.get("Level") == "0" and "SwitchName" in fields
    }


def seconds(text: str) -> int | None:
    """Slurm's ``1-00:00:00``, ``01:00:00``, ``30:00`` or ``90`` (minutes) in s; None: no limit."""
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
    return () if text in ("ALL", "", "(null)") else tuple(text.split(","))


def setting(config: str, name: str) -> str:
    """The value of `name` in the output of ``scontrol show config``; "" without one."""
    match = re.search(rf"^{name}\s*=\s*(.*)$", config, re.MULTILINE)
    return match[1].strip() if match else ""

"""What Slurm says of a cluster and of its nodes.

Each parser takes the output of one command, so that it can be tested without Slurm.
A command that is missing or fails is no error: its facts stay unknown.
"""

from __future__ import annotations

import argparse
import getpass
import re
import shlex
import subprocess
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from roundtrip.errors import UserError
from roundtrip.sites.schedulers.interface import (
    Cluster,
    CommandRunner,
    Node,
    NodeGroup,
    PartitionLimits,
    SchedulerPartition,
    command_output,
)

#: Partition, nodes, sockets of a node, cores of a socket, features, names; `2+` is 2 or more.
PARTITION_FORMAT = "%P|%D|%X|%Y|%f|%N"
#: Partition, nodes, sockets of a node, cores of a socket, features, accelerators and such.
_NODE_GROUP_FORMAT = "%P|%D|%X|%Y|%f|%G"
_SACCTMGR_COMMAND = ("sacctmgr", "--noheader", "--parsable2", "show")
#: The oldest series of PMIx that Spack's packages release v2025.11 can build.
_MIN_PMIX_SERIES = 4


def parse_partition_size(text: str, partition: str) -> dict[str, int]:
    """As `Scheduler.parse_partition_size`, by the `text` of a ``slurm.conf``."""
    lines = [dict(re.findall(r"(\w+)=(\S+)", line.split("#")[0])) for line in text.splitlines()]
    defaults: dict[str, str] = {}
    nodes: dict[str, dict[str, int]] = {}
    for line in lines:
        if line.get("NodeName") == "DEFAULT":
            defaults |= line
        elif "NodeName" in line:
            node = {**defaults, **line}
            count = int(node.get("Sockets", 1)) * int(node.get("CoresPerSocket", 0))
            cores = count or int(node.get("CPUs", 0))
            size = {"cores": cores, "sockets": int(node.get("Sockets", 0))}
            nodes |= dict.fromkeys(expand_host_list(node["NodeName"]), size)
    for line in lines:
        if line.get("PartitionName") == partition:
            names = expand_host_list(line.get("Nodes", ""))
            sizes = [nodes[name] for name in names if name in nodes]
            counts = {"nodes": len(names)}
            for quantity in ("cores", "sockets"):
                if known := [size[quantity] for size in sizes if size[quantity]]:
                    counts[quantity] = min(known)
            return counts
    return {}


def expand_host_list(hosts: str) -> list[str]:
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
NIGHT_TIME_LIMIT_S = 6 * 3600
#: Options of sbatch that choose nodes and rights, and their short forms.
_ACCESS_OPTIONS = (
    *(("-p", "--partition"), ("-C", "--constraint"), ("-w", "--nodelist"), ("-x", "--exclude")),
    *(("-q", "--qos"), ("-A", "--account"), ("--reservation",), ("--gres",)),
)


def parse_access_options(access: Iterable[str]) -> dict[str, str]:
    """Return the sbatch options in the `access` of a partition, by long name; {} if it is bad."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for names in _ACCESS_OPTIONS:
        parser.add_argument(*names, default=argparse.SUPPRESS)
    try:
        words = [word for option in access for word in shlex.split(option)]
        options, _ = parser.parse_known_args(words)
    except (argparse.ArgumentError, ValueError):  # ValueError: a quote is not closed
        return {}
    return vars(options)


def collect_cluster(run: CommandRunner = command_output) -> Cluster:
    """Query Slurm; `run(*command)` returns a command's output, or None if it fails."""
    config = run("scontrol", "show", "config") or ""
    qos = run(*_SACCTMGR_COMMAND, "qos", "format=Name,MaxWall")
    version = re.search(r"slurm(?:-wlm)? (\S+)", run("sinfo", "--version") or "")

    def has(name: str, value: str) -> bool | None:
        return value in config_setting(config, name) if config else None

    return Cluster(
        version=version[1] if version else None,
        partitions=parse_partitions(run("sinfo", "-h", "-o", PARTITION_FORMAT) or ""),
        offered_pmis=parse_pmi_plugins(run("srun", "--mpi=list") or ""),
        binds_tasks=has("TaskPlugin", "task/affinity"),
        accounting=has("AccountingStorageType", "slurmdbd"),
        node_groups_by_partition=parse_node_groups(
            run("sinfo", "-h", "-o", _NODE_GROUP_FORMAT) or ""
        ),
        limits_by_partition=_parse_partition_limits(
            run("scontrol", "show", "partition", "--oneliner") or ""
        ),
        max_job_s_by_qos={
            name: parse_time_limit_s(limit) for name, limit in _sacctmgr_rows(qos, 2) if name
        },
        user_accounts=_parse_user_accounts(
            run(*_SACCTMGR_COMMAND, "assoc", "format=Account,User,QOS")
        ),
        nodes_by_switch={  # only a tree has leaf switches
            fields["SwitchName"]: tuple(expand_host_list(fields.get("Nodes", "")))
            for fields in parse_scontrol_records(run("scontrol", "show", "topology") or "")
            if fields.get("Level") == "0" and "SwitchName" in fields
        },
        config_text=config,
    )


def parse_partitions(text: str) -> tuple[SchedulerPartition, ...]:
    """Parse sinfo's output in `PARTITION_FORMAT`; `cores` and `sockets` are minima over nodes."""
    partitions: dict[str, SchedulerPartition] = {}
    for row in _parse_sinfo_rows(text):
        name, hosts = row.partition.rstrip("*"), frozenset(expand_host_list(row.hosts_or_gres))
        nodes, sockets, cores = row.nodes, row.sockets, row.cores
        if partition := partitions.get(name):
            nodes, hosts = nodes + partition.nodes, hosts | partition.hosts
            cores, sockets = min(cores, partition.cores), min(sockets, partition.sockets)
        is_default = row.partition.endswith("*")
        partitions[name] = SchedulerPartition(name, is_default, nodes, cores, hosts, sockets)
    return tuple(partitions.values())


class _SinfoRow(NamedTuple):
    """A line of sinfo; `sockets` and `cores` of a node: Slurm's CPUs may be hardware threads."""

    partition: str
    nodes: int
    sockets: int
    cores: int
    features: tuple[str, ...]
    hosts_or_gres: str


def _parse_sinfo_rows(text: str) -> Iterator[_SinfoRow]:
    for line in text.splitlines():
        parts = [part.replace("(null)", "") for part in line.strip().split("|")]
        if len(parts) == 6 and parts[1].isdigit():
            sockets, per_socket = (int(re.match(r"\d*", part)[0] or 0) for part in parts[2:4])  # type: ignore[index]
            features = tuple(filter(None, parts[4].split(",")))
            cores = sockets * per_socket
            yield _SinfoRow(parts[0], int(parts[1]), sockets, cores, features, parts[5])


def parse_node_groups(text: str) -> dict[str, tuple[NodeGroup, ...]]:
    """Parse sinfo's `_NODE_GROUP_FORMAT`, a line for each state: groups of identical nodes in any
    state, by partition, largest first."""
    counters: dict[str, Counter[tuple[int, tuple[str, ...], str]]] = defaultdict(Counter)
    for row in _parse_sinfo_rows(text):
        kind = row.cores, row.features, row.hosts_or_gres.split("(")[0]
        counters[row.partition.rstrip("*")][kind] += row.nodes
    return {
        name: tuple(
            NodeGroup(count, *kind)
            for kind, count in sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
        )
        for name, kinds in counters.items()
    }


def parse_pmi_plugins(text: str) -> tuple[str, ...]:
    """Parse ``srun --mpi=list``: a heading, then one or more plugins on a line."""
    words = re.findall(r"\b(?:pmix(?:_v\d)?|pmi2|cray_shasta|none)\b", text)
    return tuple(dict.fromkeys(words))


def pmix_series(pmis: Iterable[str]) -> str | None:
    """Return the PMIx series to build MPIs with; None: unknown.  ``srun --mpi=list`` names that of
    each PMIx plugin, ``pmix_v4``; srun takes the newest."""
    series = [int(name.removeprefix("pmix_v")) for name in pmis if name.startswith("pmix_v")]
    return str(max(*series, _MIN_PMIX_SERIES)) if series else None


def parse_scontrol_records(text: str) -> Iterator[dict[str, str]]:
    """The fields of each line that ``scontrol show ... --oneliner`` prints."""
    for line in text.splitlines():
        yield dict(word.split("=", 1) for word in line.split() if "=" in word)


def _parse_partition_limits(text: str) -> dict[str, PartitionLimits]:
    """Parse ``scontrol show partition --oneliner``: limits by partition."""

    def names(value: str) -> tuple[str, ...]:
        return () if value in ("ALL", "", "(null)") else tuple(value.split(","))

    return {
        fields["PartitionName"]: PartitionLimits(
            is_up=fields.get("State", "UP") == "UP",
            max_job_s=parse_time_limit_s(fields.get("MaxTime", "")),
            allowed_qos=names(fields.get("AllowQos", "ALL")),
            allowed_accounts=names(fields.get("AllowAccounts", "ALL")),
        )
        for fields in parse_scontrol_records(text)
        if "PartitionName" in fields
    }


def _sacctmgr_rows(text: str | None, fields: int) -> list[list[str]]:
    """Return the lines of sacctmgr's output that have as many `fields`, as lists of fields."""
    rows = [line.split("|") for line in (text or "").splitlines()]
    return [row for row in rows if len(row) == fields]


def _parse_user_accounts(text: str | None) -> tuple[str, ...]:
    """Parse ``sacctmgr show assoc``: this user's accounts; () for a user id without a name."""
    rows = _sacctmgr_rows(text, 3)
    try:
        user = getpass.getuser() if rows else ""
    except (KeyError, OSError):  # as in a container; KeyError before Python 3.13
        return ()
    return tuple(sorted({account for account, owner, _ in rows if owner == user}))


def parse_time_limit_s(text: str) -> int | None:
    """Slurm's ``1-00:00:00``, ``01:00:00``, ``30:00`` or ``90`` (minutes) in s; None: no limit."""
    match = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text.strip())
    if not match:
        return None
    days, first, second, third = (int(part) if part else 0 for part in match.groups())
    if match[1] or match[4]:  # D-H, D-H:M, D-H:M:S
        hours, minutes, seconds = first, second, third
    else:  # M, M:S
        hours, minutes, seconds = 0, first, second
    return ((24 * days + hours) * 60 + minutes) * 60 + seconds


def config_setting(config: str, name: str) -> str:
    """The value of `name` in the output of ``scontrol show config``; "" without one."""
    match = re.search(rf"^{name}\s*=\s*(.*)$", config, re.MULTILINE)
    return match[1].strip() if match else ""


_CONSTRAINT_TOKEN_PATTERN = re.compile(r"\s*([()&|,]|[^()&|,\s]+)")
#: States in which a node runs jobs, now or after its current ones.
_USABLE_STATES = ("idle", "allocated", "mixed", "completing", "planned")
#: Marks after a state: no answer, a maintenance reservation, powering down.
_MEANING_BY_STATE_FLAG = {"*": "not responding", "$": "in maintenance", "%": "powering down"}
_NODE_FORMAT = "%N|%T|%f|%E"


def satisfies_constraint(expression: str, features: Collection[str]) -> bool:
    """Whether a node with these `features` satisfies ``--constraint=`` `expression`.

    ``&`` (or a comma) and ``|`` are evaluated from left to right, as in Slurm, with parentheses.
    ValueError for a condition on several nodes together (brackets, counts), or a syntax error.
    """
    if re.search(r"[\[\]*]", expression):
        raise ValueError("brackets and counts are asked of several nodes together")
    tokens = [match[1] for match in _CONSTRAINT_TOKEN_PATTERN.finditer(expression)]
    value = _evaluate_expression(tokens, set(features))
    if tokens:
        raise ValueError(f"'{tokens[0]}' is not expected there")
    return value


def _evaluate_expression(tokens: list[str], features: set[str]) -> bool:
    value = _evaluate_term(tokens, features)
    while tokens and tokens[0] in "&|,":
        is_or = tokens.pop(0) == "|"
        operand = _evaluate_term(tokens, features)
        value = value or operand if is_or else value and operand
    return value


def _evaluate_term(tokens: list[str], features: set[str]) -> bool:
    word = tokens.pop(0) if tokens else ""
    if word == "(":
        value = _evaluate_expression(tokens, features)
        if not tokens or tokens.pop(0) != ")":
            raise ValueError("a parenthesis is not closed")
        return value
    if word in ("", ")", "&", "|", ","):
        raise ValueError("a feature is missing")
    return word in features


def collect_nodes(
    partition: Mapping[str, Any], subject: str, environment: Mapping[str, str]
) -> list[Node]:
    """As `Scheduler.collect_nodes`, by sinfo; UserError if it lists none, or none is chosen."""
    options = parse_access_options(partition.get("access", ()))
    command = ["sinfo", "--noheader", "--Node", f"--format={_NODE_FORMAT}"]
    if queue := options.get("partition"):
        command.append(f"--partition={queue}")
    try:
        process = subprocess.run(command, capture_output=True, text=True, env=environment)
    except FileNotFoundError:
        raise UserError("there is no sinfo in PATH: is Slurm installed here?") from None
    if process.returncode:
        reason = (process.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise UserError(f"cannot ask Slurm for the {subject}: {reason}")
    nodes = parse_nodes(process.stdout, is_reserved="reservation" in options)
    nodelist, exclusions = (
        {*expand_host_list(options.get(key, ""))} for key in ("nodelist", "exclude")
    )
    features = options.get("constraint")
    try:
        selection = [
            node
            for node in nodes
            if node.name in (nodelist or {node.name})
            and node.name not in exclusions
            and (not features or satisfies_constraint(features, node.features))
        ]
    except ValueError as error:
        raise UserError(
            f"the {subject} cannot be chosen by --constraint={features}: {error}; "
            "right are features with &, | and ( )"
        ) from None
    if nodes and not selection:
        keys = ("constraint", "nodelist", "exclude")
        request = " ".join(f"--{key}={options[key]}" for key in keys if key in options)
        what = f"none of the {len(nodes)} {subject}"
        raise UserError(f"{what} is what its options ask for: {request}")
    return selection


def parse_nodes(listing: str, is_reserved: bool = False) -> list[Node]:
    """Parse ``sinfo --Node``: lines of name, state, features and reason; return each node once.
    `is_reserved`: jobs ask for a reservation, and run on its nodes."""
    usable_states = (*_USABLE_STATES, "reserved") if is_reserved else _USABLE_STATES
    nodes = {}
    for line in _join_node_lines(listing):
        name, state, feature_list, reason = line.split("|", 3)
        meaning = next(
            (meaning for sign, meaning in _MEANING_BY_STATE_FLAG.items() if sign in state), ""
        )
        word = re.sub(r"[^a-z_].*", "", state.lower())
        down_reason = ""
        if meaning or word not in usable_states:
            slurm_reason = "" if reason.strip().lower() == "none" else reason.strip()
            down_reason = (
                "; ".join(filter(None, (meaning, slurm_reason))) or "Slurm gives no reason"
            )
        features = () if feature_list == "(null)" else tuple(filter(None, feature_list.split(",")))
        nodes[name] = Node(name, word or state, down_reason, features)

    def key(node: Node) -> list[tuple[bool, int, str]]:
        """n9 comes before n10."""
        parts = re.findall(r"\d+|\D+", node.name)
        return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]

    return sorted(nodes.values(), key=key)


def _join_node_lines(listing: str) -> list[str]:
    """Return a line for each node of `listing`: the lines of a reason are joined."""
    lines: list[str] = []
    for line in listing.splitlines():
        if line.count("|") >= _NODE_FORMAT.count("|"):
            lines.append(line)
        elif lines and line.strip():
            lines[-1] += f" {line.strip()}"
    return lines

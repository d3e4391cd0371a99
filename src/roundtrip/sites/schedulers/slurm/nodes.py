"""The nodes of a partition that its options choose, and their state, as Slurm reports them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Collection, Mapping
from typing import Any

from roundtrip.errors import UserError
from roundtrip.sites.schedulers.interface import Node
from roundtrip.sites.schedulers.slurm import facts

_TOKEN = re.compile(r"\s*([()&|,]|[^()&|,\s]+)")
_COUNTED = re.compile(r"[\[\]*]")
#: States in which a node runs jobs, now or after its current ones.
_IN_USE = ("idle", "allocated", "mixed", "completing", "planned")
#: State of an idle node of an active reservation, whose jobs alone it runs.
_RESERVED = "reserved"
#: Marks after a state: no answer, a maintenance reservation, powering down.
_OUT = {"*": "not responding", "$": "in maintenance", "%": "powering down"}
_FIELDS = "%N|%T|%f|%E"


def satisfies(expression: str, features: Collection[str]) -> bool:
    """Whether a node with these `features` satisfies ``--constraint=`` `expression`.

    ``&`` (or a comma) and ``|`` are evaluated from left to right, as in Slurm, with parentheses.
    ValueError for a condition on several nodes together (brackets, counts), or a syntax error.
    """
    if _COUNTED.search(expression):
        raise ValueError("brackets and counts are asked of several nodes together")
    tokens = [match[1] for match in _TOKEN.finditer(expression)]
    value = _expression(tokens, set(features))
    if tokens:
        raise ValueError(f"'{tokens[0]}' is not expected there")
    return value


def _expression(tokens: list[str], features: set[str]) -> bool:
    value = _term(tokens, features)
    while tokens and tokens[0] in "&|,":
        is_or = tokens.pop(0) == "|"
        operand = _term(tokens, features)
        value = value or operand if is_or else value and operand
    return value


def _term(tokens: list[str], features: set[str]) -> bool:
    word = tokens.pop(0) if tokens else ""
    if word == "(":
        value = _expression(tokens, features)
        if not tokens or tokens.pop(0) != ")":
            raise ValueError("a parenthesis is not closed")
        return value
    if word in ("", ")", "&", "|", ","):
        raise ValueError("a feature is missing")
    return word in features


def select(partition: Mapping[str, Any], place: str, environment: Mapping[str, str]) -> list[Node]:
    """Return the nodes, and raise UserError, as `Scheduler.nodes` says."""
    options = facts.access_options(partition.get("access", ()))
    listing = _sinfo(place, options.get("partition"), environment)
    nodes = parse_listing(listing, is_reserved="reservation" in options)
    nodelist, exclusions = (
        {*facts.expand_hosts(options.get(key, ""))} for key in ("nodelist", "exclude")
    )
    features = options.get("constraint")
    try:
        selection = [
            node
            for node in nodes
            if node.name in (nodelist or {node.name})
            and node.name not in exclusions
            and (not features or satisfies(features, node.features))
        ]
    except ValueError as error:
        raise UserError(
            f"the {place} cannot be chosen by --constraint={features}: {error}; "
            "right are features with &, | and ( )"
        ) from None
    if nodes and not selection:
        keys = ("constraint", "nodelist", "exclude")
        request = " ".join(f"--{key}={options[key]}" for key in keys if key in options)
        what = f"none of the {len(nodes)} {place}"
        raise UserError(f"{what} is what its options ask for: {request}")
    return selection


def _sinfo(place: str, queue: str | None, environment: Mapping[str, str]) -> str:
    """Slurm's list of the nodes of its partition `queue`."""
    command = ["sinfo", "--noheader", "--Node", f"--format={_FIELDS}"]
    command += [f"--partition={queue}"] if queue else []
    try:
        process = subprocess.run(command, capture_output=True, text=True, env=environment)
    except FileNotFoundError:
        raise UserError("there is no sinfo in PATH: is Slurm installed here?") from None
    if process.returncode:
        reason = (process.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise UserError(f"cannot ask Slurm for the {place}: {reason}")
    return process.stdout


def parse_listing(listing: str, is_reserved: bool = False) -> list[Node]:
    """Parse ``sinfo --Node``: lines of name, state, features and reason; return each node once.

    `is_reserved` says that jobs ask for a reservation, so that they run on its nodes.
    """
    usable_states = (*_IN_USE, _RESERVED) if is_reserved else _IN_USE
    nodes = {}
    for line in _node_lines(listing):
        name, state, feature_list, reason = line.split("|", 3)
        mark = next((meaning for sign, meaning in _OUT.items() if sign in state), "")
        word = re.sub(r"[^a-z_].*", "", state.lower())
        down_reason = "" if word in usable_states and not mark else _why(reason.strip(), mark)
        features = () if feature_list == "(null)" else tuple(filter(None, feature_list.split(",")))
        nodes[name] = Node(name, word or state, down_reason, features)
    return sorted(nodes.values(), key=lambda node: _numbered(node.name))


def _node_lines(listing: str) -> list[str]:
    """Return a line for each node, since a reason may have several."""
    lines: list[str] = []
    for line in listing.splitlines():
        if line.count("|") >= _FIELDS.count("|"):
            lines.append(line)
        elif lines and line.strip():
            lines[-1] += f" {line.strip()}"
    return lines


def _why(reason: str, mark: str) -> str:
    slurm_reason = "" if reason.lower() in ("", "none") else reason
    return "; ".join(part for part in (mark, slurm_reason) if part) or "Slurm gives no reason"


def _numbered(name: str) -> list[tuple[bool, int, str]]:
    """Return a sort key: ``n9`` before ``n10``."""
    parts = re.findall(r"\d+|\D+", name)
    return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]

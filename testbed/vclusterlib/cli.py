"""The command line of ``testbed/vcluster``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from vclusterlib import client, enter, lease_command, lifecycle, units
from vclusterlib.arguments import parser
from vclusterlib.errors import UserError, VclusterError
from vclusterlib.mounts import PRIVATE
from vclusterlib.show import show_link, show_status
from vclusterlib.spec import Spec, parse_nodes
from vclusterlib.state import State

CHECKOUT = Path(__file__).resolve().parents[2]


def _spec(options: argparse.Namespace) -> tuple[Spec, set[str]]:
    """The requested cluster, and the fields that the user set."""
    values: dict[str, Any] = {}
    if options.nodes:
        values["nodes_a"], values["nodes_b"] = parse_nodes(options.nodes)
    for field in ("cpus", "memory", "fabric", "cpu_weight"):
        if getattr(options, field) is not None:
            values[field] = getattr(options, field)
    if options.link:
        values["engine"] = options.link
    if options.hub_rate:
        values["hub_rate"] = units.rate(options.hub_rate)
    if options.accounting:
        values["accounting"] = True
    if options.slurm:
        values["slurm"] = str(Path(options.slurm).resolve())
    explicit_fields = set(values)
    rootless = options.rootless or os.geteuid() != 0
    shares = _shares(options.share or [])
    if options.share:
        explicit_fields.add("shares")
    return Spec(**values, rootless=rootless, shares=shares), explicit_fields


def _shares(folders: list[str]) -> tuple[str, ...]:
    """The checkout, the toolchain cache and `folders`; UserError for one that cannot be shared."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "roundtrip"
    shares = [CHECKOUT, *([cache] if cache.is_dir() else [])]
    for folder in folders:
        if not Path(folder).is_dir():
            raise UserError(f"--share {folder}: no such folder")
        if str(Path(folder).resolve()) in PRIVATE:
            raise UserError(f"--share {folder}: every node has its own; share a folder below it")
        shares.append(Path(folder).resolve())
    return tuple(dict.fromkeys(str(share) for share in shares))


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """The link settings that the user gave, by name."""
    fields = ("rtt", "rate", "loss", "queue", "seed", "up")
    settings = {name: getattr(options, name, None) for name in fields}
    return {name: value for name, value in settings.items() if value is not None}


def _lease(state: State, options: argparse.Namespace) -> int:
    settings, command = _settings(options), _command(options.argv)
    if state.run.is_dir() and state.spec().fabric == "hub" and set(settings) - {"rate"}:
        raise UserError("a hub takes no setting but --rate")
    holder = options.holder or f"{' '.join(command)[:60]} (process {os.getpid()})"
    record = Path(options.record) if options.record else None
    return lease_command.run(state, settings, command, holder, record, options.wait)


def _link(state: State, options: argparse.Namespace) -> None:
    changes = _settings(options)
    if options.command == "hub" and options.rate == 0:
        raise UserError("--rate unlimited: a hub has a rate; right is, for example, 10Mbit/s")
    request = {
        "do": options.command,
        "changes": changes,
        "test": not options.no_self_test,
        "cut": getattr(options, "cut", None),
        "reset": options.reset,
        "force": options.force,
    }
    link = client.ask(state, request)["link"]
    print(json.dumps(link, indent=1) if options.stats else show_link(link))


def _status(state: State, options: argparse.Namespace) -> int:
    health = lifecycle.examine(state)
    answer = {"name": state.name, "state_dir": str(state.path), **health}
    if options.partition or options.nodes:
        _require_nodes(health, options.partition or "grid", options.nodes or 1)
    print(json.dumps(answer, indent=1) if options.json else show_status(answer))
    return 0 if health["state"] == "up" else 1


def _require_nodes(health: dict[str, Any], partition: str, count: int) -> None:
    """UserError unless the running cluster has `partition` with at least `count` nodes."""
    sizes: dict[str, int] = {}
    for node in health.get("nodes", []):
        for name in (node["cluster"], "grid"):
            sizes[name] = sizes.get(name, 0) + 1
    if partition not in sizes:
        raise UserError(f"no partition {partition}: there are {', '.join(sorted(sizes)) or 'none'}")
    if count > sizes[partition]:
        raise UserError(f"partition {partition} has {sizes[partition]} nodes, not {count}")


def _run(options: argparse.Namespace) -> int:
    state = State.from_name(options.name)
    match options.command:
        case "up":
            print("vcluster: " + lifecycle.up(state, *_spec(options)))
        case "down":
            print("vcluster: " + lifecycle.down(state))
        case "status":
            return _status(state, options)
        case "exec":
            enter.head(state, _command(options.argv))
        case "node":
            enter.compute(state, options.node, _command(options.argv))
        case "power":
            request = {"do": "power", "node": options.node, "on": options.way == "on"}
            client.ask(state, request)
        case "fault":
            fields = {name: getattr(options, name) for name in ("latency", "loss", "cpu", "cable")}
            changes = {name: value for name, value in fields.items() if value is not None}
            if bool(changes) == options.clear:
                raise UserError("fault: give --latency, --loss, --cpu or --cable, or --clear alone")
            request = {"do": "fault", "node": options.node, "changes": changes}
            print(json.dumps(client.ask(state, {**request, "clear": options.clear})["faults"]))
        case "lease":
            return _lease(state, options)
        case _:
            _link(state, options)
    return 0


def _command(argv: list[str]) -> list[str]:
    return argv[1:] if argv[:1] == ["--"] else argv


def main(arguments: list[str]) -> int:
    """Exit status: 0, 1 (failure), 2 (bad input or unsuitable machine), or that of the command."""
    try:
        return _run(parser().parse_args(arguments))
    except VclusterError as error:
        print(f"vcluster: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print("vcluster: interrupted", file=sys.stderr)
        return 130

"""The command line of ``testbed/vcluster``: its arguments, its commands, and what it prints."""

from __future__ import annotations

import argparse
import json
import os
import sys
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NoReturn

from vclusterlib import UserError, VclusterError, enter, lease, lifecycle, spec
from vclusterlib.namespaces import TMPFS_OPTIONS_BY_FOLDER
from vclusterlib.spec import ENGINES, FABRICS, Spec, parse_nodes
from vclusterlib.state import State

CHECKOUT = Path(__file__).resolve().parents[2]


class _Parser(argparse.ArgumentParser):
    """An argparse parser that reports a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} (see {self.prog} --help)")


def parser() -> argparse.ArgumentParser:
    """The parser of all commands; its result holds the name of the command as ``command``."""
    top = _Parser(prog="vcluster", description="A virtual two-cluster Slurm site.")
    top.add_argument("--name", help="which cluster (default: default)")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_up(commands.add_parser("up", help="boot the cluster, unless it is up"))
    commands.add_parser("down", help="end the cluster; its state folder keeps logs and database")
    _add_status(commands.add_parser("status", help="show what runs; exit 1 unless everything does"))
    execute = commands.add_parser("exec", help="run a command on the head node")
    execute.add_argument("argv", nargs=argparse.REMAINDER, metavar="CMD")
    node = commands.add_parser("node", help="run a command on a compute node")
    node.add_argument("node", metavar="NAME")
    node.add_argument("argv", nargs=argparse.REMAINDER, metavar="CMD")
    power = commands.add_parser("power", help="switch a node off, or on again")
    power.add_argument("node", metavar="NAME")
    power.add_argument("way", choices=("off", "on"))
    _add_fault(commands.add_parser("fault", help="put a fault on a node, or clear it with --clear"))
    wan = commands.add_parser("wan", help="show or change the link between the clusters")
    _add_wan(wan)
    hub = commands.add_parser("hub", help="show or change the shared medium")
    hub.add_argument("--rate", type=spec.parse_rate, help="10Mbit/s")
    lease_help = "run a command while nobody else changes the link"
    _add_lease(commands.add_parser("lease", help=lease_help))
    for link in (wan, hub):
        link.add_argument("--force", action="store_true", help="even if somebody holds a lease")
        link.add_argument("--stats", action="store_true", help="settings and counters as JSON")
        link.add_argument("--reset", action="store_true", help="set the counters to 0 afterwards")
        link.add_argument("--no-self-test", action="store_true", help="do not measure the new link")
    return top


def _add_up(up: Any) -> None:
    add = up.add_argument
    add("--nodes", metavar="A+B", help="nodes of each cluster, 1..16 (default 4+4)")
    add("--cpus", type=int, metavar="N", help="CPUs that a node declares (4)")
    add("--memory", type=int, metavar="MIB", help="memory that a node declares (4096)")
    add("--accounting", action="store_true", default=None, help="slurmdbd and MariaDB, for sacct")
    share = "folder below /tmp, /run or /dev/shm to show to the nodes, which see all others"
    add("--share", action="append", metavar="DIR", help=share)
    add("--slurm", metavar="DIR", help="files to lay over Slurm's: slurm.conf, topology.conf")
    add("--fabric", choices=FABRICS, help="two clusters and a WAN, or one hub (wan)")
    add("--hub-rate", type=spec.parse_rate, metavar="RATE", help="of the hub (10Mbit/s)")
    link = "what emulates the WAN (auto: netem if there)"
    add("--link", dest="engine", choices=ENGINES, help=link)
    weight = "weight of the cluster's cgroup; others have 100 (default: no cgroup)"
    add("--cpu-weight", type=int, metavar="W", help=weight)
    add("--rootless", action="store_true", help="use a user namespace; the default if not root")


def _add_status(status: Any) -> None:
    status.add_argument("--json", action="store_true")
    status.add_argument("--partition", help="exit 2 unless this partition exists")
    status.add_argument("--nodes", type=int, metavar="N", help="exit 2 unless it has N nodes")


def _add_fault(fault: Any) -> None:
    fault.add_argument("node", metavar="NAME")
    add = fault.add_argument
    add("--latency", type=spec.parse_rtt, help="that its cable adds each way, 0..100ms")
    add("--loss", type=spec.parse_loss, help="share of frames that its cable loses each way: 0.5%%")
    share = "share of a processor that its programs have: 25%%..6400%%"
    add("--cpu", type=spec.parse_cpu, help=share)
    cable = "let our link program be its cable, also where that adds and loses nothing"
    add("--cable", action="store_true", default=None, help=cable)
    add("--clear", action="store_true", help="take all its faults away")


def _add_lease(lease: Any) -> None:
    _add_settings(lease)
    add = lease.add_argument
    add("--for", dest="holder", metavar="WHO", help="the holder's name (default: the command)")
    add("--record", metavar="FILE", help="write the state of the link before and after, as JSON")
    wait = "how long to wait for another holder (60s)"
    add("--wait", type=spec.parse_wait, metavar="TIME", default=60.0, help=wait)
    add("argv", nargs=argparse.REMAINDER, metavar="CMD")


def _add_settings(link: Any) -> None:
    add = link.add_argument
    add("--rtt", type=spec.parse_rtt, help="added round-trip time, 0..100ms")
    add("--rate", type=spec.parse_rate, help="1Gbit/s, unlimited")
    add("--loss", type=spec.parse_loss, help="share of frames lost, in each direction: 0.1%%")
    add("--queue", type=spec.parse_bytes, help="queue before the link, in each direction: 1MiB")
    add("--seed", type=int, help="seed of the losses")


def _add_wan(wan: Any) -> None:
    _add_settings(wan)
    add = wan.add_argument
    add("--cut", type=spec.parse_cut, metavar="TIME", help="cut the link, for 5s")
    add("--down", dest="up", action="store_false", default=None, help="cut it until --up")
    add("--up", dest="up", action="store_true", default=None)


def _describe_link(link: dict[str, Any]) -> str:
    """Two lines: the settings of the link, and the result of the self-test."""
    line = f"{link['fabric']} ({link['engine']}): "
    if link["fabric"] == "wan":
        line += f"RTT {link['rtt_ms']:g} ms, "
    line += f"rate {spec.describe_rate(link['rate_bit_s'])}"
    if link["fabric"] == "wan":
        line += f", loss {link['loss'] * 100:g} %, queue {spec.describe_bytes(link['queue_bytes'])}"
    line += "" if link["up"] else ", DOWN"
    return f"{line}\n{_describe_self_test(link['self_test'])}"


def _describe_self_test(test: dict[str, Any] | None) -> str:
    if test is None:
        return "self-test: not run since the last change"
    if test["received"] == 0:
        return "self-test: nothing passes, as asked"
    line = (
        f"self-test: ping a1 -> b1 asked {test['asked_ms']:.3f} ms, min {test['min_ms']:.3f}, "
        f"p50 {test['p50_ms']:.3f} ms"
    )
    return line + (" (disturbed: this machine is busy)" if test["disturbed"] else "")


def _describe_status(status: dict[str, Any]) -> str:
    """A few lines; nodes of the same cluster and state share one."""
    lines = [f"cluster {status['name']}: {status['state']}"]
    lines[0] += f" ({status['why']})" if "why" in status else ""
    if "nodes" in status:
        key = itemgetter("cluster", "state", "slurmd")
        for (cluster, state, has_slurmd), nodes in groupby(status["nodes"], key):
            names = " ".join(node["name"] for node in nodes)
            note = "" if has_slurmd else " (its slurmd does not run)"
            lines.append(f"{cluster}: {names} {state}{note}")
        link = status["link"]
        lines.append(link["error"] if "error" in link else _describe_link(link))
    lines.append(f"state directory {status['state_dir']}")
    return "\n".join(lines)


def _explicit_options(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """The options among `names` that the user gave, by name."""
    values = {name: getattr(options, name, None) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _parse_spec(options: argparse.Namespace) -> tuple[Spec, set[str]]:
    """The requested cluster, and the fields that the user set."""
    fields = ("cpus", "memory", "fabric", "cpu_weight", "engine", "hub_rate", "accounting")
    values = _explicit_options(options, *fields)
    if options.nodes:
        values["nodes_a"], values["nodes_b"] = parse_nodes(options.nodes)
    if options.slurm:
        values["slurm"] = str(Path(options.slurm).resolve())
    explicit_fields = {*values, *(["shares"] if options.share else [])}
    rootless = options.rootless or os.geteuid() != 0
    return Spec(
        **values, rootless=rootless, shares=_shared_folders(options.share or [])
    ), explicit_fields


def _shared_folders(folders: list[str]) -> tuple[str, ...]:
    """The checkout, the toolchain cache and `folders`; UserError for one that cannot be shared."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "roundtrip"
    shares = [CHECKOUT, *([cache] if cache.is_dir() else [])]
    for folder in folders:
        if not Path(folder).is_dir():
            raise UserError(f"--share {folder}: no such folder")
        if str(Path(folder).resolve()) in TMPFS_OPTIONS_BY_FOLDER:
            raise UserError(f"--share {folder}: every node has its own; share a folder below it")
        shares.append(Path(folder).resolve())
    return tuple(dict.fromkeys(str(share) for share in shares))


def _link_settings(options: argparse.Namespace) -> dict[str, Any]:
    """The link settings that the user gave, by name."""
    return _explicit_options(options, "rtt", "rate", "loss", "queue", "seed", "up")


def _run_lease(state: State, options: argparse.Namespace) -> int:
    settings, command = _link_settings(options), _without_separator(options.argv)
    if state.run.is_dir() and state.spec().fabric == "hub" and set(settings) - {"rate"}:
        raise UserError("a hub takes no setting but --rate")
    holder = options.holder or f"{' '.join(command)[:60]} (process {os.getpid()})"
    record = Path(options.record) if options.record else None
    return lease.run_with_lease(state, settings, command, holder, record, options.wait)


def _run_link(state: State, options: argparse.Namespace) -> None:
    changes = _link_settings(options)
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
    link = state.send_request(request)["link"]
    print(json.dumps(link, indent=1) if options.stats else _describe_link(link))


def _run_status(state: State, options: argparse.Namespace) -> int:
    health = lifecycle.examine_health(state)
    answer = {"name": state.name, "state_dir": str(state.path), **health}
    if options.partition or options.nodes:
        _require_nodes(health, options.partition or "grid", options.nodes or 1)
    print(json.dumps(answer, indent=1) if options.json else _describe_status(answer))
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


def _run_command(options: argparse.Namespace) -> int:
    state = State.from_name(options.name)
    match options.command:
        case "up":
            print("vcluster: " + lifecycle.up(state, *_parse_spec(options)))
        case "down":
            print("vcluster: " + lifecycle.down(state))
        case "status":
            return _run_status(state, options)
        case "exec":
            enter.exec_on_head(state, _without_separator(options.argv))
        case "node":
            enter.exec_on_node(state, options.node, _without_separator(options.argv))
        case "power":
            request = {"do": "power", "node": options.node, "on": options.way == "on"}
            state.send_request(request)
        case "fault":
            changes = _explicit_options(options, "latency", "loss", "cpu", "cable")
            if bool(changes) == options.clear:
                raise UserError("fault: give --latency, --loss, --cpu or --cable, or --clear alone")
            request = {"do": "fault", "node": options.node, "changes": changes}
            print(json.dumps(state.send_request({**request, "clear": options.clear})["faults"]))
        case "lease":
            return _run_lease(state, options)
        case _:
            _run_link(state, options)
    return 0


def _without_separator(argv: list[str]) -> list[str]:
    return argv[1:] if argv[:1] == ["--"] else argv


def main(arguments: list[str]) -> int:
    """Exit status: 0, 1 (failure), 2 (bad input or unsuitable machine), or that of the command."""
    try:
        return _run_command(parser().parse_args(arguments))
    except VclusterError as error:
        print(f"vcluster: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print("vcluster: interrupted", file=sys.stderr)
        return 130

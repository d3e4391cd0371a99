"""The command line of ``testbed/vcluster``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

from vclusterlib import client, enter, lifecycle, units
from vclusterlib.errors import UserError, VclusterError
from vclusterlib.show import show_link, show_status
from vclusterlib.spec import ENGINES, FABRICS, Spec, parse_nodes
from vclusterlib.state import State

CHECKOUT = Path(__file__).resolve().parents[2]


class Parser(argparse.ArgumentParser):
    """argparse, but one line for a mistake."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} (see {self.prog} --help)")


def _parser() -> Parser:
    parser = Parser(prog="vcluster", description="A virtual two-cluster Slurm site.")
    parser.add_argument("--name", help="which cluster (default: default)")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    up = commands.add_parser("up", help="boot the cluster; does nothing if it is up")
    up.add_argument("--nodes", metavar="A+B", help="nodes of each cluster, 1..16 (default 4+4)")
    up.add_argument("--cpus", type=int, metavar="N", help="CPUs that a node declares (4)")
    up.add_argument("--memory", type=int, metavar="MIB", help="memory that a node declares (4096)")
    up.add_argument("--accounting", action="store_true", help="slurmdbd and MariaDB, for sacct")
    up.add_argument("--share", action="append", metavar="DIR", help="folder below /tmp, /run or "
                    "/dev/shm that head and nodes shall see (the rest they see anyway)")  # fmt: skip
    up.add_argument("--fabric", choices=FABRICS, help="two clusters and a WAN, or one hub (wan)")
    up.add_argument("--hub-rate", metavar="RATE", help="of the hub (10Mbit/s)")
    up.add_argument("--link", choices=ENGINES, help="what emulates the WAN (auto: netem if there)")
    up.add_argument("--cpu-weight", type=int, metavar="W", help="share of the CPUs, by cgroup; "
                    "others have 100 (default: no cgroup)")  # fmt: skip
    up.add_argument(
        "--rootless", action="store_true", help="in a user namespace (not root: always)"
    )

    commands.add_parser("down", help="end the cluster; logs and database stay in the state folder")
    status = commands.add_parser("status", help="tell what runs; exit 1 unless all of it does")
    status.add_argument("--json", action="store_true")
    status.add_argument("--partition", help="exit 2 unless this partition exists")
    status.add_argument("--nodes", type=int, metavar="N", help="exit 2 unless it has N nodes")

    execute = commands.add_parser("exec", help="run a command on the head node")
    execute.add_argument("argv", nargs=argparse.REMAINDER, metavar="CMD")
    node = commands.add_parser("node", help="run a command on a compute node")
    node.add_argument("node", metavar="NAME")
    node.add_argument("argv", nargs=argparse.REMAINDER, metavar="CMD")

    wan = commands.add_parser("wan", help="tell or change the link between the clusters")
    wan.add_argument("--rtt", type=units.rtt, help="added round-trip time, 0..100ms")
    wan.add_argument("--rate", type=units.rate, help="1Gbit/s, unlimited")
    wan.add_argument("--loss", type=units.loss, help="of frames, each direction: 0.1%%")
    wan.add_argument("--queue", type=units.size, help="before the link, each direction: 1MiB")
    wan.add_argument("--seed", type=int, help="of the losses")
    wan.add_argument("--cut", type=units.cut, metavar="TIME", help="cut the link, for 5s")
    wan.add_argument("--down", dest="up", action="store_false", default=None)
    wan.add_argument("--up", dest="up", action="store_true", default=None)
    hub = commands.add_parser("hub", help="tell or change the shared medium")
    hub.add_argument("--rate", type=units.rate, help="10Mbit/s")
    for link in (wan, hub):
        link.add_argument(
            "--stats", action="store_true", help="print settings and counters as JSON"
        )
        link.add_argument("--reset", action="store_true", help="set the counters to 0 afterwards")
        link.add_argument(
            "--no-self-test", action="store_true", help="do not measure after a change"
        )
    return parser


def _spec(options: argparse.Namespace) -> tuple[Spec, set[str]]:
    """The cluster asked for, and which of its fields were asked for explicitly."""
    asked: dict[str, Any] = {}
    if options.nodes:
        asked["nodes_a"], asked["nodes_b"] = parse_nodes(options.nodes)
    for field in ("cpus", "memory", "fabric", "cpu_weight"):
        if getattr(options, field) is not None:
            asked[field] = getattr(options, field)
    if options.link:
        asked["engine"] = options.link
    if options.hub_rate:
        asked["hub_rate"] = units.rate(options.hub_rate)
    if options.accounting:
        asked["accounting"] = True
    given = set(asked)
    rootless = options.rootless or os.geteuid() != 0
    shares = _shares(options.share or [])
    if options.share:
        given.add("shares")
    return Spec(**asked, rootless=rootless, shares=shares), given


def _shares(folders: list[str]) -> tuple[str, ...]:
    """The checkout, the toolchain cache and what was asked for; UserError if that is no folder."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "roundtrip"
    shares = [CHECKOUT, *([cache] if cache.is_dir() else [])]
    for folder in folders:
        if not Path(folder).is_dir():
            raise UserError(f"--share {folder}: no such folder")
        shares.append(Path(folder).resolve())
    return tuple(dict.fromkeys(str(share) for share in shares))


def _link(state: State, options: argparse.Namespace) -> None:
    fields = ("rtt", "rate", "loss", "queue", "seed", "up")
    asked = {name: getattr(options, name, None) for name in fields}
    changes = {name: value for name, value in asked.items() if value is not None}
    if options.command == "hub" and options.rate == 0:
        raise UserError("--rate unlimited: a hub has a rate, that is its nature")
    request = {
        "do": options.command,
        "changes": changes,
        "test": not options.no_self_test,
        "cut": getattr(options, "cut", None),
        "reset": options.reset,
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
    """UserError unless the running cluster has such a partition with so many nodes."""
    sizes: dict[str, int] = {}
    for node in health.get("nodes", []):
        for name in (node["cluster"], "grid"):
            sizes[name] = sizes.get(name, 0) + 1
    if partition not in sizes:
        raise UserError(f"no partition {partition}: there are {', '.join(sorted(sizes)) or 'none'}")
    if count > sizes[partition]:
        raise UserError(f"partition {partition} has {sizes[partition]} nodes, not {count}")


def _run(options: argparse.Namespace) -> int:
    state = State.of(options.name)
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
        case _:
            _link(state, options)
    return 0


def _command(argv: list[str]) -> list[str]:
    return argv[1:] if argv[:1] == ["--"] else argv


def main(arguments: list[str]) -> int:
    """Exit status: 0, 1 (it did not work), 2 (bad input or a machine that cannot), or exec's."""
    try:
        return _run(_parser().parse_args(arguments))
    except VclusterError as error:
        print(f"vcluster: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print("vcluster: interrupted", file=sys.stderr)
        return 130

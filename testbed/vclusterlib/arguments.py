"""The arguments of ``testbed/vcluster``."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from vclusterlib import units
from vclusterlib.errors import UserError
from vclusterlib.spec import ENGINES, FABRICS


class Parser(argparse.ArgumentParser):
    """An argparse parser that reports a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} (see {self.prog} --help)")


def parser() -> Parser:
    """The parser of all commands; its result holds the name of the command as ``command``."""
    top = Parser(prog="vcluster", description="A virtual two-cluster Slurm site.")
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
    fault = commands.add_parser("fault", help="make a node sick, or well again with --clear")
    _add_fault(fault)
    wan = commands.add_parser("wan", help="show or change the link between the clusters")
    _add_wan(wan)
    hub = commands.add_parser("hub", help="show or change the shared medium")
    hub.add_argument("--rate", type=units.rate, help="10Mbit/s")
    lease = commands.add_parser("lease", help="run a command while nobody else changes the link")
    _add_lease(lease)
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
    add("--accounting", action="store_true", help="slurmdbd and MariaDB, for sacct")
    share = "folder below /tmp, /run or /dev/shm to show to the nodes, which see all others"
    add("--share", action="append", metavar="DIR", help=share)
    add("--slurm", metavar="DIR", help="files to lay over Slurm's: slurm.conf, topology.conf")
    add("--fabric", choices=FABRICS, help="two clusters and a WAN, or one hub (wan)")
    add("--hub-rate", metavar="RATE", help="of the hub (10Mbit/s)")
    add("--link", choices=ENGINES, help="what emulates the WAN (auto: netem if there)")
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
    add("--latency", type=units.rtt, help="that its cable adds each way, 0..100ms")
    add("--loss", type=units.loss, help="share of frames that its cable loses each way: 0.5%%")
    add("--cpu", type=units.cpu, help="share of a processor that its programs have: 25%%..6400%%")
    cable = "let our link program be its cable, also where that adds and loses nothing"
    add("--cable", action="store_true", default=None, help=cable)
    add("--clear", action="store_true", help="take all its faults away")


def _add_lease(lease: Any) -> None:
    _add_settings(lease)
    add = lease.add_argument
    add("--for", dest="holder", metavar="WHO", help="the holder's name (default: the command)")
    add("--record", metavar="FILE", help="write the state of the link before and after, as JSON")
    wait = "how long to wait for another holder (60s)"
    add("--wait", type=units.wait, metavar="TIME", default=60.0, help=wait)
    add("argv", nargs=argparse.REMAINDER, metavar="CMD")


def _add_settings(link: Any) -> None:
    add = link.add_argument
    add("--rtt", type=units.rtt, help="added round-trip time, 0..100ms")
    add("--rate", type=units.rate, help="1Gbit/s, unlimited")
    add("--loss", type=units.loss, help="share of frames lost, in each direction: 0.1%%")
    add("--queue", type=units.size, help="queue before the link, in each direction: 1MiB")
    add("--seed", type=int, help="seed of the losses")


def _add_wan(wan: Any) -> None:
    _add_settings(wan)
    add = wan.add_argument
    add("--cut", type=units.cut, metavar="TIME", help="cut the link, for 5s")
    add("--down", dest="up", action="store_false", default=None, help="cut it until --up")
    add("--up", dest="up", action="store_true", default=None)

"""A compute node: namespaces of its own, its file system, one slurmd, and a first process.

The first process reaps orphans and lives on when slurmd dies, so that slurmd can be killed and
started again in place (``vcluster node a1 slurmd``).  While the cluster boots, however, the node
ends with its slurmd, so that the world starts it again.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

from vclusterlib import cgroup, namespaces, network
from vclusterlib.spec import Node
from vclusterlib.state import State


def pid_file(state: State, name: str) -> Path:
    """The file with the pid of the node's first process, as the head sees it."""
    return state.run / "nodes" / f"{name}.pid"


def fork_node(state: State, node: Node, visible_folders: list[str], gate: int) -> int:
    """Start a node; return the pid of its keeper, whose death ends the node.

    `gate` is the reading end of a pipe: slurmd starts once all its writers are closed.
    """
    keeper = os.fork()
    if keeper:
        return keeper
    try:
        _become_child(gate)
        cgroup.join_node(state, node.name)  # a fault of its processor outlasts a loss of power
        _keep(state, node, visible_folders, gate)
    except BaseException as error:
        print(f"{node.name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)


def _become_child(gate: int) -> None:
    """Reset the world's signal handlers, and close its descriptors except `gate`."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.closerange(3, gate)
    os.closerange(gate + 1, 1024)


def _keep(state: State, node: Node, visible_folders: list[str], gate: int) -> NoReturn:
    namespaces.enter_network(network.NAMESPACES / node.name)
    namespaces.unshare()
    # Before the fork: the child covers the folder until it has bound the visible ones.
    pid_descriptor = os.open(pid_file(state, node.name), os.O_WRONLY | os.O_CREAT, 0o644)
    pid = os.fork()
    if pid == 0:
        os.close(pid_descriptor)
        namespaces.die_with_parent(signal.SIGKILL)
        os._exit(_live(state, node, visible_folders, gate))
    os.close(gate)
    os.ftruncate(pid_descriptor, 0)
    os.write(pid_descriptor, str(pid).encode())
    os.close(pid_descriptor)
    _, status = os.waitpid(pid, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _live(state: State, node: Node, visible_folders: list[str], gate: int) -> int:
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    namespaces.mount("none", "/", flags=namespaces.MS_REC | namespaces.MS_PRIVATE)
    munge = os.open("/run/munge", os.O_PATH | os.O_CLOEXEC)
    namespaces.mount_proc()
    namespaces.make_private(visible_folders)
    for folder in ("munge", "slurm", "lock"):
        Path("/run", folder).mkdir()
    namespaces.bind(f"/proc/self/fd/{munge}", "/run/munge")
    os.close(munge)
    socket.sethostname(node.name)
    namespaces.mount_sysfs()
    (state.spool / node.name).mkdir(exist_ok=True)
    os.read(gate, 1)
    os.close(gate)
    os.chdir("/")
    with (state.log / f"slurmd-{node.name}.out").open("ab") as output:
        slurmd = subprocess.Popen(
            ["slurmd", "-D", "-N", node.name],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            time.sleep(1)  # no process runs now; commands that enter later may leave orphans
            continue
        if pid == slurmd.pid and not (state.run / "booted").exists():
            return os.waitstatus_to_exitcode(status) & 0xFF or 1

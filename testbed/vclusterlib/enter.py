"""``exec`` and ``node``: replace this process by a command that runs inside the cluster.

nsenter ends with the status of the command.  If nsenter is killed, the command gets SIGTERM.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

from vclusterlib import UserError, cgroup, namespaces, tools
from vclusterlib.state import STATE_VARIABLE, State

_NAMESPACE_OPTIONS = ["-m", "-u", "-i", "-n", "-p"]
#: Variables of an outer Slurm job or MPI launcher, which would mislead srun and MPI inside.
_FOREIGN_PREFIXES = ("SLURM_", "SLURMD_", "SBATCH_", "SALLOC_", "PMI_", "PMIX_")


def exec_on_head(state: State, command: list[str]) -> NoReturn:
    """Run `command` on the head node, in the current folder."""
    _require_command(command)
    folder = str(Path.cwd())
    if state.is_inside:
        _require_head("exec")
        _exec(command, dict(os.environ))
    head_pid = _require_head_pid(state)
    _require_shared(folder, head_pid, state)
    cgroup.join_cluster(state)
    prefix = _head_prefix(state, head_pid)
    _exec([*prefix, *_command_in_folder(folder, command)], inner_environment(state))


def exec_on_node(state: State, name: str, command: list[str]) -> NoReturn:
    """Run `command` on the node `name`, in the current folder."""
    _require_command(command)
    if state.is_inside:
        _require_head("node")  # the pids of nodes are the head's
        prefix, variables = [], dict(os.environ)
    else:
        prefix = _head_prefix(state, _require_head_pid(state))
        variables = inner_environment(state)
    names = [item.name for item in state.spec().nodes]
    if name not in names:
        raise UserError(f"no node {name}: there are {names[0]} .. {names[-1]} ({len(names)} nodes)")
    try:
        pid = state.pid_file(name).read_text()
    except FileNotFoundError:
        raise state.not_up_error() from None
    if not cgroup.join_node(state, name) and not state.is_inside:
        cgroup.join_cluster(state)
    node_prefix = ["nsenter", "-t", pid, *_NAMESPACE_OPTIONS, "--"]
    _exec([*prefix, *node_prefix, *_command_in_folder(str(Path.cwd()), command)], variables)


def inner_environment(state: State) -> dict[str, str]:
    """The environment of a command inside: ours without variables of a Slurm job outside."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith(_FOREIGN_PREFIXES)}
    if namespaces.is_hidden(variables.get("TMPDIR", "")):
        del variables["TMPDIR"]
    return {**variables, "PATH": tools.search_path(), STATE_VARIABLE: str(state.path)}


def _require_command(command: list[str]) -> None:
    if not command:
        raise UserError("which command? e.g. vcluster exec srun -N2 hostname")


def _require_head(command: str) -> None:
    """UserError if this process, inside the cluster, runs on a compute node."""
    if os.uname().nodename != "head":
        raise UserError(f"this is a node of the cluster: run `{command}` on the head or outside")


def _require_head_pid(state: State) -> int:
    head_pid = state.head_pid()
    if head_pid is None or not (state.run / "booted").exists():
        raise state.not_up_error()
    return head_pid


def _require_shared(folder: str, head_pid: int, state: State) -> None:
    """UserError unless the head node sees the current folder."""
    try:
        is_shared = os.path.samestat(os.stat(folder), os.stat(f"/proc/{head_pid}/root{folder}"))  # noqa: PTH116
    except OSError:
        is_shared = False
    if not is_shared and folder in namespaces.TMPFS_OPTIONS_BY_FOLDER:
        raise UserError(f"the head node has its own {folder}: cd elsewhere")
    if not is_shared:
        name = "" if state.name == "default" else f" --name {state.name}"
        raise UserError(
            f"{folder} is not visible inside: cd elsewhere, or vcluster{name} up --share {folder}"
        )


def _head_prefix(state: State, head_pid: int) -> list[str]:
    user = ["-U", "--preserve-credentials"] if state.spec().rootless else []
    prefix = ["nsenter", "-t", str(head_pid), *user, *_NAMESPACE_OPTIONS, "--"]
    return [*prefix, "setpriv", "--pdeathsig", "TERM"]


def _command_in_folder(folder: str, command: list[str]) -> list[str]:
    return ["setpriv", "--pdeathsig", "TERM", "env", f"--chdir={folder}", "--", *command]


def _exec(command: list[str], variables: dict[str, str]) -> NoReturn:
    try:
        os.execvpe(command[0], command, variables)  # noqa: S606  that is what exec is for
    except OSError as error:
        raise UserError(f"{command[0]}: {error.strerror}") from error

"""The programs that the cluster needs, and their Debian packages."""

from __future__ import annotations

import os
import shutil
import subprocess

from vclusterlib.errors import UserError
from vclusterlib.spec import Spec

SLURM = {
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "srun": "slurm-client",
    "sinfo": "slurm-client",
    "scontrol": "slurm-client",
    "munged": "munge",
}
BASE = {
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
    "ping": "iputils-ping",
}
ACCOUNTING = {
    "slurmdbd": "slurmdbd",
    "sacctmgr": "slurm-client",
    "mariadbd": "mariadb-server",
    "mariadb-install-db": "mariadb-server",
}
BUILD = {"cmake": "cmake", "ninja": "ninja-build", "g++": "g++"}

NAMESPACES = ("--mount", "--uts", "--ipc", "--net", "--pid", "--fork")


def search_path() -> str:
    """PATH with the system folders, where the daemons are, at its end."""
    folders = os.environ.get("PATH", "").split(":")
    return ":".join([*folders, *(f for f in ("/usr/sbin", "/sbin") if f not in folders)])


def require(programs: dict[str, str]) -> None:
    """UserError naming every missing program and the packages to install."""
    missing_programs = [name for name in programs if not shutil.which(name, path=search_path())]
    if missing_programs:
        packages = " ".join(dict.fromkeys(programs[name] for name in missing_programs))
        raise UserError(f"not installed: {', '.join(missing_programs)}: apt-get install {packages}")


def require_for(spec: Spec) -> None:
    require({**BASE, **SLURM, **(ACCOUNTING if spec.accounting else {})})


def user_namespace(rootless: bool) -> list[str]:
    """Options of unshare that add a user namespace, if `rootless`."""
    return ["--user", "--map-root-user"] if rootless else []


def require_namespaces(rootless: bool) -> None:
    """UserError if this user may not make the namespaces we need."""
    command = ["unshare", *user_namespace(rootless), *NAMESPACES, "--mount-proc"]
    command += ["ip", "link", "set", "lo", "up"]
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode:
        reason = (process.stderr.strip().splitlines() or ["no reason given"])[-1]
        hint = (
            "allow them (sysctl kernel.unprivileged_userns_clone, user.max_user_namespaces) "
            "or run as root"
            if rootless
            else "root lacks CAP_SYS_ADMIN or CAP_NET_ADMIN, or user.max_*_namespaces is too low"
        )
        raise UserError(f"namespaces are not allowed here ({reason}): {hint}")


def has_netem(rootless: bool) -> bool:
    """Whether this kernel has the netem queue, by a trial on the loopback of a new namespace."""
    probe = ["tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]
    command = ["unshare", *user_namespace(rootless), "--net", *probe]
    return subprocess.run(command, capture_output=True).returncode == 0

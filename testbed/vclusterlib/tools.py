"""The programs that the cluster needs: of Debian's packages, and ours, built at first use."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from vclusterlib import UserError, VclusterError, state
from vclusterlib.spec import Spec

SLURM_PACKAGES = {
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "srun": "slurm-client",
    "sinfo": "slurm-client",
    "scontrol": "slurm-client",
    "munged": "munge",
}
BASE_PACKAGES = {
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
    "ping": "iputils-ping",
}
ACCOUNTING_PACKAGES = {
    "slurmdbd": "slurmdbd",
    "sacctmgr": "slurm-client",
    "mariadbd": "mariadb-server",
    "mariadb-install-db": "mariadb-server",
}
BUILD_PACKAGES = {"cmake": "cmake", "ninja": "ninja-build", "g++": "g++"}

#: The C++ programs of ``testbed/link``.
LINK_SOURCES = Path(__file__).resolve().parent.parent / "link"
LINK_PROGRAM = "roundtrip-link"
SETGROUPS_SHIM = "libsetgroups_shim.so"

NAMESPACE_OPTIONS = ("--mount", "--uts", "--ipc", "--net", "--pid", "--fork")


def search_path() -> str:
    """PATH with the system folders, where the daemons are, at its end."""
    folders = os.environ.get("PATH", "").split(":")
    return ":".join([*folders, *(f for f in ("/usr/sbin", "/sbin") if f not in folders)])


def require_programs(programs: dict[str, str]) -> None:
    """UserError naming every missing program and the packages to install."""
    missing_programs = [name for name in programs if not shutil.which(name, path=search_path())]
    if missing_programs:
        packages = " ".join(dict.fromkeys(programs[name] for name in missing_programs))
        raise UserError(f"not installed: {', '.join(missing_programs)}: apt-get install {packages}")


def require_programs_for(spec: Spec) -> None:
    require_programs(
        {**BASE_PACKAGES, **SLURM_PACKAGES, **(ACCOUNTING_PACKAGES if spec.accounting else {})}
    )


def user_namespace_options(rootless: bool) -> list[str]:
    """Options of unshare that add a user namespace, if `rootless`."""
    return ["--user", "--map-root-user"] if rootless else []


def require_namespaces(rootless: bool) -> None:
    """UserError if this user may not make the namespaces we need."""
    command = ["unshare", *user_namespace_options(rootless), *NAMESPACE_OPTIONS, "--mount-proc"]
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
    command = ["unshare", *user_namespace_options(rootless), "--net", *probe]
    return subprocess.run(command, capture_output=True).returncode == 0


def _is_writable(folder: Path) -> bool:
    """Whether we may create `folder` or write to it."""
    while not folder.exists():
        folder = folder.parent
    return os.access(folder, os.W_OK)


def sources_digest() -> str:
    """The digest of all source files and of the compiler, 16 hex digits."""
    digest = hashlib.sha256()
    for path in sorted([LINK_SOURCES / "CMakeLists.txt", *LINK_SOURCES.glob("src/*")]):
        digest.update(f"{path.relative_to(LINK_SOURCES)}\0".encode() + path.read_bytes() + b"\0")
    compiler = subprocess.run(["g++", "-v"], capture_output=True, check=True).stderr
    return hashlib.sha256(digest.digest() + compiler).hexdigest()[:16]


def build_programs() -> Path:
    """Build the link and the shim unless they are cached; return their folder."""
    require_programs(BUILD_PACKAGES)
    content = sources_digest()
    # the state directory in case that the checkout is read-only
    caches = (LINK_SOURCES.parent.parent / "build" / "testbed", state.clusters_folder() / ".build")
    folders = [cache / content for cache in caches]
    folder = next((path for path in folders if path.is_dir()), None)
    if folder is None:
        folder = folders[0] if _is_writable(folders[0]) else folders[1]
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
        with (folder.parent / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.is_dir():
                print("vcluster: building the link (once) ...", file=sys.stderr, flush=True)
                _build(folder)
    return folder


def _build(folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="building-", dir=folder.parent) as scratch:
        tree, target = Path(scratch, "tree"), Path(scratch, "kept")
        target.mkdir(mode=0o755)
        _run(["cmake", "-S", str(LINK_SOURCES), "-B", str(tree), "-G", "Ninja"])
        _run(["cmake", "--build", str(tree), "-j", "2", "--target", LINK_PROGRAM, "setgroups_shim"])
        for name in (LINK_PROGRAM, SETGROUPS_SHIM):
            shutil.copy2(tree / name, target / name)
        target.rename(folder)


def _run(command: list[str]) -> None:
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode:
        print(process.stdout + process.stderr, file=sys.stderr)
        raise VclusterError(f"building the link failed: {' '.join(command[:2])}")

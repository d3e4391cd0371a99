"""The file system of the head and of each node: the host's with private /tmp, /run, /dev/shm.

Also the few system calls that Python 3.11 lacks.  All raise OSError with the path concerned.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

MS_NODEV, MS_NOSUID, MS_BIND, MS_REC, MS_PRIVATE = 4, 2, 1 << 12, 1 << 14, 1 << 18
_NEWNS, _NEWUTS, _NEWIPC, _NEWPID, _NEWNET = 0x20000, 1 << 26, 1 << 27, 1 << 29, 1 << 30
_PR_SET_PDEATHSIG = 1

#: Private folders of the head and of each node, with the limits of their tmpfs.
TMPFS_OPTIONS_BY_FOLDER = {
    "/dev/shm": "size=1g,mode=1777",  # noqa: S108  these are the mount points
    "/tmp": "size=2g,mode=1777",  # noqa: S108
    "/run": "size=256m,mode=755",
}

_libc = ctypes.CDLL(None, use_errno=True)


def _raise_on_error(result: int, call: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), call)


def mount(
    source: str, target: Path | str, file_system: str = "", flags: int = 0, data: str = ""
) -> None:
    _raise_on_error(
        _libc.mount(
            source.encode(),
            os.fsencode(target),
            file_system.encode(),
            ctypes.c_ulong(flags),
            data.encode(),
        ),
        f"mount {source} on {target}",
    )


def unshare() -> None:
    """Give this process mounts, a host name and IPC of its own, and its children pids."""
    _raise_on_error(_libc.unshare(_NEWNS | _NEWUTS | _NEWIPC | _NEWPID), "unshare")


def enter_network(path: Path | str) -> None:
    """Move this process into the network namespace kept at `path`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _raise_on_error(_libc.setns(descriptor, _NEWNET), f"setns {path}")
    finally:
        os.close(descriptor)


def die_with_parent(signal_number: int) -> None:
    _raise_on_error(
        _libc.prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0), "prctl PR_SET_PDEATHSIG"
    )


def is_hidden(path: str) -> bool:
    """Whether `path` lies in a private folder, so that it must be shared by name."""
    return any(
        path == folder or path.startswith(folder + "/") for folder in TMPFS_OPTIONS_BY_FOLDER
    )


def make_private(visible_folders: Iterable[str]) -> None:
    """Mount the private folders; `visible_folders` below them stay, held by descriptors."""
    descriptors = {
        path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in visible_folders if is_hidden(path)
    }
    flags = MS_NOSUID | MS_NODEV
    for folder, limits in TMPFS_OPTIONS_BY_FOLDER.items():
        mount("tmpfs", folder, "tmpfs", flags, limits)
    for path in sorted(descriptors):
        Path(path).mkdir(parents=True, exist_ok=True)
        bind(f"/proc/self/fd/{descriptors[path]}", path)
        os.close(descriptors[path])


def bind(source: Path | str, target: Path | str) -> None:
    mount(str(source), target, flags=MS_BIND | MS_REC)


def mount_proc() -> None:
    flags = MS_NOSUID | MS_NODEV
    mount("proc", "/proc", "proc", flags)


def mount_sysfs() -> None:
    """Mount /sys for this network namespace.

    UCX, hwloc and Open MPI look for network cards in /sys/class/net, which shows the network
    namespace of the process that mounted it.  The cgroups below it are mounted again.
    """
    cgroups = os.open("/sys/fs/cgroup", os.O_PATH | os.O_CLOEXEC)
    mount("sysfs", "/sys", "sysfs")
    bind(f"/proc/self/fd/{cgroups}", "/sys/fs/cgroup")
    os.close(cgroups)

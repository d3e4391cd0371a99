"""The file system of the head and of each node: the host's with private /tmp, /run, /dev/shm."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from vclusterlib import syscalls

#: Private folders of the head and of each node, with the limits of their tmpfs.
PRIVATE = {
    "/dev/shm": "size=1g,mode=1777",  # noqa: S108  these are the mount points
    "/tmp": "size=2g,mode=1777",  # noqa: S108
    "/run": "size=256m,mode=755",
}


def is_hidden(path: str) -> bool:
    """Whether `path` lies in a private folder, so that it must be shared by name."""
    return any(path == folder or path.startswith(folder + "/") for folder in PRIVATE)


def make_private(visible_folders: Iterable[str]) -> None:
    """Mount the private folders; `visible_folders` below them stay visible.

    Descriptors hold the visible folders while a tmpfs is mounted over them.
    """
    descriptors = {
        path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in visible_folders if is_hidden(path)
    }
    flags = syscalls.MS_NOSUID | syscalls.MS_NODEV
    for folder, limits in PRIVATE.items():
        syscalls.mount("tmpfs", folder, "tmpfs", flags, limits)
    for path in sorted(descriptors):
        Path(path).mkdir(parents=True, exist_ok=True)
        bind(f"/proc/self/fd/{descriptors[path]}", path)
        os.close(descriptors[path])


def bind(source: Path | str, target: Path | str) -> None:
    syscalls.mount(str(source), target, flags=syscalls.MS_BIND | syscalls.MS_REC)


def mount_proc() -> None:
    flags = syscalls.MS_NOSUID | syscalls.MS_NODEV
    syscalls.mount("proc", "/proc", "proc", flags)


def mount_sysfs() -> None:
    """Mount /sys for this network namespace.

    UCX, hwloc and Open MPI look for network cards in /sys/class/net, which shows the network
    namespace of the process that mounted it.  The cgroups below it are mounted again.
    """
    cgroups = os.open("/sys/fs/cgroup", os.O_PATH | os.O_CLOEXEC)
    syscalls.mount("sysfs", "/sys", "sysfs")
    bind(f"/proc/self/fd/{cgroups}", "/sys/fs/cgroup")
    os.close(cgroups)

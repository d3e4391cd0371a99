"""The few system calls that Python 3.11 lacks.  All raise OSError with the path concerned."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

MS_NODEV, MS_NOSUID, MS_BIND, MS_REC, MS_PRIVATE = 4, 2, 1 << 12, 1 << 14, 1 << 18
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
_PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, call: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), call)


def mount(source: str, target: Path | str, kind: str = "", flags: int = 0, data: str = "") -> None:
    _check(
        _libc.mount(
            source.encode(),
            os.fsencode(target),
            kind.encode(),
            ctypes.c_ulong(flags),
            data.encode(),
        ),
        f"mount {source} on {target}",
    )


def unmount(target: Path | str) -> None:
    """Detach `target` now; the kernel frees it after its last use."""
    _check(_libc.umount2(os.fsencode(target), 2), f"unmount {target}")


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), "unshare")


def enter_network(path: Path | str) -> None:
    """Move this process into the network namespace kept at `path`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check(_libc.setns(descriptor, CLONE_NEWNET), f"setns {path}")
    finally:
        os.close(descriptor)


def die_with_parent(signal_number: int) -> None:
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0), "prctl PR_SET_PDEATHSIG")

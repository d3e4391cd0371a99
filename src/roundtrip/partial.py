"""Folders that are renamed when they are whole; what a killed process left of them is removed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = ".partial-"


def make(parent: Path) -> Path:
    """A new folder in `parent`, locked as long as this process lives.

    Folders there that nobody locks are of processes that died: they are removed.  OSError if the
    system refuses.
    """
    for left in parent.glob(f"{_PREFIX}*"):
        if left.is_dir() and not left.is_symlink() and _lock(left):
            shutil.rmtree(left, ignore_errors=True)
    while True:
        made = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        # Where locks are not supported, nobody can take it for one that was left.
        _lock(made)
        if made.is_dir():  # nobody removed it before it was locked
            return made


def _lock(folder: Path) -> bool:
    """Whether this process has locked the folder; it then keeps it open, and locked, to its end."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise
        return True
    return False

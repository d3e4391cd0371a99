"""Reads files of a tree that somebody else may have written.

It opens only regular files inside the tree: it follows no symbolic link below the root, it does
not wait for a FIFO or a device, and it refuses a file that is larger than its kind can be.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.errors import UserError

#: The largest record and the largest samples.csv that are read, bytes; workloads write far less.
#: Python may need 24 bytes for each of a record's.
RECORD = 1 << 23
SAMPLES = 1 << 27
_LINK = "a symbolic link: not followed"
_ON_THE_WAY = "a symbolic link, or no folder, on the way to it: not followed"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read(file: Path, root: Path | None = None, most: int = RECORD) -> bytes:
    """The content of `file`, a regular file of at most `most` bytes.

    No link is followed between `root` (the file's own folder by default) and the file; `root`
    itself may be a link, because the user named it.  UserError if the file cannot be read so.
    """
    with _opened(file, root) as descriptor:
        size = os.fstat(descriptor).st_size
        if size > most:
            raise UserError(f"too large: {size} bytes; right are at most {most}", file)
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            content = stream.read(size + 1)
        if len(content) > size:
            raise UserError("grows while it is read", file)
        return content


def text(file: Path, root: Path | None = None, most: int = RECORD) -> str:
    """The content of `file` as UTF-8 text; otherwise as `read`, UserError too."""
    return files.decode(read(file, root, most), file)


def json(file: Path, root: Path | None = None) -> Any:
    """The JSON value in `file`; otherwise as `read`, UserError too."""
    return files.parse_json(text(file, root), file)


def tail(file: Path, root: Path | None = None, most: int = 4096) -> bytes:
    """The last bytes of `file`, at most `most`; otherwise as `read`, UserError too."""
    with _opened(file, root) as descriptor:
        os.lseek(descriptor, max(0, os.fstat(descriptor).st_size - most), os.SEEK_SET)
        return os.read(descriptor, most)


def stamp(file: Path) -> tuple[int, ...]:
    """A value that changes when the file changes; () for a file that does not exist."""
    try:
        found = file.lstat()
    except (OSError, ValueError):
        return ()
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode)


def folders(root: Path, levels: int) -> Iterator[tuple[Path, str]]:
    """Folders `levels` below `root`, in the order of their names, each with "".

    A folder on the way that cannot be entered comes with the reason instead of "".
    """
    if root.is_symlink():
        yield root, _LINK
        return
    if not levels:
        yield root, ""
        return
    try:
        with os.scandir(root) as entries:
            names = sorted(e.name for e in entries if e.is_symlink() or e.is_dir())
    except FileNotFoundError:
        return
    except OSError as error:
        yield root, f"cannot be read: {error.strerror}"
        return
    for name in names:
        yield from folders(root / name, levels - 1)


@contextmanager
def _opened(file: Path, root: Path | None) -> Iterator[int]:
    """A descriptor of the regular file `file`, without a step through a link below `root`."""
    base = file.parent if root is None else root
    *middle, name = file.relative_to(base).parts
    opened: list[int] = []
    try:
        opened.append(os.open(base, _FOLDER & ~os.O_NOFOLLOW))
        for part in middle:
            opened.append(os.open(part, _FOLDER, dir_fd=opened[-1]))
        _require_regular(os.stat(name, dir_fd=opened[-1], follow_symlinks=False).st_mode, file)
        opened.append(os.open(name, _FILE, dir_fd=opened[-1]))
        _require_regular(os.fstat(opened[-1]).st_mode, file)  # it may have changed in between
        yield opened[-1]
    except FileNotFoundError:
        raise UserError("missing", file) from None
    except OSError as error:
        told = _ON_THE_WAY if error.errno in (errno.ELOOP, errno.ENOTDIR) else error.strerror
        raise UserError(f"cannot be read: {told}", file) from None
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _require_regular(mode: int, file: Path) -> None:
    if stat.S_ISLNK(mode):
        raise UserError(_LINK, file)
    if not stat.S_ISREG(mode):
        raise UserError("not a regular file", file)

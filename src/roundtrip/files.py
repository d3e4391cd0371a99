"""Reads text, JSON and TOML, also from untrusted trees; faults are UserErrors with file and line.

Returned values are safe to pass on: they come from a regular file, every number fits into 64 bits,
all text can be written as UTF-8, and no nesting is deep enough to exhaust the stack of a reader.

In a tree, only regular files are opened: symbolic links below its root are not followed, FIFOs and
devices do not block, and a file that is larger than its kind can be is refused.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import math
import os
import re
import shutil
import stat
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from roundtrip.errors import UserError, user_error_from_os

#: Far deeper than any file that Roundtrip, ReFrame or Spack writes.
MAX_NESTING_DEPTH = 64
#: Bytes of the largest file that is read whole, and of a text; Python may need 24 times as much.
MAX_FILE_BYTES, MAX_TEXT_BYTES = 1 << 30, 1 << 24
_SURROGATE_PATTERN = re.compile(r"\\u[dD][89a-fA-F]")
_TOML_LINE_PATTERN = re.compile(r" \(at line (\d+), column \d+\)")


def read_bytes(file: Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """The content of a regular file of at most `max_bytes` bytes; UserError if it is missing,
    larger, unreadable, or not a regular file: a FIFO or a device is refused before it can block."""
    try:
        # O_NONBLOCK: do not wait for the writer of a FIFO.  A symbolic link is followed.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise UserError("not a regular file", file)
            content = stream.read(max_bytes + 1)
            if len(content) > max_bytes:
                raise UserError(f"too large: right are at most {max_bytes} bytes", file)
            return content
    except FileNotFoundError:
        raise UserError("missing", file) from None
    except IsADirectoryError:
        raise UserError("a folder, not a file", file) from None
    except OSError as error:
        raise user_error_from_os(error, file) from None
    except ValueError as error:  # a NUL byte in the name
        raise UserError(f"no file name: {error}", file) from None


def read_text(file: Path) -> str:
    """The text in `file`; UserError if it cannot be read, with the line if it is not UTF-8."""
    return decode_utf8(read_bytes(file, MAX_TEXT_BYTES), file)


def decode_utf8(content: bytes, file: Path | str) -> str:
    """`content` as UTF-8 text; UserError, which names `file`, if it is not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"not UTF-8 text: {error.reason}", file, line) from None


def read_json(file: Path) -> Any:
    """The JSON value in `file`; UserError if it cannot be read or is no JSON."""
    return parse_json(read_text(file), file)


def parse_json(text: str, file: Path | str | None = None, line: int | None = None) -> Any:
    """The value of the JSON `text`; UserError with file and line if it is not JSON, has a key
    twice, a number that does not fit 64 bits, or too deep a nesting.  `file`, and `line` where
    `text` begins in it, are for messages."""
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique_mapping,
            parse_int=_parse_64_bit_integer,
            parse_float=_parse_finite_float,
            parse_constant=_refuse_constant,
        )
        if _SURROGATE_PATTERN.search(text):
            json.dumps(value, ensure_ascii=False).encode()
        _require_max_depth(value)
        return value
    except json.JSONDecodeError as error:
        raise UserError(f"not JSON: {error.msg}", file, (line or 1) + error.lineno - 1) from None
    except UnicodeEncodeError:
        raise UserError("not JSON: text with half of a surrogate pair", file, line) from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"not JSON: {_parse_error_reason(error)}", file, line) from None


def parse_toml(text: str, file: Path | str | None = None) -> dict[str, Any]:
    """The tables of the TOML `text`; UserError with `file` and line if it is not TOML."""
    try:
        document = tomllib.loads(text, parse_float=_parse_finite_float)
        _require_max_depth(document)
        return document
    except (ValueError, RecursionError) as error:
        reason = _parse_error_reason(error)
        place = _TOML_LINE_PATTERN.search(reason)
        line = int(place[1]) if place else len(text.splitlines())  # else: "at end of document"
        if not isinstance(error, tomllib.TOMLDecodeError):
            line = 0
        raise UserError(
            f"not TOML: {_TOML_LINE_PATTERN.sub('', reason)}", file, line or None
        ) from None


def _require_max_depth(value: Any) -> None:
    """RecursionError if `value` is nested too deeply."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_NESTING_DEPTH + 1):
        groups = (item.values() if isinstance(item, dict) else item for item in level)
        level = [item for group in groups for item in group if isinstance(item, dict | list)]
        if not level:
            return
    raise RecursionError


def _unique_mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        duplicate = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {duplicate[:40]!a} stands twice")
    return mapping


def _parse_64_bit_integer(text: str) -> int:
    if len(text) > 20:
        raise ValueError(f"a number of {len(text)} digits")
    value = int(text)
    if not -(2**63) <= value < 2**64:
        raise ValueError(f"the number {text} does not fit 64 bits")
    return value


def _parse_finite_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:40]} is not finite")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _parse_error_reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return f"nested more than {MAX_NESTING_DEPTH} deep"
    return str(error).split(";")[0]


#: The largest record, report of ReFrame and samples.csv that are read, bytes; workloads write far
#: less, ReFrame megabytes.  Python may need 24 bytes for each byte of a record.
MAX_RECORD_BYTES, MAX_REPORT_BYTES = 1 << 23, 3 << 23
MAX_SAMPLES_BYTES = 1 << 27
_LINK_REASON = "a symbolic link: not followed"
_LINK_ON_PATH_REASON = "a symbolic link, or no folder, on the way to it: not followed"
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_in_tree(file: Path, root: Path | None = None, max_bytes: int = MAX_RECORD_BYTES) -> bytes:
    """The content of `file`, a regular file of at most `max_bytes` bytes; UserError if it cannot be
    read this way.

    No link is followed between `root` (the file's own folder by default) and the file; `root`
    itself may be a link, because the user named it.
    """
    with _open_regular(file, root) as descriptor:
        size = os.fstat(descriptor).st_size
        if size > max_bytes:
            raise UserError(f"too large: {size} bytes; right are at most {max_bytes}", file)
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            content = stream.read(size + 1)
        if len(content) > size:
            raise UserError("grows while it is read", file)
        return content


def read_text_in_tree(
    file: Path, root: Path | None = None, max_bytes: int = MAX_RECORD_BYTES
) -> str:
    """The content of `file` as by `read_in_tree`, as text; UserError if it is not UTF-8."""
    return decode_utf8(read_in_tree(file, root, max_bytes), file)


def read_object_in_tree(file: Path, root: Path | None = None) -> dict[str, Any]:
    """The JSON object in `file`; empty if the file cannot be read or holds no object."""
    try:
        data = parse_json(read_text_in_tree(file, root), file)
    except UserError:
        return {}
    return data if isinstance(data, dict) else {}


def read_tail_in_tree(file: Path, root: Path | None = None, max_bytes: int = 4096) -> bytes:
    """The last bytes of a regular `file`, at most `max_bytes`; UserError if it cannot be read.

    No link is followed between `root` and the file.
    """
    with _open_regular(file, root) as descriptor:
        os.lseek(descriptor, max(0, os.fstat(descriptor).st_size - max_bytes), os.SEEK_SET)
        return os.read(descriptor, max_bytes)


def change_stamp(file: Path) -> tuple[int, ...]:
    """Return times, size and inode of `file`, which change when it does; () if there is none."""
    try:
        status = file.lstat()
    except (OSError, ValueError):
        return ()
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode)


def folders_in_tree(root: Path, levels: int) -> Iterator[tuple[Path, str]]:
    """Yield the folders `levels` below `root`, sorted, each with "" or why it cannot be entered."""
    if root.is_symlink():
        yield root, _LINK_REASON
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
        yield from folders_in_tree(root / name, levels - 1)


@contextlib.contextmanager
def _open_regular(file: Path, root: Path | None) -> Iterator[int]:
    """Open the regular file `file`, without following a link below `root`; yield a descriptor."""
    base = file.parent if root is None else root
    *middle, name = file.relative_to(base).parts
    descriptors: list[int] = []
    try:
        descriptors.append(os.open(base, _FOLDER_FLAGS & ~os.O_NOFOLLOW))
        for part in middle:
            descriptors.append(os.open(part, _FOLDER_FLAGS, dir_fd=descriptors[-1]))
        _require_regular(os.stat(name, dir_fd=descriptors[-1], follow_symlinks=False).st_mode, file)
        descriptors.append(os.open(name, _FILE_FLAGS, dir_fd=descriptors[-1]))
        _require_regular(os.fstat(descriptors[-1]).st_mode, file)  # it may have changed in between
        yield descriptors[-1]
    except FileNotFoundError:
        raise UserError("missing", file) from None
    except OSError as error:
        reason = (
            _LINK_ON_PATH_REASON if error.errno in (errno.ELOOP, errno.ENOTDIR) else error.strerror
        )
        raise UserError(f"cannot be read: {reason}", file) from None
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _require_regular(mode: int, file: Path) -> None:
    if stat.S_ISLNK(mode):
        raise UserError(_LINK_REASON, file)
    if not stat.S_ISREG(mode):
        raise UserError("not a regular file", file)


def try_lock(file: IO[Any] | int) -> bool:
    """Lock an open file until it is closed; False if another process holds the lock."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sha256(content: bytes) -> str:
    """The sha256 of `content` in hex digits."""
    return hashlib.sha256(content).hexdigest()


def sha256_of_file(file: Path) -> str:
    """The sha256 of a file, which may be large, in hex digits; OSError if it cannot be read."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


_PARTIAL_PREFIX = ".partial-"


def make_partial_folder(parent: Path) -> Path:
    """Make a folder in `parent`, to be renamed when complete; locked while this process lives.
    Unlocked ones, which dead processes left, are removed.  OSError if the system refuses."""
    for orphan in parent.glob(f"{_PARTIAL_PREFIX}*"):
        if orphan.is_dir() and not orphan.is_symlink() and _lock_folder(orphan):
            shutil.rmtree(orphan, ignore_errors=True)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PARTIAL_PREFIX, dir=parent))
        # Without support for locks, no process can lock it and take it for an orphan.
        _lock_folder(folder)
        if folder.is_dir():  # no other process removed it before it was locked
            return folder


@contextlib.contextmanager
def draft_folder(parent: Path) -> Iterator[Path]:
    """A `make_partial_folder` that all may read, removed at the end unless it was renamed."""
    folder = make_partial_folder(parent)
    try:
        folder.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _lock_folder(folder: Path) -> bool:
    """Lock the folder until this process ends; return whether that was possible."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, _FOLDER_FLAGS)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise
        return True
    return False


def replace_file(file: Path, content: bytes) -> None:
    """Replace `file` atomically by `content`, readable by all; do nothing if it is the same."""
    if file.is_file() and file.read_bytes() == content:
        return
    handle, name = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
    partial = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        partial.chmod(0o644)
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)

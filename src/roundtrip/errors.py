"""Errors that the user can fix: one clear line, exit status 2, never a traceback."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Advice for errors whose system message gives none.
_ADVICE_BY_ERROR = {
    errno.ENOSPC: "free some space and try again",
    errno.EDQUOT: "free some space and try again",
    errno.EAGAIN: "this user's limit of processes may be reached, see `ulimit -u`",
    errno.EMFILE: "see `ulimit -n`",
}


class UserError(Exception):
    """Bad input; its text is ``file:line: what is wrong, what would be right``.

    `message` is one line.  `file` and `line` (1-based) say where the fault is, if it has a place.
    The command line turns this exception into exit status 2.
    """

    def __init__(
        self, message: str, file: Path | str | None = None, line: int | None = None
    ) -> None:
        self.message = message
        self.file = None if file is None else str(file)
        self.line = line
        place = "" if self.file is None else f"{self.file}:" + (f"{line}:" if line else "")
        super().__init__(f"{place} {message}".strip())


def printable(text: str) -> str:
    """Return `text` with "?" for each character that cannot be printed, as a control character."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def user_error_from_os(error: OSError, place: Path | str | None = None) -> UserError:
    """Return a UserError for an OSError, about the file that it names, else about `place`."""
    advice = _ADVICE_BY_ERROR.get(error.errno or 0)
    message = (error.strerror or str(error)) + (f": {advice}" if advice else "")
    return UserError(message, error.filename or place)


def require_writable(file: Path) -> None:
    """UserError if `file` cannot be written; called before the work whose result it will hold."""
    if file.is_dir():
        raise UserError("a folder, not a file", file)
    if not file.parent.is_dir():
        raise UserError("no such folder", file.parent)
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise UserError("no permission to write it", file)


@contextmanager
def report_write_errors(folder: Path) -> Iterator[None]:
    """Turn an OSError in the context, which writes to `folder`, into a UserError with the file."""
    try:
        yield
    except OSError as error:
        raise user_error_from_os(error, folder) from None

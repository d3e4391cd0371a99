"""Errors that are the user's to mend: one clear line, exit status 2, never a traceback."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: What helps, where that is not plain from what the operating system says.
_ADVICE = {
    errno.ENOSPC: "free some space and try again",
    errno.EDQUOT: "free some space and try again",
    errno.EAGAIN: "this user's limit of processes may be reached, see `ulimit -u`",
    errno.EMFILE: "see `ulimit -n`",
}


class UserError(Exception):
    """Bad input, told as ``file:line: what is wrong, what would be right``.

    `what` is one line.  `file` and `line` (1-based) are given where the fault has a place.
    The command line turns it into exit status 2.
    """

    def __init__(self, what: str, file: Path | str | None = None, line: int | None = None) -> None:
        self.what = what
        self.file = None if file is None else str(file)
        self.line = line
        place = "" if self.file is None else f"{self.file}:" + (f"{line}:" if line else "")
        super().__init__(f"{place} {what}".strip())


def refusal(error: OSError, place: Path | str | None = None) -> UserError:
    """What the operating system refused, as the user's to mend.

    The file that `error` names counts for more than `place`, where the work was being done.
    """
    advice = _ADVICE.get(error.errno or 0)
    told = (error.strerror or str(error)) + (f": {advice}" if advice else "")
    return UserError(told, error.filename or place)


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Tells `folder` with whatever the operating system refuses while things are written there."""
    try:
        yield
    except OSError as error:
        raise refusal(error, folder) from None

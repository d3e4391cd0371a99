"""One campaign measures on a site at a time: two would disturb each other.

The lock is the file ``$XDG_STATE_HOME/roundtrip/sites/<site>.lock`` (by default below
``~/.local/state``), so that all checkouts and run folders of a user share it.  It ends with its
process.  The scheduler keeps jobs of other users away: launches ask for their nodes exclusively.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from roundtrip import paths
from roundtrip.campaign.progress import told as in_words
from roundtrip.campaign.site import Site
from roundtrip.errors import UserError

_PAUSE_S = 2.0
_TELL_EVERY_S = 600.0


@contextlib.contextmanager
def held(site: Site, campaign: str, wait: bool, tell: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of `site` for `campaign` while the block runs.

    If another campaign holds it: UserError with its name, or, with `wait`, wait for its end and
    `tell` so now and then.  UserError too if the lock file cannot be written.
    """
    path = _file(site)
    with _opened(path) as file:
        begun, told = time.monotonic(), float("-inf")
        while not _locked(file):
            holder = path.read_text(errors="replace").strip() or "a campaign that is starting"
            busy = f"site '{site.name}' is being measured by {holder}"
            if not wait:
                raise UserError(f"{busy}: stop it, or wait for it with --wait")
            if time.monotonic() - told >= _TELL_EVERY_S:
                told = time.monotonic()
                since = f", for {in_words(told - begun)}" if told - begun > _PAUSE_S else ""
                tell(f"{busy}: waiting for it to end{since}")
            time.sleep(_PAUSE_S)
        since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
        process = f"process {os.getpid()} on {socket.gethostname()}"
        file.seek(0)
        file.truncate()
        file.write(f"campaign '{campaign}' since {since} ({process})\n")
        file.flush()
        yield


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _opened(path: Path) -> IO[str]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a+", encoding="utf-8")
    except OSError as error:
        reason = f"cannot hold the site: {error.strerror}; set XDG_STATE_HOME to a folder of yours"
        raise UserError(reason, path) from None


def _file(site: Site) -> Path:
    """The lock file; a machine without a scheduler has its own, even if its home is shared."""
    local = all(partition["scheduler"] == "local" for partition in site.partitions.values())
    name = f"{site.name}@{socket.gethostname()}" if local else site.name
    return paths.state() / "sites" / f"{name}.lock"

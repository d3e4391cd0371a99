"""The lease on the link: while somebody holds it, nobody else changes the link.

The file ``run/lease`` says who holds it: ``{"holder", "token", "since", "broken"}``.  The holder
locks the file (flock) as long as it lives.  Head, nodes and host see the same file.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import secrets
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from vclusterlib.errors import VclusterError
from vclusterlib.state import State

_PAUSE = 0.2


def _file(state: State) -> Path:
    return state.run / "lease"


def _try_lock(file: IO[str], mode: int) -> bool:
    try:
        fcntl.flock(file, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Lease:
    """A lease, which is held until its file is closed."""

    def __init__(self, state: State, file: IO[str], token: str) -> None:
        self._state = state
        self._file = file
        self.token = token

    @property
    def breaches(self) -> list[str]:
        """The requests that changed the link by ``--force`` during the lease."""
        return [str(request) for request in _read(_file(self._state)).get("broken", [])]


@contextlib.contextmanager
def hold(state: State, holder: str, patience: float) -> Iterator[Lease]:
    """Hold the lease; VclusterError with the holder's name if it is not free in `patience` s."""
    with _file(state).open("a+") as file:
        deadline = time.monotonic() + patience
        while not _try_lock(file, fcntl.LOCK_EX):
            if time.monotonic() >= deadline:
                raise VclusterError(f"the link is leased to {_name(state)}")
            time.sleep(_PAUSE)
        lease = Lease(state, file, secrets.token_hex(8))
        since = datetime.now(UTC).isoformat(timespec="seconds")
        _write(file, {"holder": holder, "token": lease.token, "since": since, "broken": []})
        yield lease


def require(state: State, request: dict[str, Any]) -> None:
    """VclusterError unless the link is free, `request` is the holder's, or it breaks the lease.

    Only the world calls this, because only the world changes the link, one request at a time.
    """
    with _file(state).open("a+") as file:
        if _try_lock(file, fcntl.LOCK_SH):
            return
        record = _read(_file(state))
        if request.get("lease") and request["lease"] == record.get("token"):
            return
        if not request.get("force"):
            raise VclusterError(f"the link is leased to {_name(state)}: wait, or use --force")
        changes = {key: request[key] for key in ("changes", "cut", "reset") if request.get(key)}
        _write(file, {**record, "broken": [*record.get("broken", []), json.dumps(changes)]})


def _name(state: State) -> str:
    record = _read(_file(state))
    return f"{record.get('holder', 'a command that begins')}, since {record.get('since', 'now')}"


def _read(file: Path) -> dict[str, Any]:
    """The content of the lease; empty while the holder writes it."""
    try:
        return dict(json.loads(file.read_text()))
    except ValueError:
        return {}


def _write(file: IO[str], record: dict[str, Any]) -> None:
    """Write in place, because a new file would not be the one that is locked."""
    file.seek(0)
    file.truncate()
    file.write(json.dumps(record))
    file.flush()

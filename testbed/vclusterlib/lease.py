"""The lease on the link: while somebody holds it, nobody else changes the link.

The file ``run/lease`` says who holds it: ``{"holder", "token", "since", "broken"}``.  The holder
locks the file (flock) as long as it lives.  Head, nodes and host see the same file.

``vcluster lease`` sets the link, and runs a command while it holds the lease.  A JSON record holds
the state of the link before and after: ``{"schema", "holder", "asked", "before", "after", "broken",
"status"}``.  `before` and `after` are as in ``wan --stats``, each with its own self-test; `after`
is None if the link did not answer.  The counters of `after` begin at 0 with the command.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import IO, Any

from vclusterlib import UserError, VclusterError
from vclusterlib.link import SETTING_KEYS
from vclusterlib.state import State, write_atomically

_POLL_INTERVAL_S = 0.2
_FORWARDED_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def _lease_file(state: State) -> Path:
    return state.run / "lease"


def _try_lock(file: IO[str], mode: int) -> bool:
    try:
        fcntl.flock(file, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def _hold_lease(state: State, holder: str, timeout_s: float) -> Iterator[str]:
    """Hold the lease, and yield its token; VclusterError with the holder's name if it is not free
    in `timeout_s` s."""
    with _lease_file(state).open("a+") as file:
        deadline = time.monotonic() + timeout_s
        while not _try_lock(file, fcntl.LOCK_EX):
            if time.monotonic() >= deadline:
                raise VclusterError(f"the link is leased to {_describe_holder(state)}")
            time.sleep(_POLL_INTERVAL_S)
        token = secrets.token_hex(8)
        since = datetime.now(UTC).isoformat(timespec="seconds")
        _write_lease(file, {"holder": holder, "token": token, "since": since, "broken": []})
        yield token


def require_lease(state: State, request: dict[str, Any]) -> None:
    """VclusterError unless the link is free, `request` is the holder's, or it breaks the lease;
    called by the head alone, which changes the link, one request at a time."""
    with _lease_file(state).open("a+") as file:
        if _try_lock(file, fcntl.LOCK_SH):
            return
        record = _read_lease(_lease_file(state))
        if request.get("lease") and request["lease"] == record.get("token"):
            return
        if not request.get("force"):
            raise VclusterError(
                f"the link is leased to {_describe_holder(state)}: wait, or use --force"
            )
        changes = {key: request[key] for key in ("changes", "cut", "reset") if request.get(key)}
        _write_lease(file, {**record, "broken": [*record.get("broken", []), json.dumps(changes)]})


def _describe_holder(state: State) -> str:
    record = _read_lease(_lease_file(state))
    return f"{record.get('holder', 'a command that begins')}, since {record.get('since', 'now')}"


def _read_lease(file: Path) -> dict[str, Any]:
    """The content of the lease; empty while the holder writes it."""
    try:
        return dict(json.loads(file.read_text()))
    except ValueError:
        return {}


def _write_lease(file: IO[str], record: dict[str, Any]) -> None:
    """Write in place, because a new file would not be the one that is locked."""
    file.seek(0)
    file.truncate()
    file.write(json.dumps(record))
    file.flush()


def run_with_lease(
    state: State,
    settings: dict[str, Any],
    command: list[str],
    holder: str,
    record: Path | None,
    timeout_s: float,
) -> int:
    """Lease the link for `command`, with `settings` that differ from those of ``up``; return its
    exit status, or 128 + the signal that ended it."""
    if not command:
        raise UserError("which command? e.g. vcluster lease --rtt 2ms -- srun -N2 hostname")
    if not state.run.is_dir():
        raise state.not_up_error()
    fabric = state.spec().fabric
    with _hold_lease(state, holder, timeout_s) as token:

        def send(**fields: Any) -> Any:
            return state.send_request({"do": fabric, "lease": token, **fields})["link"]

        answer = send(changes=settings, fresh=True)  # the whole link, whatever it was before
        send(reset=True)
        before = send()
        status = _run_command(command)
        after = None
        with contextlib.suppress(VclusterError):
            after = send(measure=True)
        result = {
            "schema": 1,
            "holder": holder,
            "asked": {key: answer[key] for key in SETTING_KEYS},
            "before": before,
            "after": after,
            "broken": _read_lease(_lease_file(state)).get("broken", []),
            "status": status,
        }
    if record:
        write_atomically(record, json.dumps(result, indent=1) + "\n", 0o644)
    return status


def _run_command(command: list[str]) -> int:
    """Run a command, pass our signals on to it, and return its exit status."""
    try:
        process = subprocess.Popen(command)
    except OSError as error:
        raise UserError(f"{command[0]}: {error.strerror}") from error

    def forward(number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)

    for number in _FORWARDED_SIGNALS:
        signal.signal(number, forward)
    status = process.wait()
    return 128 - status if status < 0 else status

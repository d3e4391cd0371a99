"""``lease``: sets the link, and runs a command while it holds the lease on it.

A JSON record holds the state of the link before and after: ``{"schema", "holder", "asked",
"before", "after", "broken", "status"}``.  `before` and `after` are as in ``wan --stats``, each with
its own self-test; `after` is None if the link did not answer.  The counters of `after` begin at 0
with the command.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

from vclusterlib import client
from vclusterlib.errors import UserError, VclusterError
from vclusterlib.lease import Lease, hold
from vclusterlib.link import SETTINGS
from vclusterlib.state import State, write_atomically

_FORWARDED_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def run(
    state: State,
    settings: dict[str, Any],
    command: list[str],
    holder: str,
    record: Path | None,
    patience: float,
) -> int:
    """Lease the link for `command`; return its exit status, or 128 + the signal that ended it.

    `settings`: the link settings that differ from those of ``up``.
    """
    if not command:
        raise UserError("which command? e.g. vcluster lease --rtt 2ms -- srun -N2 hostname")
    if not state.run.is_dir():
        raise client.not_up(state)
    with hold(state, holder, patience) as lease:
        requests = _HolderRequests(state, lease)
        link_status = requests.set(settings)
        start_status = requests.start()
        status = _run(command)
        result = {
            "schema": 1,
            "holder": holder,
            "asked": {key: link_status[key] for key in SETTINGS},
            "before": start_status,
            "after": requests.end(),
            "broken": lease.breaches,
            "status": status,
        }
    if record:
        write_atomically(record, json.dumps(result, indent=1) + "\n", 0o644)
    return status


class _HolderRequests:
    """The requests of the lease's holder to the world."""

    def __init__(self, state: State, lease: Lease) -> None:
        self._state = state
        self._request = {"do": state.spec().fabric, "lease": lease.token}

    def set(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Set the whole link, whatever it was before, and measure it; return its status."""
        return self._ask(changes=settings, fresh=True)

    def start(self) -> dict[str, Any]:
        """Set the counters to 0; return the status of the link."""
        self._ask(reset=True)
        return self._ask()

    def end(self) -> dict[str, Any] | None:
        try:
            return self._ask(measure=True)
        except VclusterError:
            return None

    def _ask(self, **fields: Any) -> dict[str, Any]:
        return dict(client.ask(self._state, {**self._request, **fields})["link"])


def _run(command: list[str]) -> int:
    """Run a command, pass our signals on to it, and return its exit status."""
    try:
        process = subprocess.Popen(command)
    except OSError as error:
        raise UserError(f"{command[0]}: {error.strerror}") from error

    def forward(number: int, _frame: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)

    for number in _FORWARDED_SIGNALS:
        signal.signal(number, forward)
    status = process.wait()
    return 128 - status if status < 0 else status

"""TERM, which a scheduler sends before it ends a job: what is there is reported."""

from __future__ import annotations

import signal
from types import FrameType


class Terminated(KeyboardInterrupt):
    """TERM arrived: stop, but still report."""


def on_term() -> None:
    """Raise `Terminated` in the main thread when TERM arrives, once."""
    signal.signal(signal.SIGTERM, _terminate)


def no_more() -> None:
    """Nothing is left to stop: what was measured is being reported."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _terminate(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: the report must get done
    raise Terminated

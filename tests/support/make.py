"""Runs targets of this checkout's Makefile, and what else is a command of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
#: What builds for minutes, and times nothing, leaves the processors to tests that run beside it.
#: Linux weighs sessions against each other by their autogroups, which `nice` alone does not change.
_LOWEST = 'echo 19 2>/dev/null >/proc/self/autogroup; exec nice -n 19 "$@"'
IDLY = ("setsid", "--wait", "bash", "-c", _LOWEST, "-")


def run(*command: str | Path) -> str:
    """What a command prints in the checkout; AssertionError if it fails."""
    # Make sets variables for its own children only.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    process = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout[-6000:] + process.stderr[-2000:]
    return process.stdout

"""What a start costs: processor time of listing all checks, and of dry runs."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from roundtrip import paths
from roundtrip.campaign.site import Site
from roundtrip.errors import UserError

#: Commands that a person waits for.
_COMMANDS = (
    ("reframe", "-c", "checks", "-R", "-l"),
    ("roundtrip", "--version"),
    ("roundtrip", "run", "smoke", "--site", "local", "--dry-run"),
    ("roundtrip", "run", "wan-npb", "--site", "virtual", "--dry-run"),
)


def measure() -> Iterator[str]:
    """User plus system time of each command and of all that it starts."""
    environment = Site("local", paths.checkout()).environment
    for command in _COMMANDS:
        yield f"{' '.join(command)}: {processor_s(command, environment):.1f} s of processor time"


def processor_s(command: tuple[str, ...], environment: Mapping[str, str]) -> float:
    """Processor time of one run of `command`, s; UserError if it fails.

    The program is the one that is installed beside this Python.
    """
    program = Path(sys.executable).with_name(command[0])
    before = _spent_s()
    done = subprocess.run(
        [program, *command[1:]],
        cwd=paths.checkout(),
        env=dict(environment),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise UserError(f"{' '.join(command)} failed: {lines[-1]}")
    return _spent_s() - before


def _spent_s() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime

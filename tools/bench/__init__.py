"""Roundtrip's own performance, as ratios measured in one run: ``make bench``.

A figure is a function that yields lines, which are printed as they come.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence

from roundtrip import paths
from roundtrip.errors import UserError


def run(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    limit_s: float | None = None,
) -> str:
    """Standard output of `command`, run at the top of the checkout; UserError if it fails."""
    process = subprocess.run(
        list(command),
        cwd=paths.checkout(),
        # `roundtrip.stats` sets a variable for this process alone, which is not in here.
        env=os.environ if environment is None else environment,
        capture_output=True,
        text=True,
        timeout=limit_s,
    )
    if process.returncode:
        reason = (process.stderr.strip() or process.stdout.strip())[-300:]
        raise UserError(f"{' '.join(command[:2])} failed: {reason}")
    return process.stdout

"""Runs git as nobody in particular."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def git(folder: Path, *arguments: str, **variables: str) -> str:
    """What a git command prints in a folder; CalledProcessError if it fails."""
    identity = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example"]
    process = subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **variables},
    )
    return process.stdout.strip()

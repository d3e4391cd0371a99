"""Which revision of Roundtrip runs: recorded with every result."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Revision:
    """The checked-out commit, and whether tracked files differ from it; None without git."""

    commit: str | None
    dirty: bool | None


def revision(checkout: Path) -> Revision:
    """What git says of `checkout`; without git (an unpacked archive) both parts are None."""
    try:
        commit = _git(checkout, "rev-parse", "HEAD").strip()
        dirty = bool(_git(checkout, "status", "--porcelain", "--untracked-files=no").strip())
    except (OSError, subprocess.CalledProcessError):
        return Revision(None, None)
    return Revision(commit, dirty)


def _git(checkout: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(checkout), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout

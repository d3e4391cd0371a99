"""The files that git tracks, in a folder of their own: for what builds beside its sources."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def copy_tracked(folder: Path) -> None:
    """Copy them as they are in the checkout, changed or not."""
    process = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in filter(None, process.stdout.split("\0")):
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy, follow_symlinks=False)

"""Programs that stand for real ones."""

from __future__ import annotations

from pathlib import Path


def script(file: Path, body: str) -> None:
    """Write a program in shell; its folder is made."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)

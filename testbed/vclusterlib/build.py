"""Builds the C++ programs of ``testbed/link`` when first needed, and keeps them by content."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from vclusterlib import state, tools
from vclusterlib.errors import VclusterError

SOURCES = Path(__file__).resolve().parent.parent / "link"
LINK = "roundtrip-link"
SHIM = "libsetgroups_shim.so"


def cache() -> Path:
    """``build/testbed`` of the checkout, or the state directory where that is read-only."""
    checkout = SOURCES.parent.parent
    inside = checkout / "build"
    if os.access(inside if inside.is_dir() else checkout, os.W_OK):
        return inside / "testbed"
    return state.root() / ".build"


def key() -> str:
    """Changes with every source file and with the compiler."""
    digest = hashlib.sha256()
    for path in sorted(SOURCES.rglob("*")):
        if path.is_file():
            digest.update(f"{path.relative_to(SOURCES)}\0".encode() + path.read_bytes() + b"\0")
    compiler = subprocess.run(["g++", "-v"], capture_output=True, check=True).stderr
    return hashlib.sha256(digest.digest() + compiler).hexdigest()[:16]


def programs() -> Path:
    """Folder with the link and the shim, built if this content never was."""
    tools.require(tools.BUILD)
    folder = cache() / key()
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
        with (folder.parent / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.is_dir():
                print("vcluster: building the link (once) ...", file=sys.stderr, flush=True)
                _build(folder)
    return folder


def _build(folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="building-", dir=folder.parent) as temporary:
        tree, kept = Path(temporary, "tree"), Path(temporary, "kept")
        kept.mkdir(mode=0o755)
        _run(["cmake", "-S", str(SOURCES), "-B", str(tree), "-G", "Ninja"])
        _run(["cmake", "--build", str(tree), "-j", "2", "--target", LINK, "setgroups_shim"])
        for name in (LINK, SHIM):
            shutil.copy2(tree / name, kept / name)
        kept.rename(folder)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout + done.stderr, file=sys.stderr)
        raise VclusterError(f"building the link failed: {' '.join(command[:2])}")

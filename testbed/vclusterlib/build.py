"""Builds the C++ programs of ``testbed/link`` at first use, and caches them by content."""

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


def _caches() -> tuple[Path, Path]:
    """``build/testbed`` of the checkout, and the state directory in case that is read-only."""
    return SOURCES.parent.parent / "build" / "testbed", state.root() / ".build"


def _is_writable(folder: Path) -> bool:
    """Whether we may create `folder` or write to it."""
    while not folder.exists():
        folder = folder.parent
    return os.access(folder, os.W_OK)


def key() -> str:
    """A hash of all source files and of the compiler."""
    digest = hashlib.sha256()
    for path in sorted([SOURCES / "CMakeLists.txt", *SOURCES.glob("src/*")]):
        digest.update(f"{path.relative_to(SOURCES)}\0".encode() + path.read_bytes() + b"\0")
    compiler = subprocess.run(["g++", "-v"], capture_output=True, check=True).stderr
    return hashlib.sha256(digest.digest() + compiler).hexdigest()[:16]


def programs() -> Path:
    """The folder with the link and the shim, which are built unless they are cached."""
    tools.require(tools.BUILD)
    content = key()
    folders = [cache / content for cache in _caches()]
    folder = next((path for path in folders if path.is_dir()), None)
    if folder is None:
        folder = folders[0] if _is_writable(folders[0]) else folders[1]
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
        with (folder.parent / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.is_dir():
                print("vcluster: building the link (once) ...", file=sys.stderr, flush=True)
                _build(folder)
    return folder


def _build(folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="building-", dir=folder.parent) as scratch:
        tree, target = Path(scratch, "tree"), Path(scratch, "kept")
        target.mkdir(mode=0o755)
        _run(["cmake", "-S", str(SOURCES), "-B", str(tree), "-G", "Ninja"])
        _run(["cmake", "--build", str(tree), "-j", "2", "--target", LINK, "setgroups_shim"])
        for name in (LINK, SHIM):
            shutil.copy2(tree / name, target / name)
        target.rename(folder)


def _run(command: list[str]) -> None:
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode:
        print(process.stdout + process.stderr, file=sys.stderr)
        raise VclusterError(f"building the link failed: {' '.join(command[:2])}")

"""Folders named by content under one root, made by one process at a time.

    <root>/by-key/<key>/     a unit; it counts only if it has `.complete`, which is written last
    <root>/<name>            link to a unit
    <root>/logs/<name>.log   output of the last build of <name>

Units are built in their final place, because libraries and wrappers hold its path; an interrupted
build leaves a folder without `.complete`, which the next holder of the lock removes.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_COMPLETE = ".complete"


def content_key(inputs: Mapping[str, object]) -> str:
    """16 hex digits of the SHA-256 of `inputs` as canonical JSON."""
    text = json.dumps(inputs, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Store:
    """The units below `root`."""

    root: Path

    def place(self, key: str) -> Path:
        """Folder of a unit, whether it is there or not."""
        return self.root / "by-key" / key

    def complete(self, key: str) -> bool:
        """Whether a unit has been built to its end."""
        return (self.place(key) / _COMPLETE).is_file()

    def linked(self, name: str) -> str | None:
        """Key of the complete unit that `name` links to; None if there is none."""
        link = self.root / name
        key = link.readlink().name if link.is_symlink() else None
        return key if key and self.complete(key) else None

    def link(self, name: str, key: str) -> None:
        """Link `name` to the unit `key`; readers see the old link or the new one."""
        new = self.root / f".{name}.new"
        new.unlink(missing_ok=True)
        new.symlink_to(Path("by-key") / key)
        new.replace(self.root / name)

    def ensure(self, key: str, make: Callable[[Path], None]) -> Path:
        """The folder of the unit `key`; `make(folder)` fills it unless it is complete.

        The caller holds the store.
        """
        place = self.place(key)
        if not self.complete(key):
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            try:
                make(place)
            except BaseException:
                shutil.rmtree(place, ignore_errors=True)
                raise
            (place / _COMPLETE).touch()
        return place

    def log(self, name: str) -> Path:
        """An empty log file for a build of `name`."""
        path = self.root / "logs" / f"{name}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        return path

    @contextmanager
    def locked(self, waiting: Callable[[], None]) -> Iterator[None]:
        """Hold the store and remove incomplete units; call `waiting()` before it has to wait."""
        self.root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.root / ".lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            self._remove_leftovers()
            yield
        finally:
            os.close(descriptor)

    def _remove_leftovers(self) -> None:
        for place in (self.root / "by-key").glob("*"):
            if not (place / _COMPLETE).is_file():
                shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(self.root / "work", ignore_errors=True)

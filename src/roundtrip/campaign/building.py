"""Builds what a campaign launches, before its clock starts: a stage with a progress of its own."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from roundtrip.campaign import session
from roundtrip.campaign.matrix import Expected
from roundtrip.campaign.progress import told
from roundtrip.campaign.site import Site
from roundtrip.campaign.tree import RunTree

_STEP = re.compile(rb"\[(\d+)/(\d+)\]")  # as Ninja prints it


class Progress(Protocol):
    """Told what is built; shows it to people."""

    def building(self, builds: int, now: _Now) -> None: ...

    def built(self, seconds: float) -> None: ...

    def result(self, verdict: str, name: str, counts: bool = True) -> None: ...


class _Now(Protocol):
    def __call__(self) -> str: ...


def run(site: Site, expected: Iterable[Expected], tree: RunTree, progress: Progress) -> None:
    """Have ReFrame build all that `expected` needs, and launch nothing.

    What fails to build is shown and is no error here: its launches will fail, and say why.
    """
    blocks = representatives(expected)
    watch = _Watch(sum(len(block) for block in blocks))
    progress.building(watch.builds, watch)
    start = time.monotonic()
    for block in blocks:
        folder = tree.next_build()
        watch.begin(folder)

        def on_event(kind: str, name: str) -> None:
            if not session.is_fixture(name):
                return
            if kind == "RUN":
                watch.started(name)
            else:
                watch.ended()
                progress.result(kind, name)

        session.build(site, block, folder, tree.lock_descriptor, on_event)
    progress.built(time.monotonic() - start)


def representatives(expected: Iterable[Expected]) -> list[list[Expected]]:
    """One case for each check, partition and toolchain: all of its kind need the same program.

    Those of one list are on one partition with the same toolchains: one command line names them.
    """
    first: dict[tuple[str, str, str], Expected] = {}
    for item in expected:
        first.setdefault((item.case.partition, item.case.check, item.case.environ), item)
    named: dict[tuple[str, str], list[Expected]] = defaultdict(list)
    for (partition, check, _), item in first.items():
        named[partition, check].append(item)
    together: dict[tuple[str, tuple[str, ...]], list[Expected]] = defaultdict(list)
    for (partition, _), items in named.items():
        together[partition, tuple(sorted(item.case.environ for item in items))] += items
    return list(together.values())


class _Watch:
    """How far the build is: Ninja's own count in what ReFrame has captured of it."""

    def __init__(self, builds: int) -> None:
        self.builds = builds
        self._folder = Path()
        self._name = ""
        self._start = 0.0
        self._took: list[float] = []

    def begin(self, folder: Path) -> None:
        """A session begins, with its files in `folder`."""
        self._folder = folder

    def started(self, name: str) -> None:
        """A build begins."""
        self._name, self._start = session.in_words(name), time.monotonic()

    def ended(self) -> None:
        """It has ended."""
        self._took.append(time.monotonic() - self._start)
        self._name = ""

    def __call__(self) -> str:
        if not self._name:
            return ""
        done, steps = self._steps()
        if not done:
            return f"{self._name}: configuring"
        spent = time.monotonic() - self._start
        whole = spent * steps / done
        others = max(0, self.builds - len(self._took) - 1)
        # What is built already takes no time: the slowest so far says most about those to come.
        left = whole - spent + others * max([whole, *self._took])
        return f"{self._name}: step {done} of {steps}, about {told(left)} left"

    def _steps(self) -> tuple[int, int]:
        files = sorted(self._folder.glob("stage/**/rfm_build.out"), key=_changed)
        try:
            found: Sequence[tuple[bytes, bytes]] = _STEP.findall(files[-1].read_bytes())
        except (IndexError, OSError):
            return 0, 0
        return (int(found[-1][0]), int(found[-1][1])) if found else (0, 0)


def _changed(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0

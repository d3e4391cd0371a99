"""Builds what a campaign launches before its time limit starts, and shows the progress."""

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
    """Is told what is built, and shows it to people."""

    def building(self, builds: int, now: _Now) -> None:
        """`builds` programs will be built; `now()` says which one, and how long it will take."""

    def built(self, seconds: float) -> None:
        """Every build has ended, after so many seconds."""

    def result(self, verdict: str, name: str, counts: bool = True) -> None:
        """The build `name` ended; `verdict` is ReFrame's word for it, such as ``OK``."""


class _Now(Protocol):
    def __call__(self) -> str: ...


def run(site: Site, expected: Iterable[Expected], tree: RunTree, progress: Progress) -> None:
    """Let ReFrame build all that `expected` needs, and launch nothing.

    A failed build is shown and is no error here: its launches will fail and give the reason.
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
    """One case for each check, partition and toolchain: all cases of these need the same program.

    The cases of one list are on one partition with the same toolchains, so that one command line
    of ReFrame names them.
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
    """How far the build is, by the steps that Ninja counts in the output that ReFrame captures."""

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
        """The build that began last has ended."""
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
        # Programs that exist already take no time, so the slowest build predicts the next best.
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

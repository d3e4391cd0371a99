"""Runs the A/A test: a ping-pong between two pinned processes, as A and as B in random order."""

from __future__ import annotations

import contextlib
import mmap
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from roundtrip.errors import UserError
from roundtrip.host import echo
from roundtrip.host.interference import Block, Ticks, process_s, ticks

#: Blocks stand for launches.  The interval of twelve reaches from the third to the tenth.
BLOCKS = 12
_BATCH_S = 0.002
_LOOP = 100_000
_PER_SECOND = os.sysconf("SC_CLK_TCK")


def run(seconds: float = 10.0) -> list[Block]:
    """Measure `BLOCKS` blocks in `seconds`, on the first two processors that this process may use.

    UserError if there are not two, or the other end dies.
    """
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        raise UserError("an A/A test needs two processors")
    try:
        os.sched_setaffinity(0, {processors[0]})
        with _answering(processors[1]) as end:
            end.batch(1000)  # the first are slow: cold caches, and the other end starts
            took = end.batch(200) / 200
            hands = max(1, round(_BATCH_S / took))
            return [end.block(seconds / BLOCKS, hands) for _ in range(BLOCKS)]
    finally:
        os.sched_setaffinity(0, processors)


@dataclass
class _End:
    """This end of the ping-pong; `asked` is the last byte sent, 1..200."""

    memory: mmap.mmap
    other: subprocess.Popen[bytes]
    asked: int = 0

    def batch(self, hands: int) -> float:
        """Time of `hands` round trips, s."""
        memory, asked = self.memory, self.asked
        begin = time.perf_counter()
        for _ in range(hands):
            asked = asked % 200 + 1
            memory[echo.ASKED] = asked
            while memory[echo.ANSWERED] != asked:
                if time.perf_counter() - begin > 5 and self.other.poll() is not None:
                    raise UserError("the other end of the A/A test has died")
        self.asked = asked
        return time.perf_counter() - begin

    def block(self, seconds: float, hands: int) -> Block:
        """Measure pairs of A and B for `seconds`, and what else the machine did meanwhile."""
        pairs: dict[str, list[float]] = {"a": [], "b": []}
        begin, own, before = time.perf_counter(), self._own_s(), _ticks()
        while not pairs["a"] or time.perf_counter() - begin < seconds:
            for name in random.sample(("a", "b"), 2):
                pairs[name].append(self.batch(hands))
        loop_s = min(_loop_s() for _ in range(3))
        wall, after = time.perf_counter() - begin, _ticks()
        return Block(
            wall_s=wall,
            a_s=pairs["a"],
            b_s=pairs["b"],
            own_s=self._own_s() - own,
            busy_s=after.busy_s - before.busy_s,
            steal_s=after.steal_s - before.steal_s,
            loop_s=loop_s,
        )

    def _own_s(self) -> float:
        stat = Path(f"/proc/{self.other.pid}/stat").read_text(errors="replace")
        return time.process_time() + process_s(stat, _PER_SECOND)


@contextlib.contextmanager
def _answering(processor: int) -> Iterator[_End]:
    """Start the other end on `processor`; it ends with the block."""
    shared = os.memfd_create("roundtrip-aa")
    try:
        os.ftruncate(shared, echo.SIZE)
        command = [sys.executable, "-m", "roundtrip.host.echo", str(shared), str(processor)]
        with mmap.mmap(shared, echo.SIZE) as memory:
            other = subprocess.Popen(command, pass_fds=(shared,))
            try:
                yield _End(memory, other)
            finally:
                memory[echo.ASKED] = echo.STOP
                other.terminate()
                other.wait()
    finally:
        os.close(shared)


def _ticks() -> Ticks:
    return ticks(Path("/proc/stat").read_text(), _PER_SECOND)


def _loop_s() -> float:
    begin = time.thread_time()
    for _ in range(_LOOP):
        pass
    return time.thread_time() - begin

"""Measures disturbances on this machine, and the smallest difference that is still detectable.

An A/A test runs the same program as A and as B, a ping-pong between two pinned processes, in random
order and in blocks that represent launches.  The findings are pure functions of the blocks.
"""

from __future__ import annotations

import contextlib
import mmap
import multiprocessing
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

from roundtrip.errors import UserError
from roundtrip.sites.doctor import Diagnosis, warn_if
from roundtrip.stats.settings import Levels
from roundtrip.stats.verdicts import Verdict, judge

#: Blocks represent launches.  The interval of twelve values spans the third to the tenth.
BLOCK_COUNT = 12
_BATCH_DURATION_S = 0.002
_LOOP_ITERATIONS = 100_000
#: Offsets of the request and of the reply, one byte each, in a cache line of its own.
_REQUEST_OFFSET, _REPLY_OFFSET = 0, 128
_STOP_BYTE = 255
_POLLS_PER_CHECK = 1_000_000
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
#: Limits: processors used by other work, stolen processors, relative change of speed.
_MAX_OTHER_PROCESSORS, _MAX_STEAL, _MAX_SPEED_EFFECT = 0.1, 0.001, 0.02
#: Share of their two processors that the two ends get on an idle machine.
_FULL_SHARE = 0.97


@dataclass(frozen=True)
class Ticks:
    """Time of all processors since boot, s: used by any process, and stolen by the hypervisor."""

    busy_s: float
    steal_s: float


def parse_ticks(stat: str, per_second: int) -> Ticks:
    """Read the first line of /proc/stat: ``cpu user nice system idle ... steal ...``, in ticks."""
    words = [int(word) for word in stat.split("\n", 1)[0].split()[1:9]]
    user, nice, system, _, _, irq, softirq, steal = [*words, *[0] * 8][:8]
    return Ticks((user + nice + system + irq + softirq) / per_second, steal / per_second)


def parse_process_s(stat: str, per_second: int) -> float:
    """Processor time of a process, s, from its /proc/PID/stat; its name may hold any character."""
    words = stat.rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / per_second


@dataclass(frozen=True)
class Block:
    """One block of the A/A test; all times are in seconds.

    `wall_s` is its length.  `a_s` and `b_s` are the times of its batches, `own_s` is the processor
    time of both ends, `busy_s` that of all processes and `steal_s` that taken by the hypervisor.
    `loop_s` is the processor time of a fixed loop.
    """

    wall_s: float
    a_s: Sequence[float]
    b_s: Sequence[float]
    own_s: float
    busy_s: float
    steal_s: float
    loop_s: float

    @property
    def ratio(self) -> float:
        return statistics.median(self.b_s) / statistics.median(self.a_s)

    @property
    def time_s(self) -> float:
        return statistics.median([*self.a_s, *self.b_s])

    @property
    def other_processors(self) -> float:
        """Processors that other work used on average."""
        return max(0.0, self.busy_s - self.own_s) / self.wall_s

    @property
    def steal_processors(self) -> float:
        """Processors that the hypervisor gave to others on average."""
        return self.steal_s / self.wall_s

    @property
    def share(self) -> float:
        """Share of the two processors that the two ends got, 0..1."""
        return min(1.0, self.own_s / (2 * self.wall_s))


def effect_of(quantity: Callable[[Block], float], blocks: Sequence[Block]) -> float | None:
    """Return the ratio of median message times between blocks with high and low `quantity`.

    The half of the blocks with the largest `quantity` is compared with the half with the smallest.
    None if all blocks have the same value.
    """
    ranking = sorted(blocks, key=quantity)
    half = len(ranking) // 2
    if half == 0 or quantity(ranking[0]) == quantity(ranking[-1]):
        return None
    high_s, low_s = (
        statistics.median(block.time_s for block in part)
        for part in (ranking[-half:], ranking[:half])
    )
    return high_s / low_s


def interference_findings(
    blocks: Sequence[Block], levels: Levels, autogroup: bool | None
) -> list[Diagnosis]:
    """Return a finding for each disturbance of the test, and one for its resolution."""

    def effect_text(quantity: Callable[[Block], float]) -> str:
        ratio = effect_of(quantity, blocks)
        if ratio is None:
            return ""
        return f"; where there was most of it, messages took {ratio:.2f} times"

    others = statistics.mean(block.other_processors for block in blocks)
    others_detail = f"{others:.2f} processors while the test ran"
    others_detail += effect_text(lambda block: block.other_processors)
    steal = statistics.mean(block.steal_processors for block in blocks)
    steal_detail = f"{steal:.3f} processors while the test ran"
    steal_detail += effect_text(lambda block: block.steal_processors)
    loops_s = [block.loop_s for block in blocks]
    change = max(loops_s) / min(loops_s) - 1
    speed_detail = f"the same loop took up to {change:.1%} more processor time than at best"
    speed_detail += effect_text(lambda block: block.loop_s)
    idle_advice = "stop other work, or wait until it is done"
    steal_advice = "the hypervisor's other guests: repeat at quieter times"
    speed_advice = "frequency, or a neighbour on the core or its caches: fix the frequency, "
    speed_advice += "leave SMT off"
    return [
        warn_if(others > _MAX_OTHER_PROCESSORS, "others' load", others_detail, idle_advice),
        _autogroup_finding(blocks, autogroup),
        warn_if(steal > _MAX_STEAL, "CPU steal", steal_detail, steal_advice),
        warn_if(change > _MAX_SPEED_EFFECT, "speed", speed_detail, speed_advice),
        _resolution_finding(blocks, levels),
    ]


def _autogroup_finding(blocks: Sequence[Block], autogroup: bool | None) -> Diagnosis:
    share = statistics.mean(block.share for block in blocks)
    share_text = f"two ends that never sleep got {share:.0%} of two processors"
    if not autogroup:
        state = "off" if autogroup is False else "the kernel does not say"
        return Diagnosis("sched_autogroup", "ok", f"{state}; {share_text}")
    detail = f"on: each session gets an equal share, even of niced jobs; {share_text}"
    advice = "as root, in the session that measures: echo -20 > /proc/self/autogroup"
    return warn_if(share < _FULL_SHARE, "sched_autogroup", detail, advice)


def _resolution_finding(blocks: Sequence[Block], levels: Levels) -> Diagnosis:
    """Judge the ratio of B to A over the blocks, as a report judges one over launches."""
    result = judge({"A/A": [block.ratio for block in blocks]}, levels)["A/A"]
    interval, low, high = result.interval, result.interval.low, result.interval.high
    if low is None or high is None:
        return Diagnosis(
            "A/A test", "warn", f"{interval.n} blocks give no interval", "run it again"
        )
    difference = max(high - 1, 1 / low - 1)
    detail = (
        f"the same program twice: {interval.median - 1:+.1%} [{low - 1:+.1%}, {high - 1:+.1%}]; "
        f"differences below {max(difference, 0.001):.1%} cannot be seen here now"
    )
    if result.verdict in (Verdict.FASTER, Verdict.SLOWER):
        advice = "a false claim: measure nothing here before it is gone"
        return Diagnosis("A/A test", "warn", f"{detail}; B is called {result.verdict}", advice)
    advice = "follow the advice above, or plan for more launches"
    return warn_if(difference > levels.minimum_effect, "A/A test", detail, advice)


def measure_blocks(seconds: float = 10.0) -> list[Block]:
    """Measure blocks on the first two processors of this process; UserError without two."""
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        raise UserError("an A/A test needs two processors")
    try:
        os.sched_setaffinity(0, {processors[0]})
        with _start_other_end(processors[1]) as end:
            end.batch(1000)  # warm-up: cold caches, and the other end starts
            round_trip_s = end.batch(200) / 200
            hands = max(1, round(_BATCH_DURATION_S / round_trip_s))
            return [end.block(seconds / BLOCK_COUNT, hands) for _ in range(BLOCK_COUNT)]
    finally:
        os.sched_setaffinity(0, processors)


@dataclass
class _PingPongEnd:
    """The end of the ping-pong in this process; `request`: the last byte sent, 1..200."""

    memory: mmap.mmap
    other: BaseProcess
    request: int = 0

    def batch(self, hands: int) -> float:
        """Time of `hands` round trips, s."""
        memory, request = self.memory, self.request
        begin = time.perf_counter()
        for _ in range(hands):
            request = request % 200 + 1
            memory[_REQUEST_OFFSET] = request
            while memory[_REPLY_OFFSET] != request:
                if time.perf_counter() - begin > 5 and not self.other.is_alive():
                    raise UserError("the other end of the A/A test has died")
        self.request = request
        return time.perf_counter() - begin

    def block(self, seconds: float, hands: int) -> Block:
        """Measure pairs of A and B for `seconds`, and the machine's other load meanwhile."""
        pairs: dict[str, list[float]] = {"a": [], "b": []}
        begin, cpu_s, start_ticks = time.perf_counter(), self._own_s(), _read_ticks()
        while not pairs["a"] or time.perf_counter() - begin < seconds:
            for name in random.sample(("a", "b"), 2):
                pairs[name].append(self.batch(hands))
        loop_s = min(_time_loop_s() for _ in range(3))
        wall_s, end_ticks = time.perf_counter() - begin, _read_ticks()
        return Block(
            wall_s=wall_s,
            a_s=pairs["a"],
            b_s=pairs["b"],
            own_s=self._own_s() - cpu_s,
            busy_s=end_ticks.busy_s - start_ticks.busy_s,
            steal_s=end_ticks.steal_s - start_ticks.steal_s,
            loop_s=loop_s,
        )

    def _own_s(self) -> float:
        stat = Path(f"/proc/{self.other.pid}/stat").read_text(errors="replace")
        return time.process_time() + parse_process_s(stat, _TICKS_PER_SECOND)


@contextlib.contextmanager
def _start_other_end(processor: int) -> Iterator[_PingPongEnd]:
    """Start the other end on `processor`; it ends with the block."""
    with mmap.mmap(-1, 2 * _REPLY_OFFSET) as memory:
        # Only a fork shares this memory.
        context = multiprocessing.get_context("fork")
        process = context.Process(target=_run_other_end, args=(memory, processor, os.getpid()))
        process.start()
        try:
            yield _PingPongEnd(memory, process)
        finally:
            memory[_REQUEST_OFFSET] = _STOP_BYTE
            process.terminate()
            process.join()


def _run_other_end(memory: mmap.mmap, processor: int, parent: int) -> None:
    os.sched_setaffinity(0, {processor})
    echo_bytes(memory, parent)


def echo_bytes(memory: mmap.mmap, parent: int) -> None:
    """Send every byte back, until it is `_STOP_BYTE` or process `parent` has died."""
    last_request = polls = 0
    while True:
        request = memory[_REQUEST_OFFSET]
        if request != last_request:
            last_request, polls = request, 0
            memory[_REPLY_OFFSET] = request
            if request == _STOP_BYTE:
                return
        else:
            polls += 1
            if polls % _POLLS_PER_CHECK == 0 and os.getppid() != parent:
                return


def _read_ticks() -> Ticks:
    return parse_ticks(Path("/proc/stat").read_text(), _TICKS_PER_SECOND)


def _time_loop_s() -> float:
    begin = time.thread_time()
    for _ in range(_LOOP_ITERATIONS):
        pass
    return time.thread_time() - begin

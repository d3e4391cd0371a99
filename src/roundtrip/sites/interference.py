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
from roundtrip.sites.doctor import Diagnosis, warning_or_ok
from roundtrip.stats.settings import Levels
from roundtrip.stats.verdicts import judge

#: Blocks represent launches.  The interval of twelve values spans the third to the tenth.
BLOCK_COUNT = 12
_BATCH_DURATION_S = 0.002
_SPEED_LOOP_ITERATIONS = 100_000
#: Offsets of the request and of the reply, one byte each, in a cache line of its own.
_REQUEST_OFFSET, _REPLY_OFFSET = 0, 128
_STOP_BYTE = 255
_POLLS_PER_PARENT_CHECK = 1_000_000
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
#: Limits of a warning: processors that other work used, that were stolen, relative speed change.
_MAX_OTHER_PROCESSORS, _MAX_STOLEN_PROCESSORS, _MAX_SPEED_CHANGE = 0.1, 0.001, 0.02
#: Minimum share of the two processors that the two ends get on an idle machine.
_MIN_PROCESSOR_SHARE = 0.97


@dataclass(frozen=True)
class ProcessorTimes:
    """Time of all processors since boot, s: used by any process, and stolen by the hypervisor."""

    busy_cpu_s: float
    steal_s: float


def parse_processor_times(stat: str, ticks_per_s: int) -> ProcessorTimes:
    """Read the first line of /proc/stat: ``cpu user nice system idle ... steal ...``, in ticks."""
    words = [int(word) for word in stat.split("\n", 1)[0].split()[1:9]]
    user, nice, system, _, _, irq, softirq, steal = [*words, *[0] * 8][:8]
    return ProcessorTimes((user + nice + system + irq + softirq) / ticks_per_s, steal / ticks_per_s)


def parse_process_time_s(stat: str, ticks_per_s: int) -> float:
    """Processor time of a process, s, from its /proc/PID/stat; its name may hold any character."""
    words = stat.rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / ticks_per_s


@dataclass(frozen=True)
class AATestBlock:
    """One block of the A/A test, which represents a launch; all times are in seconds.

    `wall_s` is its length.  `a_batches_s` and `b_batches_s` are the times of its batches.
    Processor times in it: `test_cpu_s` of both ends, `busy_cpu_s` of all processes, `steal_s` that
    the hypervisor took, `loop_cpu_s` of a fixed loop.
    """

    wall_s: float
    a_batches_s: Sequence[float]
    b_batches_s: Sequence[float]
    test_cpu_s: float
    busy_cpu_s: float
    steal_s: float
    loop_cpu_s: float

    @property
    def ratio_b_to_a(self) -> float:
        return statistics.median(self.b_batches_s) / statistics.median(self.a_batches_s)

    @property
    def median_batch_s(self) -> float:
        return statistics.median([*self.a_batches_s, *self.b_batches_s])

    @property
    def other_work_processors(self) -> float:
        """Processors that other work used on average."""
        return max(0.0, self.busy_cpu_s - self.test_cpu_s) / self.wall_s

    @property
    def stolen_processors(self) -> float:
        """Processors that the hypervisor gave to others on average."""
        return self.steal_s / self.wall_s

    @property
    def processor_share(self) -> float:
        """Share of the two processors that the two ends got, 0..1."""
        return min(1.0, self.test_cpu_s / (2 * self.wall_s))


def slowdown_by_quantity(
    quantity: Callable[[AATestBlock], float], blocks: Sequence[AATestBlock]
) -> float | None:
    """Return the ratio of median message times between the half of the blocks with the largest
    `quantity` and the half with the smallest; None if all blocks have the same value."""
    ranking = sorted(blocks, key=quantity)
    half = len(ranking) // 2
    if half == 0 or quantity(ranking[0]) == quantity(ranking[-1]):
        return None
    high_s, low_s = (
        statistics.median(block.median_batch_s for block in part)
        for part in (ranking[-half:], ranking[:half])
    )
    return high_s / low_s


def interference_diagnoses(
    blocks: Sequence[AATestBlock], levels: Levels, autogroup: bool | None
) -> list[Diagnosis]:
    """Return a diagnosis of each disturbance of the A/A test, and one of its resolution."""

    def effect_text(quantity: Callable[[AATestBlock], float]) -> str:
        ratio = slowdown_by_quantity(quantity, blocks)
        if ratio is None:
            return ""
        return f"; where there was most of it, messages took {ratio:.2f} times"

    other_work = statistics.mean(block.other_work_processors for block in blocks)
    other_work_detail = f"{other_work:.2f} processors while the test ran"
    other_work_detail += effect_text(lambda block: block.other_work_processors)
    steal = statistics.mean(block.stolen_processors for block in blocks)
    steal_detail = f"{steal:.3f} processors while the test ran"
    steal_detail += effect_text(lambda block: block.stolen_processors)
    loops_s = [block.loop_cpu_s for block in blocks]
    change = max(loops_s) / min(loops_s) - 1
    speed_detail = f"the same loop took up to {change:.1%} more processor time than its minimum"
    speed_detail += effect_text(lambda block: block.loop_cpu_s)
    idle_advice = "stop other work, or wait until it is done"
    steal_advice = "the hypervisor's other guests: repeat at quieter times"
    speed_advice = "frequency, or a neighbour on the core or its caches: fix the frequency, "
    speed_advice += "leave SMT off"
    return [
        warning_or_ok(
            other_work > _MAX_OTHER_PROCESSORS, "others' load", other_work_detail, idle_advice
        ),
        _autogroup_diagnosis(blocks, autogroup),
        warning_or_ok(steal > _MAX_STOLEN_PROCESSORS, "CPU steal", steal_detail, steal_advice),
        warning_or_ok(change > _MAX_SPEED_CHANGE, "speed", speed_detail, speed_advice),
        _resolution_diagnosis(blocks, levels),
    ]


def _autogroup_diagnosis(blocks: Sequence[AATestBlock], autogroup: bool | None) -> Diagnosis:
    share = statistics.mean(block.processor_share for block in blocks)
    share_text = f"two polling processes got {share:.0%} of two processors"
    if not autogroup:
        state = "off" if autogroup is False else "the kernel does not say"
        return Diagnosis("sched_autogroup", "ok", f"{state}; {share_text}")
    detail = f"on: each session gets an equal share, even of niced jobs; {share_text}"
    advice = "as root, in the session that measures: echo -20 > /proc/self/autogroup"
    return warning_or_ok(share < _MIN_PROCESSOR_SHARE, "sched_autogroup", detail, advice)


def _resolution_diagnosis(blocks: Sequence[AATestBlock], levels: Levels) -> Diagnosis:
    """Say which differences can be seen here now, by the interval of B over A of an A/A test."""
    result = judge({"A/A": [block.ratio_b_to_a for block in blocks]}, levels)["A/A"]
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
    if result.verdict.is_difference:
        advice = "a false claim: measure nothing here before it is gone"
        return Diagnosis("A/A test", "warn", f"{detail}; B is called {result.verdict}", advice)
    advice = "follow the advice above, or plan for more launches"
    return warning_or_ok(difference > levels.minimum_effect, "A/A test", detail, advice)


def measure_blocks(seconds: float = 10.0) -> list[AATestBlock]:
    """The blocks of an A/A test of `seconds` on the first two processors; UserError without two."""
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        raise UserError("an A/A test needs two processors")
    try:
        os.sched_setaffinity(0, {processors[0]})
        with _start_ping_pong(processors[1]) as end:
            end.measure_batch_s(1000)  # warm-up: cold caches, and the other end starts
            round_trip_s = end.measure_batch_s(200) / 200
            batch_round_trips = max(1, round(_BATCH_DURATION_S / round_trip_s))
            block_s = seconds / BLOCK_COUNT
            return [end.measure_block(block_s, batch_round_trips) for _ in range(BLOCK_COUNT)]
    finally:
        os.sched_setaffinity(0, processors)


@dataclass
class _PingPongEnd:
    """The end of the ping-pong in this process; `last_request`: the last byte sent, 1..200."""

    memory: mmap.mmap
    echo_process: BaseProcess
    last_request: int = 0

    def measure_batch_s(self, round_trips: int) -> float:
        """Time of `round_trips` round trips, s."""
        memory, request = self.memory, self.last_request
        begin = time.perf_counter()
        for _ in range(round_trips):
            request = request % 200 + 1
            memory[_REQUEST_OFFSET] = request
            while memory[_REPLY_OFFSET] != request:
                if time.perf_counter() - begin > 5 and not self.echo_process.is_alive():
                    raise UserError("the other end of the A/A test has died")
        self.last_request = request
        return time.perf_counter() - begin

    def measure_block(self, seconds: float, batch_round_trips: int) -> AATestBlock:
        """Measure pairs of A and B for `seconds`, and the machine's other load meanwhile."""
        pairs: dict[str, list[float]] = {"a": [], "b": []}
        begin, cpu_s, start_ticks = time.perf_counter(), self._test_cpu_s(), _read_processor_times()
        while not pairs["a"] or time.perf_counter() - begin < seconds:
            for name in random.sample(("a", "b"), 2):
                pairs[name].append(self.measure_batch_s(batch_round_trips))
        loop_s = min(_measure_loop_s() for _ in range(3))
        wall_s, end_ticks = time.perf_counter() - begin, _read_processor_times()
        return AATestBlock(
            wall_s=wall_s,
            a_batches_s=pairs["a"],
            b_batches_s=pairs["b"],
            test_cpu_s=self._test_cpu_s() - cpu_s,
            busy_cpu_s=end_ticks.busy_cpu_s - start_ticks.busy_cpu_s,
            steal_s=end_ticks.steal_s - start_ticks.steal_s,
            loop_cpu_s=loop_s,
        )

    def _test_cpu_s(self) -> float:
        stat = Path(f"/proc/{self.echo_process.pid}/stat").read_text(errors="replace")
        return time.process_time() + parse_process_time_s(stat, _TICKS_PER_SECOND)


@contextlib.contextmanager
def _start_ping_pong(processor: int) -> Iterator[_PingPongEnd]:
    """Start a process that echoes bytes, on `processor`; it ends with the context."""
    with mmap.mmap(-1, 2 * _REPLY_OFFSET) as memory:
        # Only a fork shares this memory.
        context = multiprocessing.get_context("fork")
        process = context.Process(target=_run_echo_process, args=(memory, processor, os.getpid()))
        process.start()
        try:
            yield _PingPongEnd(memory, process)
        finally:
            memory[_REQUEST_OFFSET] = _STOP_BYTE
            process.terminate()
            process.join()


def _run_echo_process(memory: mmap.mmap, processor: int, parent: int) -> None:
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
            if polls % _POLLS_PER_PARENT_CHECK == 0 and os.getppid() != parent:
                return


def _read_processor_times() -> ProcessorTimes:
    return parse_processor_times(Path("/proc/stat").read_text(), _TICKS_PER_SECOND)


def _measure_loop_s() -> float:
    begin = time.thread_time()
    for _ in range(_SPEED_LOOP_ITERATIONS):
        pass
    return time.thread_time() - begin

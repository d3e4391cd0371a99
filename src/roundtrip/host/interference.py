"""What disturbs measurements on this machine now, and how small a difference can still be seen.

Pure functions of what an A/A test recorded (`roundtrip.host.trial`).  The test runs the same
program as A and as B, interleaved, in blocks that stand for launches.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from roundtrip.host.doctor import Finding
from roundtrip.stats.levels import Levels
from roundtrip.stats.verdicts import Judged, Verdict, judge

#: Limits: processors that others use, processors that are stolen, relative change of speed.
_OTHERS, _STEAL, _SPEED = 0.1, 0.001, 0.02
#: Share of their two processors that the two ends get on an idle machine.
_WHOLE = 0.97


@dataclass(frozen=True)
class Ticks:
    """Time of all processors since boot, s: used by any process, and stolen by the hypervisor."""

    busy_s: float
    steal_s: float


def ticks(stat: str, per_second: int) -> Ticks:
    """Read the first line of /proc/stat: ``cpu user nice system idle ... steal ...``, in ticks."""
    words = [int(word) for word in stat.split("\n", 1)[0].split()[1:9]]
    user, nice, system, _, _, irq, softirq, steal = [*words, *[0] * 8][:8]
    return Ticks((user + nice + system + irq + softirq) / per_second, steal / per_second)


def process_s(stat: str, per_second: int) -> float:
    """Processor time of a process, s, from its /proc/PID/stat; its name may hold any character."""
    words = stat.rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / per_second


@dataclass(frozen=True)
class Block:
    """One block of the A/A test; all times are in seconds.

    `wall_s` is its length.  `a_s` and `b_s` are the times of its batches, `own_s` is the processor
    time of both ends, `busy_s` that of all processes and `steal_s` that which the hypervisor took.
    `loop_s` is the processor time of a loop that is always the same.
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
    def others(self) -> float:
        """Processors that other work used on average."""
        return max(0.0, self.busy_s - self.own_s) / self.wall_s

    @property
    def stolen(self) -> float:
        """Processors that the hypervisor gave to others on average."""
        return self.steal_s / self.wall_s

    @property
    def share(self) -> float:
        """Share of the two processors that the two ends got, 0..1."""
        return min(1.0, self.own_s / (2 * self.wall_s))


def judged(blocks: Sequence[Block], levels: Levels) -> Judged:
    """The ratio of B to A over the blocks, judged as a report judges one over launches."""
    return judge({"A/A": [block.ratio for block in blocks]}, levels)["A/A"]


def resolution(result: Judged) -> float | None:
    """The smallest relative difference that the interval would show; None without an interval."""
    low, high = result.interval.low, result.interval.high
    return None if low is None or high is None else max(high - 1, 1 / low - 1)


def effect(of: Callable[[Block], float], blocks: Sequence[Block]) -> float | None:
    """How much slower messages were in blocks with much of something: a ratio of median times.

    The half of the blocks with the largest `of` is compared with the half with the smallest.
    None if all blocks have the same.
    """
    ordered = sorted(blocks, key=of)
    half = len(ordered) // 2
    if half == 0 or of(ordered[0]) == of(ordered[-1]):
        return None
    most, least = (
        statistics.median(block.time_s for block in part)
        for part in (ordered[-half:], ordered[:half])
    )
    return most / least


def findings(blocks: Sequence[Block], levels: Levels, autogroup: bool | None) -> list[Finding]:
    """What each disturbance did to the test, and how small a difference the test can see."""
    return [
        _others(blocks),
        _autogroup(blocks, autogroup),
        _steal(blocks),
        _frequency(blocks),
        _test(judged(blocks, levels), levels),
    ]


def _others(blocks: Sequence[Block]) -> Finding:
    used = statistics.mean(block.others for block in blocks)
    found = f"{used:.2f} processors while the test ran{_did(lambda b: b.others, blocks)}"
    is_much = used > _OTHERS
    advice = "stop other work, or wait until it is done" if is_much else ""
    return Finding("others' load", "warn" if is_much else "ok", found, advice)


def _autogroup(blocks: Sequence[Block], autogroup: bool | None) -> Finding:
    share = statistics.mean(block.share for block in blocks)
    got = f"two ends that never sleep got {share:.0%} of two processors"
    if not autogroup:
        told = "off" if autogroup is False else "the kernel does not say"
        return Finding("sched_autogroup", "ok", f"{told}; {got}")
    found = f"on: each session gets an equal share, even of niced jobs; {got}"
    if share >= _WHOLE:
        return Finding("sched_autogroup", "ok", found)
    advice = "as root, in the session that measures: echo -20 > /proc/self/autogroup"
    return Finding("sched_autogroup", "warn", found, advice)


def _steal(blocks: Sequence[Block]) -> Finding:
    stolen = statistics.mean(block.stolen for block in blocks)
    found = f"{stolen:.3f} processors while the test ran{_did(lambda b: b.stolen, blocks)}"
    is_much = stolen > _STEAL
    advice = "the hypervisor's other guests: repeat at quieter times" if is_much else ""
    return Finding("CPU steal", "warn" if is_much else "ok", found, advice)


def _frequency(blocks: Sequence[Block]) -> Finding:
    loops = [block.loop_s for block in blocks]
    moved = max(loops) / min(loops) - 1
    found = f"the same loop took up to {moved:.1%} more processor time than at best"
    found += _did(lambda block: block.loop_s, blocks)
    is_much = moved > _SPEED
    advice = "frequency, or a neighbour on the core or its caches: fix the frequency, leave SMT off"
    return Finding("speed", "warn" if is_much else "ok", found, advice if is_much else "")


def _did(of: Callable[[Block], float], blocks: Sequence[Block]) -> str:
    ratio = effect(of, blocks)
    return "" if ratio is None else f"; where there was most of it, messages took {ratio:.2f} times"


def _test(result: Judged, levels: Levels) -> Finding:
    least = resolution(result)
    interval = result.interval
    if least is None:
        return Finding("A/A test", "warn", f"{interval.n} blocks give no interval", "run it again")
    found = (
        f"the same program twice: {interval.median - 1:+.1%} "
        f"[{(interval.low or 0) - 1:+.1%}, {(interval.high or 0) - 1:+.1%}]; "
        f"differences below {max(least, 0.001):.1%} cannot be seen here now"
    )
    if result.verdict in (Verdict.FASTER, Verdict.SLOWER):
        advice = "a false claim: measure nothing here before it is gone"
        return Finding("A/A test", "warn", f"{found}; B is called {result.verdict}", advice)
    if least > levels.minimum_effect:
        advice = "mend what is said above, or plan for more launches"
        return Finding("A/A test", "warn", found, advice)
    return Finding("A/A test", "ok", found)

"""Finds why a launch counts as disturbed, or as partial, from its run.json."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from roundtrip.measure import identity
from roundtrip.measure.analysis import DisturbanceLimits

#: A rank that got SIGCONT, and had no processor for less time than this, was never stopped.
_MIN_STOP_S = 0.05
#: Two clocks that a rank reads one after the other differ by less than this.
_MIN_CLOCK_STEP_S = 0.01
#: A rank that polls for messages sleeps less often than this.
_MAX_POLLING_SLEEPS_PER_S = 20.0


def disturbance_reasons(
    run: Mapping[str, Any],
    limits: DisturbanceLimits,
    cores: int | None,
    is_one_machine: bool = False,
) -> tuple[str, ...]:
    """Return all reasons why the launch with this run.json counts as disturbed; () if it does not.

    `cores` is the number of processors of rank 0's node; None, if unknown, skips the load average.
    `is_one_machine`: one machine emulates all nodes.  Unrecorded facts are skipped as well.
    """
    facts = run.get("disturbance") or {}
    placement = run.get("placement") or []
    if is_one_machine:
        placement = [{**entry, "host": ""} for entry in placement]
    throttle_reasons = tuple(_throttle_reasons(facts, placement, limits))
    tracers = [(rank, values) for rank, values in _values_by_rank(facts, "tracer") if values[0]]
    return (
        *_machine_reasons(facts, run, limits, cores),
        *throttle_reasons,
        *_stop_reasons(facts, limits),
        # The kernel counts a throttled rank as waiting for a processor, too.
        *(() if throttle_reasons else _starvation_reasons(facts, placement, limits)),
        *_clock_reasons(facts, limits),
        *(
            f"traced: process {tracer:.0f} (a debugger or the like) holds rank {rank}"
            for rank, (tracer,) in tracers[:1]
        ),
        *_crowding_reasons(run, placement),
    )


def processor_count(run: Mapping[str, Any], host_record: Mapping[str, Any]) -> int | None:
    """Return the number of online processors of rank 0's node in this run.json; None if unknown.
    `host_record` is env/host.json, of the machine that submits; it counts if it is that node."""
    host = next(iter(run.get("hosts") or ()), "")
    for node in run.get("nodes") or ():
        if node["host"] == host and node.get("logical"):
            return int(node["logical"])
    name, cpu = host_record.get("hostname"), host_record.get("cpu")
    if not isinstance(name, str) or identity.short_host_name(name) != identity.short_host_name(
        host
    ):
        return None
    logical = cpu.get("logical") if isinstance(cpu, dict) else None
    return logical if isinstance(logical, int) and logical > 0 else None


def partial_reason(run: Mapping[str, Any], limits: DisturbanceLimits) -> str:
    """Return why the launch with this run.json is partial; "" if it measured enough of the coarse
    grid of message sizes, which programs measure first."""
    coverage = run.get("coverage") or {}
    sizes, grid = coverage.get("measured", 0), coverage.get("wanted", 0)
    if sizes >= limits.sizes_fraction * grid:
        return ""
    return f"measured {sizes} of the {grid} sizes of its coarse grid before its time was over"


def _machine_reasons(
    facts: Mapping[str, Any], run: Mapping[str, Any], limits: DisturbanceLimits, cores: int | None
) -> Iterator[str]:
    elapsed = run.get("elapsed_s") or 0.0
    steal = facts.get("steal_s") or 0.0
    if elapsed > 0:
        fraction = steal / (elapsed * run["ranks"])
        if fraction > limits.steal_fraction:
            yield f"{100 * fraction:.1f} % of CPU time stolen by the hypervisor"
        rate = _max_recorded(facts.get("involuntary_context_switches")) / elapsed
        if rate > limits.involuntary_context_switches_per_s:
            yield f"{rate:.0f} involuntary context switches per second"
    moves = _max_recorded(facts.get("core_migrations"))
    if moves > limits.core_migrations:
        yield f"a rank moved between cores {moves:.0f} times"
    load = _max_recorded((facts.get("load_average_start") or [])[:1])
    if cores is not None and load > cores + limits.load_above_cores:
        yield f"load average {load:.1f} at the start, on {cores} cores"


def _throttle_reasons(
    facts: Mapping[str, Any], placement: Sequence[Mapping[str, Any]], limits: DisturbanceLimits
) -> Iterator[str]:
    """Yield the reason if a CPU limit stopped ranks; the ranks of a host may share its cgroup."""
    ranks_on = Counter(entry["host"] for entry in placement)
    hosts = {entry["rank"]: entry["host"] for entry in placement}
    worst, words = 0.0, ""
    for rank, (throttled_s, duration_s) in _values_by_rank(facts, "throttled_s", "duration_s"):
        ranks = max(1, ranks_on[hosts.get(rank, "")])
        fraction = throttled_s / (duration_s * ranks) if duration_s > 0 else 0.0
        if fraction > max(worst, limits.throttled_fraction):
            worst = fraction
            words = (
                f"throttled: the CPU limit of the cgroup of rank {rank} stopped it for "
                f"{throttled_s:.2f} s, summed over processors, of {duration_s:.1f} s"
            )
    if words:
        yield words


def _stop_reasons(facts: Mapping[str, Any], limits: DisturbanceLimits) -> Iterator[str]:
    for rank, (suspended_s,) in _values_by_rank(facts, "suspended_s"):
        if suspended_s > limits.stop_s:
            yield f"suspended: the machine of rank {rank} slept for {suspended_s:.1f} s"
            break
    # Times that the kernel did not record are 0.
    names = ("continued", "duration_s", "cpu_s", "waited_s")
    columns = [[value or 0.0 for value in facts.get(name) or ()] for name in names]
    signalled_ranks = []
    for rank, (signals, duration_s, cpu_s, waited_s) in enumerate(zip(*columns, strict=False)):
        idle_s = duration_s - cpu_s - waited_s  # neither had a processor nor waited for one
        if signals and idle_s > _MIN_STOP_S:
            details = f"{signals:.0f} x SIGCONT, {idle_s:.1f} s without the processor"
            signalled_ranks.append((idle_s, f"suspended: a signal stopped rank {rank} ({details})"))
    if signalled_ranks:
        yield from _worst_sentence(signalled_ranks)
        return  # others only waited for these
    stops = [
        (s, rank) for rank, (s,) in _values_by_rank(facts, "longest_stop_s") if s > limits.stop_s
    ]
    if stops:
        longest_s, rank = max(stops)
        yield (
            f"suspended: rank {rank} had no processor for {longest_s:.1f} s and asked for none "
            "(its cgroup was frozen, or its machine paused)"
        )


def _starvation_reasons(
    facts: Mapping[str, Any], placement: Sequence[Mapping[str, Any]], limits: DisturbanceLimits
) -> Iterator[str]:
    """Yield the reason if ranks waited for a processor that other processes used.

    Ranks that share processors wait for each other, which is no disturbance.
    """
    if not placement or not all(entry.get("cpus") for entry in placement):
        return
    sharers = Counter((entry["host"], cpu) for entry in placement for cpu in entry["cpus"])
    for entry in placement:
        own_share = math.fsum(1 / sharers[entry["host"], cpu] for cpu in entry["cpus"])
        if own_share <= 1 - 1e-9:
            return
    fraction, rank = max(_waiting_shares(facts), default=(0.0, 0))
    if fraction > limits.waited_fraction:
        cpus: list[int] = next((entry["cpus"] for entry in placement if entry["rank"] == rank), [])
        location = f"processor {cpus[0]}" if len(cpus) == 1 else "its processors"
        yield (
            f"starved: rank {rank} waited for a processor in {100 * fraction:.0f} % of the time, "
            f"while other programs ran on {location}"
        )


def _waiting_shares(facts: Mapping[str, Any]) -> Iterator[tuple[float, int]]:
    """Yield (share, rank): of each rank's time, the share in which it was ready without a
    processor.

    Where the kernel does not record that, it is wall time less CPU time; 0 if the rank blocks in
    its MPI.
    """
    times = _values_by_rank(facts, "duration_s", "cpu_s", "voluntary_context_switches")
    waits = {
        rank: max(0.0, duration_s - cpu_s)
        for rank, (duration_s, cpu_s, sleeps) in times
        if sleeps < _MAX_POLLING_SLEEPS_PER_S * duration_s
    }
    waits |= {rank: waited_s for rank, (waited_s,) in _values_by_rank(facts, "waited_s")}
    for rank, (duration_s,) in _values_by_rank(facts, "duration_s"):
        if duration_s > 0:
            yield min(1.0, waits.get(rank, 0.0) / duration_s), rank


def _clock_reasons(facts: Mapping[str, Any], limits: DisturbanceLimits) -> Iterator[str]:
    yield from _worst_sentence(
        (deviation, f"the clock of rank {rank} runs {rate:.4g} times as fast as that of rank 0")
        for rank, (rate, error) in _values_by_rank(facts, "clock_rate", "clock_rate_error")
        if (deviation := abs(rate - 1) - error) > limits.clock_rate
    )
    yield from _worst_sentence(
        (
            abs(step_s),
            f"the clock of rank {rank} went {step_s:+.3g} s away from that of its kernel in "
            f"{duration_s:.1f} s",
        )
        for rank, (step_s, duration_s) in _values_by_rank(facts, "clock_step_s", "duration_s")
        if abs(step_s) > _MIN_CLOCK_STEP_S + limits.clock_rate * duration_s
    )
    for rank, (step_s, duration_s) in _values_by_rank(facts, "utc_step_s", "duration_s"):
        if abs(step_s) > _MIN_CLOCK_STEP_S + limits.clock_rate * duration_s:
            yield f"somebody set the wall clock of rank {rank} by {step_s:+.3g} s"
            break


def _crowding_reasons(
    run: Mapping[str, Any], placement: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield the reason if ranks share a processor although the node has one for each rank."""
    counts = [node["logical"] for node in run.get("nodes") or () if node.get("logical")]
    ranks_on = Counter(entry["host"] for entry in placement)
    ranks_by_cpu: dict[tuple[str, int], int] = {}
    for entry in placement:
        if len(entry.get("cpus") or ()) != 1 or min(counts, default=0) < ranks_on[entry["host"]]:
            continue
        cpu = (entry["host"], entry["cpus"][0])
        other = ranks_by_cpu.setdefault(cpu, entry["rank"])
        if other != entry["rank"]:
            yield f"crowded: ranks {other} and {entry['rank']} are bound to processor {cpu[1]}"
            break


def _worst_sentence(sentences: Iterable[tuple[float, str]]) -> Iterator[str]:
    """Yield the sentence with the largest number, and how many more there are; nothing for none."""
    if ranked := sorted(sentences):
        yield ranked[-1][1] + (f" (and {len(ranked) - 1} more)" if len(ranked) > 1 else "")


def _values_by_rank(
    facts: Mapping[str, Any], *names: str
) -> Iterator[tuple[int, tuple[float, ...]]]:
    """Yield (rank, values) for each rank for which all facts `names` are recorded."""
    columns = [facts.get(name) or () for name in names]
    for rank, values in enumerate(zip(*columns, strict=False)):
        if None not in values:
            yield rank, values


def _max_recorded(values: Sequence[float | None] | None) -> float:
    return max((value for value in values or () if value is not None), default=0.0)

"""Whether anything but the benchmark used the machine during a launch."""

from __future__ import annotations

from typing import Any

from roundtrip.collect.analysis import Disturbance


def reasons(run: dict[str, Any], limits: Disturbance, cores: int | None) -> tuple[str, ...]:
    """Why the launch with this run.json counts as disturbed; empty if it does not.

    `cores` is the number of cores of a node; None, if it is not known, leaves the load average
    out.  Facts that the launch did not record are left out as well.
    """
    facts = run.get("disturbance") or {}
    elapsed = run.get("elapsed_s") or 0.0
    found = []
    steal = facts.get("steal_s") or 0.0
    if elapsed > 0:
        fraction = steal / (elapsed * run["ranks"])
        if fraction > limits.steal_fraction:
            found.append(f"{100 * fraction:.1f} % of CPU time stolen by the hypervisor")
        rate = _worst(facts.get("involuntary_context_switches")) / elapsed
        if rate > limits.involuntary_context_switches_per_s:
            found.append(f"{rate:.0f} involuntary context switches per second")
    moves = _worst(facts.get("core_migrations"))
    if moves > limits.core_migrations:
        found.append(f"a rank moved between cores {moves:.0f} times")
    load = _worst((facts.get("load_average_start") or [])[:1])
    if cores is not None and load > cores + limits.load_above_cores:
        found.append(f"load average {load:.1f} at the start, on {cores} cores")
    return tuple(found)


def _worst(values: list[float | None] | None) -> float:
    return max((value for value in values or () if value is not None), default=0.0)

"""Rules 8, 10 and 18: clocks, single events, tails."""

from __future__ import annotations

import re

import polars as pl

from roundtrip.report import units
from roundtrip.report.audit import said
from roundtrip.report.audit.outcome import Outcome, held, missing, no_case
from roundtrip.report.audit.subject import Subject

#: A reading of the clock takes at most this part of a sample; its step is so much finer.
_OVERHEAD, _FINER = 0.05, 10
_FOR_A_TAIL = 100  # samples, of which one is beyond the 99th percentile
_PERCENTILE = re.compile(r"(?:\bp99\b|\b99\s%)")


def tails(one: Subject) -> Outcome:
    """Rule 8."""
    known = one.facts.tails
    if known is None:
        return missing("of which values the slowest matter")
    if not known:
        return no_case(one.facts.no_tails or "measures no latency")
    shown = [
        table
        for table in one.tables
        if any(_PERCENTILE.search(column.name) for column in table.columns)
    ]
    found = []
    for tail in known:
        matches = [pl.col(name) == value for name, value in tail.where.items()]
        count = one.samples.filter(*matches).select(pl.len()).collect().item()
        if count:
            found.append((tail.what, count))
    if not found:
        return no_case(f"no sample of {', '.join(tail.what for tail in known)}")
    told = ", ".join(f"{count} samples of {what}" for what, count in found)
    if not shown:
        return held(False, f"no table shows the 99th percentile; {told}")
    enough = all(count >= _FOR_A_TAIL for _, count in found)
    return held(enough, f"99th percentile shown; {told}, of {_FOR_A_TAIL} needed")


def clock(one: Subject) -> Outcome:
    """Rule 10."""
    if one.launches.is_empty():
        return no_case("no launch completed")
    facts = one.facts
    stated = {
        "whose clock is read": said.clause(one, "clock"),
        "how ranks are synchronised": said.clause(one, "synchronisation"),
        "how the times of ranks become one": said.clause(one, "over_ranks"),
    }
    unsaid = [what for what, told in stated.items() if not told]
    timed = [point for point in one.points if point.get("batch") and point.get("median_s")]
    known = [point for point in timed if _is_known(point["clock"])]
    if not known:
        unsaid.insert(0, "what a reading of the clock takes, its step, and how long a sample is")
    if unsaid:
        return missing("; ".join(unsaid))
    # Of a whole batch, each event is timed as well: that is the shorter time.
    share, step = (
        max(
            point["clock"][name]
            / point["median_s"]
            / (1 / point["batch"] if facts.median_is_whole else point["batch"])
            for point in known
        )
        for name in ("overhead_s", "resolution_s")
    )
    untold = len(timed) - len(known)
    told = (
        f"reading the clock is at most {units.percent(share)} of a sample (limit "
        f"{units.percent(_OVERHEAD)}), its step {units.percent(step)} (limit "
        f"{units.percent(1 / _FINER)}); {'; '.join(stated.values())}"
    )
    told += f"; unknown of {untold} of {len(timed)} points" if untold else ""
    astray = said.unsynchronised(one)
    if astray:
        told += f"; {astray} launches take the maximum of times that no synchronisation began"
    return held(share < _OVERHEAD and step * _FINER <= 1 and not untold and not astray, told)


def _is_known(facts: dict[str, float | None]) -> bool:
    return facts.get("overhead_s") is not None and facts.get("resolution_s") is not None


def single_events(one: Subject) -> Outcome:
    """Rule 18."""
    if one.launches.is_empty():
        return no_case("no launch completed")
    batches = [int(point["batch"]) for point in one.points if point.get("batch")]
    if not batches:
        return missing("how many events a sample times")
    many = sum(batch > 1 for batch in batches)
    told = f"{many} of {len(batches)} points time several events as one, up to {max(batches)}"
    return held(not many, told if many else f"all {len(batches)} points time single events")

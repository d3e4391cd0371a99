"""Rules 2, 8 to 10, 13 to 15, 17 and 18: what launches say of themselves, and of their clocks.

How times were taken is what launches say, or else what the section of the report declares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import polars as pl

from roundtrip.report import units
from roundtrip.report.audit.subject import CLOCK, Outcome, Subject, held, missing, no_case
from roundtrip.stats.summaries import fewest_for_interval

#: Of two cases in random order so many rounds are all alike once in 128.
_ROUNDS_FOR_ORDER = 8
#: A reading of the clock takes at most this part of a sample; its step is so much finer.
_OVERHEAD, _FINER = 0.05, 10
_FOR_A_TAIL = 100  # samples, of which one is beyond the 99th percentile
_PERCENTILE = 99
#: By what run.json says in `timing`: a clause for each word.
_CLAUSES: Mapping[str, Mapping[str, str]] = {
    "clock": {
        "one rank": "one rank reads its own clock",
        "each rank": "each rank reads its own clock",
        "several": "some samples are timed by one rank, others by each",
    },
    "synchronisation": {
        "barrier": "a barrier before each sample",
        "message": "a message between two ranks before each sample",
        "none": "ranks are not synchronised",
        "several": "some samples begin with a synchronisation, others without",
    },
    "over_ranks": {
        "one rank": "the time of one rank is the sample",
        "maximum": "the time of the slowest rank is the sample",
        "several": "the time of one rank is the sample, or that of the slowest",
    },
    "cache": {
        "warm": "warm",
        "flushed": "flushed",
        "several": "warm in some series, flushed in others",
    },
}


def left_out(one: Subject) -> Outcome:
    """Rule 2."""
    if one.launches.is_empty() and one.lost.is_empty():
        return missing("launches")
    silent_count = one.lost.filter(pl.col("reason").fill_null("") == "").height
    if one.lost.is_empty():
        return held(True, f"nothing is left out: all {one.launches.height} launches completed")
    count = units.plural(one.lost.height, "launch", "launches")
    if silent_count:
        return held(False, f"{count} did not complete, {silent_count} without a reason")
    return held(True, f"{count} did not complete, each with a reason; {one.launches.height} did")


def recorded(one: Subject) -> Outcome:
    """Rule 9."""
    if one.launches.is_empty():
        return no_case("no launch completed")
    if not one.facts.made_with:
        return missing("what its programs are built with")
    columns = one.facts.made_with
    record = one.launches.select(columns)
    gaps = [name for name in columns if record[name].fill_null("").eq("").any()]
    if not set(one.launches["launch"]) <= set(one.placed):
        gaps.append("binding")
    if not isinstance(one.environment.get("host.json"), dict):
        gaps.append("machine")
    if gaps:
        names = ", ".join(gaps).replace("_", " ")
        return held(False, f"not recorded for every launch: {names}")
    return held(True, f"recorded: machine, binding, {', '.join(columns).replace('_', ' ')}")


def repetitions(one: Subject) -> Outcome:
    """Rule 13."""
    if one.launches.is_empty():
        return no_case("no launch completed")
    if one.is_simulated:
        return no_case("simulated: every launch gives the same values")
    minimum = fewest_for_interval(one.analysis.statistics.confidence_level)
    count = min(one.launches.group_by("case_id").len()["len"].to_list())
    detail = f"at least {units.plural(count, 'launch', 'launches')} a case, of {minimum} needed"
    statuses = Counter(one.points["status"])
    successes = statuses["converged"]
    if successes or statuses["budget"]:
        detail += (
            f"; {successes} of {statuses.total()} points reached their precision before the budget"
        )
    return held(count >= minimum, detail)


def warm_up(one: Subject) -> Outcome:
    """Rule 14."""
    if one.launches.is_empty():
        return no_case("no launch completed")
    discards = one.launches["warmup_discarded"]
    if discards.null_count() == len(discards):
        return missing("how much warm-up its launches discarded")
    if silent_count := discards.null_count():
        return held(
            False, f"{silent_count} of {len(discards)} launches do not say what they discarded"
        )
    if zero_count := int((discards == 0).sum()):
        return held(False, f"{zero_count} of {len(discards)} launches discarded nothing")
    cache = clause(one, "cache")
    if not cache:
        return missing("the state of the caches before a sample")
    return held(True, f"{discards.sum()} repetitions discarded; caches: {cache}")


def kept(one: Subject) -> Outcome:
    """Rule 15: rows that the workloads say they wrote against rows that are here."""
    if one.launches.is_empty():
        return no_case("no launch completed")
    program_counts = one.launches.select("launch", "taken").drop_nulls()
    if program_counts.is_empty():
        return missing("how many samples each launch took")
    sample_counts = one.samples.group_by("launch").agg(here=pl.len().cast(pl.Int64)).collect()
    counts = program_counts.join(sample_counts, on="launch", how="left").with_columns(
        pl.col("here").fill_null(0)
    )
    mismatches = counts.filter(pl.col("here") != pl.col("taken")).height
    unknown_count = one.launches.height - program_counts.height
    detail = f"{counts['here'].sum()} samples of {program_counts.height} launches"
    if mismatches:
        return held(
            False,
            f"{mismatches} of {program_counts.height} launches took another number than are here",
        )
    if unknown_count:
        return held(
            False, f"{detail}: all that were taken; {unknown_count} launches do not say how many"
        )
    return held(True, f"{detail}: as many as the programs wrote")


def order(one: Subject) -> Outcome:
    """Rule 17: the order of cases in the rounds of the campaign, by when they started."""
    rows = one.launches.drop_nulls(["campaign_round", "started"]).sort("started", "launch")
    if rows.is_empty():
        return missing("the campaign's round of each launch, and when it started")
    by_round = rows.group_by("campaign_round").agg("case_id").sort("campaign_round")
    orders = [tuple(cases) for cases in by_round["case_id"].to_list() if len(cases) > 1]
    if len(orders) < _ROUNDS_FOR_ORDER:
        detail = units.plural(len(orders), "round")
        return no_case(
            f"{detail} of several cases: an order needs {_ROUNDS_FOR_ORDER} to be judged"
        )
    order_count = len(set(orders))
    detail = f"{units.plural(order_count, 'order')} of cases in {len(orders)} rounds"
    return held(order_count > 1, detail)


def tails(one: Subject) -> Outcome:
    """Rule 8."""
    tail_facts = one.facts.tails
    if tail_facts is None:
        return missing("of which values the slowest matter")
    if not tail_facts:
        return no_case(one.facts.no_tails or "measures no latency")
    is_shown = any(number.quantity.percentile == _PERCENTILE for number in one.numbers)
    counts = []
    for tail in tail_facts:
        matches = [pl.col(name) == value for name, value in tail.where.items()]
        count = one.samples.filter(*matches).select(pl.len()).collect().item()
        if count:
            counts.append((tail.what, count))
    if not counts:
        return no_case(f"no sample of {', '.join(tail.what for tail in tail_facts)}")
    detail = ", ".join(f"{count} samples of {quantity}" for quantity, count in counts)
    if not is_shown:
        return held(False, f"no table shows the 99th percentile; {detail}")
    is_enough = all(count >= _FOR_A_TAIL for _, count in counts)
    return held(is_enough, f"99th percentile shown; {detail}, of {_FOR_A_TAIL} needed")


def clock(one: Subject) -> Outcome:
    """Rule 10."""
    if one.launches.is_empty():
        return no_case("no launch completed")
    facts = one.facts
    clauses = {
        "whose clock is read": clause(one, "clock"),
        "how ranks are synchronised": clause(one, "synchronisation"),
        "how the times of ranks become one": clause(one, "over_ranks"),
    }
    gaps = [topic for topic, words in clauses.items() if not words]
    points = one.points.filter(pl.col("batch") > 0, pl.col("median_s") > 0)
    clock_points = points.drop_nulls(CLOCK)
    if clock_points.is_empty():
        gaps.insert(0, "what a reading of the clock takes, its step, and how long a sample is")
    if gaps:
        return missing("; ".join(gaps))
    # Of a whole batch, each event is timed as well: that is the shorter time.
    median, batch = pl.col("median_s"), pl.col("batch")
    sample = median / batch if facts.median_is_whole else median * batch
    share, step = clock_points.select((pl.col(name) / sample).max() for name in CLOCK).row(0)
    unknown_count = len(points) - len(clock_points)
    detail = (
        f"reading the clock is at most {units.percent(share)} of a sample (limit "
        f"{units.percent(_OVERHEAD)}), its step {units.percent(step)} (limit "
        f"{units.percent(1 / _FINER)}); {'; '.join(clauses.values())}"
    )
    detail += f"; unknown of {unknown_count} of {len(points)} points" if unknown_count else ""
    astray_count = unsynchronised(one)
    if astray_count:
        detail += (
            f"; {astray_count} launches take the maximum of times that no synchronisation began"
        )
    return held(
        share < _OVERHEAD and step * _FINER <= 1 and not unknown_count and not astray_count, detail
    )


def single_events(one: Subject) -> Outcome:
    """Rule 18."""
    if one.launches.is_empty():
        return no_case("no launch completed")
    batches = one.points.filter(pl.col("batch") > 0)["batch"].to_list()
    if not batches:
        return missing("how many events a sample times")
    batched_count = sum(batch > 1 for batch in batches)
    detail = (
        f"{batched_count} of {len(batches)} points time several events as one, up to {max(batches)}"
    )
    return held(
        not batched_count,
        detail if batched_count else f"all {len(batches)} points time single events",
    )


def clause(one: Subject, name: str) -> str:
    """For the reader, of an entry of `timing`; "" if neither launches nor section tell."""
    words = _CLAUSES[name]
    column = one.launches[f"timing_{name}"]
    clauses = [words[word] for word in words if (column == word).any()]
    if not clauses:
        fact = {"synchronisation": "synchronised"}.get(name, name)
        return str(getattr(one.facts, fact))
    silent_count = column.null_count()
    suffix = (
        f", {units.plural(silent_count, 'launch', 'launches')} not saying" if silent_count else ""
    )
    return " or ".join(clauses) + suffix


def unsynchronised(one: Subject) -> int:
    """Launches that take the slowest rank's time though no rank waits for the others."""
    condition = (pl.col("timing_over_ranks") == "maximum") & (
        pl.col("timing_synchronisation") == "none"
    )
    return one.launches.filter(condition).height

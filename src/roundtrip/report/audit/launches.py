"""Rules 2, 8 to 10, 13 to 15, 17 and 18: the records of launches and of their clocks.

Launches record how times were taken; if they do not, the section of the report declares it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import polars as pl

from roundtrip.report import units
from roundtrip.report.audit.subject import (
    CLOCK_COLUMNS,
    Outcome,
    Subject,
    failure,
    missing_fact,
    not_applicable,
    pass_or_fail,
    success,
)
from roundtrip.stats.summaries import fewest_for_interval

#: With two cases in random order, this many rounds all have the same order once in 128.
_MIN_ORDER_ROUNDS = 8
#: Limit of a clock reading as a fraction of a sample; minimum length of a sample in clock steps.
_OVERHEAD, _FINER = 0.05, 10
_MIN_TAIL_SAMPLES = 100  # samples: one lies beyond the 99th percentile
_TAIL_PERCENTILE = 99
#: By entry of `timing` in run.json and word: the clause for the reader.
_CLAUSE_BY_FACT: Mapping[str, Mapping[str, str]] = {
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


def omissions(subject: Subject) -> Outcome:
    """Rule 2: the report lists each lost launch with its reason."""
    completed_count, lost_launches = subject.launches.height, subject.lost_launches
    if lost_launches.is_empty():
        if not completed_count:
            return missing_fact("launches")
        return success(f"nothing is left out: all {completed_count} launches completed")
    count = units.plural(lost_launches.height, "launch")
    if silent_count := lost_launches.filter(pl.col("reason").fill_null("") == "").height:
        return failure(f"{count} did not complete, {silent_count} without a reason")
    return success(f"{count} did not complete, each with a reason; {completed_count} did")


def setup_record(subject: Subject) -> Outcome:
    """Rule 9: launches record their hardware, software and parameters."""
    if subject.launches.is_empty():
        return not_applicable("no launch completed")
    columns = subject.facts.build_columns
    if not columns:
        return missing_fact("what its programs are built with")
    gaps = [name for name in columns if subject.launches[name].fill_null("").eq("").any()]
    if not set(subject.launches["launch"]) <= set(subject.placed_launches):
        gaps.append("binding")
    if not isinstance(subject.environment.get("host.json"), dict):
        gaps.append("machine")
    if gaps:
        return failure(f"not recorded for every launch: {', '.join(gaps).replace('_', ' ')}")
    return success(f"recorded: machine, binding, {', '.join(columns).replace('_', ' ')}")


def repetitions(subject: Subject) -> Outcome:
    """Rule 13: points have more than 5 samples, and end at a target precision."""
    if subject.launches.is_empty():
        return not_applicable("no launch completed")
    if subject.is_simulated:
        return not_applicable("simulated: every launch gives the same values")
    minimum = fewest_for_interval(subject.analysis.statistics.confidence_level)
    count = min(subject.launches.group_by("case_id").len()["len"].to_list())
    detail = f"at least {units.plural(count, 'launch')} a case, of {minimum} needed"
    statuses = Counter(subject.points["status"])
    if statuses["converged"] or statuses["budget"]:
        points = f"{statuses['converged']} of {statuses.total()} points"
        detail += f"; {points} reached their precision before the budget"
    return pass_or_fail(count >= minimum, detail)


def warm_up(subject: Subject) -> Outcome:
    """Rule 14: warm-up is excluded, and the state of the cache is stated."""
    if subject.launches.is_empty():
        return not_applicable("no launch completed")
    discards = subject.launches["warmup_discarded"]
    if discards.null_count() == len(discards):
        return missing_fact("how much warm-up its launches discarded")
    if silent_count := discards.null_count():
        return failure(f"{silent_count} of {len(discards)} launches do not say what they discarded")
    if zero_count := int((discards == 0).sum()):
        return failure(f"{zero_count} of {len(discards)} launches discarded nothing")
    if cache := timing_clause(subject, "cache"):
        return success(f"{discards.sum()} repetitions discarded; caches: {cache}")
    return missing_fact("the state of the caches before a sample")


def outliers(subject: Subject) -> Outcome:
    """Rule 15: compare the samples that programs say they took with those in the bundle."""
    if subject.launches.is_empty():
        return not_applicable("no launch completed")
    program_counts = subject.launches.select("launch", "taken").drop_nulls()
    if program_counts.is_empty():
        return missing_fact("how many samples each launch took")
    sample_counts = subject.samples.group_by("launch").agg(here=pl.len().cast(pl.Int64)).collect()
    counts = program_counts.join(sample_counts, on="launch", how="left").fill_null(0)
    if count := counts.filter(pl.col("here") != pl.col("taken")).height:
        return failure(f"{count} of {counts.height} launches took another number than are here")
    detail = f"{counts['here'].sum()} samples of {counts.height} launches"
    if count := subject.launches.height - counts.height:
        return failure(f"{detail}: all that were taken; {count} launches do not say how many")
    return success(f"{detail}: as many as the programs wrote")


def order(subject: Subject) -> Outcome:
    """Rule 17: the order of cases in the campaign's rounds, by start time."""
    rows = subject.launches.drop_nulls(["campaign_round", "started"]).sort("started", "launch")
    if rows.is_empty():
        return missing_fact("the campaign's round of each launch, and when it started")
    by_round = rows.group_by("campaign_round").agg("case_id").sort("campaign_round")
    orders = [tuple(cases) for cases in by_round["case_id"].to_list() if len(cases) > 1]
    if len(orders) < _MIN_ORDER_ROUNDS:
        rounds = f"{units.plural(len(orders), 'round')} of several cases"
        return not_applicable(f"{rounds}: an order needs {_MIN_ORDER_ROUNDS} to be judged")
    count = len(set(orders))
    detail = f"{units.plural(count, 'order')} of cases in {len(orders)} rounds"
    return pass_or_fail(count > 1, detail)


def tails(subject: Subject) -> Outcome:
    """Rule 8: sections with latencies print tail percentiles."""
    tail_facts = subject.facts.latencies
    if tail_facts is None:
        return missing_fact("of which values the slowest matter")
    if not tail_facts:
        return not_applicable(subject.facts.no_latencies_reason or "measures no latency")
    counts: dict[str, int] = {}
    for tail in tail_facts:
        rows = subject.samples.filter(**tail.row_filter)
        if count := rows.select(pl.len()).collect().item():
            counts[tail.quantity] = count
    if not counts:
        return not_applicable(f"no sample of {', '.join(tail.quantity for tail in tail_facts)}")
    detail = ", ".join(f"{count} samples of {quantity}" for quantity, count in counts.items())
    if not any(number.quantity.percentile == _TAIL_PERCENTILE for number in subject.numbers):
        return failure(f"no table shows the 99th percentile; {detail}")
    evidence = f"99th percentile shown; {detail}, of {_MIN_TAIL_SAMPLES} needed"
    return pass_or_fail(min(counts.values()) >= _MIN_TAIL_SAMPLES, evidence)


def clock(subject: Subject) -> Outcome:
    """Rule 10: the clock, its synchronisation and its resolution are stated and sufficient."""
    if subject.launches.is_empty():
        return not_applicable("no launch completed")
    clauses = {
        "whose clock is read": timing_clause(subject, "clock"),
        "how ranks are synchronised": timing_clause(subject, "synchronisation"),
        "how the times of ranks become one": timing_clause(subject, "over_ranks"),
    }
    gaps = [topic for topic, words in clauses.items() if not words]
    points = subject.points.filter(pl.col("batch") > 0, pl.col("median_s") > 0)
    clock_points = points.drop_nulls(CLOCK_COLUMNS)
    if clock_points.is_empty():
        gaps.insert(0, "what a reading of the clock takes, its step, and how long a sample is")
    if gaps:
        return missing_fact("; ".join(gaps))
    # If the median is of a whole batch, its events are timed too: an event is the shorter sample.
    median, batch = pl.col("median_s"), pl.col("batch")
    sample = median / batch if subject.facts.median_is_of_batch else median * batch
    largest = clock_points.select((pl.col(name) / sample).max() for name in CLOCK_COLUMNS)
    share, step = largest.row(0)
    detail = (
        f"reading the clock is at most {units.percent_text(share)} of a sample (limit "
        f"{units.percent_text(_OVERHEAD)}), its step {units.percent_text(step)} (limit "
        f"{units.percent_text(1 / _FINER)}); {'; '.join(clauses.values())}"
    )
    passes = share < _OVERHEAD and step * _FINER <= 1
    if unknown_count := len(points) - len(clock_points):
        passes = False
        detail += f"; unknown of {unknown_count} of {len(points)} points"
    astray = subject.launches.filter(timing_over_ranks="maximum", timing_synchronisation="none")
    if count := astray.height:
        passes = False
        detail += f"; {count} launches take the maximum of times that no synchronisation began"
    return pass_or_fail(passes, detail)


def single_events(subject: Subject) -> Outcome:
    """Rule 18: samples are times of single events, or of batches that say so."""
    if subject.launches.is_empty():
        return not_applicable("no launch completed")
    batches = subject.points.filter(pl.col("batch") > 0)["batch"].to_list()
    if not batches:
        return missing_fact("how many events a sample times")
    if count := sum(batch > 1 for batch in batches):
        points = f"{count} of {len(batches)} points"
        return failure(f"{points} time several events as one, up to {max(batches)}")
    return success(f"all {len(batches)} points time single events")


def timing_clause(subject: Subject, name: str) -> str:
    """The clause on entry `name` of `timing`; "" if launches and section lack it."""
    words = _CLAUSE_BY_FACT[name]
    column = subject.launches[f"timing_{name}"]
    clauses = [words[word] for word in words if (column == word).any()]
    if not clauses:
        return str(getattr(subject.facts, name))
    silent_count = column.null_count()
    suffix = f", {units.plural(silent_count, 'launch')} not saying" if silent_count else ""
    return " or ".join(clauses) + suffix

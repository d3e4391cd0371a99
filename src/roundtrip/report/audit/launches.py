"""Rules on the records of launches and of their clocks.

Launches record how times were taken; if they do not, the section of the report declares it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import polars as pl

from roundtrip import units
from roundtrip.report.audit.subject import (
    CLOCK_COLUMNS,
    AuditSubject,
    RuleOutcome,
    RuleScope,
    audit_rule,
    rule_broken,
    rule_kept,
    rule_kept_or_broken,
    rule_not_applicable,
    unknown_without_fact,
)
from roundtrip.stats.summaries import min_launches_for_interval

#: With two cases in random order, this many rounds all have the same order once in 128.
_MIN_ORDER_ROUNDS = 8
#: Most time to read the clock, as a share of a sample; fewest clock steps of a sample.
_MAX_READING_SHARE, _MIN_CLOCK_STEPS = 0.05, 10
_MIN_TAIL_SAMPLES = 100  # samples: one lies beyond the 99th percentile
_TAIL_PERCENTILE = 99
#: By entry of `timing` in run.json and word: the clause for the reader.
_CLAUSES_BY_TIMING_FACT: Mapping[str, Mapping[str, str]] = {
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


@audit_rule(2, RuleScope.STUDY_LAUNCHES, "Everything left out is listed with a reason")
def audit_lost_launches(subject: AuditSubject) -> RuleOutcome:
    """The report lists each launch that did not complete, with its reason."""
    completed_count, lost_launches = subject.launches.height, subject.lost_launches
    if lost_launches.is_empty():
        if not completed_count:
            return unknown_without_fact("launches")
        return rule_kept(f"nothing is left out: all {completed_count} launches completed")
    count = units.plural(lost_launches.height, "launch")
    if silent_count := lost_launches.filter(pl.col("reason").fill_null("") == "").height:
        return rule_broken(f"{count} did not complete, {silent_count} without a reason")
    return rule_kept(f"{count} did not complete, each with a reason; {completed_count} did")


@audit_rule(9, RuleScope.STUDY_LAUNCHES, "All factors and the setup are recorded")
def audit_setup_record(subject: AuditSubject) -> RuleOutcome:
    """Launches record their hardware, software and parameters."""
    if subject.launches.is_empty():
        return rule_not_applicable("no launch completed")
    columns = subject.audit_facts.build_columns
    if not columns:
        return unknown_without_fact("what its programs are built with")
    gaps = [name for name in columns if subject.launches[name].fill_null("").eq("").any()]
    if not set(subject.launches["launch"]) <= set(subject.launches_with_placement):
        gaps.append("binding")
    if not isinstance(subject.env_records.get("host.json"), dict):
        gaps.append("machine")
    if gaps:
        return rule_broken(f"not recorded for every launch: {', '.join(gaps).replace('_', ' ')}")
    return rule_kept(f"recorded: machine, binding, {', '.join(columns).replace('_', ' ')}")


@audit_rule(13, RuleScope.STUDY_LAUNCHES, "Repetitions until a target precision; more than 5")
def audit_repetitions(subject: AuditSubject) -> RuleOutcome:
    """Each case has enough launches for an interval."""
    if subject.launches.is_empty():
        return rule_not_applicable("no launch completed")
    if subject.is_simulated:
        return rule_not_applicable("simulated: every launch gives the same values")
    minimum = min_launches_for_interval(subject.analysis.statistics.confidence_level)
    count = min(subject.launches.group_by("case_id").len()["len"].to_list())
    detail = f"at least {units.plural(count, 'launch')} a case, of {minimum} needed"
    statuses = Counter(subject.points["status"])
    if statuses["converged"] or statuses["budget"]:
        points = f"{statuses['converged']} of {statuses.total()} points"
        detail += f"; {points} reached their precision before the budget"
    return rule_kept_or_broken(count >= minimum, detail)


@audit_rule(14, RuleScope.STUDY_LAUNCHES, "Warm-up excluded and said so; cache state said")
def audit_warm_up(subject: AuditSubject) -> RuleOutcome:
    """Warm-up is excluded, and the state of the cache is stated."""
    if subject.launches.is_empty():
        return rule_not_applicable("no launch completed")
    discards = subject.launches["warmup_discarded"]
    if discards.null_count() == len(discards):
        return unknown_without_fact("how much warm-up its launches discarded")
    if silent_count := discards.null_count():
        share = f"{silent_count} of {len(discards)} launches"
        return rule_broken(f"{share} do not say what they discarded")
    if zero_count := int((discards == 0).sum()):
        return rule_broken(f"{zero_count} of {len(discards)} launches discarded nothing")
    if cache := timing_clause(subject, "cache"):
        return rule_kept(f"{discards.sum()} repetitions discarded; caches: {cache}")
    return unknown_without_fact("the state of the caches before a sample")


@audit_rule(15, RuleScope.STUDY_LAUNCHES, "Outliers kept, or their removal reported")
def audit_kept_samples(subject: AuditSubject) -> RuleOutcome:
    """The bundle has as many samples as the programs say they took."""
    if subject.launches.is_empty():
        return rule_not_applicable("no launch completed")
    program_counts = subject.launches.select("launch", "taken").drop_nulls()
    if program_counts.is_empty():
        return unknown_without_fact("how many samples each launch took")
    sample_counts = subject.samples.group_by("launch").agg(here=pl.len().cast(pl.Int64)).collect()
    counts = program_counts.join(sample_counts, on="launch", how="left").fill_null(0)
    if count := counts.filter(pl.col("here") != pl.col("taken")).height:
        return rule_broken(f"{count} of {counts.height} launches took another number than are here")
    detail = f"{counts['here'].sum()} samples of {counts.height} launches"
    if count := subject.launches.height - counts.height:
        return rule_broken(f"{detail}: all that were taken; {count} launches do not say how many")
    return rule_kept(f"{detail}: as many as the programs wrote")


@audit_rule(17, RuleScope.WHOLE_CAMPAIGN, "Uncontrolled factors are randomised")
def audit_case_order(subject: AuditSubject) -> RuleOutcome:
    """The order of cases, by start time, differs between rounds."""
    rows = subject.launches.drop_nulls(["campaign_round", "started"]).sort("started", "launch")
    if rows.is_empty():
        return unknown_without_fact("the campaign's round of each launch, and when it started")
    by_round = rows.group_by("campaign_round").agg("case_id").sort("campaign_round")
    orders = [tuple(cases) for cases in by_round["case_id"].to_list() if len(cases) > 1]
    if len(orders) < _MIN_ORDER_ROUNDS:
        rounds = f"{units.plural(len(orders), 'round')} of several cases"
        return rule_not_applicable(f"{rounds}: an order needs {_MIN_ORDER_ROUNDS} to be judged")
    count = len(set(orders))
    detail = f"{units.plural(count, 'order')} of cases in {len(orders)} rounds"
    return rule_kept_or_broken(count > 1, detail)


@audit_rule(8, RuleScope.STUDY_LAUNCHES, "Tail percentiles where latency matters")
def audit_tail_percentiles(subject: AuditSubject) -> RuleOutcome:
    """Sections with latencies print tail percentiles."""
    tail_facts = subject.audit_facts.latencies
    if tail_facts is None:
        return unknown_without_fact("for which values the slowest matter")
    if not tail_facts:
        return rule_not_applicable(subject.audit_facts.no_latencies_reason or "measures no latency")
    counts: dict[str, int] = {}
    for tail in tail_facts:
        rows = subject.samples.filter(**tail.row_filter)
        if count := rows.select(pl.len()).collect().item():
            counts[tail.quantity] = count
    if not counts:
        quantities = ", ".join(tail.quantity for tail in tail_facts)
        return rule_not_applicable(f"no sample of {quantities}")
    detail = ", ".join(f"{count} samples of {quantity}" for quantity, count in counts.items())
    if not any(number.quantity.percentile == _TAIL_PERCENTILE for number in subject.numbers):
        return rule_broken(f"no table shows the 99th percentile; {detail}")
    evidence = f"99th percentile shown; {detail}, of {_MIN_TAIL_SAMPLES} needed"
    return rule_kept_or_broken(min(counts.values()) >= _MIN_TAIL_SAMPLES, evidence)


@audit_rule(
    10,
    RuleScope.STUDY_LAUNCHES,
    "Timer, synchronisation, summary over ranks; timer fine enough",
)
def audit_clock(subject: AuditSubject) -> RuleOutcome:
    """The clock, its synchronisation and its resolution are stated and sufficient."""
    if subject.launches.is_empty():
        return rule_not_applicable("no launch completed")
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
        return unknown_without_fact("; ".join(gaps))
    # If the median is of a whole batch, its events are timed too: an event is the shorter sample.
    median, batch = pl.col("median_s"), pl.col("batch")
    sample = median / batch if subject.audit_facts.median_is_of_batch else median * batch
    largest = clock_points.select((pl.col(name) / sample).max() for name in CLOCK_COLUMNS)
    share, step = largest.row(0)
    detail = (
        f"reading the clock is at most {units.percent_text(share)} of a sample (limit "
        f"{units.percent_text(_MAX_READING_SHARE)}), its step {units.percent_text(step)} (limit "
        f"{units.percent_text(1 / _MIN_CLOCK_STEPS)}); {'; '.join(clauses.values())}"
    )
    passes = share < _MAX_READING_SHARE and step * _MIN_CLOCK_STEPS <= 1
    if unknown_count := len(points) - len(clock_points):
        passes = False
        detail += f"; unknown of {unknown_count} of {len(points)} points"
    astray = subject.launches.filter(timing_over_ranks="maximum", timing_synchronisation="none")
    if count := astray.height:
        passes = False
        detail += f"; {count} launches take the maximum of times without a common start"
    return rule_kept_or_broken(passes, detail)


@audit_rule(18, RuleScope.STUDY_LAUNCHES, "Single events are timed")
def audit_single_events(subject: AuditSubject) -> RuleOutcome:
    """Samples are times of single events, or of batches that say so."""
    if subject.launches.is_empty():
        return rule_not_applicable("no launch completed")
    batches = subject.points.filter(pl.col("batch") > 0)["batch"].to_list()
    if not batches:
        return unknown_without_fact("how many events a sample times")
    if count := sum(batch > 1 for batch in batches):
        points = f"{count} of {len(batches)} points"
        return rule_broken(f"{points} time several events as one, up to {max(batches)}")
    return rule_kept(f"all {len(batches)} points time single events")


def timing_clause(subject: AuditSubject, timing_fact: str) -> str:
    """A clause for readers on one entry of `timing` in run.json; "" if nothing is known."""
    words = _CLAUSES_BY_TIMING_FACT[timing_fact]
    column = subject.launches[f"timing_{timing_fact}"]
    clauses = [words[word] for word in words if (column == word).any()]
    if not clauses:
        return str(getattr(subject.audit_facts, timing_fact))
    silent_count = column.null_count()
    suffix = f", {units.plural(silent_count, 'launch')} not saying" if silent_count else ""
    return " or ".join(clauses) + suffix

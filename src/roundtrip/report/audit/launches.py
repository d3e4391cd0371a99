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
    silent = one.lost.filter(pl.col("reason").fill_null("") == "").height
    if one.lost.is_empty():
        return held(True, f"nothing is left out: all {one.launches.height} launches completed")
    counted = units.plural(one.lost.height, "launch", "launches")
    if silent:
        return held(False, f"{counted} did not complete, {silent} without a reason")
    return held(True, f"{counted} did not complete, each with a reason; {one.launches.height} did")


def recorded(one: Subject) -> Outcome:
    """Rule 9."""
    if one.launches.is_empty():
        return no_case("no launch completed")
    if not one.facts.made_with:
        return missing("what its programs are built with")
    wanted = one.facts.made_with
    recorded = one.launches.select(wanted)
    lacking = [name for name in wanted if recorded[name].fill_null("").eq("").any()]
    if not set(one.launches["launch"]) <= set(one.placed):
        lacking.append("binding")
    if not isinstance(one.environment.get("host.json"), dict):
        lacking.append("machine")
    if lacking:
        names = ", ".join(lacking).replace("_", " ")
        return held(False, f"not recorded for every launch: {names}")
    return held(True, f"recorded: machine, binding, {', '.join(wanted).replace('_', ' ')}")


def repetitions(one: Subject) -> Outcome:
    """Rule 13."""
    if one.launches.is_empty():
        return no_case("no launch completed")
    if one.is_simulated:
        return no_case("simulated: every launch gives the same values")
    needed = fewest_for_interval(one.analysis.statistics.confidence_level)
    fewest = min(one.launches.group_by("case_id").len()["len"].to_list())
    detail = f"at least {units.plural(fewest, 'launch', 'launches')} a case, of {needed} needed"
    stopped = Counter(one.points["status"])
    reached = stopped["converged"]
    if reached or stopped["budget"]:
        detail += (
            f"; {reached} of {stopped.total()} points reached their precision before the budget"
        )
    return held(fewest >= needed, detail)


def warm_up(one: Subject) -> Outcome:
    """Rule 14."""
    if one.launches.is_empty():
        return no_case("no launch completed")
    discarded = one.launches["warmup_discarded"]
    if discarded.null_count() == len(discarded):
        return missing("how much warm-up its launches discarded")
    if silent := discarded.null_count():
        return held(False, f"{silent} of {len(discarded)} launches do not say what they discarded")
    if none := int((discarded == 0).sum()):
        return held(False, f"{none} of {len(discarded)} launches discarded nothing")
    cache = clause(one, "cache")
    if not cache:
        return missing("the state of the caches before a sample")
    return held(True, f"{discarded.sum()} repetitions discarded; caches: {cache}")


def kept(one: Subject) -> Outcome:
    """Rule 15: rows that the workloads say they wrote against rows that are here."""
    if one.launches.is_empty():
        return no_case("no launch completed")
    taken = one.launches.select("launch", "taken").drop_nulls()
    if taken.is_empty():
        return missing("how many samples each launch took")
    here = one.samples.group_by("launch").agg(here=pl.len().cast(pl.Int64)).collect()
    both = taken.join(here, on="launch", how="left").with_columns(pl.col("here").fill_null(0))
    short = both.filter(pl.col("here") != pl.col("taken")).height
    unknown = one.launches.height - taken.height
    detail = f"{both['here'].sum()} samples of {taken.height} launches"
    if short:
        return held(False, f"{short} of {taken.height} launches took another number than are here")
    if unknown:
        return held(False, f"{detail}: all that were taken; {unknown} launches do not say how many")
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
    different = len(set(orders))
    detail = f"{units.plural(different, 'order')} of cases in {len(orders)} rounds"
    return held(different > 1, detail)


def tails(one: Subject) -> Outcome:
    """Rule 8."""
    known = one.facts.tails
    if known is None:
        return missing("of which values the slowest matter")
    if not known:
        return no_case(one.facts.no_tails or "measures no latency")
    shown = any(number.quantity.percentile == _PERCENTILE for number in one.numbers)
    found = []
    for tail in known:
        matches = [pl.col(name) == value for name, value in tail.where.items()]
        count = one.samples.filter(*matches).select(pl.len()).collect().item()
        if count:
            found.append((tail.what, count))
    if not found:
        return no_case(f"no sample of {', '.join(tail.what for tail in known)}")
    detail = ", ".join(f"{count} samples of {what}" for what, count in found)
    if not shown:
        return held(False, f"no table shows the 99th percentile; {detail}")
    enough = all(count >= _FOR_A_TAIL for _, count in found)
    return held(enough, f"99th percentile shown; {detail}, of {_FOR_A_TAIL} needed")


def clock(one: Subject) -> Outcome:
    """Rule 10."""
    if one.launches.is_empty():
        return no_case("no launch completed")
    facts = one.facts
    stated = {
        "whose clock is read": clause(one, "clock"),
        "how ranks are synchronised": clause(one, "synchronisation"),
        "how the times of ranks become one": clause(one, "over_ranks"),
    }
    unsaid = [what for what, words in stated.items() if not words]
    timed = one.points.filter(pl.col("batch") > 0, pl.col("median_s") > 0)
    known = timed.drop_nulls(CLOCK)
    if known.is_empty():
        unsaid.insert(0, "what a reading of the clock takes, its step, and how long a sample is")
    if unsaid:
        return missing("; ".join(unsaid))
    # Of a whole batch, each event is timed as well: that is the shorter time.
    whole, batch = pl.col("median_s"), pl.col("batch")
    sample = whole / batch if facts.median_is_whole else whole * batch
    share, step = known.select((pl.col(name) / sample).max() for name in CLOCK).row(0)
    unknown = len(timed) - len(known)
    detail = (
        f"reading the clock is at most {units.percent(share)} of a sample (limit "
        f"{units.percent(_OVERHEAD)}), its step {units.percent(step)} (limit "
        f"{units.percent(1 / _FINER)}); {'; '.join(stated.values())}"
    )
    detail += f"; unknown of {unknown} of {len(timed)} points" if unknown else ""
    astray = unsynchronised(one)
    if astray:
        detail += f"; {astray} launches take the maximum of times that no synchronisation began"
    return held(share < _OVERHEAD and step * _FINER <= 1 and not unknown and not astray, detail)


def single_events(one: Subject) -> Outcome:
    """Rule 18."""
    if one.launches.is_empty():
        return no_case("no launch completed")
    batches = one.points.filter(pl.col("batch") > 0)["batch"].to_list()
    if not batches:
        return missing("how many events a sample times")
    many = sum(batch > 1 for batch in batches)
    detail = f"{many} of {len(batches)} points time several events as one, up to {max(batches)}"
    return held(not many, detail if many else f"all {len(batches)} points time single events")


def clause(one: Subject, name: str) -> str:
    """For the reader, of an entry of `timing`; "" if neither launches nor section tell."""
    words = _CLAUSES[name]
    column = one.launches[f"timing_{name}"]
    found = [words[word] for word in words if (column == word).any()]
    if not found:
        declared = {"synchronisation": "synchronised"}.get(name, name)
        return str(getattr(one.facts, declared))
    silent = column.null_count()
    unsaid = f", {units.plural(silent, 'launch', 'launches')} not saying" if silent else ""
    return " or ".join(found) + unsaid


def unsynchronised(one: Subject) -> int:
    """Launches that take the slowest rank's time though no rank waits for the others."""
    lone = (pl.col("timing_over_ranks") == "maximum") & (pl.col("timing_synchronisation") == "none")
    return one.launches.filter(lone).height

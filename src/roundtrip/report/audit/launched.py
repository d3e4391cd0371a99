"""Rules 2, 9, 13, 14, 15 and 17: what launches say of themselves."""

from __future__ import annotations

import polars as pl

from roundtrip.report import units
from roundtrip.report.audit import said
from roundtrip.report.audit.outcome import Outcome, held, missing, no_case
from roundtrip.report.audit.subject import Subject

#: Fewest launches of a case of which a median has an interval at 95 %.
_FEWEST = 6
#: Of two cases in random order so many rounds are all alike once in 128.
_ROUNDS_FOR_ORDER = 8


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
    told = one.launches.select(wanted)
    lacking = [name for name in wanted if told[name].fill_null("").eq("").any()]
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
    fewest = min(one.launches.group_by("case_id").len()["len"].to_list())
    told = f"at least {units.plural(fewest, 'launch', 'launches')} a case, of {_FEWEST} needed"
    stopped = [point["status"] for point in one.points]
    if "converged" in stopped or "budget" in stopped:
        reached = stopped.count("converged")
        told += f"; {reached} of {len(stopped)} points reached their precision before the budget"
    return held(fewest >= _FEWEST, told)


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
    cache = said.clause(one, "cache")
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
    untold = one.launches.height - taken.height
    told = f"{both['here'].sum()} samples of {taken.height} launches"
    if short:
        return held(False, f"{short} of {taken.height} launches took another number than are here")
    if untold:
        return held(False, f"{told}: all that were taken; {untold} launches do not say")
    return held(True, f"{told}: as many as the programs wrote")


def order(one: Subject) -> Outcome:
    """Rule 17: the order of cases in the rounds of the campaign, by when they started."""
    rows = one.launches.drop_nulls(["campaign_round", "started"]).sort("started", "launch")
    if rows.is_empty():
        return missing("the campaign's round of each launch, and when it started")
    by_round = rows.group_by("campaign_round").agg("case_id").sort("campaign_round")
    orders = [tuple(cases) for cases in by_round["case_id"].to_list() if len(cases) > 1]
    if len(orders) < _ROUNDS_FOR_ORDER:
        told = units.plural(len(orders), "round")
        return no_case(f"{told} of several cases: an order needs {_ROUNDS_FOR_ORDER} to be judged")
    different = len(set(orders))
    told = f"{units.plural(different, 'order')} of cases in {len(orders)} rounds"
    return held(different > 1, told)

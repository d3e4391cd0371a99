"""Rules 5, 7, 19 and 20: claims, and the levels that they are held against."""

from __future__ import annotations

from collections import defaultdict

from roundtrip.report import units
from roundtrip.report.audit.outcome import Outcome, held, no_case
from roundtrip.report.audit.subject import Subject
from roundtrip.stats.significance import q_values
from roundtrip.stats.verdicts import Family, Judged, Verdict, decide

_DIRECTED = (Verdict.FASTER, Verdict.SLOWER)
_ROUNDING = 1e-12


def intervals(one: Subject) -> Outcome:
    """Rule 5."""
    told = one.claims.values()
    if not told:
        return no_case("claims no ratio")
    bare = sum(not judged.interval.exists for judged in told)
    if bare:
        return held(False, f"{bare} of {len(told)} ratios have too few launches: no interval")
    level = units.percent(one.analysis.statistics.confidence_level)
    fewest = min(judged.interval.n for judged in told)
    rest = f"an interval at {level}, over {fewest} launches or more"
    return held(True, f"{units.plural(len(told), 'ratio has', 'ratios have')} {rest}")


def directed(one: Subject) -> Outcome:
    """Rule 7: each verdict is taken again, from the interval and q that are printed beside it."""
    told = [judged for judged in one.claims.values() if judged.verdict in _DIRECTED]
    if not told:
        return no_case("calls nothing faster or slower")
    levels = one.analysis.statistics
    bare = sum(decide(each.interval, each.q, levels) is not each.verdict for each in told)
    if bare:
        return held(False, f"{bare} of {len(told)} verdicts do not follow from interval and q")
    return held(
        True,
        f"{units.plural(len(told), 'verdict')} taken again from interval, minimum effect and q",
    )


def discoveries(one: Subject) -> Outcome:
    """Rule 19: each family's q-values are computed again from its p-values."""
    if not one.claims:
        return no_case("nothing is claimed")
    families: dict[Family, list[Judged]] = defaultdict(list)
    for claim, each in one.claims.items():
        if each.interval.exists:
            families[claim.family].append(each)
    if not families:
        return no_case("no claim has an interval")
    off = sum(
        abs(each.q - q) > _ROUNDING
        for members in families.values()
        for each, q in zip(members, q_values([one.p for one in members]), strict=True)
    )
    told = ", ".join(f"{len(members)} {family}" for family, members in families.items())
    if off:
        return held(False, f"{off} q-values are not those of Benjamini-Hochberg ({told})")
    level = one.analysis.statistics.false_discovery_level
    return held(True, f"q-values of Benjamini-Hochberg, held against {level:g}: {told}")


def minimum_effect(one: Subject) -> Outcome:
    """Rule 20."""
    if not one.claims:
        return no_case("nothing is claimed")
    effect = one.analysis.statistics.minimum_effect
    if effect <= 0:
        return held(False, "the minimum effect is 0: any difference may be called one")
    value, where = one.printed.get(("statistics", "minimum_effect"), (None, ""))
    if value != effect:
        return held(False, "the minimum effect is not printed")
    return held(True, f"minimum effect {units.percent(effect)}, printed in {where}")

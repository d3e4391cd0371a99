"""Rules 3, 4 and 6: how numbers are formed of other numbers."""

from __future__ import annotations

from roundtrip.report.audit.outcome import Outcome, held, missing, no_case
from roundtrip.report.audit.subject import Subject
from roundtrip.stats.summaries import GEOMETRIC_MEAN, MEAN
from roundtrip.studies.facts import Pairing, Ratio


def costs_and_rates(one: Subject) -> Outcome:
    """Rule 3."""
    summaries = one.facts.summaries
    if not summaries:
        return missing("how each number is summarised")
    wrong = [summary for summary in summaries if not summary.suits]
    if wrong:
        return held(False, "; ".join(f"{each}, of a {each.kind}" for each in wrong))
    return held(True, "; ".join(map(str, summaries)))


def normal_theory(one: Subject) -> Outcome:
    """Rule 6."""
    summaries = one.facts.summaries
    if not summaries:
        return missing("which statistic stands behind each number")
    normal = [summary for summary in summaries if summary.statistic.is_normal]
    if not normal:
        names = ", ".join(dict.fromkeys(summary.statistic.name for summary in summaries))
        return held(True, f"none of normal theory: {names}")
    there = {column.name for table in one.tables for column in table.columns}
    bare = [str(summary) for summary in normal if summary.diagnostic not in there]
    if bare:
        return held(False, f"no diagnostic is shown of {'; '.join(bare)}")
    return held(True, "; ".join(f"{each}; beside it “{each.diagnostic}”" for each in normal))


def ratios(one: Subject) -> Outcome:
    """Rule 4: by what the section says of its ratios, and by how many each claim rests on."""
    known = one.facts.ratios
    if known is None:
        return missing("how each ratio is formed")
    if not known:
        if one.claims:
            return held(False, f"{len(one.claims)} ratios are claimed, how is not said")
        return no_case("forms no ratio")
    faults = [fault for ratio in known if (fault := _fault(ratio))]
    launches = one.launches.height
    over = [judged for judged in one.claims.values() if judged.interval.n > launches > 0]
    if over:
        faults.append(
            f"{len(over)} claims rest on more ratios than the {launches} launches: not formed "
            "of one value a launch"
        )
    if faults:
        return held(False, "; ".join(faults))
    return held(True, "; ".join(map(_told, known)))


def _fault(ratio: Ratio) -> str:
    if ratio.then is MEAN:
        return f"{ratio.what}: arithmetic mean of ratios"
    if ratio.then is GEOMETRIC_MEAN and not ratio.costs_lost:
        return f"{ratio.what}: geometric mean, and not said why the costs are lost"
    return ""


def _told(ratio: Ratio) -> str:
    then = f", then the {ratio.then.name}" if ratio.then else ""
    lost = f" ({ratio.costs_lost})" if ratio.costs_lost else ""
    paired = "" if ratio.paired is Pairing.APART else "paired "
    where = f"{paired}{ratio.paired}"
    return (
        f"{ratio.what}: of the {ratio.of.statistic.name} over {ratio.of.over}, {where}{then}{lost}"
    )

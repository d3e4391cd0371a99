"""Rules 3 to 7, 19 and 20: how numbers are formed, and what is claimed of them."""

from __future__ import annotations

from collections import defaultdict

from roundtrip.report import units
from roundtrip.report.audit.subject import Outcome, Subject, held, missing, no_case
from roundtrip.report.blocks import Gallery, Items, Paragraph, Table, Text
from roundtrip.report.units import Level
from roundtrip.stats.summaries import GEOMETRIC_MEAN, MEAN
from roundtrip.stats.verdicts import ClaimVerdict, Family, Verdict, decide, q_values
from roundtrip.studies.derivation import Pairing, Ratio

_DIRECTED = (Verdict.FASTER, Verdict.SLOWER)
_ROUNDING = 1e-12


def costs_and_rates(one: Subject) -> Outcome:
    """Rule 3."""
    summaries = one.facts.summaries
    if not summaries:
        return missing("how each number is summarised")
    wrong = [summary for summary in summaries if not summary.suits]
    if wrong:
        return held(False, "; ".join(f"{each}, of a {each.kind}" for each in wrong))
    return held(True, "; ".join(map(str, summaries)))


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
    return held(True, "; ".join(map(_described, known)))


def _fault(ratio: Ratio) -> str:
    if ratio.then is MEAN:
        return f"{ratio.what}: arithmetic mean of ratios"
    if ratio.then is GEOMETRIC_MEAN and not ratio.costs_lost:
        return f"{ratio.what}: geometric mean, and not said why the costs are lost"
    return ""


def _described(ratio: Ratio) -> str:
    then = f", then the {ratio.then.name}" if ratio.then else ""
    lost = f" ({ratio.costs_lost})" if ratio.costs_lost else ""
    paired = "" if ratio.paired is Pairing.APART else "paired "
    where = f"{paired}{ratio.paired}"
    return (
        f"{ratio.what}: of the {ratio.of.statistic.name} over {ratio.of.over}, {where}{then}{lost}"
    )


def intervals(one: Subject) -> Outcome:
    """Rule 5: of the claims, and of every interval that the section prints or draws."""
    claimed = one.claims.values()
    if not claimed:
        return no_case("claims no ratio")
    bare = sum(not judged.interval.exists for judged in claimed)
    if bare:
        return held(False, f"{bare} of {len(claimed)} ratios have too few launches: no interval")
    level = one.analysis.statistics.confidence_level
    shown = {number.quantity.level for number in one.numbers} - {None}
    named = set(_levels(one))
    if others := (shown | named) - {level}:
        which = ", ".join(units.percent(other) for other in sorted(filter(None, others)))
        return held(False, f"intervals at {which}, where {units.percent(level)} is asked for")
    if shown and not named:
        return held(False, f"no text says that its intervals are at {units.percent(level)}")
    fewest = min(judged.interval.n for judged in claimed)
    rest = f"an interval at {units.percent(level)}, over {fewest} launches or more"
    return held(True, f"{units.plural(len(claimed), 'ratio has', 'ratios have')} {rest}")


def _levels(one: Subject) -> list[float]:
    """Every confidence level that its texts name."""
    texts: list[Text] = []
    for block in one.blocks:
        if isinstance(block, Table):
            texts.append(block.words if isinstance(block.words, tuple) else ())
        elif isinstance(block, Items):
            texts += block.items
        elif isinstance(block, Gallery):
            texts.append(block.caption)
        elif isinstance(block, Paragraph):
            texts.append(block.text)
    return [float(part) for text in texts for part in text if isinstance(part, Level)]


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


def directed(one: Subject) -> Outcome:
    """Rule 7: each verdict is taken again, from the interval and q that are printed beside it."""
    levels, every = one.analysis.statistics, one.claims.values()
    off = sum(decide(each.interval, each.q, levels) is not each.verdict for each in every)
    if off:
        return held(False, f"{off} of {len(every)} verdicts do not follow from interval and q")
    claimed = [judged for judged in every if judged.verdict in _DIRECTED]
    if not claimed:
        return no_case("calls nothing faster or slower")
    return held(
        True,
        f"{units.plural(len(claimed), 'verdict')} taken again from interval, minimum effect and q",
    )


def discoveries(one: Subject) -> Outcome:
    """Rule 19: each family's q-values are computed again from its p-values."""
    if not one.claims:
        return no_case("nothing is claimed")
    families: dict[Family, list[ClaimVerdict]] = defaultdict(list)
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
    counted = ", ".join(f"{len(members)} {family}" for family, members in families.items())
    if off:
        return held(False, f"{off} q-values are not those of Benjamini-Hochberg ({counted})")
    level = one.analysis.statistics.false_discovery_level
    return held(True, f"q-values of Benjamini-Hochberg, held against {level:g}: {counted}")


def minimum_effect(one: Subject) -> Outcome:
    """Rule 20."""
    if not one.claims:
        return no_case("nothing is claimed")
    effect = one.analysis.statistics.minimum_effect
    if effect <= 0:
        return held(False, "the minimum effect is 0: any difference may be called one")
    if not (where := one.printed.get(one.analysis.text)):
        return held(False, "the minimum effect is not printed")
    return held(True, f"minimum effect {units.percent(effect)}, printed in {where}")

"""Tests the study's four findings with our numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from roundtrip.report.blocks import Tone
from roundtrip.stats.levels import Levels
from roundtrip.stats.verdicts import Family, Judged, Verdict
from roundtrip.studies import finding, paired
from roundtrip.studies.finding import Comparison
from roundtrip.studies.netpipe import derived, planned
from roundtrip.studies.netpipe.curves import Curves, Panel
from roundtrip.studies.netpipe.published import STATEMENTS, Statement
from roundtrip.studies.netpipe.thresholds import Thresholds

AGREES, DIFFERS, UNKNOWN = "agrees", "differs", "cannot tell"
#: It differs from the study only in that less is lost.
BETTER = "differs, for the better"
#: Good news is not red.
_TONES: dict[str, Tone] = {AGREES: "good", DIFFERS: "bad", BETTER: "good", UNKNOWN: "warn"}
Finding = finding.Finding[Statement, Panel]


def comparison(panel: tuple[str, ...], variant: str, base: str, size: int) -> Comparison:
    """Bandwidth of `variant` over `base` in the panel of that key."""
    primary = planned.is_primary(panel[1], variant, base)
    family = Family.PRIMARY if primary else Family.SECONDARY
    return Comparison(derived.STUDY, panel, variant, base, size, family=family)


def claims(curves: Curves, settings: Thresholds) -> dict[Comparison, Sequence[float]]:
    """The ratios behind every comparison of the report, one for each launch."""
    found: dict[Comparison, Sequence[float]] = {}
    sizes = pl.col("size_bytes").is_in(list(settings.compared_sizes))
    medians = curves.values.filter(sizes)
    for base, variants in ((derived.BASE, derived.COMPARED), ("mpi-datatype", ("boost-datatype",))):
        ratios = paired.ratios(medians, ["launch", "case_id"], base)
        ratios = ratios.filter(pl.col("variant").is_in(list(variants)))
        keys = ["case_id", "case", "variant", "size_bytes"]
        for row in ratios.group_by(keys).agg("ratio").sort(keys).iter_rows(named=True):
            panel = (row["case_id"], row["case"])
            found[comparison(panel, row["variant"], base, row["size_bytes"])] = row["ratio"]
    return found


def findings(
    panel: Panel, judged: Mapping[Comparison, Judged], settings: Thresholds, levels: Levels
) -> list[Finding]:
    """The four findings of one panel."""
    return [_finding(statement, panel, judged, settings, levels) for statement in STATEMENTS]


def _finding(
    statement: Statement,
    panel: Panel,
    judged: Mapping[Comparison, Judged],
    settings: Thresholds,
    levels: Levels,
) -> Finding:
    sizes = tuple(
        size
        for size in settings.compared_sizes
        if statement.expects == "on par" or size >= settings.many_bytes
    )
    pair = statement.variant, statement.base
    keys = {size: comparison(panel.key, *pair, size) for size in sizes}
    evidence = finding.evidence(judged, keys)
    outcome = _outcome(statement.expects, [one for _, one in evidence], settings, levels)
    return Finding(
        statement=statement,
        panel=panel,
        outcome=outcome,
        settled=_TONES[outcome],
        everywhere=outcome == AGREES,
        evidence=evidence,
        compared=sizes,
    )


def _outcome(expects: str, evidence: Sequence[Judged], settings: Thresholds, levels: Levels) -> str:
    """ "agrees" if every size shows it, "differs" if one size shows the contrary."""
    if not evidence:
        return UNKNOWN
    verdicts = [one.verdict for one in evidence]
    if expects == "on par":
        agrees = all(verdict is Verdict.ON_PAR for verdict in verdicts)
        differs = any(verdict in (Verdict.FASTER, Verdict.SLOWER) for verdict in verdicts)
    elif expects == "slower":
        agrees = all(verdict is Verdict.SLOWER for verdict in verdicts)
        differs = any(verdict in (Verdict.FASTER, Verdict.ON_PAR) for verdict in verdicts)
    else:
        bound = settings.great_loss
        agrees = all(
            one.interval.within(0, bound) and one.q < levels.false_discovery_level
            for one in evidence
        )
        differs = any(one.interval.low is not None and one.interval.low > bound for one in evidence)
    if agrees or not differs:
        return AGREES if agrees else UNKNOWN
    return DIFFERS if expects == "on par" and Verdict.SLOWER in verdicts else BETTER

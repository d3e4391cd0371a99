"""The study's four findings, put to the test with our numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from roundtrip.report.blocks import Tone
from roundtrip.report.evidence import where_measured
from roundtrip.stats.levels import Levels
from roundtrip.stats.verdicts import Family, Judged, Verdict
from roundtrip.studies.netpipe import derived, planned
from roundtrip.studies.netpipe.curves import Curves, Panel
from roundtrip.studies.netpipe.published import STATEMENTS, Statement
from roundtrip.studies.netpipe.thresholds import Thresholds

#: What the study says of datatypes and of serializing is about many bytes, not about one.
_MANY_BYTES = 1024


@dataclass(frozen=True)
class Comparison:
    """`variant` against `base` at `size_bytes`, in one panel: a claim of the report."""

    panel: tuple[str, str]
    variant: str
    base: str
    size_bytes: int

    @property
    def family(self) -> Family:
        """What it is corrected together with."""
        primary = planned.is_primary(self.panel[1], self.variant, self.base)
        return Family.PRIMARY if primary else Family.SECONDARY


@dataclass(frozen=True)
class Finding:
    """What we say to one statement of the study: agrees, differs or cannot tell.

    `not_measured` are the compared sizes that no launch reached.
    """

    statement: Statement
    panel: Panel
    outcome: str
    evidence: tuple[tuple[int, Judged], ...]
    not_measured: tuple[int, ...]

    @property
    def ratios(self) -> list[float]:
        """Medians of the ratio at the compared sizes."""
        return [judged.interval.median for _, judged in self.evidence]

    @property
    def where(self) -> str:
        """Which compared sizes were measured; nothing if all were."""
        sizes = [size for size, _ in self.evidence]
        return where_measured(sizes, (*sizes, *self.not_measured))

    @property
    def is_better(self) -> bool:
        """Whether it differs from the study only in that less is lost."""
        worse = self.statement.expects == "on par" and any(
            judged.verdict is Verdict.SLOWER for _, judged in self.evidence
        )
        return self.outcome == "differs" and not worse

    @property
    def told(self) -> str:
        """The outcome, with what limits it."""
        if self.outcome == "agrees":
            return f"agrees{self.where}"
        return "differs, for the better" if self.is_better else self.outcome

    @property
    def tone(self) -> Tone:
        """Good news is not red, and what was not measured everywhere is not green."""
        if self.outcome == "agrees":
            return "warn" if self.where else "good"
        if self.outcome == "differs":
            return "good" if self.is_better else "bad"
        return "warn"


def claims(curves: Curves, settings: Thresholds) -> dict[Comparison, Sequence[float]]:
    """The ratios, one a launch, behind every comparison of the report."""
    found: dict[Comparison, Sequence[float]] = {}
    sizes = pl.col("size_bytes").is_in(list(settings.compared_sizes))
    medians = curves.medians.filter(sizes)
    for base, variants in ((derived.BASE, derived.COMPARED), ("mpi-datatype", ("boost-datatype",))):
        ratios = derived.ratios(medians, ["launch", "case_id"], base)
        ratios = ratios.filter(pl.col("variant").is_in(list(variants)))
        keys = ["case_id", "case", "variant", "size_bytes"]
        for row in ratios.group_by(keys).agg("ratio").sort(keys).iter_rows(named=True):
            panel = (row["case_id"], row["case"])
            comparison = Comparison(panel, row["variant"], base, row["size_bytes"])
            found[comparison] = row["ratio"]
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
    evidence, lacking = [], []
    for size in settings.compared_sizes:
        if statement.expects != "on par" and size < _MANY_BYTES:
            continue
        key = Comparison(panel.key, statement.variant, statement.base, size)
        if key in judged:
            evidence.append((size, judged[key]))
        else:
            lacking.append(size)
    outcome = _outcome(statement.expects, [one for _, one in evidence], settings, levels)
    return Finding(statement, panel, outcome, tuple(evidence), tuple(lacking))


def _outcome(expects: str, evidence: Sequence[Judged], settings: Thresholds, levels: Levels) -> str:
    """ "agrees" if every size shows it, "differs" if one size shows the contrary."""
    if not evidence:
        return "cannot tell"
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
    return "agrees" if agrees else "differs" if differs else "cannot tell"

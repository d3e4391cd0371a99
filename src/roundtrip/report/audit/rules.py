"""The 21 rules, and what each of them is held against.

1-12 are the rules of T. Hoefler and R. Belli, Scientific Benchmarking of Parallel Computing
Systems, SC 2015; 13-18 come from its text; 19-21 are ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from roundtrip.report.audit import claimed, drawings, formed, laid_out, launched, printed, timed
from roundtrip.report.audit.outcome import Outcome
from roundtrip.report.audit.subject import Subject


class Of(StrEnum):
    """What a rule is about."""

    LAUNCHES = "the launches of a study"
    CLAIMS = "a section that claims"
    PAGES = "a section of the report"
    CAMPAIGN = "the campaign as a whole"


@dataclass(frozen=True)
class Rule:
    """What it `says`; `check` holds one subject against it."""

    says: str
    of: Of
    check: Callable[[Subject], Outcome]


RULES = (
    Rule("A ratio names its base and shows the base's value", Of.PAGES, laid_out.bases),
    Rule("Everything left out is listed with a reason", Of.LAUNCHES, launched.left_out),
    Rule(
        "Costs by arithmetic mean, rates by harmonic mean or total work over total time",
        Of.PAGES,
        formed.costs_and_rates,
    ),
    Rule("Ratios are formed after summarising", Of.CLAIMS, formed.ratios),
    Rule("Nondeterministic values have an interval, its level and n", Of.CLAIMS, claimed.intervals),
    Rule("No normal-theory statistic without a diagnostic", Of.PAGES, formed.normal_theory),
    Rule("Faster and slower rest on a test and an effect size", Of.CLAIMS, claimed.directed),
    Rule("Tail percentiles where latency matters", Of.LAUNCHES, timed.tails),
    Rule("All factors and the setup are recorded", Of.LAUNCHES, launched.recorded),
    Rule("Timer, synchronisation, summary over ranks; timer fine enough", Of.LAUNCHES, timed.clock),
    Rule("Upper bounds are drawn where they exist", Of.PAGES, drawings.bounds),
    Rule("Spread on plots; lines only where interpolation is valid", Of.PAGES, drawings.spreads),
    Rule("Repetitions until a target precision; more than 5", Of.LAUNCHES, launched.repetitions),
    Rule("Warm-up excluded and said so; cache state said", Of.LAUNCHES, launched.warm_up),
    Rule("Outliers kept, or their removal told", Of.LAUNCHES, launched.kept),
    Rule("Units are unambiguous", Of.PAGES, laid_out.units_told),
    Rule("Uncontrolled factors are randomised", Of.CAMPAIGN, launched.order),
    Rule("Single events are timed", Of.LAUNCHES, timed.single_events),
    Rule("False discoveries controlled over the whole report", Of.CAMPAIGN, claimed.discoveries),
    Rule("Minimum effect stated beside significance", Of.CAMPAIGN, claimed.minimum_effect),
    Rule("Every threshold printed", Of.PAGES, printed.thresholds),
)

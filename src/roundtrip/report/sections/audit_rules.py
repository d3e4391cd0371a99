"""The 21 rules of the self-audit, and those that nothing in a bundle tells.

C1-C12 are the rules of T. Hoefler and R. Belli, Scientific Benchmarking of Parallel Computing
Systems, SC 2015; C13-C18 come from its text; C19-C21 are ours.
"""

from __future__ import annotations

RULES = (
    "A ratio names its base and shows the base's value",
    "Everything left out is listed with a reason",
    "Costs by arithmetic, rates by harmonic mean or total work over total time",
    "Ratios are formed after summarising",
    "Nondeterministic values have an interval, its level and n",
    "No normal-theory statistic without a diagnostic",
    "Faster and slower rest on a test and an effect size",
    "Tail percentiles where latency matters",
    "All factors and the setup are recorded",
    "Timer, synchronisation, summary over ranks; timer fine enough",
    "Upper bounds are drawn where they exist",
    "Spread on plots; lines only where interpolation is valid",
    "Repetitions until a target precision; more than 5",
    "Warm-up excluded and said so; cache state said",
    "Outliers kept, or their removal told",
    "Units are unambiguous",
    "Uncontrolled factors are randomised",
    "Single events are timed",
    "False discoveries controlled over the whole report",
    "Minimum effect stated beside significance",
    "Every threshold printed",
)
#: Rules of which nothing in a bundle tells, by number: what would have to be known.
UNCHECKED = {
    1: "which rows of each table are a base, and that its value stands in them",
    3: "how each summary in the tables was formed: today by medians of times, by convention",
    4: "how each ratio in the tables was formed: today within a launch or a round, by convention",
    6: "which statistic stands behind each number: today medians and ranks, by convention",
    11: "the rate of the link or of a memory copy, to draw it as a bound",
    12: "what each figure draws as its spread, and between which points it draws a line",
    15: "how many samples each workload took, to compare with those that are here",
    16: "the unit of each column and axis",
    21: "which thresholds are printed: analysis.toml is meant to be, word for word",
}

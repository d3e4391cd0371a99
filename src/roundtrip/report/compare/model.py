"""A comparison: rows, facts, cases without a partner, and the texts that all its forms share."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from roundtrip import units
from roundtrip.content.blocks import Cell, Column, StatusColour
from roundtrip.report.compare.side import Fact, Pair, Side, SideCase
from roundtrip.report.speeds import SpeedPoint
from roundtrip.stats.sequential import MAX_FORECAST_ROUNDS
from roundtrip.stats.settings import Levels
from roundtrip.stats.summaries import Interval
from roundtrip.stats.verdicts import ClaimVerdict, Family, Verdict
from roundtrip.studies.findings import describe_undecided
from roundtrip.units import Quantity


class Status(StrEnum):
    """The outcome of a series, for the new side; `junit_element`: what its JUnit case contains."""

    colour: StatusColour
    junit_element: str

    REGRESSED = "regressed", "bad", "failure"
    IMPROVED = "improved", "good", "system-out"
    ON_PAR = "on par", "plain", "system-out"
    OPEN = "open", "plain", "skipped"
    NO_CLAIM = "no claim", "plain", "skipped"

    def __new__(cls, word: str, colour: StatusColour, junit_element: str) -> Status:
        status = str.__new__(cls, word)
        status._value_, status.colour, status.junit_element = word, colour, junit_element
        return status


_STATUS = {
    Verdict.SLOWER: Status.REGRESSED,
    Verdict.FASTER: Status.IMPROVED,
    Verdict.ON_PAR: Status.ON_PAR,
    Verdict.CANNOT_TELL: Status.OPEN,
}


@dataclass(frozen=True)
class Series:
    """The identity of a value that both sides have: the claim to test."""

    base: SideCase
    new: SideCase
    point: SpeedPoint

    @property
    def family(self) -> Family:
        """All claims of a comparison are corrected together."""
        return Family.TOOLCHAINS

    @property
    def study(self) -> str:
        return self.base.study

    def __hash__(self) -> int:
        return hash((self.base.label, self.new.label, self.point))


@dataclass(frozen=True)
class Row:
    """A series: the median of each side in the unit of its point, and the ratio of speeds.

    `ratio`: new side over base; above 1 the new side is faster.  `verdict`: None without a claim,
    for the reason `why`; each of its ratios is of `rounds_per_ratio` rounds.  `ratios_missing`:
    forecast of the ratios that an open claim of a sequential run still needs; above
    `sequential.MAX_FORECAST_ROUNDS` if so many are not enough; None if the claim is not open or has
    too few rounds for a forecast.
    """

    series: Series
    base: Interval
    new: Interval
    ratio: float
    verdict: ClaimVerdict | None = None
    why: str = ""
    ratios_missing: int | None = None
    rounds_per_ratio: int = 1

    @property
    def status(self) -> Status:
        return _STATUS[self.verdict.verdict] if self.verdict else Status.NO_CLAIM

    @property
    def quantities(self) -> tuple[Quantity, Quantity]:
        point = self.series.point
        base, new = (
            replace(
                Quantity.from_interval(interval, point.unit, prints_unit=True),
                emulation_label=case.kind,
                lower_is_better=point.lower_is_better,
            )
            for interval, case in ((self.base, self.series.base), (self.new, self.series.new))
        )
        return base, new

    @property
    def ratio_quantity(self) -> Quantity:
        """The ratio of speeds; without a claim it has no interval."""
        quantity = Quantity(value=self.ratio, unit=units.Unit.RATIO)
        if self.verdict:
            quantity = Quantity.from_claim(self.verdict.interval)
        return replace(quantity, emulation_label=self.series.new.kind, lower_is_better=False)


@dataclass(frozen=True)
class Comparison:
    """A comparison of two sides: the rows with claims by evidence, then ratios without one by size.

    `removed`, `added`: cases of one side.  `advice`: what would allow claims; "" if all have one.
    """

    base: Side
    new: Side
    facts: tuple[Fact, ...]
    rows: tuple[Row, ...]
    removed: tuple[SideCase, ...]
    added: tuple[SideCase, ...]
    refusals: tuple[str, ...]
    levels: Levels
    is_sequential: bool = False
    advice: str = ""

    @property
    def counts(self) -> Mapping[Status, int]:
        return Counter(row.status for row in self.rows)

    @property
    def lost(self) -> tuple[SideCase, ...]:
        """Cases of one run that fail: the new side completed none of their launches.

        A sequential run launches each case on both sides, so that those fail which the base lacks.
        """
        if self.base.data.manifest.digest != self.new.data.manifest.digest:
            return ()
        return self.removed + (self.added if self.is_sequential else ())

    @property
    def exit_status(self) -> int:
        """0 if a series improved or is on par, none regressed, and no case is lost; else 1."""
        is_worse = self.counts[Status.REGRESSED] or self.lost
        is_decided = self.counts[Status.IMPROVED] or self.counts[Status.ON_PAR]
        return int(bool(is_worse or not is_decided))


COLUMNS = (
    Column("Series"),
    Column("Case"),
    *(Column(name, "right") for name in ("Base", "New", "New / base", "q", "n")),
    Column("Outcome"),
)


def summary(comparison: Comparison) -> str:
    """One line: both sides, the number of series of each status, and of the cases that are lost."""
    base, new, counts = comparison.base, comparison.new, comparison.counts
    sides = f"{new.run}, {new.choice} against {base.run}, {base.choice}"
    if base.run == new.run:
        sides = f"{new.choice} against {base.choice}, {new.run}"
    if not comparison.rows:
        return f"{sides}: nothing is comparable: no case completed on both sides"
    outcomes = ", ".join(f"{counts[status]} {status}" for status in Status if counts[status])
    count_text = units.plural(len(comparison.rows), "series", "series")
    line = f"{sides}: {count_text} compared: {outcomes}"
    if comparison.lost:
        line += f"; {units.plural(len(comparison.lost), 'case')} of one side alone"
    return line


def describe_side(side: Side, all_facts: bool = False) -> str:
    """The run and the choice of a side; `all_facts` adds how the user named it, and its bundle."""
    if not all_facts:
        return f"{side.run}, {side.choice}"
    digest = side.data.manifest.digest[:16]
    return f"{side.run}, {side.choice}, {side.night}, bundle {digest}: {side.name}"


def describe_series(row: Row) -> str:
    """The compared value, with its size if it has one."""
    point = row.series.point
    size = "" if point.size_bytes is None else f", {units.size_text(point.size_bytes)}"
    return f"{point.what}{size}"


def describe_case(row: Row) -> str:
    """Check, parameters, place and toolchain; if the sides differ, of both, the new one first."""
    base, new = row.series.base, row.series.new
    places = dict.fromkeys(f"{case.site}:{case.partition}" for case in (new, base))
    kind = f", {base.kind}" if base.kind else ""
    toolchains = dict.fromkeys(case.toolchain for case in (new, base))
    return f"{base.name}, on {' against '.join(places)}{kind}, {' against '.join(toolchains)}"


def describe_outcome(row: Row) -> str:
    """The status, with the faster toolchain or, if the claim is open, what is missing."""
    if row.verdict is None:
        return str(row.status)
    if row.status in (Status.REGRESSED, Status.IMPROVED):
        base, new = row.series.base.toolchain, row.series.new.toolchain
        faster = new if row.status is Status.IMPROVED else base
        return str(row.status) if base == new else f"{row.status}: {faster} is faster"
    return f"{row.status}: {doubt}" if (doubt := describe_doubt(row)) else str(row.status)


def describe_doubt(row: Row) -> str:
    """The range of an open claim and the launches that it lacks; "" of any other series."""
    if row.verdict is None or row.status is not Status.OPEN:
        return ""
    if row.ratios_missing is not None:
        missing = f": {describe_missing_rounds(row)}"
        return describe_undecided([row.verdict], launches_clause=missing)
    if row.verdict.interval.exists:
        return describe_undecided([row.verdict])
    return row.verdict.words.partition(": ")[2]


def describe_missing_rounds(row: Row) -> str:
    """A forecast of the rounds, each a launch of both sides, that an open claim still needs."""
    if row.ratios_missing is None:
        return "too few rounds to say how many more"
    if row.ratios_missing > MAX_FORECAST_ROUNDS:
        return f"more than {row.rounds_per_ratio * MAX_FORECAST_ROUNDS} more rounds"
    more = row.rounds_per_ratio * row.ratios_missing
    launches = units.plural(2 * more, "launch", "launches")
    return f"about {units.plural(more, 'more round')}, {launches}"


def cells(row: Row) -> tuple[Cell, ...]:
    """A row of a table with `COLUMNS`; without a claim, n counts the launches of each side."""
    verdict = row.verdict
    rounds = verdict and units.plural(row.rounds_per_ratio * verdict.interval.n, "round")
    return (
        Cell(describe_series(row)),
        Cell(describe_case(row)),
        *(Cell(quantity.without_interval) for quantity in row.quantities),
        Cell(row.ratio_quantity),
        Cell(units.pure_number(verdict.q, 2) if verdict else units.NO_VALUE),
        Cell(rounds or f"{row.base.n}, {row.new.n}"),
        Cell(describe_outcome(row), row.status.colour),
    )


def facts_to_show(comparison: Comparison, all_facts: bool) -> list[Fact]:
    """The facts that differ, or all facts."""
    return [fact for fact in comparison.facts if all_facts or fact.differs]


def unmatched_cases(comparison: Comparison) -> Iterator[str]:
    """A line for each case without a partner."""
    for title, cases in (("Removed", comparison.removed), ("Added", comparison.added)):
        for case in cases:
            yield f"{title}: {case.label}"


def notes(comparison: Comparison) -> Iterator[str]:
    """Sentences below the table: why there is no claim, what would allow it, what was left out."""
    for why in dict.fromkeys(row.why for row in comparison.rows if row.verdict is None):
        yield f"No claim: {why}."
    if comparison.advice:
        yield f"{comparison.advice[0].upper()}{comparison.advice[1:]}"
    for refusal in comparison.refusals:
        yield f"Not compared: {refusal}."
    if comparison.is_sequential:
        yield "Sequential: intervals and q are valid at whatever round the run stopped."
    if any(row.rounds_per_ratio > 1 for row in comparison.rows):
        yield "ABBA: one coin toss orders two rounds, so the mean of their ratios is one value."
    if comparison.lost:
        yield "A case of one side alone counts as failed: the other side completed no launch of it."
    effect = units.percent_text(comparison.levels.minimum_effect)
    yield (
        "Ratios are of speeds, new over base: below 1 the new side is slower. Regressed: the "
        f"interval excludes 1, its median is at least {effect} slower, and q is below "
        f"{comparison.levels.false_discovery_level:g} over all series."
    )


def reason_without_claim(base: Side, new: Side, base_case: SideCase, new_case: SideCase) -> str:
    """One sentence: why there is no claim on two cases of different runs or simulated ones."""
    if base_case.simulated:
        return "simulated, which gives the same values each time: nothing is tested"
    if base_case.site != new_case.site:
        sites = f"{base_case.site} and {new_case.site}"
        return f"measured on different sites, {sites}: machines differ too"
    times = "in different runs" if base.night[:10] == new.night[:10] else "on different nights"
    return f"measured {times}: a machine drifts by more than most builds differ"


def advise(pairs: Sequence[Pair]) -> str:
    """The command that measures both sides interleaved; a sentence if no single command can."""
    if pairs and all(case.simulated for pair in pairs for case in pair):
        return "simulated values have no noise: each difference is real"
    sites = {case.site for pair in pairs for case in pair}
    if len(sites) > 1:
        return "two sites are never interleaved: compare each with its own past"
    names = {(base.toolchain, new.toolchain) for base, new in pairs}
    if all(base == new for base, new in names):
        return (
            "one toolchain on two nights cannot be interleaved: keep the old build under its own "
            "name and measure both by `roundtrip ab OLD NEW`"
        )
    if len(names) > 1:
        return "to measure two interleaved: roundtrip ab TOOLCHAIN TOOLCHAIN"
    checks = dict.fromkeys(_check_selector(base) for base, _ in pairs)
    options = [word for check in checks for word in ("--checks", check)]
    line = shlex.join(["roundtrip", "ab", *names.pop(), *options, "--site", *sites])
    return f"to measure both interleaved: {line}"


def _check_selector(case: SideCase) -> str:
    parameters = [item.replace(" ", "=", 1) for item in case.parameters.split(", ") if item]
    return f"{case.check}:{','.join(parameters)}" if parameters else case.check

"""The words and numbers that every form of a comparison shows."""

from __future__ import annotations

from collections.abc import Iterator

from roundtrip.compare.model import Comparison, Row, Status
from roundtrip.compare.provenance import Fact
from roundtrip.compare.side import Side
from roundtrip.report import units
from roundtrip.stats.foresight import FARTHEST

HEADS = ("Series", "Case", "Base", "New", "New / base", "q", "n", "Outcome")
_COUNTED = (
    Status.REGRESSED,
    Status.IMPROVED,
    Status.ON_PAR,
    Status.CANNOT_TELL,
    Status.NO_CLAIM,
)


def printable(text: str) -> str:
    """One line without characters that a terminal, XML or an encoding would not take."""
    plain = text.translate(units.PLAIN_SPACES)
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in plain)


def summary(comparison: Comparison) -> str:
    """One line: how many series came to what."""
    counts = comparison.counts
    told = ", ".join(f"{counts[one]} {one}" for one in _COUNTED if counts[one])
    total = units.plural(len(comparison.rows), "series", "series")
    if not comparison.rows:
        return "nothing is comparable: no case completed on both sides"
    return f"{total} compared: {told}"


def side(one: Side) -> str:
    """A side with its campaign, site, night and bundle."""
    facts = one.data.manifest
    told = f"{facts.data['campaign']} on {facts.data['site']}, {one.night}"
    return f"{one.name} ({told}, bundle {facts.digest[:16]})"


def series(row: Row) -> str:
    """What was compared: the value and its case."""
    point = row.series.point
    size = "" if point.size_bytes is None else f", {units.size(point.size_bytes)}"
    return f"{point.what}{size}"


def case(row: Row) -> str:
    """Check, parameters, place and toolchain; of both sides, the new one first, if they differ."""
    base, new = row.series.base, row.series.new
    told = f"{base.check}, {base.parameters}" if base.parameters else base.check
    places = dict.fromkeys(f"{unit.site}:{unit.partition}" for unit in (new, base))
    kind = f", {base.kind}" if base.kind else ""
    toolchains = dict.fromkeys(unit.toolchain for unit in (new, base))
    return f"{told}, on {' against '.join(places)}{kind}, {' against '.join(toolchains)}"


def ratio(row: Row) -> str:
    """The ratio of speeds with its interval; without a claim no interval."""
    if row.judged is None:
        return units.number(row.ratio)
    return units.interval(row.judged.interval)


def launches(row: Row) -> str:
    """How many rounds a claim rests on, or how many launches each side has."""
    if row.judged is None:
        return f"{row.base.n}, {row.new.n}"
    return units.plural(row.each * row.judged.interval.n, "round")


def outcome(row: Row) -> str:
    """The status, who is faster, and what lacks where it is open."""
    if row.judged is None:
        return str(row.status)
    if row.status in (Status.REGRESSED, Status.IMPROVED):
        base, new = row.series.base.toolchain, row.series.new.toolchain
        faster = new if row.status is Status.IMPROVED else base
        return str(row.status) if base == new else f"{row.status}: {faster} is faster"
    if row.more is not None:
        return f"{row.status}: {lacks(row)}"
    return str(row.status) if row.judged.would_do is None else row.judged.words


def lacks(row: Row) -> str:
    """How many more rounds, each of a launch of both sides, an open claim needs; a forecast."""
    if row.more is None:
        return "too few rounds to say how many more"
    if row.more > FARTHEST:
        return f"more than {row.each * FARTHEST} more rounds"
    more = row.each * row.more
    launches = units.plural(2 * more, "launch", "launches")
    return f"about {units.plural(more, 'more round')}, {launches}"


def cells(row: Row) -> tuple[str, ...]:
    """A row of a table with the columns `HEADS`."""
    unit = row.series.point.unit
    return (
        series(row),
        case(row),
        f"{units.number(row.base.median)} {unit}",
        f"{units.number(row.new.median)} {unit}",
        ratio(row),
        units.number(row.judged.q, 2) if row.judged else units.NOTHING,
        launches(row),
        outcome(row),
    )


def shown(comparison: Comparison, everything: bool) -> list[Fact]:
    """The facts to show: those that differ, or all."""
    return [fact for fact in comparison.facts if everything or fact.differs]


def alone(comparison: Comparison) -> Iterator[str]:
    """Cases that have no partner."""
    for what, cases in (("Removed", comparison.removed), ("Added", comparison.added)):
        for unit in cases:
            yield f"{what}: {unit.told}"


def notes(comparison: Comparison) -> Iterator[str]:
    """Sentences below the table: why there is no claim, what would allow it, what was left out."""
    for why in dict.fromkeys(row.why for row in comparison.rows if row.judged is None):
        yield f"No claim: {why}."
    if comparison.advice:
        yield f"{comparison.advice[0].upper()}{comparison.advice[1:]}"
    for refused in comparison.refused:
        yield f"Not compared: {refused}."
    if comparison.is_sequential:
        yield "Sequential: intervals and q are valid at whatever round the run stopped."
    if any(row.each > 1 for row in comparison.rows):
        yield "ABBA: one coin ordered two rounds, so the mean of their ratios is one value."
    effect = units.percent(comparison.levels.minimum_effect)
    yield (
        "Ratios are of speeds, new over base: below 1 the new side is slower. Regressed: the "
        f"interval excludes 1, its median is at least {effect} slower, and q is below "
        f"{comparison.levels.false_discovery_level:g} over all series."
    )

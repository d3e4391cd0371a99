"""The families of claims that were tested together, and what so many launches can tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import polars as pl

from roundtrip import studies
from roundtrip.report import decision, units
from roundtrip.report.blocks import (
    Cell,
    Column,
    Inline,
    Items,
    Paragraph,
    Part,
    Strong,
    Table,
    Text,
)
from roundtrip.report.data import Data
from roundtrip.stats.planning import fewest_launches, needed_together
from roundtrip.stats.settings import Levels
from roundtrip.stats.verdicts import ClaimVerdict, Family, Verdict
from roundtrip.studies.study import Claim

_HEADS = {
    Family.PRIMARY: "the question of each study, and what launches are planned for",
    Family.SECONDARY: "whatever else a study compares inside its launches",
    Family.TOOLCHAINS: "one toolchain against another, by round; see Toolchains compared",
}


def told(judged: Mapping[Claim, ClaimVerdict]) -> str:
    """For the facts under the title: ``8 primary, 32 secondary``."""
    counts = Counter(claim.family for claim in judged)
    return ", ".join(f"{counts[family]} {family}" for family in Family if counts[family]) or "none"


def notice(data: Data, judged: Mapping[Claim, ClaimVerdict]) -> Text | None:
    """For the top of the report: how many claims cannot be told for want of launches, or None."""
    mute = [one for one in judged.values() if one.would_do is not None]
    if not mute:
        return None
    count = units.plural(len(mute), "claim")
    return (
        Strong("Too few launches: "),
        f"{count} of {len(judged)} cannot be told, however large the difference; "
        f"{decision.advice(judged, decision.launches_made(data))}.",
    )


def part(data: Data, judged: Mapping[Claim, ClaimVerdict]) -> Part | None:
    """A row for each family, and which claims are primary; None without claims."""
    if not judged:
        return None
    present = [family for family in Family if any(claim.family is family for claim in judged)]
    passed = set(data.launches.filter(pl.col("status") == "passed")["study"])
    items: list[Text] = [(Strong(str(family)), f": {_HEADS[family]}.") for family in present]
    items += [
        (f"Primary of study {study.name}: {study.primary}",)
        for study in studies.load()
        if study.name in passed and study.primary
    ]
    table = _sequential if data.is_sequential else _table
    return Part(
        "claims",
        "What was tested together",
        (Paragraph(_WHY), table(data, judged, present), Items(tuple(items))),
    )


def _sequential(
    data: Data, judged: Mapping[Claim, ClaimVerdict], present: Sequence[Family]
) -> Table:
    """Of a run that went on until it told enough: no number of launches was planned."""
    rows = [_row(family, _of(judged, family), data.analysis.statistics) for family in present]
    return Table(
        "The run went on until it told enough, so no number of launches was planned.",
        (
            Column("Family"),
            Column("Claims", "right"),
            Column("Launches", "right"),
            Column("Verdicts"),
        ),
        tuple((*row[:3], row[-1]) for row in rows),
    )


def _of(judged: Mapping[Claim, ClaimVerdict], family: Family) -> list[ClaimVerdict]:
    return [one for claim, one in judged.items() if claim.family is family]


def _table(data: Data, judged: Mapping[Claim, ClaimVerdict], present: Sequence[Family]) -> Table:
    levels = data.analysis.statistics
    return Table(
        f"“Fewest for any one”: so many launches let a single true claim of the family reach "
        f"q < {levels.false_discovery_level:g}, whatever the others do. “Speak”: how many must be "
        "as clear as so few launches can show before any of them is told.",
        (
            Column("Family"),
            Column("Claims", "right"),
            Column("Launches", "right"),
            Column("Fewest for any one", "right"),
            Column("Speak", "right"),
            Column("Verdicts"),
        ),
        tuple(_row(family, _of(judged, family), levels) for family in present),
    )


def _row(family: Family, judged: Sequence[ClaimVerdict], levels: Levels) -> tuple[Cell, ...]:
    count = len(judged)
    fewest, most = min(one.interval.n for one in judged), max(one.interval.n for one in judged)
    together = needed_together(fewest, count, levels)
    verdicts = Counter(one.verdict for one in judged)
    if together is None or together == 1:
        speak: Inline | Text = "none" if together is None else "any one"
    else:
        speak = (units.count(together), " at once")
    told = ", ".join(f"{verdicts[one]} {one}" for one in Verdict if verdicts[one])
    launches = units.counts((fewest, most))
    shown = (units.count(count), launches, units.count(fewest_launches(count, levels)), speak, told)
    return Cell(str(family).capitalize()), *map(Cell, shown)


_WHY: Text = (
    "False discoveries are controlled in each family apart (Benjamini-Hochberg): the few primary "
    "claims need no launches for the many others, and differences that nobody doubts do not lower "
    "the bar for doubtful ones.",
)

"""The report of a bundle, as blocks: a pure function of the bundle and its correction note.

All claims are judged together, each family of them apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import polars as pl

from roundtrip import studies
from roundtrip.collect import disclosure
from roundtrip.errors import printable
from roundtrip.report import labels, units
from roundtrip.report.audit import section as audit
from roundtrip.report.audit.subject import Chapter
from roundtrip.report.blocks import (
    Cell,
    Column,
    Inline,
    Items,
    Paragraph,
    Part,
    Report,
    Strong,
    Table,
    Text,
)
from roundtrip.report.data import Data, judge
from roundtrip.report.sections import headline, history, launches, nodes, provenance, toolchains
from roundtrip.stats.planning import fewest_launches, needed_together
from roundtrip.stats.settings import Levels
from roundtrip.stats.verdicts import ClaimVerdict, Family, Verdict
from roundtrip.studies.study import Claim, Section, Study

#: Of a study or toolchains; a campaign of such launches says so by allow_untold.
NO_CLAIM = "these launches support no claim; what they measured is described in the report"
SEQUENTIAL = (
    "this run went on until its claims were decided or its time was over. Intervals, p and q of "
    "ratios are those of a sequential test, which is valid at whatever round a run stops; the "
    "usual rank intervals would not be."
)
ABBA = (
    "the two toolchains were launched in the order AB BA or BA AB, by one coin for two rounds: "
    "their ratios are means over two rounds, which are one value of n."
)
_HEADS = {
    Family.PRIMARY: "the question of each study, and what launches are planned for",
    Family.SECONDARY: "whatever else a study compares inside its launches",
    Family.TOOLCHAINS: "one toolchain against another, by round; see Toolchains compared",
}
_WHY: Text = (
    "False discoveries are controlled in each family apart (Benjamini-Hochberg): the few primary "
    "claims need no launches for the many others, and differences that nobody doubts do not lower "
    "the bar for doubtful ones.",
)
_Claim = TypeVar("_Claim", bound=Claim)


def launches_made(data: Data) -> int:
    """The launches that passed, of the case that has most."""
    return max(data.completed.group_by("case_id").len()["len"], default=0)


def launches_needed(judged: Mapping[_Claim, ClaimVerdict], made: int) -> int | None:
    """Of each case, with which every claim that lacks launches could be decided; None if none does.

    A claim may have a value of only some of the `made` launches: then it will of as large a share.
    """
    needed = [
        -(-one.would_do * max(made, one.interval.n) // one.interval.n)
        for one in judged.values()
        if one.would_do is not None
    ]
    return max(needed, default=None)


def advice(judged: Mapping[_Claim, ClaimVerdict], made: int) -> str:
    """How many launches were made and would do, of each case; "" where more are of no use."""
    needed = launches_needed(judged, made)
    if needed is None:
        return ""
    were = "1 launch of each case was" if made == 1 else f"{made} launches of each case were"
    return f"{were} made, {needed} would do"


def undecided(data: Data, judged: Mapping[_Claim, ClaimVerdict]) -> str | None:
    """Why nothing can be decided and what to do, a line for people; None if something can."""
    passed = data.completed
    disturbed = passed.filter(pl.col("disturbed"))
    if passed.height and disturbed.height == passed.height:
        why = str(disturbed["disturbed_why"][0])
        return (
            f"all {units.plural(passed.height, 'launch', 'launches')} were disturbed, the first by "
            f"this: {why}. Find out what else uses the machine (`roundtrip doctor`) and measure "
            "again; where that is as usual, raise [disturbance] in the site's analysis.toml"
        )
    if data.is_sequential:  # it went on until its claims had verdicts or its time was over
        return None
    if not data.pairs.is_empty():
        return None if nodes.can_detect(data) else "nodes have too few launches yet to be compared"
    if not judged:
        return NO_CLAIM
    if any(one.verdict is not Verdict.CANNOT_TELL for one in judged.values()):
        return None
    why = f"none of {units.plural(len(judged), 'claim')} has a verdict"
    if few := advice(judged, launches_made(data)):
        return f"{why}: {few}"
    return (
        f"{why}, and too few launches are not the reason: they scatter more than what is to be "
        "decided. Make them longer (`budget`), or measure on a quieter machine"
    )


def family_counts(judged: Mapping[Claim, ClaimVerdict]) -> str:
    """For the facts under the title: ``8 primary, 32 secondary``."""
    counts = Counter(claim.family for claim in judged)
    return ", ".join(f"{counts[family]} {family}" for family in Family if counts[family]) or "none"


def too_few_notice(data: Data, judged: Mapping[Claim, ClaimVerdict]) -> Text | None:
    """For the top of the report: how many claims so few launches cannot decide, or None."""
    underpowered = [one for one in judged.values() if one.would_do is not None]
    if not underpowered:
        return None
    count = units.plural(len(underpowered), "claim")
    return (
        Strong("Too few launches: "),
        f"{count} of {len(judged)} cannot be decided, however large the difference; "
        f"{advice(judged, launches_made(data))}.",
    )


def families_part(data: Data, judged: Mapping[Claim, ClaimVerdict]) -> Part | None:
    """A row for each family, and which claims are primary; None without claims."""
    if not judged:
        return None
    families = {claim.family for claim in judged}
    measured = set(data.completed["study"])
    items: list[Text] = [(Strong(f), f": {_HEADS[f]}.") for f in Family if f in families]
    items += [
        (f"Primary of study {study.name}: {study.primary}",)
        for study in studies.load()
        if study.name in measured and study.primary
    ]
    blocks = (Paragraph(_WHY), _family_table(data, judged), Items(tuple(items)))
    return Part("claims", "What was tested together", blocks)


def _family_table(data: Data, judged: Mapping[Claim, ClaimVerdict]) -> Table:
    """A row for each family; a run that went on until it was decided planned no launches."""
    levels = data.analysis.statistics
    caption = (
        f"“Fewest for any one”: so many launches let a single true claim of the family reach "
        f"q < {levels.false_discovery_level:g}, whatever the others do. “Needed at once”: how "
        "many must be as clear as so few launches can show before any of them gets a verdict."
    )
    numbers = ["Claims", "Launches", "Fewest for any one", "Needed at once"]
    rows = []
    for family in Family:
        if members := [one for claim, one in judged.items() if claim.family is family]:
            rows.append(_family_row(family, members, levels))
    if data.is_sequential:
        caption = (
            "The run went on until its claims were decided, so no number of launches was planned."
        )
        numbers, rows = numbers[:2], [(*row[:3], row[-1]) for row in rows]
    columns = (Column("Family"), *(Column(name, "right") for name in numbers), Column("Verdicts"))
    return Table(caption, columns, tuple(rows))


def _family_row(family: Family, judged: Sequence[ClaimVerdict], levels: Levels) -> tuple[Cell, ...]:
    count = len(judged)
    launches = [one.interval.n for one in judged]
    together = needed_together(min(launches), count, levels)
    verdicts = Counter(one.verdict for one in judged)
    if together is None or together == 1:
        at_once: Inline | Text = "none" if together is None else "any one"
    else:
        at_once = (units.count(together), " at once")
    return (
        Cell(str(family).capitalize()),
        Cell(units.count(count)),
        Cell(units.counts(launches)),
        Cell(units.count(fewest_launches(count, levels))),
        Cell(at_once),
        Cell(", ".join(f"{verdicts[one]} {one}" for one in Verdict if verdicts[one])),
    )


@dataclass(frozen=True)
class Correction:
    """Why this report replaces an earlier one, ``r<N>``."""

    supersedes: str
    reason: str

    def for_everybody(self) -> Correction:
        """The same, with a reason that may leave the site."""
        return replace(self, reason=disclosure.for_everybody(printable(self.reason)))


def build(data: Data, correction: Correction | None = None) -> Report:
    """Judge the claims of all studies together, and make the report; `correction` is its note."""
    sections = list(_sections(data))
    judged = _judge_sections(data, sections)
    chapters = [one.chapter(data, judged) for one in sections]
    parts = [chapter.part for chapter in chapters]
    tested = families_part(data, judged)
    parts += [tested] if tested else []
    if sick := nodes.part(data):
        chapters.append(Chapter(sick, nodes.FACTS))
        parts.append(sick)
    since = history.part(data)
    chapters.append(Chapter(since, history.facts(data)))
    parts.append(since)
    came = launches.part(data)
    chapters.append(Chapter(came, launches.facts(came)))
    parts += [came, provenance.part(data)]
    parts.append(audit.part(data, judged, chapters, parts))
    warnings = [(Strong("Warning: "), one) for part in parts for one in part.warnings]
    return Report(
        title=data.title,
        facts=_facts(data, judged),
        notices=(*_notices(data, judged, correction), *warnings),
        parts=tuple(parts),
        series=data.origins.keys | data.nights.keys,
    )


def judge_report(data: Data) -> dict[Claim, ClaimVerdict]:
    """All claims of the report of `data`, judged together."""
    return _judge_sections(data, list(_sections(data)))


@dataclass(frozen=True)
class _Section:
    """A section with its claims; `study`: None for the comparison of toolchains."""

    made: Section
    claims: Mapping[Claim, Sequence[float]]
    study: Study | None = None

    def chapter(self, data: Data, judged: Mapping[Claim, ClaimVerdict]) -> Chapter:
        part, study, claims = self.made.part(judged), self.study, tuple(self.claims)
        if study is None:
            return Chapter(part, toolchains.FACTS, None, claims)
        part = replace(part, question=part.question or study.question)
        if values := headline.headline(data, study):
            part = replace(part, summary=(values, *part.summary))
        return Chapter(part, study.facts(), study, claims)


def _judge_sections(data: Data, sections: Sequence[_Section]) -> dict[Claim, ClaimVerdict]:
    claims = {key: ratios for one in sections for key, ratios in one.claims.items()}
    return judge(data, claims)


def _sections(data: Data) -> Iterator[_Section]:
    tested = labels.simulated(data).is_empty()
    for study in studies.load():
        if section := study.section(data):
            yield _Section(section, section.claims() if tested else {}, study)
    if tested and (compared := toolchains.section(data)):
        yield _Section(compared, compared.claims())


def _facts(data: Data, judged: Mapping[Claim, ClaimVerdict]) -> tuple[tuple[str, str], ...]:
    facts = data.manifest.data
    host = data.environment.get("host.json")
    cpu = host.get("cpu") if isinstance(host, dict) else None
    model = cpu.get("model") if isinstance(cpu, dict) else None
    return (
        ("Campaign", str(facts["campaign"])),
        ("Started", f"{facts['started'][:10]} {facts['started'][11:16]} UTC"),
        ("Site", f"{facts['site']}" + (f", {model}" if model else "")),
        ("Launches", launches.completed(data).describe()),
        ("Claims tested", family_counts(judged)),
        ("Revision", provenance.revision(data)),
        ("Bundle", data.manifest.digest[:16]),
    )


def _notices(
    data: Data, judged: Mapping[Claim, ClaimVerdict], correction: Correction | None
) -> Iterator[Text]:
    """What a reader must know before they believe a number."""
    if correction:
        yield (Strong(f"This report supersedes {correction.supersedes}: "), correction.reason)
    if data.is_sequential:
        yield (Strong("Sequential: "), SEQUENTIAL)
    if data.is_abba:
        yield (Strong("ABBA: "), ABBA)
    nothing = undecided(data, judged)
    if nothing and nothing != NO_CLAIM:
        yield (Strong("Measured, but nothing can be decided: "), f"{nothing}.")
    if too_few := too_few_notice(data, judged):
        yield too_few
    if data.manifest.data["git"]["dirty"]:
        changes = "the checkout that measured was not a clean commit."
        yield (Strong("Uncommitted changes: "), changes)
    if count := int(data.completed["emulated"].fill_null(False).sum()):
        counted = units.plural(count, "launch", "launches")
        emulated = f"{counted} did not run on real hardware; labelled throughout."
        yield (Strong("EMULATED: "), emulated)
    if simulated := labels.notice_of_simulated(data):
        yield simulated

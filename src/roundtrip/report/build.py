"""The report of a bundle, as blocks: a pure function of the bundle and its correction note.

Claims of all studies are judged together; each family is corrected separately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from roundtrip import units
from roundtrip.content import labels
from roundtrip.content.blocks import (
    BulletList,
    Cell,
    Column,
    InlineElement,
    Paragraph,
    Report,
    ReportSection,
    RichText,
    StrongText,
    Table,
)
from roundtrip.content.data import BundleData, judge_claims
from roundtrip.errors import printable
from roundtrip.measure import disclosure
from roundtrip.report.audit import section as audit
from roundtrip.report.audit.subject import AuditedSection
from roundtrip.report.sections import headline, history, launches, nodes, provenance, toolchains
from roundtrip.report.sections.headline import Headline
from roundtrip.stats.planning import joint_claims_needed, min_launches
from roundtrip.stats.settings import Levels
from roundtrip.stats.verdicts import ClaimVerdict, Family, Verdict
from roundtrip.studies import derivation
from roundtrip.studies.section import Section, find_section
from roundtrip.study import Claim, Study, load_studies

#: Why a run without claims is undecided; a campaign permits this by allow_undecided.
NO_CLAIM_REASON = "these launches support no claim; what they measured is described in the report"
SEQUENTIAL_NOTE = (
    "this run went on until its claims were decided or its time was over. Intervals, p and q of "
    "ratios are those of a sequential test, which is valid at whatever round a run stops; rank "
    "intervals are not."
)
ABBA_NOTE = (
    "one coin toss orders two rounds as AB BA or BA AB. A ratio is the mean over these two "
    "rounds and counts as one value of n."
)
_DESCRIPTION_BY_FAMILY = {
    Family.PRIMARY: "claims that answer a study's question; launches are planned for them",
    Family.SECONDARY: "all other claims inside a launch",
    Family.TOOLCHAINS: "claims that compare toolchains, by round; see Toolchains compared",
}
_FAMILIES_NOTE: RichText = (
    "False discoveries are controlled in each family separately (Benjamini-Hochberg). So primary "
    "claims need no more launches because of other claims, and obvious differences do not make "
    "doubtful ones significant.",
)


def max_launches_per_case(data: BundleData) -> int:
    """The largest number of completed launches of any case."""
    return max(data.completed_launches.group_by("case_id").len()["len"], default=0)


def launches_needed_per_case(verdicts: Iterable[ClaimVerdict], launch_count: int) -> int | None:
    """Launches per case with which no claim is underpowered, if the same share of them has values;
    None if none is now."""
    counts = [
        -(-verdict.launches_needed * max(launch_count, verdict.interval.n) // verdict.interval.n)
        for verdict in verdicts
        if verdict.launches_needed is not None
    ]
    return max(counts, default=None)


def describe_launches_needed(verdicts: Iterable[ClaimVerdict], launch_count: int) -> str:
    """Most launches of a case, and how many would do; "" if more would not help."""
    if (minimum := launches_needed_per_case(verdicts, launch_count)) is None:
        return ""
    return f"a case had at most {units.plural(launch_count, 'launch')} and needs {minimum}"


def undecided_reason(data: BundleData, verdicts: Mapping[Claim, ClaimVerdict]) -> str | None:
    """Why nothing can be decided, and what to do, on one line; None if something can be decided."""
    rows = data.completed_launches
    disturbed_rows = rows.filter(pl.col("disturbed"))
    if rows.height and disturbed_rows.height == rows.height:
        reason = str(disturbed_rows["disturbed_why"][0])
        return (
            f"all {units.plural(rows.height, 'launch', 'launches')} were disturbed, the first: "
            f"{reason}. Find out what else uses the machine (`roundtrip doctor`) and measure "
            "again; if this is usual here, raise [disturbance] in the site's analysis.toml"
        )
    if data.is_sequential:  # it ended when its claims had verdicts or its time was over
        return None
    if not data.node_pairs.is_empty():
        if nodes.can_detect_sick_node(data):
            return None
        return "there are too few launches yet to compare nodes"
    if not verdicts:
        return NO_CLAIM_REASON
    if any(verdict.verdict is not Verdict.CANNOT_TELL for verdict in verdicts.values()):
        return None
    reason = f"none of {units.plural(len(verdicts), 'claim')} has a verdict"
    if hint := describe_launches_needed(verdicts.values(), max_launches_per_case(data)):
        return f"{reason}: {hint}"
    return (
        f"{reason}, and more launches would not help: they scatter more than the difference to "
        "decide. Make them longer (`budget`), or measure on a quieter machine"
    )


def families_section(
    data: BundleData, verdicts: Mapping[Claim, ClaimVerdict]
) -> ReportSection | None:
    """The section on families, a row for each; None without claims."""
    if not verdicts:
        return None
    families = {claim.family for claim in verdicts}
    study_names = set(data.completed_launches["study"])
    items: list[RichText] = [
        (StrongText(f), f": {_DESCRIPTION_BY_FAMILY[f]}.") for f in Family if f in families
    ]
    studies = [study for study in load_studies() if study.name in study_names]
    texts = {study.name: study.primary_description for study in studies}
    items += [(f"Primary of study {name}: {text}",) for name, text in texts.items() if text]
    blocks = (Paragraph(_FAMILIES_NOTE), _family_table(data, verdicts), BulletList(tuple(items)))
    return ReportSection("claims", "What was tested together", blocks)


def _family_table(data: BundleData, verdicts: Mapping[Claim, ClaimVerdict]) -> Table:
    """A row for each family; a sequential run planned no launches, so it lacks those columns."""
    levels = data.analysis.statistics
    caption = (
        "“Fewest for any one”: number of launches with which a single claim of the family can "
        f"reach q < {levels.false_discovery_level:g}, whatever the others show. “Needed at once”: "
        "number of claims that must be as clear as these launches can show before any of them "
        "gets a verdict."
    )
    numbers = ["Claims", "Launches", "Fewest for any one", "Needed at once"]
    members: dict[Family, list[ClaimVerdict]] = {family: [] for family in Family}
    for claim, verdict in verdicts.items():
        members[claim.family].append(verdict)
    rows = [_family_row(family, group, levels) for family, group in members.items() if group]
    if data.is_sequential:
        caption = (
            "The run went on until its claims were decided, so no number of launches was planned."
        )
        numbers, rows = numbers[:2], [(*row[:3], row[-1]) for row in rows]
    columns = (Column("Family"), *(Column(name, "right") for name in numbers), Column("Verdicts"))
    return Table(caption, columns, tuple(rows))


def _family_row(
    family: Family, family_verdicts: Sequence[ClaimVerdict], levels: Levels
) -> tuple[Cell, ...]:
    count = len(family_verdicts)
    launch_counts = [member.interval.n for member in family_verdicts]
    joint_count = joint_claims_needed(min(launch_counts), count, levels)
    verdicts = Counter(member.verdict for member in family_verdicts)
    need: InlineElement | RichText = "none" if joint_count is None else "any one"
    if joint_count and joint_count > 1:
        need = (units.count(joint_count), " at once")
    outcomes = ", ".join(f"{verdicts[v]} {v}" for v in Verdict if verdicts[v])
    return (
        Cell(str(family).capitalize()),
        Cell(units.count(count)),
        Cell(units.count_range(launch_counts)),
        Cell(units.count(min_launches(count, levels))),
        Cell(need),
        Cell(outcomes),
    )


@dataclass(frozen=True)
class Correction:
    """Why this report replaces an earlier one, ``r<N>``."""

    supersedes: str
    reason: str

    def without_private_words(self) -> Correction:
        """A copy of the correction, with private words of the reason withheld."""
        return replace(self, reason=disclosure.withhold_private(printable(self.reason)))


def build_report(data: BundleData, correction: Correction | None = None) -> Report:
    """Judge the claims of all studies together; return the report, noting `correction`."""
    sections = list(_sections_of_report(data))
    verdicts = judge_report_claims(data, sections)
    studies = [section.study for section in sections if section.study]
    values = {study.name: headline.study_headline(data, study) for study in studies}
    headlines = {name: value for name, value in values.items() if value}
    chapters = [section.audited_section(verdicts, headlines) for section in sections]
    parts = [chapter.section for chapter in chapters]
    if families := families_section(data, verdicts):
        parts.append(families)
    if nodes_part := nodes.build_section(data):
        chapters.append(AuditedSection(nodes_part, nodes.AUDIT_FACTS))
        parts.append(nodes_part)
    history_part = history.build_section(data)
    chapters.append(AuditedSection(history_part, history.audit_facts(data)))
    parts.append(history_part)
    launches_part = launches.build_section(data)
    chapters.append(AuditedSection(launches_part, launches.audit_facts(launches_part)))
    parts += [launches_part, provenance.build_section(data)]
    parts.append(audit.build_section(data, verdicts, chapters, parts))
    warnings = [(StrongText("Warning: "), warning) for part in parts for warning in part.warnings]
    return Report(
        title=data.title,
        title_facts=_title_facts(data),
        notices=(*_notices(data, verdicts, correction), *warnings),
        sections=tuple(parts),
        history_series_keys=data.series_medians.keys | data.past_series_medians.keys,
        provenance_facts=_provenance_facts(data, verdicts),
    )


@dataclass(frozen=True)
class _SectionWithClaims:
    """A section with the ratios of its claims; `study`: None where toolchains are compared."""

    section: Section
    claims: Mapping[Claim, Sequence[float]]
    study: Study | None = None

    def audited_section(
        self, verdicts: Mapping[Claim, ClaimVerdict], headlines: Mapping[str, Headline]
    ) -> AuditedSection:
        part, study, claims = self.section.report_section(verdicts), self.study, tuple(self.claims)
        if study is None:
            values = headline.headline_answers(list(headlines.values()))
            part = replace(part, answers=(*part.answers, *values))
            return AuditedSection(part, toolchains.AUDIT_FACTS, None, claims)
        part = replace(part, question=part.question or study.question)
        if study.name in headlines:
            part = replace(part, summary_tables=(headlines[study.name].table, *part.summary_tables))
        return AuditedSection(part, derivation.audit_facts(study), study, claims)


def judge_report_claims(
    data: BundleData, sections: Iterable[_SectionWithClaims] | None = None
) -> dict[Claim, ClaimVerdict]:
    """Judge all claims of a report together; `sections`: its own, if known."""
    sections = _sections_of_report(data) if sections is None else sections
    claims = {key: ratios for section in sections for key, ratios in section.claims.items()}
    return judge_claims(data, claims)


def _sections_of_report(data: BundleData) -> Iterator[_SectionWithClaims]:
    is_measured = data.simulated_launches.is_empty()
    for study in load_studies():
        if section := find_section(study, data):
            claims = section.ratios_by_claim() if is_measured else {}
            yield _SectionWithClaims(section, claims, study)
    if is_measured and (comparison := toolchains.toolchains_section(data)):
        yield _SectionWithClaims(comparison, comparison.ratios_by_claim())


def _title_facts(data: BundleData) -> tuple[tuple[str, str], ...]:
    facts = data.manifest.data
    host = data.env_records.get("host.json")
    cpu = host.get("cpu") if isinstance(host, dict) else None
    model = cpu.get("model") if isinstance(cpu, dict) else None
    names = sorted(data.completed_launches["toolchain"].unique())
    return (
        ("Campaign", str(facts["campaign"])),
        ("Started", f"{facts['started'][:10]} {facts['started'][11:16]} UTC"),
        ("Site", f"{facts['site']}" + (f", {model}" if model else "")),
        ("Toolchains", labels.join_titles(names) if len(names) <= 3 else str(len(names))),
        ("Launches", launches.launch_counts(data).describe()),
    )


def _provenance_facts(
    data: BundleData, verdicts: Mapping[Claim, ClaimVerdict]
) -> tuple[tuple[str, str], ...]:
    counts = Counter(claim.family for claim in verdicts)
    counts_text = ", ".join(f"{counts[family]} {family}" for family in Family if counts[family])
    return (
        ("Claims tested", counts_text or "none"),
        ("Revision", provenance.describe_revision(data)),
        ("Bundle", data.manifest.digest[:16]),
    )


def _notices(
    data: BundleData, verdicts: Mapping[Claim, ClaimVerdict], correction: Correction | None
) -> Iterator[RichText]:
    if correction:
        yield (StrongText(f"This report supersedes {correction.supersedes}: "), correction.reason)
    if data.is_sequential:
        yield (StrongText("Sequential: "), SEQUENTIAL_NOTE)
    if data.is_abba:
        yield (StrongText("ABBA: "), ABBA_NOTE)
    reason = undecided_reason(data, verdicts)
    if reason and reason != NO_CLAIM_REASON:
        yield (StrongText("Measured, but nothing can be decided: "), f"{reason}.")
    if count := sum(verdict.launches_needed is not None for verdict in verdicts.values()):
        advice = describe_launches_needed(verdicts.values(), max_launches_per_case(data))
        yield (
            StrongText("Too few launches: "),
            f"{units.plural(count, 'claim')} of {len(verdicts)} cannot be decided, even if the "
            f"difference is large: {advice}.",
        )
    if data.manifest.data["git"]["dirty"]:
        changes = "the checkout differed from its commit when it measured."
        yield (StrongText("Uncommitted changes: "), changes)
    if count := int(data.completed_launches["emulated"].fill_null(False).sum()):
        launches_text = units.plural(count, "launch", "launches")
        sentence = f"{launches_text} did not run on real hardware and are labelled."
        yield (StrongText("EMULATED: "), sentence)
    if simulation_notice := labels.simulated_notice(data):
        yield simulation_notice

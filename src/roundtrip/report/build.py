"""The report of a bundle, as blocks: a pure function of the bundle and its correction note."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from roundtrip import studies
from roundtrip.collect import disclosure
from roundtrip.errors import printable
from roundtrip.report import decision, labels, units
from roundtrip.report.audit import section as audit
from roundtrip.report.audit.subject import Chapter
from roundtrip.report.blocks import Part, Report, Strong, Text
from roundtrip.report.data import Data
from roundtrip.report.sections import (
    families,
    history,
    launches,
    nodes,
    provenance,
    toolchains,
)
from roundtrip.stats.verdicts import ClaimVerdict
from roundtrip.studies.derivation import Facts
from roundtrip.studies.study import Claim, Section, Study


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
    judged = _judged(data, sections)
    chapters = [one.chapter(judged) for one in sections]
    parts = [chapter.part for chapter in chapters]
    tested = families.part(data, judged)
    parts += [tested] if tested else []
    if sick := nodes.part(data):
        chapters.append(Chapter(sick, sick.title, nodes.FACTS))
        parts.append(sick)
    since = history.part(data)
    chapters.append(Chapter(since, since.title, history.facts(data)))
    parts.append(since)
    came = launches.part(data)
    chapters.append(Chapter(came, came.title, launches.facts(came)))
    parts += [came, provenance.part(data)]
    parts.append(audit.part(data, judged, chapters, parts))
    return Report(
        title=data.title,
        facts=_facts(data, judged),
        notices=(*_notices(data, judged, correction), *_warnings(parts)),
        parts=tuple(parts),
        figures=tuple(figure for part in parts for figure in part.figures),
        series=data.origins.keys | data.nights.keys,
    )


def verdicts(data: Data) -> dict[Claim, ClaimVerdict]:
    """All claims of the report of `data`, judged together."""
    return _judged(data, list(_sections(data)))


@dataclass(frozen=True)
class _Section:
    """A section with its claims, and with what it supplies for the audit."""

    made: Section
    claims: Mapping[Claim, Sequence[float]]
    facts: Facts
    study: Study | None = None

    def chapter(self, judged: Mapping[Claim, ClaimVerdict]) -> Chapter:
        part = self.made.part(judged)
        study = self.study
        if study and not part.question:
            part = replace(part, question=study.question)
        return Chapter(
            part,
            study.title if study else part.title,
            self.facts,
            study.name if study else "",
            tuple(self.claims),
            study.thresholds if study else None,
        )


def _judged(data: Data, sections: Sequence[_Section]) -> dict[Claim, ClaimVerdict]:
    claims = {key: ratios for one in sections for key, ratios in one.claims.items()}
    return decision.judge(data, claims)


def _sections(data: Data) -> Iterator[_Section]:
    tested = labels.simulated(data).is_empty()
    for study in studies.load():
        if section := study.section(data):
            yield _Section(section, section.claims() if tested else {}, study.facts(), study)
    if tested and (compared := toolchains.section(data)):
        yield _Section(compared, compared.claims(), toolchains.FACTS)


def _facts(data: Data, judged: Mapping[Claim, ClaimVerdict]) -> tuple[tuple[str, str], ...]:
    facts = data.manifest.data
    host = data.environment.get("host.json")
    cpu = host.get("cpu") if isinstance(host, dict) else None
    model = cpu.get("model") if isinstance(cpu, dict) else None
    return (
        ("Campaign", str(facts["campaign"])),
        ("Started", f"{facts['started'][:10]} {facts['started'][11:16]} UTC"),
        ("Site", f"{facts['site']}" + (f", {model}" if model else "")),
        ("Launches", launches.completed(data).told()),
        ("Claims tested", families.told(judged)),
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
        yield (Strong("Sequential: "), decision.SEQUENTIAL)
    if data.is_abba:
        yield (Strong("ABBA: "), decision.ABBA)
    nothing = decision.undecided(data, judged)
    if nothing and nothing != decision.NO_CLAIM:
        yield (Strong("Measured, but nothing can be decided: "), f"{nothing}.")
    if too_few := families.notice(data, judged):
        yield too_few
    if data.manifest.data["git"]["dirty"]:
        yield (
            Strong("Uncommitted changes: "),
            "the checkout that measured was not a clean commit.",
        )
    passed = data.launches["status"] == "passed"
    labelled = data.launches.filter(passed)
    if count := int(labelled["emulated"].fill_null(False).sum()):
        told = units.plural(count, "launch", "launches")
        yield (
            Strong("EMULATED: "),
            f"{told} did not run on real hardware; labelled throughout.",
        )
    if told_first := labels.notice_of_simulated(data):
        yield told_first


def _warnings(parts: Sequence[Part]) -> Iterator[Text]:
    for part in parts:
        for warning in part.warnings:
            yield (Strong("Warning: "), warning)

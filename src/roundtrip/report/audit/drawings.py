"""Rules 11 and 12: what the figures draw, and what they leave out."""

from __future__ import annotations

from roundtrip.collect.tables import settings
from roundtrip.report import units
from roundtrip.report.audit.numbers import plain
from roundtrip.report.audit.outcome import Outcome, held, missing, no_case
from roundtrip.report.audit.subject import Subject
from roundtrip.report.drawn import LINK, Drawn

#: Facts of an emulated link that bound how fast anything can be, and the bound's name in figures.
RATES = {"hub_mbit_s": LINK}


def bounds(one: Subject) -> Outcome:
    """Rule 11: bounds that launches tell must be drawn; others may be."""
    if not one.figures:
        return no_case("draws no figure")
    drawn = [figure.drawn for figure, _ in one.figures if figure.drawn]
    shown = [name for each in drawn for name in dict.fromkeys(each.bounds)]
    limited = _limited(one)
    lacking = [name for name in limited if name not in shown]
    if lacking:
        told = ", ".join(f"{name} of {limited[name]} launches" for name in lacking)
        return held(False, f"known and not drawn: {told}")
    if not shown:
        return missing("the rate of the link or of a memory copy, or another bound")
    told = ", ".join(f"{name} in {shown.count(name)}" for name in dict.fromkeys(shown))
    return held(True, f"drawn, of {units.plural(len(one.figures), 'figure')}: {told}")


def _limited(one: Subject) -> dict[str, int]:
    """Bounds that are known of some launches, and of how many."""
    found: dict[str, int] = {}
    for emulation in one.launches["emulation"].drop_nulls().to_list():
        facts = settings.texts(emulation)
        for fact, name in RATES.items():
            if fact in facts:
                found[name] = found.get(name, 0) + 1
    return found


def spreads(one: Subject) -> Outcome:
    """Rule 12."""
    if not one.figures:
        return no_case("draws no figure")
    if one.is_simulated:
        return no_case("simulated: there is no spread")
    unknown = sum(not (figure.drawn and figure.drawn.is_told) for figure, _ in one.figures)
    if unknown:
        return missing(f"what {units.plural(unknown, 'figure draws', 'figures draw')}")
    measured = [(f, caption, f.drawn) for f, caption in one.figures if f.drawn]
    ours = [each for each in measured if not each[2].is_published]
    bare = [figure.alt for figure, _, drawn in ours if not drawn.shown]
    undefined = [
        figure.alt
        for figure, caption, drawn in ours
        if any(what not in plain(caption) for what, _ in drawn.spreads)
    ]
    untold = sum("" in drawn.lines for _, _, drawn in measured)
    disorderly = [figure.alt for figure, _, drawn in measured if drawn.over_names]
    faults = [
        f"{len(alts)} of {len(measured)} figures {what}: {alts[0]}"
        for what, alts in (
            ("show no spread", bare),
            ("do not say what their spread is", undefined),
            ("join what has no order", disorderly),
        )
        if alts
    ]
    if faults:
        return held(False, "; ".join(faults))
    if untold:
        return missing(f"between what {units.plural(untold, 'figure draws', 'figures draw')} lines")
    return held(True, _told([drawn for _, _, drawn in measured], len(measured) - len(ours)))


def _told(drawn: list[Drawn], published: int) -> str:
    whats = dict.fromkeys(what for each in drawn for what, _ in each.spreads)
    lines = dict.fromkeys(what for each in drawn for what in each.lines)
    told = f"{units.plural(len(drawn), 'figure')}: {', '.join(whats)}"
    told += f"; lines between {', '.join(lines)}" if lines else "; no lines"
    if published:
        told += f"; {published} of published values, whose spread nobody knows"
    return told

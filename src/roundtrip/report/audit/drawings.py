"""Rules 11 and 12: what the figures draw, and what they leave out."""

from __future__ import annotations

from roundtrip.collect.tables import settings
from roundtrip.report import units
from roundtrip.report.audit.numbers import plain
from roundtrip.report.audit.outcome import Outcome, held, missing, no_case
from roundtrip.report.audit.subject import Subject
from roundtrip.report.plot import LINK, Plot

#: Facts of an emulated link that bound how fast anything can be, and the bound's name in figures.
RATES = {"hub_mbit_s": LINK}


def bounds(one: Subject) -> Outcome:
    """Rule 11: bounds that launches tell must be drawn; others may be."""
    if not one.figures:
        return no_case("draws no figure")
    views = [figure.plot.views for figure, _ in one.figures if figure.plot]
    shown = [name for each in views for name in dict.fromkeys(n for v in each for n in v.bounds)]
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
    unknown = sum(figure.plot is None for figure, _ in one.figures)
    if unknown:
        return missing(f"what {units.plural(unknown, 'figure draws', 'figures draw')}")
    measured = [(f.alt, caption, f.plot) for f, caption in one.figures if f.plot]
    ours = [each for each in measured if not each[2].is_published]
    bare = [alt for alt, _, plot in ours if not plot.shown]
    undefined = [
        alt
        for alt, caption, plot in ours
        if any(view.shown and view.spread not in plain(caption) for view in plot.views)
    ]
    faults = [
        f"{len(alts)} of {len(measured)} figures {what}: {alts[0]}"
        for what, alts in (
            ("show no spread", bare),
            ("do not say what their spread is", undefined),
        )
        if alts
    ]
    if faults:
        return held(False, "; ".join(faults))
    plots = [plot for _, _, plot in measured]
    unnamed = sum(any("" in view.lines for view in plot.views) for plot in plots)
    if unnamed:
        what = units.plural(unnamed, "figure draws", "figures draw")
        return missing(f"between what {what} lines")
    return held(True, _summary(plots, len(measured) - len(ours)))


def _summary(plots: list[Plot], published: int) -> str:
    views = [view for plot in plots for view in plot.views]
    whats = dict.fromkeys(view.spread for view in views if view.shown)
    lines = dict.fromkeys(name for view in views for name in view.lines)
    told = f"{units.plural(len(plots), 'figure')}: {', '.join(whats)}"
    told += f"; lines between {', '.join(lines)}" if lines else "; no lines"
    if published:
        told += f"; {published} of published values, whose spread nobody knows"
    return told

"""The answers of the DDTBench section: for how many programs datatypes pay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from roundtrip.report import units
from roundtrip.report.blocks import Answer, Strong
from roundtrip.stats.verdicts import Judged, Verdict
from roundtrip.studies.ddtbench import derived
from roundtrip.studies.ddtbench.data import Panel
from roundtrip.studies.ddtbench.tables import ADVICE
from roundtrip.studies.finding import Comparison

_ORDER = (Verdict.FASTER, Verdict.SLOWER, Verdict.ON_PAR, Verdict.CANNOT_TELL)


def over_all(panels: Sequence[Panel], judged: Mapping[Comparison, Judged]) -> Answer:
    """How often datatypes are faster and slower than packing by hand, over all panels."""
    found = [one for panel in panels for one in _by_hand(panel, judged).values()]
    if not found:
        return Answer(("Datatypes and packing by hand were not compared.",), "warn")
    counted = Counter(one.verdict for one in found)
    told = [f"{verdict} in {counted[verdict]}" for verdict in _ORDER if counted[verdict]]
    of = f"{len(found)} comparisons" if len(panels) > 1 else units.plural(len(found), "micro-app")
    return Answer((f"Datatypes against packing by hand, of {of}: {', '.join(told)}.",))


def of_panel(panel: Panel, judged: Mapping[Comparison, Judged]) -> Answer:
    """What to use for which micro-app."""
    mine = _by_hand(panel, judged)
    counted = Counter(one.verdict for one in mine.values())
    told = []
    for verdict, (words, _) in ADVICE.items():
        if counted[verdict]:
            apps = [app for app in derived.APPS if app in mine and mine[app].verdict is verdict]
            told.append(f"{words} for {units.plural(len(apps), 'micro-app')} ({', '.join(apps)})")
    turned = [
        key.case
        for key, one in judged.items()
        if (key.panel, key.base) == (panel.key, derived.TUNED)
        and one.verdict is Verdict.SLOWER
        and mine[key.case].verdict is not Verdict.SLOWER
    ]
    if turned:
        told.append(f"loops tuned by hand beat datatypes for {', '.join(turned)} all the same")
    if told and (lacking := [app for app in derived.APPS if app not in mine]):
        told.append(f"not compared: {', '.join(lacking)}")
    return Answer((Strong(panel.label), f": {'; '.join(told) or 'nothing was compared'}."))


def _by_hand(panel: Panel, judged: Mapping[Comparison, Judged]) -> dict[str, Judged]:
    """The verdict on datatypes against packing by hand of each micro-app."""
    return {
        key.case: one
        for key, one in judged.items()
        if (key.panel, key.base) == (panel.key, derived.MANUAL)
    }

"""One sentence a panel: what a pass costs, what is gained, which reasons of the study hold."""

from __future__ import annotations

from collections.abc import Sequence

from roundtrip.report import units
from roundtrip.report.blocks import Answer, Inline, Strong
from roundtrip.stats.intervals import Interval
from roundtrip.studies.finding import worst
from roundtrip.studies.ring import derived, read
from roundtrip.studies.ring.curves import Curves, Panel
from roundtrip.studies.ring.findings import Finding
from roundtrip.studies.ring.thresholds import Thresholds


def answer(curves: Curves, panel: Panel, found: Sequence[Finding], settings: Thresholds) -> Answer:
    """The answer of `panel`; `found` are the findings of all panels."""
    words: list[Inline] = [Strong(panel.label), ": "]
    if panel.in_one_node:
        words += _fixed_cost(curves, panel, settings)
    gains = []
    for variant in (derived.REGION, derived.REGION_UDP):
        gain = curves.interval(curves.over_best(panel, variant).get(derived.STUDY_SIZE, []))
        if gain:
            title = panel.title(variant)
            gains.append(f"a {title[0].lower()}{title[1:]} has {units.interval(gain)}")
    if gains:
        told, at = ", ".join(gains), units.size(derived.STUDY_SIZE)
        words.append(f"{told} times the effective bandwidth of the best two-sided MPI at {at}; ")
    if with_reading := read.gain(curves, panel):
        at = units.size(derived.STUDY_SIZE)
        words.append(f"with every byte read {units.interval(with_reading)} times MPI's at {at}; ")
    mine = [finding for finding in found if finding.panel == panel]
    reasons = [f"{f.statement.short.lower()} ({f.variant}): {f.told}" for f in mine]
    words.append("; ".join(reasons) if reasons else "no reason of the study could be tested")
    return Answer((*words, "."), worst(finding.tone for finding in mine))


def _fixed_cost(curves: Curves, panel: Panel, settings: Thresholds) -> list[Inline]:
    launches = list(curves.by_launch(panel, derived.REGION).values())
    fixed = curves.interval([derived.fixed_cost(by_size.values()) for by_size in launches])
    in_time = curves.interval([derived.flatness(by_size.values()) for by_size in launches])
    if fixed is None or in_time is None:
        return []
    # The sizes that every launch measured: sizes ascend.
    low = units.size(max(min(by_size) for by_size in launches))
    high = units.size(min(max(by_size) for by_size in launches))
    in_hand_overs = curves.interval(curves.flatness_in_hand_overs(panel))
    flat = in_hand_overs or in_time
    unit = " in bare hand-overs" if in_hand_overs else ""
    is_flat, is_flat_in_time = _is_flat(flat, settings), _is_flat(in_time, settings)
    how = " whatever its size" if is_flat and is_flat_in_time else ", the median over its sizes"
    cost = f"a region is passed in {units.interval(fixed, 1e6)} µs{how} from {low} to {high}"
    if is_flat and not is_flat_in_time:
        cost += ", and in the same number of bare hand-overs at each"
    return [f"{cost} (largest over smallest{unit} {units.interval(flat)}); "]


def _is_flat(flat: Interval, settings: Thresholds) -> bool:
    return flat.high is not None and flat.high <= 1 + settings.flat_within

"""The figures of the NetPIPE section, laid out like the study's: log-log, one curve a variant."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from roundtrip.report import units
from roundtrip.report.blocks import Figure, Text
from roundtrip.report.plot import Rule, Scale, View
from roundtrip.report.units import Level, Unit
from roundtrip.studies import display
from roundtrip.studies.display import INTERVAL, Drawing
from roundtrip.studies.netpipe import ARMS, published
from roundtrip.studies.netpipe.curves import Curves, Panel

_NEAR = (0.75, 1.25)
_STUDY_TITLE = (
    "The study: Open MPI 1.1, InfiniBand, 2005",
    published.SOURCE + "; Mbit/s converted",
)


def bandwidth_caption(level: Level) -> Text:
    """What the figures of bandwidth show, with intervals at `level`."""
    return level.within(
        "Bandwidth over message size, in the layout of the study's figure: log-log, one curve a "
        "variant, median over launches; bands are {level} rank intervals. Wide pale lines are "
        "raw MPI, thin dark lines Boost.MPI: where they lie on each other, the abstraction is "
        "free. All panels share their axes. The last panel is the study itself (2005), read off "
        "the published figure."
    )


def ratio_caption(level: Level, margin: float) -> Text:
    """What the ratio figures show, with intervals at `level`."""
    return level.within(
        "Bandwidth of each variant over that of raw MPI, paired within launches; bands are "
        "{level} rank intervals over launches. The shaded strip is “on par”, within "
        f"{units.percent(margin)} of 1. The axis shows what is close to 1: a curve that leaves it "
        "is marked ↓ or ↑, and a logarithmic axis, where a script runs, shows its whole range."
    )


def bandwidth(
    name: str, curves: Curves, panels: Sequence[Panel], margin: float
) -> tuple[Figure, ...]:
    """One figure for each panel, and the study's own last; all with the same axes.

    A script offers the ratio to raw MPI in place of the bandwidth.
    """
    drawings = _drawings(name, curves, curves.bandwidth, panels)
    known = [one for one in _drawings(name, curves, curves.ratio, panels) if len(one.frame)]
    ratios = {one.name: view for one, view in zip(known, _ratio_views(known, margin), strict=True)}
    if panels[0].is_pingpong:
        drawings.append(Drawing(f"{name}-study", *_STUDY_TITLE, _study(), ARMS, is_published=True))
    domain = display.decades([one.frame for one in drawings], 1.0)

    def ratio_view(one: Drawing) -> tuple[View, ...]:
        return (ratios[one.name],) if one.name in ratios else ()

    return display.over_size(
        drawings, "Bandwidth over message size", "Bandwidth", Unit.MB_S, domain, more=ratio_view
    )


def ratio(name: str, curves: Curves, panels: Sequence[Panel], margin: float) -> tuple[Figure, ...]:
    """Ratio to raw MPI, one figure a panel; all with the same axes."""
    drawings = _drawings(name, curves, curves.ratio, panels)
    views = {
        one.name: view for one, view in zip(drawings, _ratio_views(drawings, margin), strict=True)
    }
    return display.each_panel(
        drawings, "Ratio to raw MPI over message size", lambda one: (views[one.name],)
    )


def _ratio_views(drawings: Sequence[Drawing], margin: float) -> list[View]:
    """Ratios close to 1; on a logarithmic axis the whole range of all drawings."""
    if not drawings:
        return []
    whole = display.decades([each.frame for each in drawings], 1.0)
    y = Scale("Ratio to raw MPI", Unit.RATIO, *_NEAR, is_log=False, otherwise=whole)
    x, strip = display.sizes(drawings), (1 / (1 + margin), 1 + margin)
    return [View("Ratio", x, y, one.curves, rules=(Rule(1.0),), strip=strip) for one in drawings]


def _drawings(
    name: str, curves: Curves, frame: pl.DataFrame, panels: Sequence[Panel]
) -> list[Drawing]:
    rows = display.curve_rows(frame)
    return [
        display.drawing(
            f"{name}-{number}",
            panel,
            curves.of(rows, panel),
            ARMS,
            f"{panel.environ}, {panel.counted}",
        )
        for number, panel in enumerate(panels, 1)
    ]


def _study() -> pl.DataFrame:
    rows = [
        {"median": rate, "arm": variant, "x": size}
        for variant in ARMS
        for size, rate in published.curve(variant)
    ]
    interval = dict.fromkeys(INTERVAL, pl.Float64)
    return pl.DataFrame(rows, schema={**interval, "arm": pl.String, "x": pl.Int64})

"""The study's figure, one for each toolchain, and where the time of a round trip goes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import altair as alt
import polars as pl

from roundtrip.report import figures, units
from roundtrip.report.blocks import Figure, Text
from roundtrip.report.figures import LIGHT, Theme
from roundtrip.studies.ddtbench import derived
from roundtrip.studies.ddtbench.data import DdtData, Panel

OVERHEAD_CAPTION: Text = (
    "Packing overhead in % of the round trip for each micro-app's largest message, as in the "
    "study's figure: median over launches, lines are 95 % rank intervals. Below 0: the method was "
    "faster than the network had been for a buffer packed by hand.",
)
TIME_CAPTION: Text = (
    "Where a round trip goes, µs: median of each epoch on rank 0, then over launches, for each "
    "micro-app's largest message, each micro-app on its own scale. The other rank's unpacking and "
    "packing are part of communication.",
)
_BAR = 9
_WIDTH = 300
#: Light and dark colour of each method and epoch.
_METHODS = {
    derived.MANUAL: ("#0b4f94", "#a9d3fb"),
    derived.TUNED: ("#5b9bd5", "#5b9bd5"),
    derived.DDT: ("#d95f02", "#ffb27a"),
    derived.PACK_DDT: ("#6a3d9a", "#c9a3f5"),
}
_EPOCHS = {
    "pack": ("#0b4f94", "#a9d3fb"),
    "communication": ("#b6bfca", "#4a5563"),
    "unpack": ("#2a9d8f", "#6fd3c6"),
}
_SHORT = {
    derived.MANUAL: "by hand",
    derived.TUNED: "by hand, tuned",
    derived.DDT: "datatypes",
    derived.PACK_DDT: "MPI_Pack",
    derived.REFERENCE: "contiguous",
}


def overhead(data: DdtData, panels: Sequence[Panel]) -> tuple[Figure, ...]:
    """One figure a panel."""
    return tuple(
        figures.render(
            f"ddtbench-{panel.buffers}-{number}",
            f"Packing overhead of each micro-app: {panel.label}",
            partial(_overhead_chart, data.at_largest(data.overheads, panel), panel),
        )
        for number, panel in enumerate(panels, 1)
    )


def time(data: DdtData, panels: Sequence[Panel]) -> tuple[Figure, ...]:
    """One figure a panel."""
    return tuple(
        figures.render(
            f"ddtbench-{panel.buffers}-time-{number}",
            f"Time of a round trip by epoch: {panel.label}",
            partial(_time_chart, _epochs(data, panel), panel),
        )
        for number, panel in enumerate(panels, 1)
    )


def _overhead_chart(frame: pl.DataFrame, panel: Panel, theme: Theme) -> Any:
    percent = frame.with_columns(pl.col("median", "low", "high") * 100)
    apps = frame["app"].unique(maintain_order=True).to_list()
    y = alt.Y("app:N", sort=apps, axis=alt.Axis(title=None, ticks=False, labelPadding=6))
    offset = alt.YOffset("variant:N", sort=list(_METHODS))
    x = alt.X("median:Q", axis=alt.Axis(title="Packing overhead (% of the round trip)"))
    measured = {name: _METHODS[name] for name in _METHODS if name in set(frame["variant"])}
    colour = _colour("variant:N", measured, derived.METHODS, theme)
    bars = alt.Chart(percent).mark_bar(height=_BAR - 1).encode(x, y, offset, colour)
    spread = (
        alt.Chart(percent.filter(pl.col("low").is_not_null()))
        .mark_rule(color=theme.ink)
        .encode(alt.X("low:Q"), y, offset, x2="high:Q")
    )
    zero = alt.Chart(pl.DataFrame({"zero": [0.0]})).mark_rule(color=theme.muted).encode(x="zero:Q")
    return alt.layer(bars, spread, zero).properties(
        width=_WIDTH, height=alt.Step(_BAR), title=_title(panel)
    )


def _epochs(data: DdtData, panel: Panel) -> pl.DataFrame:
    """Columns app, method, variant, epoch, us, order."""
    mine = data.at_largest(data.figures, panel)
    return (
        mine.group_by("app", "variant", maintain_order=True)
        .agg(pl.col(*_EPOCHS).median() * 1e6)
        .unpivot(list(_EPOCHS), index=["app", "variant"], variable_name="epoch", value_name="us")
        .with_columns(
            method=pl.col("variant").replace_strict(_SHORT),
            order=pl.col("epoch").replace_strict({name: i for i, name in enumerate(_EPOCHS)}),
        )
    )


def _time_chart(frame: pl.DataFrame, panel: Panel, theme: Theme) -> Any:
    apps = frame["app"].unique(maintain_order=True).to_list()
    bars = (
        alt.Chart(frame)
        .mark_bar(height=_BAR)
        .encode(
            alt.X("sum(us):Q", axis=alt.Axis(title=None, tickCount=3)),
            alt.Y("method:N", sort=list(_SHORT.values()), axis=alt.Axis(title=None, ticks=False)),
            _colour("epoch:N", _EPOCHS, {name: name for name in _EPOCHS}, theme),
            order="order:Q",
        )
        .properties(width=130, height=alt.Step(_BAR + 4))
    )
    header = alt.Header(title=None, labelColor=theme.ink, labelFontSize=13)
    faceted: Any = bars.facet(facet=alt.Facet("app:N", sort=apps, header=header), columns=2)
    return faceted.resolve_scale(x="independent").properties(title=_title(panel))


def _colour(
    field: str, colours: dict[str, tuple[str, str]], names: dict[str, str], theme: Theme
) -> Any:
    shade = 0 if theme is LIGHT else 1
    pairs = [f"datum.label == '{key}' ? '{names[key]}'" for key in colours]
    return alt.Color(
        field,
        scale=alt.Scale(domain=list(colours), range=[colours[key][shade] for key in colours]),
        legend=alt.Legend(
            title=None,
            orient="bottom",
            columns=1,
            labelExpr=f"{' : '.join(pairs)} : datum.label",
            labelColor=theme.ink,
            labelFontSize=13,
            symbolStrokeWidth=0,
        ),
    )


def _title(panel: Panel) -> Any:
    counted = units.plural(panel.launches, "launch", "launches")
    return alt.TitleParams(
        panel.label, subtitle=f"{counted} of each micro-app, {derived.BUFFERS[panel.buffers]}"
    )

"""Efficiency over nodes: the ideal growth of a time over its measured growth.

A study gives the ideal time on a number of ranks, in any unit: a tree of messages needs log2 of the
ranks, a ring as many passes as ranks.  Both growths start at the fewest nodes of the same toolchain
and placement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from roundtrip import units
from roundtrip.content import labels
from roundtrip.content.blocks import Block, Cell, Column, Figure, Gallery, Heading, Table
from roundtrip.content.plot import Axis, Curve, View
from roundtrip.stats.summaries import median_intervals
from roundtrip.studies import display, panel
from roundtrip.studies.display import Drawing
from roundtrip.study import GREY, Arm, palette
from roundtrip.units import ConfidenceLevel, Quantity, Unit

#: (subject, number of ranks) -> ideal time, in any unit.
IdealTime = Callable[[str, int], float]
#: Columns of the times that `NodeEfficiency.from_times` takes; `value` is a time in any unit.
TIME_COLUMNS = {
    "subject": pl.String,
    "emulation_label": pl.String,
    "line": pl.String,
    "nodes": pl.Int64,
    "ranks": pl.Int64,
    "value": pl.Float64,
}


@dataclass(frozen=True)
class NodeEfficiency:
    """Efficiencies [%] by subject, such as a benchmark, by line and by number of nodes.

    Columns of `frame`: subject, emulation_label, line, nodes, ranks, time; x, median, low, high, n.
    """

    frame: pl.DataFrame
    level: ConfidenceLevel

    @staticmethod
    def from_times(times: pl.DataFrame, ideal_time: IdealTime, level: float) -> NodeEfficiency:
        """Efficiencies from `times`, a row for each launch and subject with at least
        `TIME_COLUMNS`; without lines that have only one number of nodes."""
        line = ["subject", "emulation_label", "line"]
        has_growth = pl.col("nodes").n_unique().over(line) > 1
        intervals = median_intervals(times, [*line, "nodes", "ranks"], "value", level)
        rows = intervals.filter(has_growth)
        points = rows.select("subject", "ranks").iter_rows()
        ideal = pl.Series([ideal_time(*point) for point in points], dtype=pl.Float64)
        time, growth = pl.col("median"), pl.col("ideal") / pl.col("ideal").first().over(line)
        best = 100 * time.first().over(line) * growth
        is_base = pl.int_range(pl.len()).over(line) == 0
        frame = rows.with_columns(ideal=ideal).with_columns(
            time=time,
            x="nodes",
            median=best / time,
            low=pl.when(~is_base).then(best / pl.col("high")),
            high=pl.when(~is_base).then(best / pl.col("low")),
        )
        return NodeEfficiency(frame.drop("ideal"), ConfidenceLevel(level))

    @staticmethod
    def from_launches(
        values: pl.DataFrame,
        launches: pl.DataFrame,
        level: float,
        ideal_time: IdealTime = lambda subject, ranks: 1.0,
        min_nodes: int = 2,
    ) -> NodeEfficiency:
        """Efficiencies from `values` (columns launch, subject, value) on `min_nodes` nodes or more.

        `launches` are the `BundleData.study_launches` of the study; those without hosts or ranks
        are left out.  A line is a toolchain and a placement, and a partition if there are several.
        By default the ideal time does not depend on the number of ranks.
        """
        launch_rows = launches.filter(pl.col("launch").is_in(values["launch"].to_list()))
        has_partitions = launch_rows["partition"].n_unique() > 1
        rows = []
        for row in panel.with_placement_and_label(launch_rows).rows(named=True):
            place = labels.TEXT_BY_PLACEMENT.get(row["placement"], row["placement"])
            parts = (row["toolchain"], place, row["partition"] if has_partitions else "")
            nodes = len(set(row["hosts"] or ()))
            if nodes >= min_nodes and row["ranks"]:
                line = ", ".join(filter(None, parts))
                rows.append((row["launch"], row["emulation_label"], line, nodes, row["ranks"]))
        schema = {"launch": pl.String, **TIME_COLUMNS}
        del schema["subject"], schema["value"]
        times = values.join(pl.DataFrame(rows, schema=schema, orient="row"), on="launch")
        return NodeEfficiency.from_times(times, ideal_time, level)

    def __bool__(self) -> bool:
        return not self.frame.is_empty()

    def blocks(self, name: str) -> list[Block]:
        """Heading, figures whose names begin with `name`, and the table; [] if empty."""
        if not self:
            return []
        caption = self.level.fill_caption(
            "Efficiency against the number of nodes: the ideal growth of the time over the "
            "measured growth, from the fewest nodes on. Median over launches, bars are {level} "
            "rank intervals of the time; the time on the fewest nodes is its median. Grey: ideal."
        )
        gallery = Gallery(caption, self.figures(name))
        return [Heading(3, "Efficiency over nodes"), gallery, self.table()]

    def table(self) -> Table:
        """A row for each subject and line, a column for each number of nodes; at least one row."""
        cells = []
        for row in self.frame.iter_rows(named=True):
            efficiency = Quantity(
                value=row["median"],
                unit=Unit.PERCENT,
                low=row["low"],
                high=row["high"],
                prints_unit=True,
            )
            cell = Cell((efficiency, f", {row['ranks']} ranks"), unit=Unit.PERCENT)
            names = f"{row['subject']} {row['emulation_label']}".strip(), row["line"]
            cells.append((names, row["nodes"], cell))
        counts = sorted(set(self.frame["nodes"]))
        return display.grid_table(
            "Efficiency and ranks by number of nodes; the fewest nodes are the base.",
            ("What", "Where"),
            {count: Column(units.plural(count, "node"), "right") for count in counts},
            cells,
            missing=Cell(units.NO_VALUE),
        )

    def figures(self, name: str) -> tuple[Figure, ...]:
        """A figure for each subject (at least one): a line for each toolchain and placement."""
        drawings = []
        groups = self.frame.group_by(["subject", "emulation_label"], maintain_order=True)
        for number, ((subject, emulation_label), rows) in enumerate(groups, 1):
            colours = palette(sorted(set(rows["line"])))
            arms = {line: Arm(line, colour) for line, colour in colours.items()}
            frame = rows.select("x", "median", "low", "high", "n", arm="line")
            subtitle = str(emulation_label) or "over the fewest nodes"
            drawings.append(Drawing(f"{name}-{number}", str(subject), subtitle, frame, arms))
        top = 1.1 * max(100.0, *(float(drawing.frame["median"].max()) for drawing in drawings))  # type: ignore[arg-type]
        nodes = sorted(set(self.frame["nodes"]))
        x = Axis("Nodes", Unit.COUNT, nodes[0], nodes[-1], is_log=True, ticks=tuple(nodes))
        y = Axis("Efficiency", Unit.PERCENT, 0.0, top, is_log=False)
        ends = tuple((float(n), 100.0, None, None, None) for n in (nodes[0], nodes[-1]))
        ideal = Curve(
            "Ideal", GREY, ends, line_width=1.0, point_radius=0, bound_name="ideal efficiency"
        )

        def views(drawing: Drawing) -> tuple[View, ...]:
            return (View("Efficiency", x, y, (ideal, *drawing.curves), has_interval_bars=True),)

        return display.drawing_figures(drawings, "Efficiency over nodes", views)

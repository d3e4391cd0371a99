"""The curves of the OSU section: one panel for each toolchain, placement and number of ranks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from roundtrip.report import labels
from roundtrip.report.data import Data
from roundtrip.stats.intervals import Interval, median_intervals
from roundtrip.studies.osu import derived

PLACE = ["system", "partition", "environ", "placement"]
_KEYS = ["panel", "benchmark", "metric", "size_bytes"]


@dataclass(frozen=True)
class Panel:
    """`ranks` on one toolchain, placed alike; `place` has the values of PLACE.

    `kind` is "" for measured values, else says that they are emulated or simulated.
    """

    key: str
    place: tuple[str, ...]
    toolchain: str
    ranks: int
    kind: str
    versions: tuple[str, ...]

    @property
    def label(self) -> str:
        """Name on every row and figure."""
        where = labels.PLACEMENTS.get(self.place[-1], self.place[-1])
        named = f"{self.toolchain}, {self.ranks} ranks {where}"
        return f"{named} ({self.kind})" if self.kind else named


class Curves:
    """Typical values of each launch (`derived.typical`); intervals are over launches at `level`."""

    def __init__(self, data: Data) -> None:
        self.level = data.analysis.statistics.confidence_level
        self.launches = placed(data.passed(derived.STUDY)).with_columns(
            panel=pl.concat_str(
                *PLACE, "ranks", "kind", pl.col("toolchain"), separator="|", ignore_nulls=True
            )
        )
        self._samples = data.samples.filter(pl.col("study") == derived.STUDY)

    @cached_property
    def values(self) -> pl.DataFrame:
        """One row a launch and size: launch, panel, benchmark, metric, phase, value."""
        found = derived.typical(self._samples, ["launch"]).rename({"case": "benchmark"})
        return found.join(self.launches.select("launch", "panel"), on="launch")

    @cached_property
    def intervals(self) -> pl.DataFrame:
        """Interval over launches: panel, benchmark, metric, size_bytes, median, low, high, n."""
        return median_intervals(self.values, _KEYS, "value", self.level)

    @cached_property
    def panels(self) -> tuple[Panel, ...]:
        """All panels, measured before emulated."""
        versions = self._samples.select("launch", "variant").unique().collect()
        found = []
        for rows in self.launches.join(versions, on="launch").partition_by(
            "panel", maintain_order=True
        ):
            first = rows.row(0, named=True)
            found.append(
                Panel(
                    key=first["panel"],
                    place=tuple(first[name] for name in PLACE),
                    toolchain=first["toolchain"],
                    ranks=first["ranks"],
                    kind=first["kind"],
                    versions=tuple(sorted(rows["variant"].unique())),
                )
            )
        return tuple(sorted(found, key=lambda panel: (bool(panel.kind), panel.ranks, panel.key)))

    def of(
        self, panel: Panel, benchmarks: Sequence[str], metric: str | None = None
    ) -> pl.DataFrame:
        """Rows of `intervals` of some benchmarks in one panel, of one metric or of all."""
        mine = (pl.col("panel") == panel.key) & pl.col("benchmark").is_in(list(benchmarks))
        return self.intervals.filter(
            mine if metric is None else mine & (pl.col("metric") == metric)
        )

    def at(self, panel: Panel, benchmark: str, metric: str, size: int) -> Interval | None:
        """One point; None if it was not measured."""
        rows = self.of(panel, [benchmark], metric).filter(pl.col("size_bytes") == size)
        if rows.is_empty():
            return None
        row = rows.row(0, named=True)
        return Interval(row["median"], row["low"], row["high"], row["n"])


def placed(launches: pl.DataFrame) -> pl.DataFrame:
    """`launches` with the columns `placement` (a parameter of the check) and `kind`."""
    return launches.with_columns(
        placement=pl.Series(
            [str(json.loads(text or "{}").get("placement", "")) for text in launches["parameters"]],
            dtype=pl.String,
        ),
        kind=pl.Series(
            [labels.kind(*pair) for pair in launches.select("emulated", "simulated").iter_rows()],
            dtype=pl.String,
        ),
    )

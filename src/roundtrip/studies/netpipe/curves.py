"""The curves of the NetPIPE section: one panel for each toolchain and setting."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from roundtrip.report import labels
from roundtrip.report.data import Data
from roundtrip.stats.intervals import Interval, median_intervals
from roundtrip.studies.netpipe import derived

_PANEL = ["case_id", "case"]
_BY = [*_PANEL, "variant", "size_bytes"]
_MODES = {"pingpong": "Ping-pong", "stream": "Stream", "bidirectional": "Bidirectional"}
_BUFFERS = {
    "same": "send and receive share a buffer",
    "no-cache": "each message from memory not touched lately",
}


@dataclass(frozen=True)
class Panel:
    """One toolchain in one setting; `setting` is the same text for panels to be seen together.

    `kind` is "" for measured values, else says that they are emulated or simulated; `rtt_ms` is the
    round-trip time of an emulated WAN.  `facts` are what makes the setting, in words; `apart` are
    those that tell it from the other settings of its toolchain in the same report.
    """

    case_id: str
    case: str
    toolchain: str
    environ: str
    setting: str
    kind: str
    launches: int
    rtt_ms: float | None = None
    facts: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """Identity in the frames."""
        return self.case_id, self.case

    @property
    def is_pingpong(self) -> bool:
        """Whether it measures what the study measured."""
        return self.case.startswith("pingpong/")

    @property
    def label(self) -> str:
        """Name on every row and figure."""
        named = ", ".join((self.toolchain, *self.apart))
        return f"{named} ({self.kind})" if self.kind else named


class Curves:
    """Launch medians of a bundle, and what follows from them.

    Intervals are over launches at `level`.
    """

    def __init__(self, data: Data) -> None:
        self.level = data.analysis.statistics.confidence_level
        self.launches = data.passed(derived.STUDY)
        self._samples = data.samples.filter(
            (pl.col("study") == derived.STUDY) & (pl.col("phase") == "measure")
        )

    @cached_property
    def everything(self) -> pl.DataFrame:
        """Launch medians of all variants, those unknown to the study included."""
        return derived.launch_medians(self._samples, ["launch", "case_id"])

    @cached_property
    def medians(self) -> pl.DataFrame:
        """Launch medians of the study's variants at sizes above 0."""
        known = pl.col("variant").is_in(list(derived.VARIANTS))
        return self.everything.filter(known & (pl.col("size_bytes") > 0))

    @property
    def unknown_variants(self) -> list[str]:
        """Variants that are in the samples but not in the study."""
        return sorted(set(self.everything["variant"].unique()) - set(derived.VARIANTS))

    @cached_property
    def bandwidth(self) -> pl.DataFrame:
        """Interval of the bandwidth, MB/s, at each point."""
        return median_intervals(self.medians, _BY, "bandwidth", self.level)

    @cached_property
    def seconds(self) -> pl.DataFrame:
        """Interval of the time, s, at each point."""
        return median_intervals(self.medians, _BY, "seconds", self.level)

    @cached_property
    def launch_ratios(self) -> pl.DataFrame:
        """Ratio to raw MPI in each launch, at each point."""
        return derived.ratios(self.medians, ["launch", "case_id"])

    @cached_property
    def ratio(self) -> pl.DataFrame:
        """Interval of the ratio to raw MPI at each point."""
        return median_intervals(self.launch_ratios, _BY, "ratio", self.level)

    @cached_property
    def first_byte(self) -> pl.DataFrame:
        """Samples at 1 byte, of all launches together: tails of the latency, seconds."""
        value = pl.col("value")
        return (
            self._samples.filter(pl.col("size_bytes") == 1)
            .group_by(*_PANEL, "variant")
            .agg(
                samples=pl.len().cast(pl.Int64),
                least=value.min(),
                p50=value.quantile(0.50, "higher"),
                p90=value.quantile(0.90, "higher"),
                p99=value.quantile(0.99, "higher"),
            )
            .collect()
        )

    @cached_property
    def panels(self) -> tuple[Panel, ...]:
        """Every toolchain and setting with curves, in the order to be shown."""
        counts = (
            self.medians.group_by(_PANEL)
            .agg(launches=pl.col("launch").n_unique().cast(pl.Int64))
            .join(self.launches.unique("case_id", keep="first"), on="case_id")
        )
        panels = [_panel(row) for row in counts.iter_rows(named=True)]
        return tuple(sorted(_told_apart(panels), key=_order))

    def of(self, frame: pl.DataFrame, panel: Panel) -> pl.DataFrame:
        """Rows of `frame` that belong to `panel`."""
        return frame.filter((pl.col("case_id") == panel.case_id) & (pl.col("case") == panel.case))

    def at(self, frame: pl.DataFrame, panel: Panel, variant: str, size: int) -> Interval | None:
        """The interval at one point of `bandwidth`, `seconds` or `ratio`; None if not measured."""
        rows = self.of(frame, panel).filter(
            (pl.col("variant") == variant) & (pl.col("size_bytes") == size)
        )
        if rows.is_empty():
            return None
        row = rows.row(0, named=True)
        return Interval(row["median"], row["low"], row["high"], row["n"])


def _panel(row: dict[str, object]) -> Panel:
    case = str(row["case"])
    mode, _, buffers = case.partition("/")
    parameters = json.loads(str(row["parameters"] or "{}"))
    told = ("mode", "wan_rtt")  # by the case, and as `kind`
    rest = {key: str(value) for key, value in sorted(parameters.items()) if key not in told}
    parts = [_MODES.get(mode, mode), _BUFFERS.get(buffers, buffers), *rest.values()]
    kind = labels.kind(row["emulated"], row["simulated"])
    words = [labels.PLACEMENTS.get(value, value) for value in rest.values()]
    setting = ", ".join(part for part in parts if part)
    return Panel(
        case_id=str(row["case_id"]),
        case=case,
        toolchain=str(row["toolchain"]),
        environ=str(row["environ"]),
        setting=f"{setting}, on {row['system']}:{row['partition']}" + (f", {kind}" if kind else ""),
        kind=kind,
        launches=int(str(row["launches"])),
        rtt_ms=json.loads(str(row["emulated"] or "{}")).get("wan_rtt_ms"),
        facts=(*parts[:2], *words, f"on {row['system']}:{row['partition']}", str(row["environ"])),
    )


def _told_apart(panels: Iterable[Panel]) -> Iterator[Panel]:
    """Panels that would bear the same name get the facts in which they differ added to it."""
    alike: dict[str, list[Panel]] = defaultdict(list)
    for panel in panels:
        alike[panel.label].append(panel)
    for group in alike.values():
        common = set.intersection(*(set(panel.facts) for panel in group))
        for panel in group:
            apart = tuple(fact for fact in panel.facts if fact and fact not in common)
            yield replace(panel, apart=apart)


def _order(panel: Panel) -> tuple[bool, bool, float, str, str, str]:
    rtt = panel.rtt_ms or 0.0
    measured_first = bool(panel.kind), not panel.is_pingpong
    return *measured_first, rtt, panel.setting, panel.environ, panel.case_id

"""The curves of the NetPIPE section: one panel for each toolchain and setting."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from roundtrip.collect.columns import setting_number
from roundtrip.report import labels
from roundtrip.report.data import Data
from roundtrip.stats.summaries import median_intervals
from roundtrip.studies import panel
from roundtrip.studies.derivation import within_launch
from roundtrip.studies.netpipe import ARMS, BASE, STUDY, derived
from roundtrip.studies.panel import Panels, Row

_LAUNCH = ["launch", "case_id"]
_BY = ["case_id", "case", "variant", "size_bytes"]
_MODES = {"pingpong": "Ping-pong", "stream": "Stream", "bidirectional": "Bidirectional"}
_BUFFERS = {
    "same": "send and receive share a buffer",
    "no-cache": "each message from memory not touched lately",
}


@dataclass(frozen=True, kw_only=True)
class Panel(panel.Panel):
    """One toolchain in one setting; panels that are shown together have the same `setting`.

    `rtt_ms` is the round-trip time of an emulated WAN.
    """

    environ: str
    setting: str
    rtt_ms: float | None = None

    @property
    def case(self) -> str:
        """Mode and buffers, as in samples.csv."""
        return self.key[1]

    @property
    def is_pingpong(self) -> bool:
        """Whether it measures what the study measured."""
        return self.case.startswith("pingpong/")

    @property
    def order(self) -> tuple[Any, ...]:
        """Measured before emulated, and what the study measured before other modes."""
        measured_first = bool(self.kind), not self.is_pingpong
        return *measured_first, self.rtt_ms or 0.0, self.setting, self.environ, self.key


class Curves(Panels[Panel]):
    """Launch medians of a bundle, and what follows from them."""

    def __init__(self, data: Data) -> None:
        super().__init__(data, STUDY.name)
        self.samples = derived.times(self.samples).filter(pl.col("phase") == "measure")

    @cached_property
    def everything(self) -> pl.DataFrame:
        """Launch medians of all variants, those unknown to the study included: columns as of
        `derived.launch_medians` by launch and case_id.
        """
        return derived.launch_medians(self.samples, _LAUNCH)

    @cached_property
    def values(self) -> pl.DataFrame:
        """Launch medians of the study's variants at sizes above 0; columns of `everything`."""
        known = pl.col("variant").is_in(list(ARMS))
        return self.everything.filter(known & (pl.col("size_bytes") > 0))

    @property
    def unknown_variants(self) -> list[str]:
        """Variants that the samples have and the study does not."""
        return sorted(set(self.everything["variant"].unique()) - set(ARMS))

    @cached_property
    def bandwidth(self) -> pl.DataFrame:
        """Interval of the bandwidth at each point: columns case_id, case, variant, size_bytes;
        median, low and high in MB/s; n.
        """
        return median_intervals(self.values, _BY, "bandwidth", self.level)

    @cached_property
    def seconds(self) -> pl.DataFrame:
        """Interval of the time, s, at each point; columns of `bandwidth`."""
        return median_intervals(self.values, _BY, "seconds", self.level)

    @cached_property
    def ratio(self) -> pl.DataFrame:
        """Interval of the ratio to raw MPI at each point; columns of `bandwidth`."""
        ratios = within_launch(self.values, _LAUNCH, BASE)
        return median_intervals(ratios, _BY, "ratio", self.level)

    @cached_property
    def first_byte(self) -> pl.DataFrame:
        """Tails of the latency over the samples at 1 byte of all launches together: columns
        case_id, case, variant, samples; least, p50, p90 and p99 in seconds.
        """
        value = pl.col("value")
        return (
            self.samples.filter(pl.col("size_bytes") == 1)
            .group_by(*self.by, "variant")
            .agg(
                samples=pl.len().cast(pl.Int64),
                least=value.min(),
                p50=value.quantile(0.50, "higher"),
                p90=value.quantile(0.90, "higher"),
                p99=value.quantile(0.99, "higher"),
            )
            .collect()
        )

    def series_key(self, panel: Panel, variant: str, size: int) -> str:
        """The series of the time at one point, from which its bandwidth follows: `Cell.series`."""
        return self.series(panel, size, variant=variant, phase="measure")

    def _panel(self, row: Row) -> Panel:
        case, kind, place = row["case"], row["kind"], panel.place(row)
        mode, _, buffers = case.partition("/")
        told = ("mode", "wan_rtt")  # by the case, and as `kind`
        parameters = sorted(panel.parameters(row).items())
        rest = [str(value) for key, value in parameters if key not in told]
        parts = [_MODES.get(mode, mode), _BUFFERS.get(buffers, buffers), *rest]
        words = [labels.PLACEMENTS.get(value, value) for value in rest]
        setting = ", ".join(part for part in parts if part)
        return Panel(
            key=(row["case_id"], case),
            toolchain=row["toolchain"],
            kind=kind,
            launches=row["launches"],
            facts=(*parts[:2], *words, place, row["environ"]),
            environ=row["environ"],
            setting=f"{setting}, {place}" + (f", {kind}" if kind else ""),
            rtt_ms=setting_number(row["emulation"], "wan_rtt_ms"),
        )

"""A series, which is drawn as one line: a benchmark by a transport on so many ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any

from roundtrip.collect.tables import settings
from roundtrip.report import labels
from roundtrip.studies.npb import derived, wan

#: On every row, table and figure of results over the link.
EMULATED = "emulated WAN"
_ORDER = ("CG", "MG", "LU", "FT", "IS", "EP", "BT", "SP")  # the study's come first


@dataclass(frozen=True)
class Series:
    """One benchmark by one transport on so many ranks; `wan`: half of them in each cluster."""

    benchmark: str
    problem_class: str
    ranks: int
    toolchain: str
    environ: str
    placement: str
    source: str
    wan: bool
    partition: str
    shared: bool  # more ranks than processors
    nodes: bool = True  # real ones
    over: str = ""  # the transport, as its site declares it

    @property
    def order(self) -> tuple[object, ...]:
        """Key to sort series as they are shown: by benchmark, then by everything else."""
        known = self.benchmark in _ORDER
        return _ORDER.index(self.benchmark) if known else len(_ORDER), astuple(self)

    @property
    def name(self) -> str:
        """``CG A``."""
        return f"{self.benchmark} {self.problem_class}"

    @property
    def case(self) -> str:
        """``CG.A on 2 ranks``."""
        ranks = "1 rank" if self.ranks == 1 else f"{self.ranks} ranks"
        return f"{self.benchmark}.{self.problem_class} on {ranks}"

    @property
    def planned(self) -> Series:
        """The series with only what is known of a launch that never ran."""
        return replace(self, shared=False, toolchain="", nodes=True)

    @property
    def in_memory(self) -> bool:
        """Whether the ranks of a cluster share memory."""
        return self.placement in wan.IN_MEMORY and self.ranks > (2 if self.wan else 1)

    @property
    def role(self) -> str | None:
        """The library of the study that the transport stands for."""
        return wan.role(self.over, self.placement) if self.wan else None

    @property
    def transport(self) -> str:
        """Toolchain, and how the ranks of one cluster reach each other if there are several."""
        source = ", NPB 3.4" if self.source == derived.UPSTREAM else ""
        inside = ", in memory inside" if self.in_memory and self.wan else ""
        return f"{self.toolchain}{inside}{source}"

    @property
    def setup(self) -> str:
        """How many ranks there are, and where."""
        half = self.ranks // 2
        where = f"{half} + {half} ranks" if self.wan else f"{self.ranks} ranks"
        where = "1 rank" if self.ranks == 1 else where
        if not self.wan and self.ranks > 1 and self.placement:
            where = f"{where} {labels.PLACEMENTS.get(self.placement, self.placement)}"
        where = where if self.wan or self.nodes else f"{where} on emulated nodes"
        return f"{where}, fewer processors" if self.shared else where

    @property
    def label(self) -> str:
        """Name on rows."""
        told = f"{self.name}, {self.transport}, {self.setup}"
        return f"{told}, {EMULATED}" if self.wan else told


def of_row(
    row: Mapping[str, Any], titles: Mapping[str, str], transports: Mapping[str, str]
) -> tuple[Series, float | None]:
    """Series and round-trip time (ms; None inside a cluster) of a row of cases.parquet.

    `titles`, `transports`: toolchain and transport by environment.  Of a launch that never was only
    the case's name is known.
    """
    parameters, emulated = settings.texts(row["parameters"]), settings.texts(row["emulation"])
    rtt = emulated.get("wan_rtt_ms", parameters.get("wan_rtt"))
    ranks, environ = parameters.get("ranks", ""), str(row["environ"] or "")
    series = Series(
        benchmark=parameters.get("benchmark", ""),
        problem_class=parameters.get("problem_class", ""),
        ranks=int(ranks) if ranks.isdigit() else int(row["ranks"] or 0),
        toolchain=str(titles.get(environ) or environ),
        environ=environ,
        placement=parameters.get("placement", ""),
        source=parameters.get("source", derived.NATIVE),
        wan=rtt is not None,
        partition=str(row["partition"] or ""),
        shared="shared_processors" in emulated,
        nodes="nodes" not in emulated,
        over=transports.get(environ) or wan.transport_of_old(environ),
    )
    return series, None if rtt is None else float(rtt)

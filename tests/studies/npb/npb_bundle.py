"""Makes NPB data whose truth is known, times in seconds."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from support.measured import bundle_data, launch_row

from roundtrip.content.blocks import Cell, Table
from roundtrip.content.data import BundleData
from roundtrip.measure import bundle_tables
from roundtrip.measure.bundle_rows import DETAIL_ROW_BY_STUDY
from roundtrip.measure.columns import setting_rows, table_columns

ITERATIONS = 10


@dataclass
class Bundle:
    """`add` launches, then `data`.  Every rate is `work` / time; times grow by `drift` each round.

    `in_rounds`: launches record which round of the campaign they are of.
    """

    work: float = 1000.0
    rounds: int = 6
    drift: float = 1e-3
    in_rounds: bool = False
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    cases: list[dict[str, Any]] = field(default_factory=list)
    details: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self,
        benchmark: str = "CG",
        ranks: int = 1,
        rtt: float | None = None,
        compute: float = 1.0,
        communication: float = 0.0,
        messages: int = 0,
        environ: str = "mpich50-tcp",
        toolchain: str = "MPICH 5.0 over TCP",
        placement: str = "shared-memory",
        source: str = "native",
        problem_class: str = "A",
        shared: bool = False,
        status: str = "passed",
        history: str | None = "agrees",
        nodes: int = 1,
    ) -> None:
        """One case, a launch of it in each round."""
        emulation: dict[str, float] = {} if rtt is None else {"wan_rtt_ms": rtt}
        if shared:
            emulation["shared_processors"] = 2
        parameters = {
            "benchmark": benchmark,
            "problem_class": problem_class,
            "ranks": ranks,
            "placement": placement,
            "source": source,
            **({} if rtt is None else {"wan_rtt": rtt}),
        }
        number = len(self.cases)
        for round_ in range(self.rounds):
            launch = f"{number:04d}/{round_}"
            changes = {
                "status": status,
                "reason": "" if status == "passed" else "verification failed",
                "environ": environ,
                "toolchain": toolchain,
                "system": None,
                "partition": "clusterA" if rtt is None else "grid",
                "round": f"{round_:03d}",
                "campaign_round": round_ + 1 if self.in_rounds else None,
                "parameters": setting_rows(parameters),
                "emulation": setting_rows(emulation if status == "passed" else {}),
                "ranks": ranks,
                "hosts": [f"node-{number}" for number in range(nodes)],
            }
            self.cases.append(launch_row(launch, f"case {number}", "npb", **changes))
            if source != "upstream" and history is not None:
                verification = {"specification": True, "history": history}
                self.details.append({"launch": launch, "verification": verification})
            if status != "passed":
                continue
            noise = 1 + self.drift * round_
            total = (compute + communication) * noise
            key = (launch, f"case {number}", "npb", f"{benchmark}/{problem_class}", source)
            self.rows.append((*key, 0, "total", 0, "rate", self.work / total, "Mop/s"))
            if source == "upstream":
                continue
            self.rows.append((*key, 0, "total", 0, "time", total, "s"))
            parts = [("iteration", total), ("compute", compute * noise)]
            if communication:
                parts.append(("exchange", communication * noise))
            for i in range(ITERATIONS):
                for phase, seconds in parts:
                    self.rows.append((*key, 0, phase, i, "time", seconds / ITERATIONS, "s"))
            for rank in range(ranks):
                share = communication * noise * (1 + rank) * 2 / (ranks + 1)
                self.rows.append((*key, 0, "rank communication", rank, "time", share, "s"))
            if messages:
                self.rows.append((*key, 8, "exchange", 0, "messages", float(messages), "1"))

    def data(self) -> BundleData:
        """As the report reads it."""
        details = {
            "npb": bundle_tables.make_frame(self.details, table_columns(DETAIL_ROW_BY_STUDY["npb"]))
        }
        return bundle_data(self.cases, self.rows, details=details)


def two_clusters(rounds: int = 6, slow: float = 1.2) -> Bundle:
    """CG stalls, LU scales: by UDP and TCP, a rank in each cluster; TCP takes `slow` times longer.

    CG waits for 50 round trips in each of its 10 iterations, LU for 1.
    """
    builder = Bundle(rounds=rounds)
    for benchmark, waits in (("CG", 50), ("LU", 1)):
        for environ, factor in (("mpich50-udp", 1.0), ("mpich50-tcp", slow)):
            names = {"environ": environ, "toolchain": f"MPICH 5.0, {environ[-3:].upper()}"}
            builder.add(benchmark, 1, compute=4.0, **names)  # type: ignore[arg-type]
            for rtt in (0.0, 2.0, 4.0):
                builder.add(
                    benchmark,
                    2,
                    rtt,
                    compute=2.0 * factor,
                    communication=factor * (0.001 + waits * ITERATIONS * rtt / 1e3),
                    messages=4 * waits * ITERATIONS,
                    placement="one-per-node",
                    **names,  # type: ignore[arg-type]
                )
    return builder


def row(block: Table, *words: str) -> tuple[Cell, ...]:
    """The one whose name has all these words."""
    (match,) = [cells for cells in block.rows if all(word in cells[0].text for word in words)]
    return match


def numbers(cells: Iterable[Cell]) -> list[str]:
    """The first word of each cell: a median without its interval."""
    return [cell.text.split(" ")[0] for cell in cells]

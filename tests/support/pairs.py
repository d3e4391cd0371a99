"""Published nights of a campaign over pairs of nodes: bundles as the collector writes them.

As a program it writes a tree of reports to look at: ``python tests/support/pairs.py REPORTS``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from roundtrip.collect import analysis, bundle_tables, manifest, samples
from roundtrip.collect.bundle_rows import LABELS
from support.nights import published

CAMPAIGN, SITE, ENVIRON = "pairs", "local", "openmpi41-boost181"
#: What site `virtual` says of its nodes.
EMULATED = {"nodes": "namespaces of one machine"}
CASE = f"NetPIPE/mode=pingpong@{SITE}:cluster+{ENVIRON}"
SIZES = (1, 1024, 65536, 1 << 20)
_FIRST = datetime(2026, 1, 1, 1, tzinfo=UTC)


def pseudonym(node: int) -> str:
    return f"node-{node:08x}"


@dataclass
class Pairs:
    """A writer of such nights: `each` rounds a night, of `nodes` (an even number).

    `slow` adds seconds to each message of a node, `narrow` divides the bandwidth to others, `lossy`
    is the share of its messages that take 0.2 s, `halved` nodes have processors of half the speed.
    All launches of `failed` nodes fail, as Slurm takes those of `down` for down.  Times scatter by
    `noise` from launch to launch.  `alone` launches on single nodes come besides.  `plan` is what
    env/pairs.json says of each partition, `emulated` what each launch says of its nodes.
    """

    reports: Path
    nodes: int = 16
    each: int = 4
    messages: int = 40
    noise: float = 0.1
    seed: int = 1
    slow: Mapping[int, float] = field(default_factory=dict)
    narrow: Mapping[int, float] = field(default_factory=dict)
    lossy: Mapping[int, float] = field(default_factory=dict)
    halved: Collection[int] = ()
    failed: frozenset[int] = frozenset()
    down: frozenset[int] = frozenset()
    switches: int = 0
    alone: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)
    plan: Mapping[str, Any] = field(default_factory=dict)
    emulated: Mapping[str, Any] | None = None

    def night(self, number: int) -> Path:
        """Publish one night; its revision."""
        start_time = (_FIRST + timedelta(days=number)).strftime("%Y-%m-%dT%H:%M:%SZ")
        facts = {
            **{"campaign": CAMPAIGN, "site": SITE, "started": start_time, "finished": None},
            **{"git": {"commit": "0" * 40, "dirty": False}, "tools": {"roundtrip": "0.1.0"}},
            **self.facts,
        }
        site = self.reports / CAMPAIGN / SITE
        return published(site / start_time[:10], lambda b: self.bundle(b, number, facts))

    def bundle(self, folder: Path, number: int, facts: Mapping[str, Any]) -> str:
        """Write the bundle of a night to a new folder; its digest."""
        (folder / "env").mkdir(parents=True)
        rng = np.random.default_rng([self.seed, number])
        launches = list(self._launches(number))
        tables = bundle_tables.make_tables(
            self._record(launch, facts["started"]) for launch in launches
        )
        rows = pl.concat(self._samples(launch, rng) for launch in launches if self._came(launch))
        bundle_tables.write_tables(tables, folder)
        bundle_tables.write_frame(
            rows.sort("case_id", "launch", "size_bytes", "rep"), folder / _SAMPLES
        )
        bundle_tables.write_medians(
            bundle_tables.launch_medians(rows.lazy(), tables.frames["cases"], 0.95), folder
        )
        (folder / "analysis.toml").write_text(analysis.default_text())
        (folder / "campaign.toml").write_text('title = "Pairs"\nnodes = "all"\n')
        (folder / "env" / "pairs.json").write_text(
            json.dumps({"schema": 1, "partitions": dict(self.plan)})
        )
        host = {"system": {"kernel": "6.1.0"}, "cpu": {"logical": 2, "model": "Example CPU"}}
        (folder / "env" / "host.json").write_text(json.dumps(host))
        return manifest.write(folder, dict(facts)).digest

    def _launches(self, number: int) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """(round of the design, round of the night, nodes)."""
        for index in range(self.each):
            round_ = (number * self.each + index) % (self.nodes - 1)
            order = [0, *((k + round_) % (self.nodes - 1) + 1 for k in range(self.nodes - 1))]
            for k in range(self.nodes // 2):
                yield round_ + 1, index + 1, (order[k], order[-1 - k])
            for node in range(self.nodes if self.alone else 0):
                yield 0, index + 1, (node,)

    def _came(self, launch: tuple[int, int, tuple[int, ...]]) -> bool:
        return not self.failed & set(launch[2])

    def _record(self, launch: tuple[int, int, tuple[int, ...]], start_time: str) -> dict[str, Any]:
        round_, night_round, nodes = launch
        hosts = [pseudonym(node) for node in nodes]
        is_ok = self._came(launch)
        places = [
            {
                **{"rank": rank, "host": hosts[rank % len(hosts)]},
                "cpus": [rank if len(nodes) > 1 else night_round - 1 + rank],
                "switch": f"switch-{nodes[rank % len(nodes)] % self.switches:08x}"
                if self.switches
                else None,
            }
            for rank in (0, 1)
        ]
        return {
            **{"launch": _name(launch), "case_id": CASE, "campaign_round": night_round},
            **{"study": "netpipe", "check": "NetPIPE", "system": SITE, "partition": "cluster"},
            **{"environ": ENVIRON, "toolchain": "Open MPI 4.1, Boost 1.81", "started": start_time},
            **{"status": "passed" if is_ok else "failed", "reason": "" if is_ok else "no answer"},
            **{"round": "001", "wanted": 4, "elapsed_s": 4.0, "ranks": 2, "hosts": hosts},
            "nodes_down": [pseudonym(node) for node in sorted(self.down & set(nodes))] or None,
            "emulated": self.emulated,
            **{"simulated": False, "sealed": True, "disturbed": False, "disturbed_why": ""},
            **{"mpi_library": "Open MPI v4.1.4", "boost": "1.81.0", "compiler": "GNU 12.2.0"},
            **{"compiler_flags": "-O3", "clock": {"name": "MPI_Wtime"}, "placement": places},
            "parameters": {
                "pair_round": round_,
                "pair_night_round": night_round,
                "mode": "pingpong",
            },
        }

    def _samples(
        self, launch: tuple[int, int, tuple[int, ...]], rng: np.random.Generator
    ) -> pl.DataFrame:
        nodes = launch[2]
        factor = np.exp(self.noise * rng.standard_normal())
        start = (0.5e-6 if len(nodes) == 1 else 50e-6) + sum(self.slow.get(n, 0) for n in nodes)
        per_byte = 1e-9
        if len(nodes) > 1:
            per_byte *= np.prod([self.narrow.get(node, 1) for node in nodes])
        if set(self.halved) & set(nodes):
            start, per_byte = 2 * start, 2 * per_byte
        size = np.repeat(SIZES, self.messages)
        times = factor * (start + size * per_byte) * np.exp(0.03 * rng.standard_normal(size.size))
        losses = rng.random(size.size) < sum(self.lossy.get(node, 0) for node in nodes)
        frame = pl.DataFrame(
            {
                "size_bytes": size,
                "rep": np.tile(np.arange(self.messages), len(SIZES)),
                "value": times + 0.2 * losses,
            }
        )
        texts = {
            **{"launch": _name(launch), "case_id": CASE, "study": "netpipe"},
            **{"case": "pingpong/same", "variant": "mpi", "phase": "measure"},
            **{"metric": "half_round_trip_time", "unit": "s"},
        }
        schema = {**LABELS, **samples.SCHEMA}
        rows = frame.with_columns(**{name: pl.lit(text) for name, text in texts.items()})
        return rows.select(*schema).cast(pl.Schema(schema))


_SAMPLES = "samples.parquet"


def _name(launch: tuple[int, int, tuple[int, ...]]) -> str:
    return f"{launch[1]:03d}/x/NetPIPE_{'_'.join(map(str, launch[2]))}"


if __name__ == "__main__":
    sick = Pairs(
        Path(sys.argv[1]),
        slow={3: 100e-6},
        lossy={9: 0.005},
        alone=True,
        facts={
            "nodes_not_measured": [
                {"node": pseudonym(16), "state": "drained", "reason": "bad cable"}
            ]
        },
    )
    for one_night in range(2):
        sick.night(one_night)

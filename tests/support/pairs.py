"""Published nights of a campaign over pairs of nodes: bundles as the collector writes them."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from roundtrip.measure import samples
from roundtrip.measure.bundle_rows import LAUNCH_COLUMNS
from support.nights import LAUNCH_RECORD, SITE, BundleWriter, write_bundle

CAMPAIGN, ENVIRON = "pairs", "openmpi41-boost181"
#: What site `virtual` says of its nodes.
NODE_EMULATION = {"nodes": "namespaces of one machine"}
CASE_ID = f"NetPIPE/mode=pingpong@{SITE}:cluster+{ENVIRON}"
SIZES = (1, 1024, 65536, 1 << 20)


def pseudonym(node: int) -> str:
    return f"node-{node:08x}"


@dataclass
class PairNightWriter(BundleWriter):
    """Publishes nights of `nodes` nodes (an even number) in pairs, `rounds_a_night` rounds each.

    By node: `added_s_by_node` to each message, a divisor of the bandwidth to others, and the share
    of messages that take 0.2 s (`loss_by_node`).  Processors of `half_speed_nodes` have half the
    speed, and a clock runs `clock_rate_by_node` times as fast.  All launches of `failed_nodes`
    fail; Slurm takes `down_nodes` for down.  Times scatter by `noise` from launch to launch.
    With `has_single_launches` there are launches on single nodes too.  `plan` is what
    env/pairs.json says of each partition, `emulated` what each launch says of its nodes.
    """

    campaign = CAMPAIGN
    nodes: int = 16
    rounds_a_night: int = 4
    messages: int = 40
    noise: float = 0.1
    seed: int = 1
    added_s_by_node: Mapping[int, float] = field(default_factory=dict)
    bandwidth_divisor_by_node: Mapping[int, float] = field(default_factory=dict)
    loss_by_node: Mapping[int, float] = field(default_factory=dict)
    half_speed_nodes: Collection[int] = ()
    clock_rate_by_node: Mapping[int, float] = field(default_factory=dict)
    failed_nodes: frozenset[int] = frozenset()
    down_nodes: frozenset[int] = frozenset()
    switches: int = 0
    has_single_launches: bool = False
    plan: Mapping[str, Any] = field(default_factory=dict)
    emulated: Mapping[str, Any] | None = None

    def bundle(self, folder: Path, number: int, facts: Mapping[str, Any]) -> str:
        rng = np.random.default_rng([self.seed, number])
        launches = list(self._launches(number))
        records = [self._record(launch, facts["started"]) for launch in launches]
        rows = pl.concat(
            self._samples(launch, rng) for launch in launches if self._has_passed(launch)
        )
        cpu = {"logical": 2, "model": "Example CPU"}
        environment = {
            "pairs.json": {"schema": 1, "partitions": dict(self.plan)},
            "host.json": {"system": {"kernel": "6.1.0"}, "cpu": cpu},
        }
        text = 'title = "Pairs"\nnodes = "all"\n'
        rows = rows.sort("case_id", "launch", "size_bytes", "rep")
        return write_bundle(folder, facts, records, rows, text, environment)

    def _launches(self, number: int) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """(round of the design, round of the night, nodes)."""
        for index in range(self.rounds_a_night):
            round_ = (number * self.rounds_a_night + index) % (self.nodes - 1)
            order = [0, *((k + round_) % (self.nodes - 1) + 1 for k in range(self.nodes - 1))]
            for k in range(self.nodes // 2):
                yield round_ + 1, index + 1, (order[k], order[-1 - k])
            for node in range(self.nodes if self.has_single_launches else 0):
                yield 0, index + 1, (node,)

    def _has_passed(self, launch: tuple[int, int, tuple[int, ...]]) -> bool:
        return not self.failed_nodes & set(launch[2])

    def _switch(self, node: int) -> str | None:
        return f"switch-{node % self.switches:08x}" if self.switches else None

    def _record(self, launch: tuple[int, int, tuple[int, ...]], start_time: str) -> dict[str, Any]:
        round_, night_round, nodes = launch
        hosts = [pseudonym(node) for node in nodes]
        is_ok = self._has_passed(launch)
        rate = self.clock_rate_by_node.get(nodes[-1], 1.0) / self.clock_rate_by_node.get(
            nodes[0], 1.0
        )
        places = [
            {
                **{"rank": rank, "host": hosts[rank % len(hosts)]},
                "cpus": [rank if len(nodes) > 1 else night_round - 1 + rank],
                "switch": self._switch(nodes[rank % len(nodes)]),
            }
            for rank in (0, 1)
        ]
        parameters = {"pair_round": round_, "pair_night_round": night_round, "mode": "pingpong"}
        return {
            **{"launch": _launch_name(launch), "case_id": CASE_ID, "campaign_round": night_round},
            **{**LAUNCH_RECORD, "system": SITE, "partition": "cluster", "started": start_time},
            **{"status": "passed" if is_ok else "failed", "reason": "" if is_ok else "no answer"},
            **{"wanted": 4, "hosts": hosts, "emulated": self.emulated, "placement": places},
            "nodes_down": [pseudonym(node) for node in sorted(self.down_nodes & set(nodes))]
            or None,
            "disturbance": {"clock_rate": [1.0, rate], "clock_rate_error": [0, 1e-5]},
            "parameters": parameters,
        }

    def _samples(
        self, launch: tuple[int, int, tuple[int, ...]], rng: np.random.Generator
    ) -> pl.DataFrame:
        nodes = launch[2]
        factor = np.exp(self.noise * rng.standard_normal())
        start = (0.5e-6 if len(nodes) == 1 else 50e-6) + sum(
            self.added_s_by_node.get(n, 0) for n in nodes
        )
        per_byte = 1e-9
        if len(nodes) > 1:
            per_byte *= np.prod([self.bandwidth_divisor_by_node.get(node, 1) for node in nodes])
        if set(self.half_speed_nodes) & set(nodes):
            start, per_byte = 2 * start, 2 * per_byte
        size = np.repeat(SIZES, self.messages)
        times = factor * (start + size * per_byte) * np.exp(0.03 * rng.standard_normal(size.size))
        losses = rng.random(size.size) < sum(self.loss_by_node.get(node, 0) for node in nodes)
        rep = np.tile(np.arange(self.messages), len(SIZES))
        frame = pl.DataFrame({"size_bytes": size, "rep": rep, "value": times + 0.2 * losses})
        texts = {
            **{"launch": _launch_name(launch), "case_id": CASE_ID, "study": "netpipe"},
            **{"case": "pingpong/same", "variant": "mpi", "phase": "measure"},
            **{"metric": "half_round_trip_time", "unit": "s"},
        }
        schema = {**LAUNCH_COLUMNS, **samples.CSV_SCHEMA}
        rows = frame.with_columns(**{name: pl.lit(text) for name, text in texts.items()})
        return rows.select(*schema).cast(pl.Schema(schema))


def _launch_name(launch: tuple[int, int, tuple[int, ...]]) -> str:
    return f"{launch[1]:03d}/x/NetPIPE_{'_'.join(map(str, launch[2]))}"

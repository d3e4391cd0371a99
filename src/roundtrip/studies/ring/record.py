"""What a ring launch tells in run.json: the passes of a lap, how it waits, what it skipped."""

from __future__ import annotations

from roundtrip.collect.shapes import (
    COUNT_OR_NULL,
    FEW,
    TEXT,
    TEXT_OR_NULL,
    or_null,
    record,
)

RECORD = record(
    {},
    {
        "tokens": COUNT_OR_NULL,
        "ranks_on_nodes": TEXT_OR_NULL,
        "processors_per_node": COUNT_OR_NULL,
        "pretended_nodes": {"type": ["array", "null"], "items": COUNT_OR_NULL},
        "read": TEXT_OR_NULL,
        "passes_per_lap": or_null(record({"shared": FEW, "network": FEW})),
        "wait": or_null(
            record(
                {},
                {
                    "spins": COUNT_OR_NULL,
                    "yields": COUNT_OR_NULL,
                    "network_yields_ms": COUNT_OR_NULL,
                    "then": TEXT_OR_NULL,
                },
            )
        ),
        "skipped": {"type": "array", "items": record({"variant": TEXT, "reason": TEXT})},
    },
)

"""What a ring launch tells in run.json: the passes of a lap, how it waits, what it skipped."""

from __future__ import annotations

from roundtrip.collect.shapes import FEW, NUMBER_OR_NULL, TEXT, TEXT_OR_NULL, or_null, record

RECORD = record(
    {},
    {
        "passes_per_lap": or_null(record({"shared": FEW, "network": FEW})),
        "wait": or_null(
            record(
                {},
                {
                    "spins": NUMBER_OR_NULL,
                    "yields": NUMBER_OR_NULL,
                    "network_yields_ms": NUMBER_OR_NULL,
                    "then": TEXT_OR_NULL,
                },
            )
        ),
        "skipped": {"type": "array", "items": record({"variant": TEXT, "reason": TEXT})},
    },
)

"""What an NPB launch records in run.json: its chosen variants, its verification, its memory."""

from __future__ import annotations

from roundtrip.collect.shapes import NUMBER_OR_NULL, TEXT, TEXT_OR_NULL, record

RECORD = record(
    {},
    {
        "benchmark": TEXT_OR_NULL,
        "class": TEXT_OR_NULL,
        "operations": NUMBER_OR_NULL,
        "seconds": NUMBER_OR_NULL,
        "mops": NUMBER_OR_NULL,
        "verified": {"type": ["boolean", "null"]},
        "choices": {
            "type": "array",
            "items": record(
                {
                    "of": TEXT,
                    "chosen": TEXT,
                    "seconds": {
                        "type": "object",
                        "additionalProperties": {"type": "number", "minimum": 0},
                    },
                }
            ),
        },
        "verification": record(
            {"specification": {"type": "boolean"}, "history": TEXT},
            {
                "quantities": {"type": "array", "items": TEXT},
                "values": {"type": "array", "items": {"type": ["number", "null"]}},
            },
        ),
        "memory": record(
            {}, {"expected_bytes": {"type": "number"}, "most_bytes": {"type": "number"}}
        ),
    },
)

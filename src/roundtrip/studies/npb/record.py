"""What an NPB launch records in run.json: its chosen variants, its verification, its memory.

Of a sweep over host speeds, `declared` are the operations that the ranks of one cluster declared as
their work, and `marks` it was given to be drawn beside it (`marks.py`): measured in another
campaign, whose name, night and digest stand there.
"""

from __future__ import annotations

from roundtrip.collect.shapes import (
    AMOUNT,
    AMOUNT_OR_NULL,
    COUNT,
    LABEL,
    NUMBER_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    record,
)

_OF = {"benchmark": LABEL, "class": LABEL, "toolchain": LABEL, "launches": COUNT}
#: Mop/s, ms, and a ratio with its interval; `separated`: computed from separated times.
_ALONE = record({**_OF, "mops": AMOUNT})
_OVER_THE_LINK = record(
    {**_OF, "ranks": COUNT, "rtt_ms": AMOUNT, "mops": AMOUNT, "speedup": AMOUNT},
    {"low": AMOUNT_OR_NULL, "high": AMOUNT_OR_NULL, "separated": {"type": "boolean"}},
)
MARKS = record(
    {
        **dict.fromkeys(("campaign", "site", "started", "digest", "processor"), LABEL),
        "alone": {"type": "array", "items": _ALONE, "maxItems": 1000},
        "emulated": {"type": "array", "items": _OVER_THE_LINK, "maxItems": 1000},
    }
)

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
        "declared": NUMBER_OR_NULL,
        "marks": {"type": "array", "items": MARKS, "maxItems": 100},
        "memory": record(
            {}, {"expected_bytes": {"type": "number"}, "most_bytes": {"type": "number"}}
        ),
    },
)

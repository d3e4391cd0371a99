"""JSON schemas of run.json, case.json, link.json and state.json: what the readers rely on, no more.

A campaign is held against the same names and counts before its first launch: what can be run can
be reported.
"""

from __future__ import annotations

from typing import Any

_NO_CONTROL = r"\A[^\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]*\Z"
_TEXT = {"type": "string", "minLength": 1, "maxLength": 1000, "pattern": _NO_CONTROL}
_LABEL = {**_TEXT, "maxLength": 200}
_HOST = {**_TEXT, "maxLength": 255, "pattern": r"\A[^\s\x00-\x1f\x7f-\x9f\ufeff]*\Z"}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_NUMBER_OR_NULL = {"type": ["number", "null"]}
_AMOUNT_OR_NULL = {"type": ["number", "null"], "minimum": 0, "maximum": 1e15}
_AMOUNT = {"type": "number", "minimum": 0, "maximum": 1e15}
_COUNT = {"type": "integer", "minimum": 0, "maximum": 2**53}
_FEW = {"type": "integer", "minimum": 0, "maximum": 10_000}
#: Names that become folders and labels; a `description` is what a person is told.
NAME_PATTERN = r"[^\W_][\w.-]*( [\w.-]+)*"
_NAME = {
    "type": "string",
    "maxLength": 100,
    "pattern": f"^(?:{NAME_PATTERN})\\Z",
    "description": "a name has up to 100 letters, digits, single blanks, dots, - and _, "
    "and begins with a letter or a digit",
}
_NUMBERS = {"type": ["array", "null"], "items": _AMOUNT_OR_NULL}


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **(optional or {})},
    }


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [{"type": "null"}, schema]}


_DISTURBANCE = _object(
    {},
    {
        "load_average_start": _NUMBERS,
        "load_average_end": _NUMBERS,
        "involuntary_context_switches": _NUMBERS,
        "core_migrations": _NUMBERS,
        "steal_s": _AMOUNT_OR_NULL,
    },
)
_PLACE = _object(
    {"rank": _COUNT, "host": _HOST},
    {"cpus": {"type": ["array", "null"], "items": {"type": "integer"}}},
)
_POINT = _object(
    {
        "case": _LABEL,
        "variant": _LABEL,
        "size_bytes": _COUNT,
        "samples": _COUNT,
        "status": _TEXT,
    },
    {
        "batch": _AMOUNT_OR_NULL,
        "median_s": _AMOUNT_OR_NULL,
        "ci_relative_half_width": _AMOUNT_OR_NULL,
    },
)
_RING = _object(
    {},
    {
        "passes_per_lap": _or_null(_object({"shared": _FEW, "network": _FEW})),
        "wait": _or_null(
            _object(
                {},
                {
                    "spins": _NUMBER_OR_NULL,
                    "yields": _NUMBER_OR_NULL,
                    "network_yields_ms": _NUMBER_OR_NULL,
                    "then": _TEXT_OR_NULL,
                },
            )
        ),
        "skipped": {"type": "array", "items": _object({"variant": _TEXT, "reason": _TEXT})},
    },
)
_NPB = _object(
    {},
    {
        "choices": {
            "type": "array",
            "items": _object(
                {
                    "of": _TEXT,
                    "chosen": _TEXT,
                    "seconds": {
                        "type": "object",
                        "additionalProperties": {"type": "number", "minimum": 0},
                    },
                }
            ),
        },
        "verification": _object(
            {"specification": {"type": "boolean"}, "history": _TEXT},
            {
                "quantities": {"type": "array", "items": _TEXT},
                "values": {"type": "array", "items": {"type": ["number", "null"]}},
            },
        ),
        "memory": _object(
            {}, {"expected_bytes": {"type": "number"}, "most_bytes": {"type": "number"}}
        ),
    },
)
_SEAL = _object(
    {"rows": _COUNT},
    {
        "sha256": {"type": "string", "pattern": r"\A[0-9a-f]{64}\Z"},
        "counts": {
            "type": "array",
            "items": _object(
                {
                    "case": _LABEL,
                    "variant": _LABEL,
                    "size_bytes": _COUNT,
                    "phase": _LABEL,
                    "metric": _LABEL,
                    "samples": _COUNT,
                }
            ),
        },
    },
)
RUN = _object(
    {
        "schema": {"const": 1},
        "workload": _LABEL,
        "ranks": {**_COUNT, "minimum": 1},
        "hosts": {"type": "array", "items": _HOST},
        "start_time": _TEXT,
        "points": {"type": "array", "items": _POINT},
        "samples": _SEAL,
        "complete": {"type": "boolean"},
    },
    {
        "mpi": _object({}, {"library": _TEXT_OR_NULL, "standard": _TEXT_OR_NULL}),
        "boost": _TEXT_OR_NULL,
        "compiler": _or_null(_object({}, {"id": _TEXT_OR_NULL, "flags": _TEXT_OR_NULL})),
        "clock": _or_null(
            _object({}, {"resolution_s": _AMOUNT_OR_NULL, "overhead_s": _AMOUNT_OR_NULL})
        ),
        "placement": {"type": ["array", "null"], "items": _PLACE},
        "warmup_discarded": {**_COUNT, "type": ["integer", "null"]},
        "elapsed_s": _AMOUNT_OR_NULL,
        "disturbance": _or_null(_DISTURBANCE),
        "ring": _RING,
        "npb": _NPB,
    },
)
#: What a person chooses: ReFrame also has parameters that are tuples.
_PLAIN = {
    "type": ["string", "number", "boolean", "array", "null"],
    "maxLength": 1000,
    "items": {"type": ["string", "number", "boolean", "null"]},
}
_EMULATED = {
    **_object({}, {"wan_rtt_ms": _AMOUNT, "hub_mbit_s": _AMOUNT}),
    "additionalProperties": _PLAIN,
}
CASE = _object(
    {
        "schema": {"const": 1},
        "study": _LABEL,
        "check": _LABEL,
        "display_name": _TEXT,
        "parameters": {"type": "object", "additionalProperties": _PLAIN},
        "system": _LABEL,
        "partition": _LABEL,
        "environ": _LABEL,
        "emulated": _or_null(_EMULATED),
        "simulated": {"type": "boolean"},
    },
    {"num_tasks": {"type": "integer", "minimum": 1}, "extras": {"type": "object"}},
)
CAMPAIGN = _object(
    {
        "name": _NAME,
        "title": {"type": "string", "maxLength": 200},
        "launches": {**_FEW, "minimum": 1},
        "extra_launches": _FEW,
        "time_limit_minutes": {"type": "number", "exclusiveMinimum": 0, "maximum": 366 * 24 * 60},
    },
)
_SELF_TEST = _object(
    {"asked_ms": {"type": "number"}, "received": _COUNT, "p50_ms": _NUMBER_OR_NULL}
)
_LINK_SETTINGS = {
    "rtt_ms": {"type": "number"},
    "rate_bit_s": {"type": "number"},
    "loss": {"type": "number"},
    "queue_bytes": {"type": "number"},
    "seed": {"type": "integer"},
    "up": {"type": "boolean"},
}
_DIRECTION = _object(
    {"name": _TEXT},
    {"cut": _COUNT, "dropped": _COUNT, "late_us_mean": _NUMBER_OR_NULL},
)
_LINK_STATUS = _object(
    {
        **_LINK_SETTINGS,
        "started_ns": {"type": "integer"},
        "changes": _COUNT,
        "directions": {"type": "array", "items": _DIRECTION},
        "self_test": _or_null(_SELF_TEST),
    },
    {"send_errors": _COUNT},
)
LINK = _object(
    {
        "schema": {"const": 1},
        "holder": _TEXT,
        "asked": _object(_LINK_SETTINGS),
        "before": _LINK_STATUS,
        "after": _or_null(_LINK_STATUS),
        "broken": {"type": "array", "items": _TEXT},
    }
)
STATE = _object(
    {
        "schema": {"const": 1},
        "campaign": _NAME,
        "site": _NAME,
        "started": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"},
        "expected": {
            "type": "array",
            "items": _object({"case": _TEXT, "launches": _FEW}),
        },
        "skipped": {"type": "array", "items": _object({"case": _TEXT, "reason": _TEXT})},
    },
    {
        "git": _object({}, {"commit": _TEXT_OR_NULL, "dirty": {"type": ["boolean", "null"]}}),
        "finished": _TEXT_OR_NULL,
    },
)
MANIFEST = _object(
    {
        "schema": {"const": 1},
        "campaign": _NAME,
        "site": _NAME,
        "started": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT"},
        "finished": _TEXT_OR_NULL,
        "git": _object(
            {"commit": _TEXT_OR_NULL, "dirty": {"type": ["boolean", "null"]}},
        ),
        "tools": {"type": "object", "additionalProperties": {"type": "string"}},
        "files": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": _object(
                {"bytes": _COUNT, "sha256": {"type": "string", "pattern": r"\A[0-9a-f]{64}\Z"}}
            ),
        },
    },
)
#: Columns of cases.parquet that hold JSON, of a launch that passed; `points`, the long one, apart.
COLUMNS = {
    "parameters": CASE["properties"]["parameters"],
    "hosts": RUN["properties"]["hosts"],
    "disturbance": RUN["properties"]["disturbance"],
    "binding": RUN["properties"]["placement"],
    "clock": RUN["properties"]["clock"],
    "emulated": CASE["properties"]["emulated"],
}
#: The column `details`: what the workload of a study alone tells.
DETAILS = {"ring": _RING, "npb": _NPB}

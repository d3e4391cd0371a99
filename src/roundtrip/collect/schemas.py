"""JSON schemas of run.json, case.json, link.json and state.json: only what the readers rely on.

The room of a study describes what only its workload writes to run.json.  Before its first launch, a
campaign is checked against the same names and counts, so that what can be run can be reported.
"""

from __future__ import annotations

from roundtrip import studies
from roundtrip.collect import simulation, timing
from roundtrip.collect.shapes import (
    AMOUNT,
    AMOUNT_OR_NULL,
    COUNT,
    COUNT_OR_NULL,
    COUNTS,
    FEW,
    HOST,
    LABEL,
    NAME,
    NUMBER_OR_NULL,
    NUMBERS,
    SHA256,
    SIGNED_NUMBERS,
    TEXT,
    TEXT_OR_NULL,
    or_null,
    record,
)

#: By study: what only its workload writes, under the study's name; column `details` of a bundle.
DETAILS = {study.name: dict(study.record) for study in studies.found() if study.record}
#: One value a rank; `workloads/core/disturbance.hpp` says what each is.
RANK_DISTURBANCE = {
    **dict.fromkeys(("involuntary_context_switches", "core_migrations"), COUNTS),
    **dict.fromkeys(("voluntary_context_switches", "continued"), COUNTS),
    **dict.fromkeys(("duration_s", "cpu_s", "waited_s", "throttled_s"), NUMBERS),
    **dict.fromkeys(("longest_stop_s", "suspended_s"), NUMBERS),
    **dict.fromkeys(("clock_rate", "clock_rate_error"), NUMBERS),
    **dict.fromkeys(("clock_step_s", "utc_ahead_s"), SIGNED_NUMBERS),
}
_COVERAGE = record({"measured": COUNT, "wanted": COUNT})
_DISTURBANCE = record(
    {},
    {
        "load_average_start": NUMBERS,
        "load_average_end": NUMBERS,
        **RANK_DISTURBANCE,
        "steal_s": AMOUNT_OR_NULL,
    },
)
_PLACE = record(
    {"rank": COUNT, "host": HOST},
    {
        "cpus": {"type": ["array", "null"], "items": {"type": "integer"}},
        "switch": or_null(HOST),
    },
)
#: What the kernel of a node tells, see `workloads/core/node.hpp`.
NODE_FACTS = (
    *("kernel", "processor", "microcode", "firmware", "governor"),
    *("smt", "memory", "clock_source"),
)
_FACT = {**TEXT, "type": ["string", "null"]}
_NODE = record(
    {"host": HOST},
    {
        **dict.fromkeys(NODE_FACTS, _FACT),
        "adapters": {"type": ["array", "null"], "items": TEXT, "maxItems": 100},
        "boot": TEXT_OR_NULL,
        "sent_bytes": {"type": ["object", "null"], "additionalProperties": COUNT},
    },
)
#: What ranks of one host run, see `workloads/core/identity.hpp`.
_IDENTITY = record(
    {"host": HOST, "ranks": {"type": "array", "items": COUNT, "minItems": 1}},
    {
        **dict.fromkeys(("library", "standard", "device", "file", "build"), TEXT_OR_NULL),
        "program_sha256": TEXT_OR_NULL,
        "slurm_node": or_null(HOST),
    },
)
_POINT = record(
    {
        "case": LABEL,
        "variant": LABEL,
        "size_bytes": COUNT,
        "samples": COUNT,
        "status": TEXT,
    },
    {
        "batch": COUNT_OR_NULL,
        "median_s": AMOUNT_OR_NULL,
        "ci_relative_half_width": AMOUNT_OR_NULL,
        "verified": {"type": ["boolean", "null"]},
        "inner": COUNT_OR_NULL,
        "discarded": COUNT_OR_NULL,
        "parameters": TEXT_OR_NULL,
        "finding": or_null(
            record({name: {"type": "string"} for name in ("call", "error", "consequence")})
        ),
    },
)
_SEAL = record(
    {"rows": COUNT},
    {
        "sha256": SHA256,
        "counts": {
            "type": "array",
            "items": record(
                {
                    "case": LABEL,
                    "variant": LABEL,
                    "size_bytes": COUNT,
                    "phase": LABEL,
                    "metric": LABEL,
                    "samples": COUNT,
                }
            ),
        },
    },
)
RUN = record(
    {
        "schema": {"const": 1},
        "workload": LABEL,
        "ranks": {**COUNT, "minimum": 1},
        "hosts": {"type": "array", "items": HOST},
        "start_time": TEXT,
        "points": {"type": "array", "items": _POINT},
        "samples": _SEAL,
        "complete": {"type": "boolean"},
    },
    {
        "mpi": record({}, {"library": TEXT_OR_NULL, "standard": TEXT_OR_NULL}),
        "boost": TEXT_OR_NULL,
        "compiler": or_null(record({}, {"id": TEXT_OR_NULL, "flags": TEXT_OR_NULL})),
        "clock": or_null(
            record(
                {},
                {
                    "name": TEXT_OR_NULL,
                    "resolution_s": AMOUNT_OR_NULL,
                    "overhead_s": AMOUNT_OR_NULL,
                },
            )
        ),
        "timing": or_null(timing.SCHEMA),
        "simulated": or_null(simulation.SCHEMA),
        "placement": {"type": ["array", "null"], "items": _PLACE},
        "identity": {"type": ["array", "null"], "items": _IDENTITY},
        "nodes": {"type": ["array", "null"], "items": _NODE},
        "warmup_discarded": COUNT_OR_NULL,
        "elapsed_s": AMOUNT_OR_NULL,
        "disturbance": or_null(_DISTURBANCE),
        "coverage": or_null(_COVERAGE),
        **DETAILS,
    },
)
#: What a person chooses: ReFrame also has parameters that are tuples.
_PLAIN = {
    "type": ["string", "number", "boolean", "array", "null"],
    "maxLength": 1000,
    "items": {"type": ["string", "number", "boolean", "null"]},
}
_EMULATED = {
    **record({}, {"wan_rtt_ms": AMOUNT, "hub_mbit_s": AMOUNT}),
    "additionalProperties": _PLAIN,
}
CASE = record(
    {
        "schema": {"const": 1},
        "study": LABEL,
        "check": LABEL,
        "display_name": TEXT,
        "parameters": {"type": "object", "additionalProperties": _PLAIN},
        "system": LABEL,
        "partition": LABEL,
        "environ": LABEL,
        "emulated": or_null(_EMULATED),
        "simulated": {"type": "boolean"},
    },
    {
        "num_tasks": {"type": "integer", "minimum": 1},
        "extras": {"type": "object"},
        "hosts": {"type": "array", "items": HOST},
        "mpi": or_null(record({"family": LABEL, "version": LABEL, "says": LABEL})),
        "links": TEXT_OR_NULL,
        "program": or_null(record({"file": TEXT, "sha256": or_null(SHA256)})),
        "scheduler": LABEL,
    },
)
CAMPAIGN = record({"name": NAME})
_SELF_TEST = record({"asked_ms": {"type": "number"}, "received": COUNT, "p50_ms": NUMBER_OR_NULL})
_LINK_SETTINGS = {
    "rtt_ms": {"type": "number"},
    "rate_bit_s": {"type": "number"},
    "loss": {"type": "number"},
    "queue_bytes": {"type": "number"},
    "seed": {"type": "integer"},
    "up": {"type": "boolean"},
}
_DIRECTION = record(
    {"name": TEXT},
    {"cut": COUNT, "dropped": COUNT, "late_us_mean": NUMBER_OR_NULL},
)
_LINK_STATUS = record(
    {
        **_LINK_SETTINGS,
        "started_ns": {"type": "integer"},
        "changes": COUNT,
        "directions": {"type": "array", "items": _DIRECTION},
        "self_test": or_null(_SELF_TEST),
    },
    {"send_errors": COUNT},
)
LINK = record(
    {
        "schema": {"const": 1},
        "holder": TEXT,
        "asked": record(_LINK_SETTINGS),
        "before": _LINK_STATUS,
        "after": or_null(_LINK_STATUS),
        "broken": {"type": "array", "items": TEXT},
    }
)
STATE = record(
    {
        "schema": {"const": 1},
        "campaign": NAME,
        "site": NAME,
        "started": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"},
        "expected": {
            "type": "array",
            "items": record({"case": TEXT, "launches": FEW}),
        },
        "skipped": {"type": "array", "items": record({"case": TEXT, "reason": TEXT})},
    },
    {
        "git": record({}, {"commit": TEXT_OR_NULL, "dirty": {"type": ["boolean", "null"]}}),
        "finished": TEXT_OR_NULL,
        "stopped": TEXT_OR_NULL,
        "pins": {
            "type": "array",
            "items": record({"what": LABEL, "file": TEXT, "sha256": SHA256}),
        },
    },
)
#: env/nodes.json: by partition, what the scheduler said of its nodes before the launches.
NODES = record(
    {
        "schema": {"const": 1},
        "partitions": {
            "type": "object",
            "additionalProperties": record(
                {
                    "hosts": {"type": "array", "items": HOST},
                    "not_measured": {
                        "type": "array",
                        "items": record({"host": HOST, "state": LABEL, "reason": TEXT}),
                    },
                }
            ),
        },
    }
)
MANIFEST = record(
    {
        "schema": {"enum": [1, 2]},
        "campaign": NAME,
        "site": NAME,
        "started": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT"},
        "finished": TEXT_OR_NULL,
        "git": record(
            {"commit": TEXT_OR_NULL, "dirty": {"type": ["boolean", "null"]}},
        ),
        "tools": {"type": "object", "additionalProperties": {"type": "string"}},
        "files": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": record({"bytes": COUNT, "sha256": SHA256}),
        },
    },
    {
        "nodes_not_measured": {
            "type": "array",
            "items": record({"node": HOST, "state": LABEL, "reason": TEXT}),
        },
        "before": record({"digest": SHA256, "started": TEXT}),
        "signer": {
            "type": "string",
            "pattern": r"\A[a-z0-9@.-]{5,40} [A-Za-z0-9+/]{40,4000}={0,2}"
            r"( [^\x00-\x1f\x7f-\x9f]{1,200})?\Z",
            "description": "a public key of ssh-keygen: kind, key, comment",
        },
    },
)
#: Columns of cases.parquet that hold JSON in bundles of schema 1; `points`, the long one, apart.
COLUMNS = {
    "parameters": CASE["properties"]["parameters"],
    "hosts": RUN["properties"]["hosts"],
    "disturbance": RUN["properties"]["disturbance"],
    "binding": RUN["properties"]["placement"],
    "clock": RUN["properties"]["clock"],
    "emulated": CASE["properties"]["emulated"],
}

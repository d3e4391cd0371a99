"""Makes what a launch leaves behind, as small as the readers allow."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from roundtrip.sites.site import Case

COLUMNS = "study,case,variant,size_bytes,phase,rep,metric,value,unit"
ROW = "netpipe,pingpong/same,mpi,1,measure,0,half_round_trip_time,1e-6,s"


SEAL = {
    "rows": 1,
    "counts": [
        {
            "case": "pingpong/same",
            "variant": "mpi",
            "size_bytes": 1,
            "phase": "measure",
            "metric": "half_round_trip_time",
            "samples": 1,
        }
    ],
}


def leave(
    case: Case,
    round_: Path,
    passed: bool = True,
    steal_s: float = 0.0,
    hosts: Sequence[str] | None = None,
) -> None:
    """A launch of `case` in `round_`: in output/ if it passed, else a torn one in stage/.

    `hosts` are those that it was to take.
    """
    part = "output" if passed else "stage"
    name = f"{case.check}_{case.hash}"
    folder = round_ / part / case.system / case.partition / case.environ / name
    folder.mkdir(parents=True)
    parameters = "".join(f" %{key}={value}" for key, value in case.parameters)
    _write(
        folder / "case.json",
        {
            "schema": 1,
            "study": "netpipe",
            "check": case.check,
            "display_name": case.check + parameters,
            "hash": case.hash,
            "parameters": dict(case.parameters),
            "system": case.system,
            "partition": case.partition,
            "environ": case.environ,
            "features": [],
            "extras": {},
            "num_tasks": 2,
            "num_nodes": 1,
            "emulated": None,
            "simulated": False,
            **({} if hosts is None else {"hosts": list(hosts)}),
        },
    )
    text = f'# schema: 1\n# launch: "{folder}"\n{COLUMNS}\n{ROW}\n'
    (folder / "samples.csv").write_text(text)
    if passed:
        digest = hashlib.sha256(text.encode()).hexdigest()
        _write(folder / "run.json", _run(steal_s) | {"samples": SEAL | {"sha256": digest}})


def _run(steal_s: float) -> dict[str, object]:
    return {
        "schema": 1,
        "workload": "netpipe",
        "version": "0.1.0",
        "command": ["netpipe"],
        "mpi": {"standard": "3.1", "library": "made for a test"},
        "boost": "1.81.0",
        "compiler": {"id": "GNU", "version": "12.2.0", "flags": "-O3"},
        "clock": {"name": "MPI_Wtime", "resolution_s": 1e-9, "overhead_s": 2e-8},
        "ranks": 2,
        "hosts": ["node"],
        "placement": [{"rank": 0, "host": "node", "cpus": [0]}],
        "start_time": "2026-01-01T00:00:00Z",
        "elapsed_s": 4.0,
        "seed": 1,
        "budget_s": 4.0,
        "disturbance": {
            "load_average_start": [0.1, 0.1, 0.1],
            "load_average_end": [0.1, 0.1, 0.1],
            "involuntary_context_switches": [0, 0],
            "core_migrations": [0, 0],
            "steal_s": steal_s,
        },
        "warmup_discarded": 1,
        "points": [
            {
                "case": "pingpong/same",
                "variant": "mpi",
                "size_bytes": 1,
                "samples": 1,
                "batch": 1,
                "median_s": 1e-6,
                "ci_relative_half_width": None,
                "status": "budget",
                "verified": True,
            }
        ],
        "complete": True,
    }


def _write(file: Path, content: dict[str, object]) -> None:
    file.write_text(json.dumps(content))

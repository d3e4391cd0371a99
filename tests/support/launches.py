"""The files of a launch, as small as the readers allow, and its link.json."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from roundtrip.measure import samples
from roundtrip.sites.site import Case
from support.synthetic import CASE_RECORD, CSV_HEADER, HOST, POINT_RECORD, RUN_RECORD

#: The first lines that Debian 12's Open MPI and MPICH say of themselves, as recorded.
OPENMPI_VERSION_TEXT = (
    "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022"
)
MPICH_VERSION_TEXT = "MPICH Version: 4.0.2"
MPI_LIBRARY_FILE = "/usr/lib/x86_64-linux-gnu/libmpi.so.40.30.4"
#: What a rank says of itself.
RANK_IDENTITY = {
    "library": OPENMPI_VERSION_TEXT,
    "standard": "3.1",
    "device": None,
    "file": MPI_LIBRARY_FILE,
    "build": "gnu:2a2f4d8c4f8dc5dcc63f6789a50f3ab49f61e168",
    "program_sha256": "8b" * 32,
}


_LINK_SETTINGS = {
    **{"rtt_ms": 0.0, "rate_bit_s": 0, "loss": 0},
    **{"queue_bytes": 67108864, "seed": 1, "up": True},
}


def link_record(**after: Any) -> dict[str, Any]:
    """link.json of an untouched link, but for what `after` says of it or of its first direction."""

    def status() -> dict[str, Any]:
        direction = {"frames": 9, "cut": 0, "dropped": 0, "late_us_mean": 3.2}
        return {
            **_LINK_SETTINGS,
            **{"started_ns": 5, "changes": 2, "send_errors": 0},
            "directions": [{"name": name, **direction} for name in ("A->B", "B->A")],
            "self_test": {"asked_ms": 0.0, "min_ms": 0.031, "p50_ms": 0.04, "received": 25},
        }

    end = status()
    for key, value in after.items():
        (end["directions"][0] if key in end["directions"][0] else end)[key] = value
    links = {"asked": dict(_LINK_SETTINGS), "before": status(), "after": end}
    return {"schema": 1, "holder": "job 7", **links, "broken": [], "status": 0}


def write_launch(
    case: Case,
    round_: Path,
    passed: bool = True,
    steal_s: float = 0.0,
    hosts: Sequence[str] | None = None,
) -> None:
    """Write a launch of `case` below `round_`: to output/ if passed, else to stage/.

    A failed one has no run.json.  `hosts` are the nodes that case.json requests.
    """
    part = "output" if passed else "stage"
    name = f"{case.check}_{case.hash}"
    folder = round_ / part / case.system / case.partition / case.environ / name
    folder.mkdir(parents=True)
    parameters = "".join(f" %{key}={value}" for key, value in case.parameters)
    case_record = {
        **{**CASE_RECORD, "check": case.check, "hash": case.hash},
        **{"display_name": case.check + parameters, "parameters": dict(case.parameters)},
        **{"system": case.system, "partition": case.partition, "environ": case.environ},
        **({} if hosts is None else {"hosts": list(hosts)}),
    }
    (folder / "case.json").write_text(json.dumps(case_record))
    row = "netpipe,pingpong/same,mpi,1,measure,0,half_round_trip_time,1e-6,s"
    content = f'# schema: 1\n# launch: "{folder}"\n{CSV_HEADER}\n{row}\n'.encode()
    file = folder / "samples.csv"
    file.write_bytes(content)
    if passed:
        seal = samples.make_seal(content, samples.parse(content, file).frame)
        disturbance = {**RUN_RECORD["disturbance"], "steal_s": steal_s}
        run = {**RUN_RECORD, "disturbance": disturbance, "points": [POINT_RECORD], "samples": seal}
        (folder / "run.json").write_text(json.dumps(run).replace(HOST, "node"))

"""What is told of each launch of a run, those that never completed included."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from roundtrip.collect import bundle_tables
from roundtrip.collect.disclosure import Disclosure
from roundtrip.collect.launch import Launch
from roundtrip.collect.pseudonyms import Pseudonyms

_CASE_ID = re.compile(
    r"^(?P<check>[^/]+)/(?P<parameters>.*)"
    r"@(?P<system>[^:@]+):(?P<partition>[^+@]+)\+(?P<environ>[^@]+)$"
)


#: Columns that are names and numbers of ours, or that `_scanned` has replaced names in.
_OURS = (
    *("launch", "study", "status", "round", "hosts", "nodes_down"),
    *("placement", "nodes", "started"),
)
#: Columns that say which case it is: no host of the run is looked for in them.
_IDENTITY = ("case_id", "check", "system", "partition", "environ")


def told(
    launches: Sequence[Launch], state: dict[str, Any], names: Disclosure
) -> list[dict[str, Any]]:
    """A record a launch, as `tables.make` takes them: those scanned, then of `state` those that
    are missing, and the cases that were skipped.  No text in them is private."""
    studies = {launch.case_id: launch.case["study"] for launch in launches if launch.case}
    by_check = {case_id.split("/")[0]: study for case_id, study in studies.items()}
    rows = [_scanned(launch, by_check, names) for launch in launches]
    rows += _missing(launches, state, by_check)
    for number, skipped in enumerate(state["skipped"], 1):
        named = _named(skipped["case"], by_check)
        reason = skipped["reason"]
        rows.append(
            {"launch": f"skipped/{number:04d}", **named, "status": "skipped", "reason": reason}
        )
    wanted = {expected["case"]: expected["launches"] for expected in state["expected"]}
    return [_open({**row, "wanted": wanted.get(row["case_id"])}, names) for row in rows]


def _open(row: dict[str, Any], names: Disclosure) -> dict[str, Any]:
    """The record with pseudonyms for hosts in its texts, and digests for what is private."""
    kept = {name: row[name] for name in _OURS if name in row}
    kept |= {n: names.kept(row[n], f"cases.parquet {n}") for n in _IDENTITY if n in row}
    texts = {name: value for name, value in row.items() if name not in kept}
    return {**names.fields(texts, "cases.parquet"), **kept}


def require_fits(launch: Launch) -> None:
    """Make the rows of one launch; raises whatever a value that fits no column raises."""
    bundle_tables.make_tables([_scanned(launch, {}, Disclosure(Pseudonyms((), b"")))])


def _scanned(launch: Launch, by_check: dict[str, str], names: Disclosure) -> dict[str, Any]:
    case, run = launch.case, launch.run
    row = {
        "launch": launch.id,
        **_named(launch.case_id, by_check),
        "status": launch.status,
        "reason": launch.reason,
        "round": launch.round,
        "campaign_round": launch.campaign_round,
        "disturbed": bool(launch.disturbed),
        "disturbed_why": "; ".join(launch.disturbed),
        "nodes_down": [names.of(node) for node in launch.nodes_down] or None,
    }
    if case:
        toolchain = case.get("extras", {}).get("toolchain")
        row |= {
            "toolchain": toolchain if isinstance(toolchain, str) else case["environ"],
            "parameters": case["parameters"],
            "emulated": case["emulated"],
            "simulated": case["simulated"],
            "hosts": [names.of(host) for host in case.get("hosts", ())] or None,
        }
    if run:
        details = run.get(case["study"])  # what only this study's workload writes
        compiler = run.get("compiler") or {}
        version = [compiler.get("id"), compiler.get("version")]
        row |= {
            "started": run["start_time"],
            "elapsed_s": run.get("elapsed_s"),
            "ranks": run["ranks"],
            "sealed": launch.sealed,
            "taken": run["samples"]["rows"],
            "hosts": [names.of(host) for host in run["hosts"]],
            "disturbance": run.get("disturbance"),
            "mpi_library": names.library((run.get("mpi") or {}).get("library") or "") or None,
            "mpi_build": next((one.get("build") for one in run.get("identity") or ()), None),
            "boost": run.get("boost"),
            "compiler": " ".join(str(part) for part in version if part) or None,
            "compiler_flags": compiler.get("flags"),
            "placement": names.fields(run.get("placement")),
            # Of a simulated launch, the kernel is that of the machine that simulated it.
            "nodes": None if case["simulated"] else names.fields(run.get("nodes")),
            "clock": run.get("clock"),
            "timing": run.get("timing"),
            "simulation": run.get("simulated") if launch.status == "passed" else None,
            "warmup_discarded": run.get("warmup_discarded"),
            "points": run["points"],
            "details": details,
        }
    return row


def _missing(
    launches: Sequence[Launch], state: dict[str, Any], by_check: dict[str, str]
) -> list[dict[str, Any]]:
    came = Counter(launch.case_id for launch in launches if launch.status == "passed")
    failed = Counter(launch.case_id for launch in launches if launch.status == "failed")
    partial = Counter(launch.case_id for launch in launches if launch.status == "partial")
    rows: list[dict[str, Any]] = []
    stopped = f"; stopped: {state['stopped']}" if state.get("stopped") else ""
    for expected in state["expected"]:
        case, wanted = expected["case"], expected["launches"]
        reason = (
            f"{came[case]} of {wanted} launches completed, {failed[case]} failed"
            if came[case] or failed[case] or partial[case]
            else "was never launched"
        )
        reason += f", {partial[case]} partial" if partial[case] else ""
        for number in range(came[case], wanted):
            launch = f"missing/{len(rows) + 1:04d}"
            named = _named(case, by_check)
            reason_here = f"launch {number + 1} of {wanted}: {reason}{stopped}"
            rows.append({"launch": launch, **named, "status": "missing", "reason": reason_here})
    return rows


def _named(case_id: str, by_check: dict[str, str]) -> dict[str, Any]:
    """The columns that follow from a case id."""
    found = _CASE_ID.match(case_id)
    if not found:
        return {"case_id": case_id, "study": "", "check": case_id, "simulated": False}
    named = found.groupdict()
    pairs = [item.split("=", 1) for item in named.pop("parameters").split(",") if "=" in item]
    return {
        "case_id": case_id,
        "study": by_check.get(named["check"], ""),
        **named,
        "toolchain": named["environ"],
        "parameters": dict(pair for pair in pairs),
        "simulated": False,
    }

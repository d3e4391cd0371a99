"""The table of launches of a bundle: one row each, those that never came back included."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import polars as pl

from roundtrip.collect.launch import Launch
from roundtrip.collect.pseudonyms import Pseudonyms

SCHEMA = {
    "launch": pl.String,
    "case_id": pl.String,
    "study": pl.String,
    "check": pl.String,
    "system": pl.String,
    "partition": pl.String,
    "environ": pl.String,
    "toolchain": pl.String,
    "parameters": pl.String,
    "status": pl.String,
    "reason": pl.String,
    "round": pl.String,
    "started": pl.String,
    "elapsed_s": pl.Float64,
    "ranks": pl.Int64,
    "hosts": pl.String,
    "disturbed": pl.Boolean,
    "disturbed_why": pl.String,
    "disturbance": pl.String,
    "mpi_library": pl.String,
    "boost": pl.String,
    "compiler": pl.String,
    "compiler_flags": pl.String,
    "binding": pl.String,
    "clock": pl.String,
    "warmup_discarded": pl.Int64,
    "points": pl.String,
    "emulated": pl.String,
    "simulated": pl.Boolean,
    "details": pl.String,
    "campaign_round": pl.Int64,
    "wanted": pl.Int64,  # launches asked for of the case
    "sealed": pl.Boolean,
}
#: Columns that older bundles lack: empty there.
ADDED = ("details", "campaign_round", "wanted", "sealed")
_CASE_ID = re.compile(
    r"^(?P<check>[^/]+)/(?P<parameters>.*)"
    r"@(?P<system>[^:@]+):(?P<partition>[^+@]+)\+(?P<environ>[^@]+)$"
)


def table(
    launches: Sequence[Launch], state: dict[str, Any], pseudonyms: Pseudonyms
) -> pl.DataFrame:
    """One row a launch: those scanned, then the missing and the skipped ones of `state`."""
    studies = {launch.case_id: launch.case["study"] for launch in launches if launch.case}
    by_check = {case_id.split("/")[0]: study for case_id, study in studies.items()}
    rows = [_scanned(launch, by_check, pseudonyms) for launch in launches]
    rows += _missing(launches, state, by_check)
    for number, skipped in enumerate(state["skipped"], 1):
        named = _named(skipped["case"], by_check)
        reason = pseudonyms.message(skipped["reason"])
        rows.append(
            {"launch": f"skipped/{number:04d}", **named, "status": "skipped", "reason": reason}
        )
    wanted = {expected["case"]: expected["launches"] for expected in state["expected"]}
    for row in rows:
        row["wanted"] = wanted.get(row["case_id"])
    return pl.DataFrame([{**dict.fromkeys(SCHEMA), **row} for row in rows], schema=SCHEMA).sort(
        "case_id", "launch"
    )


def require_fits(launch: Launch) -> None:
    """Make the row of one launch; raises whatever a value that fits no column raises."""
    row = _scanned(launch, {}, Pseudonyms(()))
    pl.DataFrame([row], schema={name: SCHEMA[name] for name in row})


def _scanned(launch: Launch, by_check: dict[str, str], names: Pseudonyms) -> dict[str, Any]:
    case, run = launch.case, launch.run
    row = {
        "launch": launch.id,
        **_named(launch.case_id, by_check),
        "status": launch.status,
        "reason": names.message(launch.reason),
        "round": launch.round,
        "campaign_round": launch.campaign_round,
        "disturbed": bool(launch.disturbed),
        "disturbed_why": "; ".join(launch.disturbed),
    }
    if case:
        toolchain = case.get("extras", {}).get("toolchain")
        row |= {
            "toolchain": toolchain if isinstance(toolchain, str) else case["environ"],
            "parameters": _json(case["parameters"]),
            "emulated": _json(case["emulated"]) if case["emulated"] else None,
            "simulated": case["simulated"],
        }
    if run:
        details = run.get(case["study"])  # what a study's workload alone tells, under its name
        compiler = run.get("compiler") or {}
        version = [compiler.get("id"), compiler.get("version")]
        row |= {
            "started": run["start_time"],
            "elapsed_s": run.get("elapsed_s"),
            "ranks": run["ranks"],
            "sealed": launch.sealed,
            "hosts": _json([names.of(host) for host in run["hosts"]]),
            "disturbance": _json(run.get("disturbance")),
            "mpi_library": names.library((run.get("mpi") or {}).get("library") or "") or None,
            "boost": run.get("boost"),
            "compiler": " ".join(str(part) for part in version if part) or None,
            "compiler_flags": compiler.get("flags"),
            "binding": _json(names.fields(run.get("placement"))),
            "clock": _json(run.get("clock")),
            "warmup_discarded": run.get("warmup_discarded"),
            "points": _json(names.fields(run["points"])),
            "details": _json(names.fields(details)) if details else None,
        }
    return row


def _missing(
    launches: Sequence[Launch], state: dict[str, Any], by_check: dict[str, str]
) -> list[dict[str, Any]]:
    came = Counter(launch.case_id for launch in launches if launch.status == "passed")
    failed = Counter(launch.case_id for launch in launches if launch.status == "failed")
    rows: list[dict[str, Any]] = []
    for expected in state["expected"]:
        case, wanted = expected["case"], expected["launches"]
        reason = (
            f"{came[case]} of {wanted} launches came back, {failed[case]} failed"
            if came[case] or failed[case]
            else "was never launched"
        )
        for number in range(came[case], wanted):
            launch = f"missing/{len(rows) + 1:04d}"
            named = _named(case, by_check)
            reason_here = f"launch {number + 1} of {wanted}: {reason}"
            rows.append({"launch": launch, **named, "status": "missing", "reason": reason_here})
    return rows


def _named(case_id: str, by_check: dict[str, str]) -> dict[str, Any]:
    """What a case id alone tells."""
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
        "parameters": _json(dict(pair for pair in pairs)),
        "simulated": False,
    }


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
